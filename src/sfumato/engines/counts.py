"""What a method may ask of an engine: the complete protocols.

Everything here is exact and independent of the order of the rows: counts are int64, sums are
integers. Everything returned is private except `sizes` and the like, which repeat what was
declared. An engine never draws noise and never decides what is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_CELLS",
    "Counts",
    "GraphCounts",
    "Integers64",
    "PointCounts",
    "Recoding",
    "SequenceCounts",
    "checked_set",
]

Integers64 = NDArray[np.int64]

Recoding = tuple[int, NDArray[Any] | None]
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

    def recoded(self, columns: Sequence[Recoding]) -> Counts:
        """Return a view whose columns are looked up from columns of this table.

        Column j is the new code of every code of its source. A recoding gives each code of the
        source a whole number from 0, and the column's size is one more than the largest of them.
        A view takes no memory: codes are looked up when they are counted.
        """
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

    def degrees(self) -> Integers64:
        """Return the degree of every node."""
        ...

    def common_neighbours(self, left: NDArray[Any], right: NDArray[Any]) -> Integers64:
        """Return for each pair of nodes how many neighbours they share."""
        ...


def checked_set(columns: Sequence[int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return a set of columns as integers, or say what is wrong with it."""
    checked = tuple(int(column) for column in columns)
    if len(set(checked)) != len(checked):
        raise ValueError(f"a set of columns names each column once; got {checked}")
    for column in checked:
        if not 0 <= column < len(sizes):
            raise ValueError(f"columns are numbered 0 to {len(sizes) - 1}; got {column}")
    return checked
