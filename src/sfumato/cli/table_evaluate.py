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
)
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.table_names import names_in
from sfumato.cli.table_options import FileArgument, read_private, read_schema

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.table import Table
    from sfumato.privacy.release import Release


def evaluate(
    file: FileArgument,
    release: ReleaseArgument,
    schema: OwnSchemaOption = None,
    ways: Annotated[
        int, typer.Option(help="Compare all tables of up to this many columns.", min=1, max=4)
    ] = 2,
    queries: Annotated[
        int, typer.Option(help="How many random ranges of ordered columns to count.", min=0)
    ] = 1000,
    predict: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Columns to predict from all others, as sex,income, with rules learnt from "
            "synthetic rows.",
        ),
    ] = None,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private table. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.evaluate.warning import WARNING
        from sfumato.privacy.saved import load

        targets = () if predict is None else names_in(predict)
        with screen.working("rebuilding the release"):
            made = load(release)
        compare, show = _comparison(made, release, ways, queries, targets)
        declared = made.provenance.public.schema if schema is None else read_schema(schema)
        table = read_private(screen, file, declared, engine, separator)
        with screen.working("comparing"):
            outcome = compare(table)
        if as_json:
            screen.note(WARNING, style="bold red")
        screen.answer(outcome.to_json(), lambda console: show(console, outcome, WARNING))


def _comparison(
    made: Release, folder: Path, ways: int, queries: int, targets: tuple[str, ...]
) -> tuple[Callable[[Table], Any], Callable[[Console, Any, str], None]]:
    """Return how a release is compared with its table, and how the outcome is shown."""
    from sfumato.cli.regress_evaluate import show_errors
    from sfumato.cli.words import show_evaluation, show_mistakes
    from sfumato.evaluate.classifiers import mistakes
    from sfumato.evaluate.regression import evaluate as errors
    from sfumato.evaluate.table import evaluate as compare
    from sfumato.regression.model import RegressionModel
    from sfumato.tabular.classifier import Classifier
    from sfumato.tabular.noisy_tables import NoisyTables
    from sfumato.tabular.synthetic import SyntheticTable

    if isinstance(made, Classifier):
        return (lambda table: mistakes(table, made)), show_mistakes
    if isinstance(made, RegressionModel):
        return (lambda table: errors(table, made)), show_errors
    if not isinstance(made, NoisyTables | SyntheticTable):
        raise Refusal(
            ExitCode.USAGE,
            "tables, synthetic rows, classifiers and regressions can be compared; "
            f"{folder} holds {made.kind}",
        )
    most = min(ways, len(made.public.columns))
    every = range(1, most + 1)
    return (
        lambda table: compare(table, made, ways=every, queries=queries, predict=targets)
    ), show_evaluation
