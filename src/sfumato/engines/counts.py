"""What a method may ask of an engine: the complete protocols.

Everything here is exact and independent of the order of the rows: counts are int64, sums are
integers. Everything returned is private except `sizes` and the like, which repeat what was
declared. An engine never draws noise and never decides what is released.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato.mechanisms.partition_selection import ValueCounts

__all__ = [
    "MOST_CELLS",
    "ContextWalk",
    "Counts",
    "GramWalk",
    "GraphCounts",
    "Integers64",
    "Listed",
    "PointCounts",
    "Recoding",
    "SequenceCounts",
    "Suffixes",
    "check_set",
]

Integers64 = NDArray[np.int64]
State = TypeVar("State")


@dataclass(frozen=True)
class Listed:
    """Which texts of a column that nobody listed have a code of their own, from 0 on. Public.

    All other texts have the code behind the last, and missing ones the code after that.

    Parameters
    ----------
    values
        The texts.
    """

    values: tuple[str, ...]


Recoding = tuple[int, NDArray[Any] | Listed | None]
"""A column, and which new code each of its codes becomes; `None` leaves it as it is. Public."""

MOST_CELLS = 2**28
"""The most cells of one dense marginal (2 GiB of counts)."""


@runtime_checkable
class Counts(Protocol):
    """Counting in a table of codes."""

    @property
    def rows(self) -> int:
        """The number of rows that were let in. Private under add/remove."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each column's domain, in column order. Public."""
        ...

    def marginals(self, sets: Sequence[Sequence[int]]) -> list[Integers64]:
        """Return one contingency table for each set of columns, all from one pass.

        Axis j of a table is column `set[j]`, so its shape is the sizes of the set in the order
        given; the empty set gives the number of rows as an array of no axes.
        """
        ...

    def count_batch(self, tables: tuple[tuple[int, ...], ...]) -> Integers64:
        """Return the cells of many tables, one table after another.

        The tables differ, and each has one or more columns, in increasing order. It is what
        `marginals` returns in a form that is made much faster for thousands of small tables.
        """
        ...

    def recode(self, columns: Sequence[Recoding]) -> Counts:
        """Return a view whose columns are looked up from columns of this table.

        Column j is the new code of every code of its source. A recoding gives each code of the
        source a whole number from 0, and the column's size is one more than the largest of them;
        `Listed` gives a code to texts of a column that nobody listed.
        A view takes no memory: codes are looked up when they are counted.
        """
        ...

    def recall(self, key: object, make: Callable[[], State]) -> State:
        """Return what is kept for a public key as long as the key lives, made at first. Private."""
        ...

    def value_counts(self, column: int) -> ValueCounts:
        """Return the different texts of a column whose values nobody listed, and their counts."""
        ...

    def distinct(self, columns: Sequence[int]) -> tuple[NDArray[np.uint32], Integers64]:
        """Return the distinct rows of some columns, in lexicographic order, and their counts."""
        ...

    def products(
        self, columns: Sequence[int], values: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.object_]:
        """Return the matrix of sums over rows of the products of each two columns.

        Parameters
        ----------
        columns
            The columns; the result has one row and one column for each.
        values
            For each of them the fixed-point integer that each code stands for. Public.

        Returns
        -------
        matrix
            Exact Python integers, so that no order or rounding of the additions can be seen.
        """
        ...


@runtime_checkable
class PointCounts(Protocol):
    """Counting points in the cells of a tree that halves one axis at a time."""

    @property
    def rows(self) -> int:
        """The number of points. Private under add/remove."""
        ...

    @property
    def axes(self) -> tuple[int, ...]:
        """Which axis each successive split halves. Public."""
        ...

    def cells(self, prefixes: NDArray[np.uint64], length: int) -> Integers64:
        """Return the number of points in each cell named by a prefix of `length` splits.

        Bit 0 of a prefix (the least significant) is its last split; 1 is the upper half.
        """
        ...

    def histogram(self, shape: Sequence[int]) -> Integers64:
        """Return the number of points in each cell of a grid of equal cells.

        A coordinate of b bits falls into cell (coordinate · cells) >> b of its axis.
        """
        ...

    def count_nested(self, shape: Sequence[int], inner: NDArray[np.int64]) -> Integers64:
        """Return the number of points in each cell of grids within the cells of a grid.

        Parameters
        ----------
        shape
            The number of outer cells of each axis.
        inner
            An array of that shape: into how many equal parts each outer cell is cut along every
            axis. Public.

        Returns
        -------
        counts
            For each outer cell in C order, its inner cells in C order.
        """
        ...


class ContextWalk(Protocol):
    """Contexts that grow to the left: a frontier, and what follows each context. Private."""

    def histograms(self) -> Integers64:
        """Return for each context of the frontier how often each symbol, and lastly the end, is
        next; at first the frontier is the empty context.
        """
        ...

    def descend(self, split: NDArray[np.bool_]) -> None:
        """Replace the frontier by the children of the contexts that are split.

        A context gets one child for every symbol, in order, and lastly one for the start, put
        before it. What begins with the start is never split.
        """
        ...


