"""`sfumato points evaluate`: compare a release with the private points. Not private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    OwnSchemaOption,
    ReleaseArgument,
    SeparatorOption,
)
from sfumato.cli.points_methods import FileArgument
from sfumato.cli.points_schema import read_declared, read_private
from sfumato.cli.releasing import rebuilt
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.evaluate.points import PointsEvaluation
    from sfumato.spatial.histogram import SpatialHistogram


def evaluate(
    file: FileArgument,
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
        from sfumato.evaluate.warning import WARNING
        from sfumato.spatial.histogram import SpatialHistogram

        made: SpatialHistogram = rebuilt(
            screen, release, SpatialHistogram, "only a release of points is compared with points"
        )
        declared = made.public if schema is None else read_declared(schema)
        points = read_private(screen, file, declared, engine, separator)
        with screen.working("comparing"):
            outcome = compare(points, made, queries=queries)
        if as_json:
            screen.note(WARNING, style="bold red")
        screen.answer(outcome.to_json(), lambda console: _show(console, outcome, WARNING))


def _show(console: Console, outcome: PointsEvaluation, warning: str) -> None:
    """Print how far a release is from the truth, with the label it must carry."""
    from rich import box
    from rich.table import Table

    wrap = not console.is_terminal
    console.print(warning, style="bold red", soft_wrap=wrap)
    console.print(f"{outcome.points:,} points; the release tells {outcome.total:,.1f}.")
    grid = Table(
        "boxes", "share of the domain", "average error", "relative", "median", box=box.SIMPLE_HEAD
    )
    for item in outcome.boxes:
        figures = item.to_json()
        low, high = item.share
        grid.add_row(
            f"{len(item.absolute):,} {item.size}",
            f"{100 * low:g} % to {100 * high:g} %",
            f"{figures['average_absolute_error']:,.2f} points",
            f"{100 * figures['average_relative_error']:.2f} %",
            f"{100 * figures['median_relative_error']:.2f} %",
        )
    console.print(grid)
    console.print(
        "Relative errors are percentages of the true count, or of a thousandth of all points "
        "where that is more.",
        style="dim",
        soft_wrap=wrap,
    )
