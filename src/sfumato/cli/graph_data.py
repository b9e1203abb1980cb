"""Private graphs and their public nodes, as the command line names them.

A graph has no schema: all that is public about it are its nodes, and they are declared by one
option.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.schema_files import read_list
from sfumato.cli.table_names import names_in

if TYPE_CHECKING:
    from sfumato.cli.screen import Screen
    from sfumato.data.graph import Graph
    from sfumato.data.graph_public import GraphPublic

#: Says that the nodes are those that some edge names; `sfumato.data.graph` has the same word.
NAMED = "named"
Nodes = int | str | Sequence[int | str]

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="The private edges, two nodes a line: plain text, .gz or .xz."
    ),
]
MaybeFileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="The private edges; they are read only to find the nodes of --nodes named.",
    ),
]
NodesOption = Annotated[
    str,
    typer.Option(
        metavar="N|named|FILE",
        help="The public nodes: how many, if they are 0, 1, 2, …; a file that lists them, one a "
        "line; or named, to take them from FILE: which nodes have an edge is then not protected.",
        show_default=False,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FIRST,SECOND",
        help="FILE is a table, CSV or Parquet, and these two columns name the nodes.",
    ),
]
CommentOption = Annotated[
    str, typer.Option(metavar="TEXT", help="Lines of FILE that begin with this are no edges.")
]
SkipLinesOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="How many lines at the head of FILE are no records: 1 for the header of an edge list.",
        min=0,
        show_default=False,
    ),
]


class Layout(NamedTuple):
    """How the private edges are written.

    Parameters
    ----------
    columns, comment, skip_lines
        What the options said.
    """

    columns: str | None
    comment: str
    skip_lines: int | None


def read_public(screen: Screen, nodes: str, file: Path | None, layout: Layout) -> GraphPublic:
    """Return what is public about a graph; the edges are read only if they name its nodes.

    Parameters
    ----------
    screen
        Where progress is shown.
    nodes
        What `--nodes` said.
    file
        The private edges.
    layout
        How they are written.
    """
    from sfumato.data.graph import Graph

    declared = declared_nodes(nodes)
    if declared != NAMED:
        return Graph([], declared).public
    if file is None:
        raise Refusal(ExitCode.USAGE, f"--nodes {NAMED} takes the nodes from FILE; name it")
    return read_private(screen, file, nodes, layout).public


def read_private(screen: Screen, file: Path, nodes: str, layout: Layout) -> Graph:
    """Read a private graph.

    Parameters
    ----------
    screen
        Where progress is shown.
    file
        The private edges.
    nodes
        What `--nodes` said.
    layout
        How the edges are written.
    """
    declared = declared_nodes(nodes)
    if declared == NAMED:
        screen.note(
            f"--nodes {NAMED}: which nodes have an edge is not protected, and the guarantee says "
            "so. Where that is a secret, list all nodes there could be instead."
        )
    return _read(screen, file, declared, layout)


def read_declared(screen: Screen, file: Path, public: GraphPublic, layout: Layout) -> Graph:
    """Read a private graph whose nodes a release or a ledger knows already."""
    return _read(screen, file, public.labels or public.nodes, layout)


def _read(screen: Screen, file: Path, nodes: Nodes, layout: Layout) -> Graph:
    from sfumato.data.graph import read_graph

    ends = None if layout.columns is None else _two(layout.columns)
    with screen.working(f"reading {file.name}"):
        return read_graph(
            file, nodes, columns=ends, comment=layout.comment, skip_lines=layout.skip_lines
        )


def declared_nodes(text: str) -> Nodes:
    """Return the nodes that `--nodes` declares: how many, their names, or the word `named`."""
    if text == NAMED:
        return NAMED
    if text.isascii() and text.isdecimal():
        return int(text)
    path = Path(text)
    if not path.is_file():
        raise Refusal(
            ExitCode.USAGE,
            f"--nodes says how many nodes there are, names a file that lists them, or is {NAMED}; "
            f"there is no file {text!r}",
        )
    return _listed(path)


def _listed(path: Path) -> list[str]:
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


def _two(columns: str) -> tuple[str, ...]:
    """Return the columns of the two ends of an edge."""
    found = names_in(columns, example='caller,"called, if any"')
    if len(found) != 2:
        raise Refusal(
            ExitCode.USAGE, f"an edge has two ends: --columns FIRST,SECOND; got {len(found)} names"
        )
    return found