class GramWalk(Protocol):
    """Strings that grow to the right: a frontier, and how often each occurs. Private."""

    @property
    def depth(self) -> int:
        """How many symbols the strings of the frontier have. As public as what was expanded."""
        ...

    def counts(self) -> Integers64:
        """Return how often each string of the frontier occurs; at first that is the empty one,
        which occurs once before every symbol or end.
        """
        ...

    def descend(self, expand: NDArray[np.bool_]) -> None:
        """Replace the frontier by the children of the strings that are expanded.

        A string gets one child for every symbol, in order, and lastly one for the end, put
        behind it. What ends is never expanded.
        """
        ...


class Suffixes(Protocol):
    """What follows any string, asked one string at a time, cheaply where its beginning was
    asked about before. Private.
    """

    def followers(self, string: Sequence[int]) -> Integers64:
        """Return how often each symbol, and lastly the end, comes right behind a string."""
        ...


@runtime_checkable
class SequenceCounts(Protocol):
    """Counting in sequences of symbols.

    Symbols are 0 … alphabet−1; `alphabet` stands for the end of a sequence and `alphabet`+1 for
    its start.
    """

    @property
    def rows(self) -> int:
        """The number of sequences. Private under add/remove."""
        ...

    @property
    def alphabet(self) -> int:
        """The number of symbols. Public."""
        ...

    def ngrams(self, grams: Sequence[Sequence[int]]) -> Integers64:
        """Return how often each string occurs, counting every position."""
        ...

    def followers(self, contexts: Sequence[Sequence[int]]) -> Integers64:
        """Return for each context how often each symbol, and lastly the end, comes next."""
        ...

    def lengths(self, candidates: Integers64) -> Integers64:
        """Return how many sequences are at most as long as each candidate.

        The end is counted as one symbol, the start is not. Candidates are in ascending order.
        """
        ...

    def recall(self, key: object, make: Callable[[], State]) -> State:
        """Return what is kept for a public key as long as the key lives, made at first. Private."""
        ...

    def cut(self, longest: int) -> SequenceCounts:
        """Return the sequences cut to their first `longest` symbols, the end counted as one.

        One that is cut has no end.
        """
        ...

    def contexts(self) -> ContextWalk:
        """Return a walk over contexts that grow to the left, from the empty one."""
        ...

    def grams(self) -> GramWalk:
        """Return a walk over strings that grow to the right, from the empty one."""
        ...

    def suffixes(self) -> Suffixes:
        """Return what follows any string, for searches from strings to their extensions."""
        ...


@runtime_checkable
class GraphCounts(Protocol):
    """Counting in a simple undirected graph."""

    @property
    def nodes(self) -> int:
        """The number of nodes. Public where the node set is."""
        ...

    @property
    def edges(self) -> int:
        """The number of edges. Private."""
        ...

    def recall(self, key: object, make: Callable[[], State]) -> State:
        """Return what is kept for a public key as long as the key lives, made at first. Private."""
        ...

    def pairs(self) -> Integers64:
        """Return the edges, the smaller node first, in lexicographic order."""
        ...

    def degrees(self) -> Integers64:
        """Return the degree of every node."""
        ...

    def common_neighbours(self, left: NDArray[Any], right: NDArray[Any]) -> Integers64:
        """Return for each pair of nodes how many neighbours they share."""
        ...

    def triangles(self) -> int:
        """Return the number of triangles."""
        ...

    def triangles_at(self) -> Integers64:
        """Return in how many triangles each node is."""
        ...

    def edge_triangles(self) -> Integers64:
        """Return in how many triangles each edge is, in no particular order."""
        ...

    def cliques(self, size: int) -> int:
        """Return the number of sets of so many nodes that are all joined to one another."""
        ...

    def cliques_among(self, pairs: Integers64, size: int) -> list[int]:
        """Return for each pair of nodes the number of cliques among its common neighbours."""
        ...

    def k_triangles(self, size: int) -> int:
        """Return the number of ways to put `size` triangles on one edge."""
        ...

    def k_triangle_change(self, size: int) -> int:
        """Return by how much one edge, added or removed, can change that number at most."""
        ...

    def pair_frontier(self) -> tuple[Integers64, Integers64]:
        """Return the pairs (a, b) that no pair of nodes exceeds in both, by rising a.

        a is the number of common neighbours of two nodes, b that of nodes joined to exactly one of
        them, the two themselves left out.
        """
        ...

    def close_pairs(self, least: Integers64) -> Integers64:
        """Return all pairs of a ≥ 1 common neighbours with b at least least[a]: nodes, a, b."""
        ...

    def most_common(self) -> int:
        """Return the largest number of common neighbours of any two nodes."""
        ...

    def star_pairs(self) -> list[tuple[int, int]]:
        """Return the degrees, without the edge between the two, of the pairs that matter to stars.

        Every pair of nodes is at most one of them in both degrees, the larger coming first.
        """
        ...


def check_set(columns: Sequence[int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return a set of columns as integers, or say what is wrong with it."""
    checked = tuple(int(column) for column in columns)
    if len(set(checked)) != len(checked):
        raise ValueError(f"a set of columns must list each column once; got {checked}")
    for column in checked:
        if not 0 <= column < len(sizes):
            raise ValueError(f"columns are numbered 0 to {len(sizes) - 1}; got {column}")
    return checked
