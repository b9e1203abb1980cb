"""`sfumato graph stats`: a statistic of a graph that is written as a formula."""

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
    NodesOption,
    SkipLinesOption,
)
from sfumato.cli.graph_methods import FORMULA
from sfumato.cli.graph_release import spend
from sfumato.cli.methods import SetOption, chosen
from sfumato.cli.options import EpsilonOption, KeyOption, LedgerOption, OutOption, ReportOption
from sfumato.cli.schema_files import read_list
from sfumato.cli.screen import JsonOption, answering

if TYPE_CHECKING:
    from sfumato.data.graph_public import GraphPublic
    from sfumato.privacy.method import AnyMethod

ExpressionOption = Annotated[
    str,
    typer.Option(
        metavar="FORMULA",
        help="What is released, such as '3 * triangles / wedges', 'density' or "
        "'triangles(v) / choose2(degree(v))'.",
    ),
]


def stats(
    file: FileArgument,
    expression: ExpressionOption,
    epsilon: EpsilonOption,
    nodes: NodesOption,
    out: OutOption,
    node: Annotated[
        str | None, typer.Option(metavar="NODE", help="What v stands for in the formula.")
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A public file with a node and its group on each line, for blocks and modularity.",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Needed where one number for each node gets noise that follows the graph.",
        ),
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
    """Release a statistic that is written as a formula; its parts share epsilon."""

    def recipe(public: GraphPublic) -> AnyMethod:
        given: dict[str, Any] = {
            "expression": expression,
            "delta": delta,
            "node": None if node is None else _named(node),
            "groups": None if groups is None else _groups(groups, public),
        }
        told = {name: value for name, value in given.items() if value is not None}
        return chosen(public, FORMULA, epsilon=epsilon, further=further, given=told)

    with answering(as_json) as screen:
        spend(
            screen, recipe,
            file=file, nodes=nodes, layout=Layout(columns, comment, skip_lines),
            out=out, ledger=ledger, key=key, report=report,
        )  # fmt: skip


def _named(text: str) -> int | str:
    """Return a node as it is named: a whole number, if it is written as one, or a text."""
    whole = text.isascii() and text.isdecimal() and str(int(text)) == text
    return int(text) if whole else text


def _groups(path: Path, public: GraphPublic) -> list[int | str]:
    """Return the group of each node, in order, from a public file that names both."""
    found: dict[str, str] = {}
    places = {public.label(place) for place in range(public.nodes)}
    for number, line in enumerate(read_list(path).splitlines(), start=1):
        if not line.strip():
            continue
        mark = next((mark for mark in ",;\t" if mark in line), None)  # names may hold blanks
        parts = [part.strip() for part in line.split(mark)]
        if len(parts) != 2:
            raise Refusal(
                ExitCode.DATA, f"{path.name}, line {number}: write a node and its group, no more"
            )
        if parts[0] not in places or parts[0] in found:
            why = "is named before" if parts[0] in found else "is not declared"
            raise Refusal(ExitCode.DATA, f"{path.name}, line {number}: the node {parts[0]!r} {why}")
        found[parts[0]] = parts[1]
    missing = [label for label in map(public.label, range(public.nodes)) if label not in found]
    if missing:
        raise Refusal(
            ExitCode.DATA,
            f"{path.name}: {len(missing)} nodes have no group, the first of them {missing[0]!r}",
        )
    return [found[public.label(place)] for place in range(public.nodes)]
