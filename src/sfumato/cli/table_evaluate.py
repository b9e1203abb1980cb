"""`sfumato table evaluate`: compare a release with the private table. Not private."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    OwnSchemaOption,
    ReleaseArgument,
    SeparatorOption,
    parse_names,
)
from sfumato.cli.releasing import show_comparison
from sfumato.cli.screen import JsonOption, answering, print_table
from sfumato.cli.table_schema import FileArgument, read_declared, read_schema

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.table import Table
    from sfumato.evaluate.classifiers import Mistakes
    from sfumato.evaluate.table import Evaluation
    from sfumato.privacy.release import Release


def evaluate(
    file: FileArgument,
    release: ReleaseArgument,
    schema: OwnSchemaOption = None,
    ways: Annotated[
        int, typer.Option(help="Compare all tables of up to this many columns.", min=1, max=4)
    ] = 2,
    queries: Annotated[
        int, typer.Option(help="The number of random ranges of ordered columns to compare.", min=0)
    ] = 1000,
    predict: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Columns to predict from all others with rules learnt from the synthetic rows, "
            "as sex,income.",
        ),
    ] = None,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private table. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.privacy.saved import load

        targets = () if predict is None else parse_names(predict)
        with screen.working("rebuilding the release"):
            made = load(release)
        compare, show = _comparison(made, release, ways, queries, targets)
        declared = made.provenance.public.schema if schema is None else read_schema(schema)
        table = read_declared(screen, file, declared, engine, separator)
        with screen.working("comparing"):
            outcome = compare(table)
        show_comparison(screen, outcome.to_json(), lambda console: show(console, outcome))


def _comparison(
    made: Release, folder: Path, ways: int, queries: int, targets: tuple[str, ...]
) -> tuple[Callable[[Table], Any], Callable[[Console, Any], None]]:
    """Return how a release is compared with its table, and how the outcome is shown."""
    from sfumato.cli.regress_predict import show_errors
    from sfumato.evaluate.classifiers import mistakes
    from sfumato.evaluate.regression import evaluate as errors
    from sfumato.evaluate.table import evaluate as compare
    from sfumato.regression.model import RegressionModel
    from sfumato.tabular.classifier import Classifier
    from sfumato.tabular.noisy_tables import NoisyTables
    from sfumato.tabular.synthetic import SyntheticTable

    match made:
        case Classifier():
            return (lambda table: mistakes(table, made)), _show_mistakes
        case RegressionModel():
            return (lambda table: errors(table, made)), show_errors
        case NoisyTables() | SyntheticTable():
            every = range(1, min(ways, len(made.public.columns)) + 1)
            return (
                lambda table: compare(table, made, ways=every, queries=queries, predict=targets)
            ), _show_evaluation
    raise Refusal(
        ExitCode.USAGE,
        f"only tables, synthetic rows, classifiers and regressions can be compared; {folder} "
        f"holds {made.kind}",
    )


def _show_evaluation(console: Console, evaluation: Evaluation) -> None:
    """Print how far a release is from the truth."""
    rows = []
    for summary in evaluation.summaries:
        average, worst = summary.average, summary.worst
        missing = f" ({summary.missing} not released)" if summary.missing else ""
        missing += f" ({summary.left_out} left out)" if summary.left_out else ""
        rows.append(
            (
                summary.what,
                f"{len(summary.distances)}{missing}",
                "—" if average is None else f"{100 * average:.2f} %",
                "—" if worst is None else f"{worst.name}: {100 * worst.total_variation:.2f} %",
            )
        )
    print_table(console, ("tables", "compared", "average distance", "furthest off"), rows)
    for line in _further_lines(evaluation):
        console.print(line, soft_wrap=not console.is_terminal)
    console.print(
        "Total variation distance: the share of rows that would have to move to turn the released "
        "table into the true one.",
        style="dim",
        soft_wrap=not console.is_terminal,
    )


def _show_mistakes(console: Console, outcome: Mistakes) -> None:
    """Print how often a released rule is wrong."""
    console.print(
        f"Predicting {outcome.target} for {outcome.rows:,} private rows: "
        f"{100 * outcome.error:.1f} % wrong, {100 * outcome.majority_error:.1f} % by always "
        "guessing the most frequent value.",
        soft_wrap=not console.is_terminal,
    )


def _further_lines(evaluation: Evaluation) -> list[str]:
    """Return the comparisons that are not of tables, one per line."""
    lines = []
    worst = evaluation.associations.worst
    if worst is not None:
        lines.append(
            "Dependence of two columns (Cramér's V): off by "
            f"{evaluation.associations.average_error:.3f} on average; most for "
            f"{' × '.join(worst.columns)}, {worst.released:.3f} instead of {worst.truth:.3f}."
        )
    ranges = evaluation.ranges
    if ranges is not None and ranges.average is not None and ranges.median is not None:
        lines.append(
            f"Counts of {len(ranges.queries):,} random ranges: off by {100 * ranges.average:.1f} "
            f"% on average (median {100 * ranges.median:.1f} %), as a percentage of the true "
            "count, or of 0.1 % of all rows if that is larger."
        )
    lines += [
        f"Predicting {item.target} for {item.rows:,} private rows: {100 * item.error:.1f} % wrong "
        f"when learnt from the release, {100 * item.private_error:.1f} % when learnt from the "
        f"private table, {100 * item.majority_error:.1f} % by guessing the most frequent value."
        for item in evaluation.classifications
    ]
    return lines
