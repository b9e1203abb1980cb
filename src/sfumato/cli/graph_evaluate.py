"""`sfumato graph evaluate`: compare a release with the private graph. Not private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.graph_data import (
    ColumnsOption,
    CommentOption,
    FileArgument,
    Layout,
    SkipLinesOption,
    read_declared,
)
from sfumato.cli.options import PICTURES, ReleaseArgument, refuse_unwritable
from sfumato.cli.pictures import save_picture
from sfumato.cli.releasing import rebuilt
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.graph import Graph
    from sfumato.evaluate.graph import Comparison, GraphEvaluation

#: Whole numbers up to here are exact in floating point.
WHOLE = 2**53


def evaluate(
    file: FileArgument,
    release: ReleaseArgument,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw what a count could have been released as, or both distributions of degrees, "
            "as .svg, .png or .pdf. Not private either.",
        ),
    ] = None,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private graph. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.evaluate.graph import COMPARED, WARNING, evaluate_graph

        refuse_unwritable(picture, PICTURES, option="--picture")
        needs = (
            "only a release of a graph that is made of numbers is compared (made-up graphs and "
            "spectra by `sfumato graph compare`)"
        )
        made: Any = rebuilt(screen, release, COMPARED, needs)
        if made.provenance.public.kind != "graph":
            raise Refusal(ExitCode.USAGE, f"{needs}; {release} is of {made.provenance.public.kind}")
        graph = read_declared(
            screen, file, made.provenance.public, Layout(columns, comment, skip_lines)
        )
        with screen.working("comparing"):
            outcome = evaluate_graph(graph, made)
            if picture is not None:
                _draw(graph, made, picture)
        if as_json:
            screen.note(WARNING, style="bold red")
        document = {**outcome.to_json(), "picture": None if picture is None else str(picture)}
        screen.answer(document, lambda console: _show(console, outcome, WARNING, picture))


def _draw(graph: Graph, made: Any, path: Path) -> None:
    """Draw a release beside the truth. Not private."""
    from sfumato.evaluate.graph_pictures import picture

    save_picture(picture(graph, made), path)


def _show(console: Console, outcome: GraphEvaluation, warning: str, picture: Path | None) -> None:
    """Print how far a release is from the truth, with the label it must carry."""
    wrap = not console.is_terminal
    console.print(warning, style="bold red", soft_wrap=wrap)
    for item in outcome.comparisons:
        for line in _lines(item):
            console.print(line, soft_wrap=wrap)
    console.print(
        f"Left out when the edges were read: {outcome.dropped.loops:,} loops and "
        f"{outcome.dropped.repeated:,} repetitions.",
        style="dim",
        soft_wrap=wrap,
    )
    if picture is not None:
        console.print(f"Drawn, not private either: {picture}", soft_wrap=True)


def _lines(item: Comparison) -> list[str]:
    errors = item.errors
    if len(errors) == 0:
        return [f"{item.what}: there are none, so nothing is off."]
    if len(errors) > 1:
        return [
            f"{item.what}: {len(errors):,} numbers, off by {errors.mean():,.4g} on average and by "
            f"{errors.max():,.4g} at most."
        ]
    lines = [
        f"{item.what}: {_figure(item.released[0])} was released, {_figure(item.truth[0])} is the "
        f"truth; off by {_figure(errors[0])}."
    ]
    if item.expected is not None:
        lines.append(
            f"Half of such releases are off by {item.expected[0]:,} or less, 19 in 20 by "
            f"{item.expected[1]:,} or less."
        )
    return lines


def _figure(value: float) -> str:
    """Return a number as it is read: whole ones in full, unless they are huge."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < WHOLE else f"{value:,.6g}"
