"""`sfumato points evaluate`: compare a release with the private points. Not private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    OwnSchemaOption,
    ReleaseArgument,
    SeparatorOption,
)
from sfumato.cli.points_schema import read_declared, read_points_as
from sfumato.cli.releasing import load_release, show_comparison
from sfumato.cli.screen import JsonOption, answering, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.evaluate.points import PointsEvaluation
    from sfumato.spatial.histogram import SpatialHistogram


def evaluate(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The private points: CSV (.gz, .xz) or Parquet.")
    ],
    release: ReleaseArgument,
    schema: OwnSchemaOption = None,
    queries: Annotated[
        int, typer.Option(help="How many random boxes of each size to count.", min=1)
    ] = 1000,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private points. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.evaluate.points import evaluate as compare
        from sfumato.spatial.histogram import SpatialHistogram

        made: SpatialHistogram = load_release(
            screen, release, SpatialHistogram, "only a release of points is compared with points"
        )
        declared = made.public if schema is None else read_declared(schema)
        points = read_points_as(screen, file, declared, engine, separator)
        with screen.working("comparing"):
            outcome = compare(points, made, queries=queries)
        show_comparison(screen, outcome.to_json(), lambda console: _show(console, outcome))


def _show(console: Console, outcome: PointsEvaluation) -> None:
    """Print how far a release is from the truth."""
    console.print(f"{outcome.points:,} points; {outcome.total:,.1f} in the release.")
    rows = []
    for item in outcome.boxes:
        figures = item.to_json()
        low, high = item.share
        rows.append(
            (
                f"{len(item.absolute):,} {item.size}",
                f"{100 * low:g} % to {100 * high:g} %",
                f"{figures['average_absolute_error']:,.2f} points",
                f"{100 * figures['average_relative_error']:.2f} %",
                f"{100 * figures['median_relative_error']:.2f} %",
            )
        )
    head = ("boxes", "share of the domain", "average error", "relative", "median")
    print_table(console, head, rows)
    console.print(
        "Relative errors are percentages of the true count, or of a thousandth of all points "
        "where that is more.",
        style="dim",
        soft_wrap=not console.is_terminal,
    )
