"""Private graphs and their public nodes, as the command line names them.

A graph has no schema: all that is public about it are its nodes, and they are declared by one
option.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import parse_names
from sfumato.cli.schemas import read_list

if TYPE_CHECKING:
    from sfumato.cli.screen import Screen
    from sfumato.data.graph import Graph
    from sfumato.data.graph_public import GraphPublic

#: Says that the nodes are those that some edge names; `sfumato.data.graph` has the same word.
NAMED = "named"
Nodes = int | str | Sequence[int | str]

NodesOption = Annotated[
    str,
    typer.Option(
        metavar="N|named|FILE",
        help="The public nodes: their number, if they are 0, 1, 2, …; a file that lists them, one "
        "per line; or named, to take them from FILE: then which nodes have an edge is not "
        "protected.",
        show_default=False,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FIRST,SECOND",
        help="The two columns that hold the nodes, if FILE is a CSV or Parquet table.",
    ),
]
CommentOption = Annotated[
    str, typer.Option(metavar="TEXT", help="Skip lines of FILE that begin with this.")
]
SkipLinesOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="The number of lines to skip at the start of FILE: 1 for the header of an edge list.",
        min=0,
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Layout:
    """How private edges are written in a file."""

    columns: ColumnsOption = None
    comment: CommentOption = "#"
    skip_lines: SkipLinesOption = None


@dataclass(frozen=True, kw_only=True)
class GraphOptions(Layout):
    """What is public about a graph, and how its edges are read."""

    nodes: NodesOption


def read_public(screen: Screen, file: Path | None, options: GraphOptions) -> GraphPublic:
    """Return what is public about a graph; the edges are read only if they name its nodes."""
    from sfumato.data.graph import Graph

    declared = parse_nodes(options.nodes)
    if declared != NAMED:
        return Graph([], declared).public
    if file is None:
        raise Refusal(ExitCode.USAGE, f"--nodes {NAMED} takes the nodes from FILE; give FILE")
    return read_private(screen, file, options).public


def read_private(screen: Screen, file: Path, options: GraphOptions, reading: Any = None) -> Graph:
    """Read a private graph."""
    declared = parse_nodes(options.nodes)
    if declared == NAMED:
        screen.note(
            f"--nodes {NAMED}: which nodes have an edge is not protected, and the guarantee "
            "states this. If that is private, list all possible nodes instead."
        )
    return _read(screen, file, declared, options)


def read_known(screen: Screen, file: Path, public: GraphPublic, layout: Layout) -> Graph:
    """Read a private graph whose nodes a release or a ledger knows already."""
    return _read(screen, file, public.labels or public.nodes, layout)


def _read(screen: Screen, file: Path, nodes: Nodes, layout: Layout) -> Graph:
    from sfumato.data.graph import read_graph

    ends = None if layout.columns is None else _parse_ends(layout.columns)
    with screen.working(f"reading {file.name}"):
        return read_graph(
            file, nodes, columns=ends, comment=layout.comment, skip_lines=layout.skip_lines
        )


def parse_nodes(text: str) -> Nodes:
    """Return the nodes that `--nodes` declares: how many, their names, or the word `named`."""
    if text == NAMED:
        return NAMED
    if text.isascii() and text.isdecimal():
        return int(text)
    path = Path(text)
    if not path.is_file():
        raise Refusal(
            ExitCode.USAGE,
            f"--nodes must be the number of nodes, a file that lists them, or {NAMED}; "
            f"there is no file {text!r}",
        )
    return _read_nodes(path)


def _read_nodes(path: Path) -> list[str]:
    """Return the nodes that a public file lists."""
    names: dict[str, int] = {}
    for number, line in enumerate(read_list(path).splitlines(), start=1):
        name = line.strip()
        if name in names:
            raise Refusal(
                ExitCode.DATA, f"{path.name}, line {number}: the node is on line {names[name]} too"
            )
        if name:
            names[name] = number
    return list(names)


def _parse_ends(columns: str) -> tuple[str, ...]:
    """Return the columns of the two ends of an edge."""
    found = parse_names(columns, example='caller,"called, if any"')
    if len(found) != 2:
        raise Refusal(
            ExitCode.USAGE, f"an edge has two ends: --columns FIRST,SECOND; got {len(found)} names"
        )
    return found
