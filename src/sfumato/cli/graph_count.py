"""`sfumato graph count`: how many triangles, stars, cliques or k-triangles a graph has."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from sfumato.cli.graph_data import (
    ColumnsOption,
    CommentOption,
    FileArgument,
    Layout,
    NodesOption,
    SkipLinesOption,
)
from sfumato.cli.graph_release import spend
from sfumato.cli.methods import SetOption, chosen
from sfumato.cli.options import EpsilonOption, KeyOption, LedgerOption, OutOption, ReportOption
from sfumato.cli.screen import JsonOption, answering


class ShapeChoice(StrEnum):
    """What can be counted."""

    TRIANGLE = "triangle"
    STAR = "star"
    CLIQUE = "clique"
    K_TRIANGLE = "k-triangle"


def count(
    file: FileArgument,
    epsilon: EpsilonOption,
    nodes: NodesOption,
    out: OutOption,
    shape: Annotated[
        ShapeChoice,
        typer.Option(
            help="Triangles; stars, a node with k neighbours; cliques, k nodes all joined; or "
            "k-triangles, k triangles on one edge."
        ),
    ] = ShapeChoice.TRIANGLE,
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="The size of a star, a clique or a k-triangle.", min=2),
    ] = None,
    further: SetOption = None,
    ledger: LedgerOption = None,
    key: KeyOption = None,
    report: ReportOption = True,
    columns: ColumnsOption = None,
    comment: CommentOption = "#",
    skip_lines: SkipLinesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release how many subgraphs of a shape there are, with noise that hides any one edge."""
    with answering(as_json) as screen:
        given: dict[str, Any] = {"shape": shape.value} | ({} if k is None else {"k": k})
        spend(
            screen,
            lambda public: chosen(
                public, "graph.SubgraphCount", epsilon=epsilon, further=further, given=given
            ),
            file=file, nodes=nodes, layout=Layout(columns, comment, skip_lines),
            out=out, ledger=ledger, key=key, report=report,
        )  # fmt: skip
