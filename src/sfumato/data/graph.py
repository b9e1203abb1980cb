"""A private simple undirected graph.

The set of nodes is public and declared; the edges are private. A graph is checked when it is built,
before any door: directions are forgotten, loops and repetitions are dropped and counted for the
custodian's eyes.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sfumato.data.graph_public import GraphPublic, Labels, Names, labels_in, labels_of
from sfumato.data.graph_reading import LEFT, RIGHT, Ends, ends_of, file_ends
from sfumato.data.public import ShowsPublic
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.engines.reading import series_of
from sfumato.noise.exact import briefly
from sfumato.privacy.canonical import canonical
from sfumato.privacy.forks import refuse_broken_fork

__all__ = ["NAMED", "Dropped", "Graph", "GraphPublic", "read_graph"]

NAMED = "named"
"""Says that the nodes are those that the private data name, and that this set is public."""

#: Edge lists with such names often have a header.
HEADED = (".csv", ".tsv")

Nodes = int | str | Sequence[Any] | None


class Dropped(NamedTuple):
    """What was left out of a graph. For the custodian's eyes only."""

    loops: int
    repeated: int


class Graph(ShowsPublic):
    """A private graph on public nodes.

    Parameters
    ----------
    edges
        An array of shape (edges, 2), a list of pairs, a frame of two columns, a SciPy sparse
        matrix, or a NetworkX or igraph graph. Directions, weights and repetitions are ignored,
        and loops are left out. The nodes of a matrix, and of an igraph graph without names, are
        called 0, 1, 2, …; entries of a matrix that are stored as 0 are not edges.
    nodes
        The public set of nodes: their number (names are then 0, 1, 2, …), or their names in any
        order. A name is a whole number or a text; the text `"7"` is the number 7. Names are
        published in sorted order: whole numbers first, then texts. `"named"` takes the node set
        from the private data, and declares it public: the nodes that occur in an edge, or all
        nodes of a matrix, a NetworkX or an igraph graph. Which nodes have an edge is then not
        protected, and the guarantee states this.
    adjacency
        Whether `edges` is a NumPy array with one entry per pair of nodes instead of one row per
        edge. It is never inferred from the shape. No entry may be negative.
    rows_about
        A public estimate of the number of edges, for plans.

    Raises
    ------
    DataError
        If an end of an edge is unknown or missing. The message gives the row, never the value.
    """

    __slots__ = ("_dropped", "_graph", "_public")

    _dropped: Dropped
    _graph: MemoryGraph
    _public: GraphPublic

    def __init__(
        self,
        edges: Any,
        nodes: Nodes = None,
        *,
        adjacency: bool = False,
        rows_about: int | None = None,
    ) -> None:
        refuse_broken_fork()
        self._take(ends_of(edges, adjacency=adjacency), nodes, rows_about)

    def _take(self, ends: Ends, nodes: Nodes, rows_about: int | None) -> None:
        columns = (Names.read(ends.left), Names.read(ends.right))
        public = _declare_public(ends, columns, nodes, rows_about)
        pairs = _code_ends(ends, columns, public)
        loops = pairs[:, 0] == pairs[:, 1]
        graph = MemoryGraph(pairs[~loops], nodes=public.nodes)
        kept = len(pairs) - int(loops.sum())
        self._fill(public, graph, Dropped(int(loops.sum()), kept - graph.edges))

    @classmethod
    def _of(cls, public: GraphPublic, graph: MemoryGraph) -> Graph:
        own = cls.__new__(cls)
        own._fill(public, graph, Dropped(0, 0))
        return own

    def _fill(self, public: GraphPublic, graph: MemoryGraph, dropped: Dropped) -> None:
        object.__setattr__(self, "_graph", graph)
        object.__setattr__(self, "_public", public)
        object.__setattr__(self, "_dropped", dropped)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a graph cannot be changed; build a new one")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private graph cannot be pickled; save a release of it instead")

    @property
    def public(self) -> GraphPublic:
        """What is public about it."""
        return self._public

    @property
    def counts(self) -> MemoryGraph:
        """The engine that counts in it. Private."""
        return self._graph

    @property
    def dropped(self) -> Dropped:
        """How many loops and repeated edges were left out. For the custodian's eyes only."""
        return self._dropped

    def digest(self, key: bytes) -> bytes:
        """Return HMAC-SHA256 of the nodes and all edges, which binds a ledger to the graph.

        Without the key it reveals nothing about the edges, not even whether a guess is right.
        """
        if len(key) < 16:
            raise ValueError(f"the key must have at least 16 bytes; got {len(key)}")
        code = hmac.new(key, digestmod=hashlib.sha256)
        # A guess at the number of edges says nothing about them.
        declared = canonical(replace(self._public, rows_about=None).to_json())
        pairs = self._graph.pairs()
        code.update(f"sfumato graph 1 {len(declared)} {len(pairs)} ".encode())
        code.update(declared)
        code.update(pairs.astype("<i8").tobytes())
        return code.digest()


