"""Small tables counted 64 rows at a time.

Rows are turned into strings of bits, one for each value of a column. Which rows have several values
is one operation on 64 rows, and how many they are is another. Only cells in which no column has its
first value are counted so; the others are what is missing to the table of fewer columns. All is in
whole numbers, so the counts are those of any other way of counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, compress
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64

__all__ = ["ROWS_OF_BITS", "SmallTables", "is_small", "small_tables", "split"]

MOST_COUNTED = 128
"""A table is small if no more cells than this have to be counted."""

MOST_MORE = 8
"""At most so many times as many tables of fewer columns as are asked for are counted besides."""

BLOCK = 2**9
"""Words of one block: its strings of bits stay in the second-level cache."""

ROWS_OF_BITS = 2**17
"""Rows that are best turned into bits at a time."""


Tables = tuple[tuple[int, ...], ...]


def is_small(columns: Sequence[int], sizes: Sequence[int]) -> bool:
    """Tell whether a table has few cells in which no column has its first value."""
    return prod([sizes[column] - 1 for column in columns]) <= MOST_COUNTED


@lru_cache(maxsize=4)
def split(tables: Tables, sizes: tuple[int, ...]) -> tuple[SmallTables | None, NDArray[np.bool_]]:
    """Return how the small ones of some tables are counted, if that pays, and which they are.

    Parameters
    ----------
    tables
        The columns of each table, in increasing order and at least one; no two alike, and at
        least one table.
    sizes
        The domain size of every column.
    """
    columns, lengths = _members(tables)
    counted = np.asarray(sizes, dtype=np.float64)[columns] - 1
    starts = np.cumsum(lengths) - lengths
    small = np.multiply.reduceat(counted, starts) <= MOST_COUNTED
    inside = tables if small.all() else tuple(compress(tables, small))
    together = small_tables(inside, sizes)
    return together, small if together is not None else np.zeros_like(small)


def _members(tables: Tables) -> tuple[Integers64, Integers64]:
    """Return the columns of all tables one after another, and how many each has."""
    columns = np.fromiter(chain.from_iterable(tables), dtype=np.int64)
    return columns, np.fromiter(map(len, tables), dtype=np.int64, count=len(tables))


@lru_cache(maxsize=4)
def small_tables(tables: Tables, sizes: tuple[int, ...]) -> SmallTables | None:
    """Return a way to count some tables together, or `None` where there is none that pays.

    Parameters
    ----------
    tables
        The columns of each table, in increasing order and at least one; no two alike.
    sizes
        The domain size of every column.
    """
    flat, lengths = _members(tables)
    columns, numbers = np.unique(flat, return_inverse=True)
    longest, base = int(lengths.max(initial=0)), len(columns) + 1
    # A table is written as a number whose digits are its columns.
    if not tables or base**longest >= 2**63:
        return None
    digits = np.zeros((len(tables), longest), dtype=np.int64)
    digits[np.arange(longest) < lengths[:, None]] = numbers.reshape(-1) + 1
    powers = base ** np.arange(longest - 1, -1, -1, dtype=np.int64)
    names = digits @ powers
    needed = _close_downward(names, lengths, powers, base)
    if needed is None:
        return None
    inside = columns.tolist()
    return SmallTables(inside, [sizes[column] for column in inside], names, needed, powers)


def _without(names: Integers64, place: int, powers: Integers64, base: int) -> Integers64:
    """Return tables without the column at some place."""
    below = names % powers[place]
    return np.asarray(names - names % (powers[place] * base) + base * below)


def _close_downward(
    names: Integers64, lengths: Integers64, powers: Integers64, base: int
) -> Integers64 | None:
    """Return all tables whose columns are among those of one, in lexicographic order."""
    level = np.zeros(0, dtype=np.int64)
    found: list[Integers64] = []
    most = (MOST_MORE + 1) * len(names) + base
    for length in range(len(powers), -1, -1):
        level = np.unique(np.concatenate([level, names[lengths == length]]))
        found.append(level)
        if sum(map(len, found)) > most:
            return None
        fewer = [_without(level, place, powers, base) for place in range(length)]
        level = np.concatenate([np.zeros(0, dtype=np.int64), *fewer])
    return np.sort(np.concatenate(found))


class SmallTables:
    """Tables that are counted together, and all tables of fewer columns that this takes.

    Parameters
    ----------
    columns, sizes
        The columns that occur, and their domain sizes.
    names
        The tables asked for, as numbers whose digits are columns, from 1.
    needed
        All tables that are counted, in lexicographic order.
    powers
        What each digit is worth.
    """

    def __init__(
        self,
        columns: Sequence[int],
        sizes: Sequence[int],
        names: Integers64,
        needed: Integers64,
        powers: Integers64,
    ) -> None:
        base = len(columns) + 1
        self.columns = tuple(columns)
        self._sizes = np.asarray(sizes, dtype=np.int64)
        digits = needed[:, None] // powers % base
        self._lengths = (digits > 0).sum(axis=1)
        self._members = digits - 1
        self._last = self._members[np.arange(len(needed)), np.maximum(self._lengths - 1, 0)]
        self._parent = np.append(self._lengths[1:] > self._lengths[:-1], False)
        self._without = np.zeros_like(digits)
        for place in range(len(powers)):
            inside = self._lengths > place
            fewer = _without(needed[inside], place, powers, base)
            self._without[inside, place] = np.searchsorted(needed, fewer)
        # Tables asked for come first, in the order in which they are asked for.
        asked = np.searchsorted(needed, names)
        rest = np.setdiff1d(np.arange(len(needed)), asked)
        cells = np.where(digits > 0, self._sizes[self._members], 1).prod(axis=1)
        places = np.concatenate([asked, rest])
        ends = np.cumsum(cells[places])
        self._starts = np.empty(len(needed), dtype=np.int64)
        self._starts[places] = ends - cells[places]
        self._asked = int(cells[asked].sum())
        self._cells = int(ends[-1])
        self._order = np.argsort(self._lengths, kind="stable")[1:]
        self._firsts = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.int64)
        counted = np.where(digits > 0, self._sizes[self._members] - 1, 1).prod(axis=1)
        rooms = np.zeros(len(powers) + 1, dtype=np.int64)
        np.maximum.at(rooms, self._lengths[self._parent], counted[self._parent])
        self._stack_starts = np.concatenate([[0], np.cumsum(rooms)]).astype(np.int64)
        self._stack_cells = np.empty(int(self._stack_starts[-1]) + 1, dtype=np.int64)

    def count(self, chunks: Iterable[Sequence[NDArray[Any]]]) -> Integers64:
        """Return the cells of all tables asked for, one after another.

        Parameters
        ----------
        chunks
            The rows, chunk after chunk: the codes of each of `columns`.
        """
        from sfumato.engines.bit_kernels import count_words, pack

        counts = np.zeros(self._cells, dtype=np.int64)
        stack = np.empty((len(self._stack_cells), BLOCK), dtype=np.uint64)
        for codes in chunks:
            rows = len(codes[0])
            words = np.zeros((int(self._firsts[-1]), -(-rows // 64)), dtype=np.uint64)
            for number, column in enumerate(codes):
                pack(words, column, self._firsts[number], self._sizes[number])
            counts[self._starts[0]] += rows
            count_words(counts, words, self._firsts, *self._tables, stack, *self._stack)
        return self._complete_tables(counts)

    def summed(self, whole: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cells of all tables asked for, one after another, from a table of everything.

        Parameters
        ----------
        whole
            The table of all of `columns`, one axis each.
        """
        from sfumato.engines.bit_kernels import look_up_sums, sum_up

        sums = np.array(whole, dtype=np.float64, order="C").reshape(-1)
        sum_up(sums, self._sizes)
        counts = np.zeros(self._cells)
        counts[self._starts[0]] = sums[0]
        strides = sums.size // np.cumprod(self._sizes)
        stack = np.empty(len(self._stack_cells), dtype=np.int64)
        look_up_sums(counts, sums, strides, *self._tables, stack, *self._stack)
        return self._complete_tables(counts)

    @property
    def _tables(self) -> tuple[NDArray[Any], ...]:
        """What the kernels need to know of the tables."""
        return self._sizes, self._last, self._lengths, self._starts, self._parent

    @property
    def _stack(self) -> tuple[NDArray[Any], ...]:
        return self._stack_starts, self._stack_cells.copy()

    def _complete_tables(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Fill in what is not counted, and return the tables asked for."""
        from sfumato.engines.bit_kernels import complete

        complete(
            counts, self._order, self._members, self._lengths, self._sizes, self._starts,
            self._without,
        )  # fmt: skip
        return counts[: self._asked]
