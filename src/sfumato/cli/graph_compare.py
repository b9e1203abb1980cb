"""`sfumato graph compare`: a made-up graph or a spectrum beside the private graph. Not private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    from sfumato.evaluate.spectrum import SpectrumComparison
    from sfumato.evaluate.synthetic_graph import GraphComparison


def compare(
    file: FileArgument,
    release: ReleaseArgument,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw both side by side, as .svg, .png or .pdf. Not private either.",
        ),
    ] = None,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a made-up graph or a spectrum with the private graph. NOT PRIVATE."""
    with answering(as_json) as screen:
        from sfumato.evaluate.warning import WARNING
        from sfumato.graph.spectrum_release import SpectrumRelease
        from sfumato.graph.synthetic import SyntheticGraph

        refuse_unwritable(picture, PICTURES, option="--picture")
        made: Any = rebuilt(
            screen,
            release,
            (SyntheticGraph, SpectrumRelease),
            "only made-up graphs and spectra are compared as a whole (numbers about a graph by "
            "`sfumato graph evaluate`)",
        )
        graph = read_declared(
            screen, file, made.provenance.public, Layout(columns, comment, skip_lines)
        )
        with screen.working("comparing"):
            outcome: Any = _outcome(graph, made)
            if picture is not None:
                _draw(graph, made, outcome, picture)
        if as_json:
            screen.note(WARNING, style="bold red")
        document = {**outcome.to_json(), "picture": None if picture is None else str(picture)}

        def show(console: Console) -> None:
            console.print(WARNING, style="bold red", soft_wrap=not console.is_terminal)
            if isinstance(made, SyntheticGraph):
                _show_graphs(console, outcome)
            else:
                _show_spectra(console, outcome)
            if picture is not None:
                console.print(f"Drawn, not private either: {picture}", soft_wrap=True)

        screen.answer(document, show)


def _outcome(graph: Graph, made: Any) -> GraphComparison | SpectrumComparison:
    """Compare a release of either kind with the private graph. Not private."""
    from sfumato.graph.synthetic import SyntheticGraph

    if isinstance(made, SyntheticGraph):
        from sfumato.evaluate.synthetic_graph import compare as compared

        return compared(graph, made)
    from sfumato.evaluate.spectrum import compare_spectrum

    return compare_spectrum(graph, made)


def _draw(graph: Graph, made: Any, outcome: Any, path: Path) -> None:
    """Draw a release beside the private graph. Not private."""
    from sfumato.graph.synthetic import SyntheticGraph

    if isinstance(made, SyntheticGraph):
        from sfumato.evaluate.synthetic_graph_pictures import draw_comparison

        save_picture(draw_comparison(graph, made, outcome), path)
        return
    from sfumato.evaluate.spectrum import draw_spectrum

    save_picture(draw_spectrum(outcome), path)


def _show_graphs(console: Console, outcome: GraphComparison) -> None:
    """Print what either graph is like, and how far their degrees are apart."""
    from rich import box
    from rich.table import Table

    wrap = not console.is_terminal
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("")
    for head in ("private graph", "made-up graph", "off by"):
        grid.add_column(head, justify="right")
    for what, truth, drawn in outcome.rows():
        grid.add_row(what, _figure(truth), _figure(drawn), _off(truth, drawn))
    console.print(grid)
    apart = outcome.distances
    console.print(
        f"Degrees: {apart.degrees:.1%} of the nodes would have to have another degree; a degree is "
        f"off by {apart.degree_shift:.3g} on average, both in order.",
        soft_wrap=wrap,
    )
    console.print(
        f"Edges by the degrees of their ends: {apart.joint_degrees:.1%} would have to be of "
        f"another kind, {apart.grouped_joint_degrees:.1%} with degrees taken as 1, 2–3, 4–7, ….",
        soft_wrap=wrap,
    )
    if outcome.subspaces is not None:
        turned = ", ".join(f"{cosine:.2f}" for cosine in outcome.subspaces.cosines)
        console.print(
            f"Leading eigenvectors: {outcome.subspaces.captured:.1%} of their subspace is captured "
            f"(cosines {turned}).",
            soft_wrap=wrap,
        )


def _show_spectra(console: Console, outcome: SpectrumComparison) -> None:
    """Print both lists of eigenvalues, and how far the eigenvectors were turned."""
    from rich import box
    from rich.table import Table

    wrap = not console.is_terminal
    grid = Table(box=box.SIMPLE_HEAD)
    turned = outcome.cosines
    for head in ("", "eigenvalue", "released", *(() if turned is None else ("cosine",))):
        grid.add_column(head, justify="right")
    for place, (truth, told) in enumerate(
        zip(outcome.truth.eigenvalues, outcome.released, strict=True)
    ):
        cells = [str(place + 1), f"{truth:,.4g}", f"{told:,.4g}"]
        grid.add_row(*cells, *(() if turned is None else (f"{turned[place]:.3f}",)))
    console.print(grid)
    console.print(f"Eigenvalues are off by {outcome.value_distance:,.4g} in all.", soft_wrap=wrap)
    if outcome.captured is not None:
        console.print(
            f"Of the space of the true eigenvectors {outcome.captured:.1%} is captured.",
            soft_wrap=wrap,
        )
    drawn = outcome.reconstruction
    if drawn is not None:
        console.print(
            f"A graph drawn from it is at distance {drawn.distance:.4g} from the private one; "
            f"{drawn.best:.4g} from the true eigenvectors, {drawn.chance:.4g} by chance.",
            soft_wrap=wrap,
        )


def _figure(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


def _off(truth: float | None, drawn: float | None) -> str:
    """Return by which part of the truth a figure is off; nothing where there is no truth."""
    if truth is None or drawn is None or truth == 0:
        return "—"
    return f"{abs(drawn - truth) / abs(truth):.1%}"
