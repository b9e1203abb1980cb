"""`sfumato graph evaluate | compare`: a release beside the private graph. Not private."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
from sfumato.cli.releasing import load_release, show_comparison
from sfumato.cli.screen import JsonOption, answering, print_table, save_picture

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.evaluate.graph import Comparison, GraphEvaluation
    from sfumato.evaluate.spectrum import SpectrumComparison
    from sfumato.evaluate.synthetic_graph import GraphComparison

#: Whole numbers up to here are exact in floating point.
WHOLE = 2**53


def evaluate(
    file: FileArgument,
    release: ReleaseArgument,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the range of possible releases around the true count, or both degree "
            "distributions, as .svg, .png or .pdf. Not private.",
        ),
    ] = None,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private graph. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.evaluate.graph import COMPARED, evaluate_graph
        from sfumato.evaluate.graph_pictures import picture as draw

        refuse_unwritable(picture, PICTURES, option="--picture")
        needs = (
            "only releases of numbers about a graph are compared here (synthetic graphs and "
            "spectra by `sfumato graph compare`)"
        )
        made: Any = load_release(screen, release, COMPARED, needs)
        if made.provenance.public.kind != "graph":
            raise Refusal(ExitCode.USAGE, f"{needs}; {release} is of {made.provenance.public.kind}")
        graph = read_declared(
            screen, file, made.provenance.public, Layout(columns, comment, skip_lines)
        )
        with screen.working("comparing"):
            outcome = evaluate_graph(graph, made)
            if picture is not None:
                save_picture(draw(graph, made), picture)
        document = {**outcome.to_json(), "picture": None if picture is None else str(picture)}
        show_comparison(screen, document, lambda console: _show(console, outcome, picture))


def _show(console: Console, outcome: GraphEvaluation, picture: Path | None) -> None:
    """Print how far a release is from the truth."""
    wrap = not console.is_terminal
    for item in outcome.comparisons:
        for line in _lines(item):
            console.print(line, soft_wrap=wrap)
    console.print(
        f"Left out when the edges were read: {outcome.dropped.loops:,} loops and "
        f"{outcome.dropped.repeated:,} repetitions.",
        style="dim",
        soft_wrap=wrap,
    )
    _show_picture(console, picture)


def _show_picture(console: Console, picture: Path | None) -> None:
    if picture is not None:
        console.print(f"Picture (not private): {picture}", soft_wrap=True)


def _lines(item: Comparison) -> list[str]:
    errors = item.errors
    if len(errors) == 0:
        return [f"{item.what}: nothing to compare."]
    if len(errors) > 1:
        return [
            f"{item.what}: {len(errors):,} numbers, off by {errors.mean():,.4g} on average and by "
            f"{errors.max():,.4g} at most."
        ]
    lines = [
        f"{item.what}: {_number(item.released[0])} was released, {_number(item.truth[0])} is the "
        f"truth; off by {_number(errors[0])}."
    ]
    if item.expected is not None:
        lines.append(
            f"Half of all such releases are off by {item.expected[0]:,} or less, 19 in 20 by "
            f"{item.expected[1]:,} or less."
        )
    return lines


def _number(value: float) -> str:
    """Return a number as it is read: whole ones in full, unless they are huge."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < WHOLE else f"{value:,.6g}"


def compare(
    file: FileArgument,
    release: ReleaseArgument,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw both side by side, as .svg, .png or .pdf. Not private.",
        ),
    ] = None,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a synthetic graph or a spectrum with the private graph. NOT PRIVATE."""
    with answering(as_json) as screen:
        from sfumato.evaluate import graph_pictures, spectrum, synthetic_graph
        from sfumato.graph.spectrum_release import SpectrumRelease
        from sfumato.graph.synthetic import SyntheticGraph

        refuse_unwritable(picture, PICTURES, option="--picture")
        made: Any = load_release(
            screen,
            release,
            (SyntheticGraph, SpectrumRelease),
            "only synthetic graphs and spectra are compared as a whole (numbers about a graph by "
            "`sfumato graph evaluate`)",
        )
        graph = read_declared(
            screen, file, made.provenance.public, Layout(columns, comment, skip_lines)
        )
        outcome: Any
        show: Callable[[Console, Any], None]
        with screen.working("comparing"):
            if isinstance(made, SyntheticGraph):
                outcome, show = synthetic_graph.compare(graph, made), _show_graphs
                figure = partial(graph_pictures.draw_comparison, graph, made, outcome)
            else:
                outcome, show = spectrum.compare_spectrum(graph, made), _show_spectra
                figure = partial(spectrum.draw_spectrum, outcome)
            if picture is not None:
                save_picture(figure(), picture)
        document = {**outcome.to_json(), "picture": None if picture is None else str(picture)}

        def show_all(console: Console) -> None:
            show(console, outcome)
            _show_picture(console, picture)

        show_comparison(screen, document, show_all)


def _show_graphs(console: Console, outcome: GraphComparison) -> None:
    """Print what either graph is like, and how far their degrees are apart."""
    wrap = not console.is_terminal
    rows = [
        (what, _figure(truth), _figure(drawn), _off(truth, drawn))
        for what, truth, drawn in outcome.rows()
    ]
    print_table(console, ("", "private graph", "synthetic graph", "off by"), rows, right=(1, 2, 3))
    apart = outcome.distances
    console.print(
        f"Degrees: {apart.degrees:.1%} of the nodes would have to change their degree; a degree "
        f"is off by {apart.degree_shift:.3g} on average, both sequences sorted.",
        soft_wrap=wrap,
    )
    console.print(
        f"Edges by the degrees of their ends: {apart.joint_degrees:.1%} would have to change, "
        f"{apart.grouped_joint_degrees:.1%} with degrees grouped as 1, 2–3, 4–7, ….",
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
    wrap = not console.is_terminal
    turned = outcome.cosines
    head = ("", "eigenvalue", "released", *(() if turned is None else ("cosine",)))
    rows = []
    for place, (truth, told) in enumerate(
        zip(outcome.truth.eigenvalues, outcome.released, strict=True)
    ):
        cells = [str(place + 1), f"{truth:,.4g}", f"{told:,.4g}"]
        rows.append((*cells, *(() if turned is None else (f"{turned[place]:.3f}",))))
    print_table(console, head, rows, right=range(len(head)))
    console.print(f"Eigenvalues are off by {outcome.value_distance:,.4g} in all.", soft_wrap=wrap)
    if outcome.captured is not None:
        console.print(
            f"The release captures {outcome.captured:.1%} of the space of the true eigenvectors.",
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
