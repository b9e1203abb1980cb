"""`sfumato graph plan | rehearse | release`: before, without, and with spending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.graph_data import (
    ColumnsOption,
    CommentOption,
    FileArgument,
    Layout,
    MaybeFileArgument,
    NodesOption,
    SkipLinesOption,
    read_private,
    read_public,
)
from sfumato.cli.graph_methods import MethodOption, chosen_method
from sfumato.cli.methods import SetOption
from sfumato.cli.options import (
    EpsilonOption,
    KeyOption,
    LedgerOption,
    OutOption,
    RehearsalOption,
    ReportOption,
)
from sfumato.cli.releasing import opened_ledger, planned, rehearsed, released, usable_key
from sfumato.cli.screen import JsonOption, Screen, answering

if TYPE_CHECKING:
    from sfumato.data.graph_public import GraphPublic
    from sfumato.graph.degrees import DegreeRelease
    from sfumato.mechanisms.expression.release import StatisticRelease
    from sfumato.privacy.method import AnyMethod
    from sfumato.privacy.release import Release

MadeUpEdgesOption = Annotated[
    int | None, typer.Option(help="How many edges to make up; 1000 by default.", min=0)
]


def plan(
    epsilon: EpsilonOption,
    nodes: NodesOption,
    file: MaybeFileArgument = None,
    method: MethodOption = None,
    further: SetOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a release would cost and how good it would be. Looks at the nodes only."""
    with answering(as_json) as screen:
        public = read_public(screen, nodes, file, Layout(columns, comment, skip_lines))
        recipe = chosen_method(public, method=method, epsilon=epsilon, further=further)
        planned(screen, recipe, public)


def rehearse(
    epsilon: EpsilonOption,
    nodes: NodesOption,
    file: MaybeFileArgument = None,
    method: MethodOption = None,
    further: SetOption = None,
    rows: MadeUpEdgesOption = None,
    out: RehearsalOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole release on made-up edges. Free: it looks at the nodes only."""
    with answering(as_json) as screen:
        public = read_public(screen, nodes, file, Layout(columns, comment, skip_lines))
        recipe = chosen_method(public, method=method, epsilon=epsilon, further=further)
        rehearsed(screen, recipe, public, rows=rows, out=out, facts=facts)


def release(
    file: FileArgument,
    epsilon: EpsilonOption,
    nodes: NodesOption,
    out: OutOption,
    method: MethodOption = None,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release a statistic of the graph: book the loss, add noise, certify and save it."""
    with answering(as_json) as screen:
        spend(
            screen,
            lambda public: chosen_method(public, method=method, epsilon=epsilon, further=further),
            file=file, nodes=nodes, layout=Layout(columns, comment, skip_lines),
            out=out, ledger=ledger, key=key, report=report,
        )  # fmt: skip


def spend(
    screen: Screen,
    recipe: Callable[[GraphPublic], AnyMethod],
    *,
    file: Path,
    nodes: str,
    layout: Layout,
    out: Path,
    ledger: Path | None,
    key: Path | None,
    report: bool,
) -> None:
    """Release a graph by a method that is chosen when its nodes are known.

    Parameters
    ----------
    screen
        Where the answer is shown.
    recipe
        Returns the method, checked against what is public.
    file, nodes, layout
        The private edges, and how they are read.
    out, ledger, key, report
        What the options of every release said.
    """
    # Whatever can be refused is refused before anything is spent.
    signing = usable_key(key)
    book = opened_ledger(screen, ledger)
    graph = read_private(screen, file, nodes, layout)
    released(
        screen, recipe(graph.public), graph,
        out=out, book=book, signing=signing, report=report, facts=facts,
    )  # fmt: skip


def facts(made: Release) -> dict[str, Any]:
    """Return what only a release of its kind can tell."""
    from sfumato.graph.degrees import DegreeRelease
    from sfumato.graph.number import NumberRelease
    from sfumato.graph.spectrum_release import SpectrumRelease
    from sfumato.graph.summary import SummaryRelease
    from sfumato.graph.synthetic import SyntheticGraph
    from sfumato.mechanisms.expression.release import StatisticRelease

    if isinstance(made, NumberRelease):
        return {
            "what": made.what,
            "value": made.value,
            "possible": made.possible,
            "margin": made.margin,
        }
    if isinstance(made, StatisticRelease):
        return _estimate(made)
    if isinstance(made, DegreeRelease):
        return _degrees(made)
    if isinstance(made, SummaryRelease):
        return {
            "edges": made.edges.value,
            "triangles": made.triangles.value,
            "density": made.density,
            "transitivity": made.transitivity,
            "degrees": _degrees(made.degree_release),
        }
    if isinstance(made, SyntheticGraph):
        return {
            "model": made.model.kind,
            "nodes": made.graph.nodes,
            "edges": made.graph.edges,
            "moved": made.moved,
        }
    if isinstance(made, SpectrumRelease):
        return {
            "eigenvalues": made.eigenvalues.tolist(),
            "detectable": None if made.detectable is None else made.detectable.tolist(),
            "eigenvectors": made.parts.eigenvectors is not None,
            "edges": made.edges,
        }
    return {}


def _degrees(made: DegreeRelease) -> dict[str, Any]:
    """Return what there is to tell of degrees: how many nodes have 0, 1, 2, … neighbours."""
    return {
        "nodes": len(made.degrees),
        "mean": made.mean,
        "histogram": made.histogram.tolist(),
        "margin": made.margin,
    }


def _estimate(made: StatisticRelease) -> dict[str, Any]:
    """Return a statistic for programs; of a vector, whose entries are in a file, their number."""
    if made.entries:
        return {"expression": made.expression, "entries": len(made.entries)}
    return {
        "expression": made.expression,
        "value": made.value,
        "standard_error": made.standard_error,
        "bias": made.bias,
    }
