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

from sfumato.data.graph_public import GraphPublic, Labels
from sfumato.data.graph_reading import LEFT, RIGHT, Ends, ends_of, file_ends
from sfumato.engines.coding import Coding
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.engines.reading import Text, Wholes
from sfumato.privacy.canonical import canonical
from sfumato.privacy.forks import refuse_broken_fork

__all__ = ["NAMED", "Dropped", "Graph", "GraphPublic", "read_graph"]

NAMED = "named"
"""Says that the nodes are those that some edge names, and that this set is public."""

Nodes = int | str | Sequence[Any] | None


class Dropped(NamedTuple):
    """What was left out of a graph. For the custodian's eyes only."""

    loops: int
    repeated: int


class Graph:
    """A private graph on public nodes.

    Parameters
    ----------
    edges
        An array of shape (edges, 2), a list of pairs, a frame of two columns, a SciPy sparse
        matrix, or a NetworkX or igraph graph. Directions, weights and repetitions are forgotten,
        and loops are left out.
    nodes
        The public set of nodes: how many (they are then 0, 1, 2, …), or the list of their names,
        in an order that owes nothing to the edges. A matrix or a graph of another library has a
        node set of its own, which is taken to be public, in sorted order, if nothing is said; mind
        that it may have been made from the edges. `"named"` declares that the nodes which some
        edge names are the node set and are public: that somebody has an edge at all is then no
        secret.
    rows_about
        A public guess at the number of edges, for plans.

    Raises
    ------
    DataError
        If an edge names an unknown node or none at all. It is named by its row, never by value.
    """

    __slots__ = ("_dropped", "_graph", "_public")

    _dropped: Dropped
    _graph: MemoryGraph
    _public: GraphPublic

    def __init__(self, edges: Any, nodes: Nodes = None, *, rows_about: int | None = None) -> None:
        refuse_broken_fork()
        self._take(ends_of(edges), nodes, rows_about)

    def _take(self, ends: Ends, nodes: Nodes, rows_about: int | None) -> None:
        public = _declared(ends, nodes, rows_about)
        pairs = _coded(ends, public)
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
        raise AttributeError("a graph does not change; build another one")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private graph is not pickled; save a release of it instead")

    def __repr__(self) -> str:
        return f"Graph(nodes={self._public.nodes}, unit={self._public.unit})"

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

        Without the key it tells nothing about the edges, not even whether a guess is right.
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
    rows_about: int | None = None,
) -> Graph:
    """Read a private graph from an edge list (plain, .gz or .xz) or from two columns of a table.

    Parameters
    ----------
    path
        The file: on each line two nodes with blanks, a tab or a comma between them; what follows
        on the line is not looked at.
    nodes
        As for `Graph`; `"named"` for the nodes that occur in the file, if that set is public.
    columns
        For a CSV or Parquet file: the two columns that name the nodes.
    comment
        Lines that begin with this are not looked at.
    rows_about
        As for `Graph`.
    """
    refuse_broken_fork()
    graph = Graph.__new__(Graph)
    graph._take(file_ends(Path(path), columns=columns, comment=comment), nodes, rows_about)
    return graph


def _declared(ends: Ends, nodes: Nodes, rows_about: int | None) -> GraphPublic:
    """Return the public part that the arguments declare."""
    if nodes is None and ends.own is None:
        raise ValueError(
            "say which nodes there are: nodes = how many, nodes = [their names], or nodes = "
            f"{NAMED!r} if it is public knowledge which of them have an edge at all"
        )
    if isinstance(nodes, str) and nodes == NAMED:
        labels = _named(ends)
        return GraphPublic(
            nodes=len(labels), labels=labels or None, named_by_edges=True, rows_about=rows_about
        )
    chosen = ends.own if nodes is None else nodes
    listed = isinstance(chosen, Iterable) and not isinstance(chosen, str | bytes)
    if isinstance(chosen, bool) or not (listed or isinstance(chosen, int | np.integer)):
        raise ValueError(f"nodes must be a number, a list of names or {NAMED!r}; got {chosen!r}")
    if isinstance(chosen, int | np.integer):
        return GraphPublic(nodes=int(chosen), rows_about=rows_about)
    labels = _labels(chosen)
    if nodes is None or not isinstance(nodes, list | tuple | np.ndarray):
        # Libraries keep nodes in the order in which edges named them; that order is not public.
        labels = _sorted(labels)
    return GraphPublic(nodes=len(labels), labels=labels or None, rows_about=rows_about)


def _labels(names: Any) -> Labels:
    """Return the names of nodes as all texts or all whole numbers."""
    plain = [name.item() if hasattr(name, "item") else name for name in names]
    if all(type(name) is int for name in plain):
        labels: Labels = tuple(plain)
    elif all(isinstance(name, str | int) and not isinstance(name, bool) for name in plain):
        labels = tuple(str(name) for name in plain)
    else:
        raise ValueError("the names of nodes are texts or whole numbers")
    if len(set(labels)) != len(labels):
        raise ValueError("every node is named once")
    return labels


def _sorted(labels: Labels) -> Labels:
    """Return labels in an order that only they decide."""
    # They are all texts or all whole numbers.
    return tuple(sorted(labels))  # type: ignore[return-value]


def _named(ends: Ends) -> Labels:
    """Return all nodes that some edge names, whole numbers if all of them are, in order."""
    import polars as pl

    wholes = [Wholes.read(series) for series in (ends.left, ends.right)]
    if not any((w.unreadable | w.missing | w.large).any() or w.beyond.any() for w in wholes):
        every = np.concatenate([w.bits.view(np.int64) for w in wholes])
        return tuple(np.unique(every).tolist())
    texts = [Text.read(series).values.str.strip_chars() for series in (ends.left, ends.right)]
    return tuple(pl.concat(texts).drop_nulls().unique().sort().to_list())


def _coded(ends: Ends, public: GraphPublic) -> Any:
    """Return the numbers of the two nodes of each edge."""
    # Written out once: with many nodes it takes a while.
    coding = public.coding
    if coding is None:
        if len(ends.left):
            raise DataError(
                Problem(
                    row=1,
                    more=len(ends.left) - 1,
                    wrong="an edge joins two nodes, and no node is declared",
                    remedy="Declare the nodes, or leave the edges out.",
                )
            )
        return np.zeros((0, 2), dtype=np.int64)
    problems, codes = [], []
    for field, series in ((LEFT, ends.left), (RIGHT, ends.right)):
        encoded = coding.encode(series)
        codes.append(encoded.codes.astype(np.int64))
        if encoded.faults:
            rows = np.unique(np.concatenate([fault.rows for fault in encoded.faults]))
            problems.append(_unknown(field, ends.row(int(rows[0])), len(rows), coding))
    if problems:
        raise DataError(problems)
    return np.stack(codes, axis=1)


def _unknown(field: str, row: int, many: int, coding: Coding) -> Problem:
    return Problem(
        field=field,
        row=row,
        more=many - 1,
        wrong=f"the edge does not name a declared node ({coding.allowed})",
        remedy="Correct it, or declare all nodes: nodes = how many, or the list of their names.",
    )