def read_graph(
    path: str | Path,
    nodes: Nodes,
    *,
    columns: Sequence[str] | None = None,
    comment: str = "#",
    skip_lines: int | None = None,
    rows_about: int | None = None,
) -> Graph:
    """Read a private graph from an edge list (plain, .gz or .xz) or from two columns of a table.

    Parameters
    ----------
    path
        The file: two nodes per line, separated by blanks, a tab or a comma; the rest of a line
        is ignored.
    nodes
        As for `Graph`; `"named"` for the nodes that occur in the file, if that set is public.
    columns
        For a CSV or Parquet file: the two columns that hold the nodes.
    comment
        Lines that begin with this are skipped.
    skip_lines
        The number of lines to skip at the start of an edge list: 1 if it has a header. Headers
        are never guessed, so a `.csv` or `.tsv` file with `nodes="named"` needs this or
        `columns`.
    rows_about
        As for `Graph`.
    """
    refuse_broken_fork()
    place = Path(path)
    if skip_lines is not None and (type(skip_lines) is not int or skip_lines < 0):
        raise ValueError(f"skip_lines must be a whole number of at least 0; got {skip_lines!r}")
    if columns is not None and skip_lines:
        raise ValueError(
            "skip_lines is for edge lists; with columns=… the first line holds the column names"
        )
    undeclared = columns is None and skip_lines is None
    if undeclared and nodes == NAMED and place.suffix.lower() in HEADED:
        raise ValueError(
            f"say whether {place.name} has a header, or its words would become nodes: "
            "skip_lines = 1 (--skip-lines 1) if it has one, 0 if not, or name the two columns: "
            "columns = [first, second] (--columns first,second)"
        )
    graph = Graph.__new__(Graph)
    ends = file_ends(place, columns=columns, comment=comment, skip_lines=skip_lines or 0)
    graph._take(ends, nodes, rows_about)
    return graph


def _declare_public(
    ends: Ends, columns: tuple[Names, Names], nodes: Nodes, rows_about: int | None
) -> GraphPublic:
    """Return the public part that the arguments declare."""
    if nodes is None:
        raise ValueError(
            "the nodes are not declared: set nodes to their number, to a list of their names, or "
            f"nodes = {NAMED!r} to take them from the data, if it is public knowledge which of "
            "them have an edge at all"
        )
    named = isinstance(nodes, str) and nodes == NAMED
    chosen: Any = ends.own if named else nodes
    if named and not isinstance(ends.own, int):
        labels = labels_in(*columns) if ends.own is None else _own_labels(ends.own)
    elif isinstance(chosen, int | np.integer) and not isinstance(chosen, bool):
        return GraphPublic(nodes=int(chosen), named_by_edges=named, rows_about=rows_about)
    elif isinstance(chosen, Iterable) and not isinstance(chosen, str | bytes):
        labels = labels_of(chosen)
    else:
        raise ValueError(
            f"nodes must be a number, a list of names or {NAMED!r}; got {briefly(chosen)}"
        )
    return GraphPublic(
        nodes=len(labels), labels=labels or None, named_by_edges=named, rows_about=rows_about
    )


def _own_labels(names: Iterable[Any]) -> Labels:
    """Return the names of all nodes of another library's graph, read as those of its edges are."""
    found = Names.read(series_of(names))
    if found.none.any():
        raise DataError(
            Problem(
                wrong="the name of a node is neither text nor a number",
                remedy="Name every node with text or a number.",
            )
        )
    return labels_in(found)


def _code_ends(ends: Ends, columns: tuple[Names, Names], public: GraphPublic) -> Any:
    """Return the numbers of the two nodes of each edge."""
    if public.nodes == 0 and len(ends.left):
        raise DataError(
            Problem(
                row=ends.row(0),
                more=len(ends.left) - 1,
                wrong="there are edges, but no node is declared",
                remedy="Declare the nodes, or leave the edges out.",
            )
        )
    problems, codes = [], []
    for field, names in zip((LEFT, RIGHT), columns, strict=True):
        places, known = public.places(names)
        codes.append(places)
        if not known.all():
            rows = np.flatnonzero(~known)
            problems.append(_unknown(field, ends.row(int(rows[0])), len(rows), public))
    if problems:
        raise DataError(problems)
    return np.stack(codes, axis=1)


def _unknown(field: str, row: int, many: int, public: GraphPublic) -> Problem:
    return Problem(
        field=field,
        row=row,
        more=many - 1,
        wrong=f"an end of the edge is not a declared node ({public.allowed})",
        remedy="Correct it, or declare all nodes: nodes = how many, or the list of their names.",
    )
