"""Counting in a table of codes: in memory, or memory-mapped from a snapshot on disk.

A table is encoded once to columns of uint8, uint16 or uint32 and never read again. Rows stream
through the cache in blocks, and every marginal of a batch is counted in the same pass, so a
memory-mapped snapshot is read once a batch. The codes cannot be written to afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import MOST_CELLS, Integers64, checked_set
from sfumato.engines.cover import SMALL_TABLE, cover

__all__ = ["CodeTable", "code_type"]

BLOCK = 2**16
"""Rows of one block of counting."""

CHUNK = 2**22
"""Rows of one chunk of sorting."""

DENSE = 2**22
"""Up to so many cells, distinct rows are found by counting them all."""


def code_type(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds the codes of a domain of this size."""
    if size <= 2**8:
        return np.dtype(np.uint8)
    if size <= 2**16:
        return np.dtype(np.uint16)
    if size <= 2**32:
        return np.dtype(np.uint32)
    raise ValueError(f"a domain has at most 2**32 values; got {size}; use fewer bins")


class CodeTable:
    """A private table of codes, column by column, and every way of counting in it.

    Parameters
    ----------
    columns
        One array of codes for each column, all of the same length. They are kept, not copied,
        and made read-only.
    sizes
        The public size of each column's domain.
    keep
        Whatever must live as long as the codes do, such as the folder of a snapshot.
    """

    __slots__ = ("_columns", "_keep", "_rows", "_sizes")

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        *,
        keep: object = None,
    ) -> None:
        if len(columns) != len(sizes) or not columns:
            raise ValueError(f"{len(sizes)} sizes need as many columns; got {len(columns)}")
        self._sizes = tuple(int(size) for size in sizes)
        self._rows = len(columns[0])
        self._keep = keep
        self._columns = [self._adopt(i, column) for i, column in enumerate(columns)]

    def _adopt(self, number: int, column: NDArray[Any]) -> NDArray[Any]:
        """Check one column of codes and make it read-only."""
        size = self._sizes[number]
        if column.ndim != 1 or len(column) != self._rows:
            raise ValueError(f"column {number} must be one array as long as the others")
        if column.dtype != code_type(size):
            raise ValueError(f"column {number} must have type {code_type(size)} for {size} codes")
        if self._rows and size < 2 ** (8 * column.itemsize) and int(column.max()) >= size:
            raise ValueError(f"column {number} holds a code outside its domain of {size}")
        column = column.view()
        column.flags.writeable = False
        return column

    @property
    def rows(self) -> int:
        """The number of rows that were let in. Private under add/remove."""
        return self._rows

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each column's domain. Public."""
        return self._sizes

    def __repr__(self) -> str:
        return f"CodeTable(sizes={self._sizes})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private table is not pickled; save a release of it instead")

    def codes(self, column: int) -> NDArray[Any]:
        """Return the read-only codes of one column. Private."""
        return self._columns[column]

    def marginals(self, sets: Sequence[Sequence[int]]) -> list[Integers64]:
        """Return one contingency table for each set of columns, all from one pass."""
        asked = [checked_set(columns, self._sizes) for columns in sets]
        for columns in asked:
            cells = prod(self._sizes[c] for c in columns)
            if cells > MOST_CELLS:
                raise ValueError(
                    f"the marginal of columns {columns} has {cells} cells, more than {MOST_CELLS}; "
                    "ask for fewer columns or declare fewer bins"
                )
        if not asked:
            return []
        # Summing a merged table must stay cheaper than the passes it saves.
        tables = cover(asked, self._sizes, max(16, min(SMALL_TABLE, self._rows // 4)))
        counted = dict(zip(tables, self._count(tables), strict=True))
        smallest_first = sorted(tables, key=lambda table: counted[table].size)
        members = [(set(table), table) for table in smallest_first]
        answers: list[Integers64] = []
        for columns in asked:
            wanted = set(columns)
            table = next(table for inside, table in members if wanted <= inside)
            answers.append(self._project(columns, table, counted[table]))
        return answers

    def _count(self, tables: list[tuple[int, ...]]) -> list[Integers64]:
        """Count each table, flat, in one pass over the rows."""
        from sfumato.engines.kernels import extend, start, tally

        flat = [np.zeros(prod(self._sizes[c] for c in t), dtype=np.int64) for t in tables]
        index = np.empty(BLOCK, dtype=np.uint32)
        for first in range(0, self._rows, BLOCK):
            block = [column[first : first + BLOCK] for column in self._columns]
            length = len(block[0])
            for table, counts in zip(tables, flat, strict=True):
                if not table:
                    counts[0] += length
                    continue
                start(index, block[table[0]])
                for column in table[1:]:
                    extend(index, block[column], self._sizes[column])
                tally(counts, index, length)
        return flat

    def _project(
        self, columns: tuple[int, ...], table: tuple[int, ...], counts: Integers64
    ) -> Integers64:
        """Sum a counted table down to some of its columns, in the order asked for."""
        cube = counts.reshape([self._sizes[c] for c in table])
        rest = tuple(axis for axis, column in enumerate(table) if column not in columns)
        summed = cube.sum(axis=rest, dtype=np.int64) if rest else cube
        kept = sorted(columns)
        return np.array(np.transpose(summed, [kept.index(c) for c in columns]), dtype=np.int64)

    def distinct(self, columns: Sequence[int]) -> tuple[NDArray[np.uint32], Integers64]:
        """Return the distinct rows of some columns, in lexicographic order, and their counts."""
        asked = checked_set(columns, self._sizes)
        if prod(self._sizes[c] for c in asked) <= DENSE:
            # A dense table is quicker than any sort.
            counts = self.marginals([asked])[0]
            cells = np.argwhere(counts > 0).astype(np.uint32)
            return cells, counts[counts > 0].reshape(-1)
        rows = np.zeros((0, len(asked)), dtype=np.uint32)
        weights = np.zeros(0, dtype=np.int64)
        for first in range(0, self._rows, CHUNK):
            length = min(CHUNK, self._rows - first)
            chunk = np.empty((length, len(asked)), dtype=np.uint32)
            for position, column in enumerate(asked):
                chunk[:, position] = self._columns[column][first : first + length]
            rows, weights = _merge(
                np.concatenate([rows, chunk]),
                np.concatenate([weights, np.ones(length, dtype=np.int64)]),
            )
        return rows, weights

    def products(
        self, columns: Sequence[int], values: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.object_]:
        """Return the matrix of sums over rows of the products of each two columns.

        They are taken from the two-way marginals, in integers that cannot overflow.
        """
        asked = tuple(int(column) for column in columns)
        checked_set(asked, self._sizes)
        tables = [_whole(v, self._sizes[c]) for c, v in zip(asked, values, strict=True)]
        pairs = [(i, j) for i in range(len(asked)) for j in range(i + 1)]
        sets = [(asked[i],) if i == j else (asked[i], asked[j]) for i, j in pairs]
        matrix = np.zeros((len(asked), len(asked)), dtype=object)
        for (i, j), counts in zip(pairs, self.marginals(sets), strict=True):
            if i == j:
                total = _dot(counts, tables[i] * tables[i])
            else:
                total = _dot(np.array([_dot(row, tables[j]) for row in counts]), tables[i])
            matrix[i, j] = matrix[j, i] = total
        return matrix


def _merge(rows: NDArray[np.uint32], weights: Integers64) -> tuple[NDArray[np.uint32], Integers64]:
    """Return the distinct rows in lexicographic order with their weights added up."""
    order = np.lexsort(rows.T[::-1])
    rows, weights = rows[order], weights[order]
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[new], np.add.reduceat(weights, np.flatnonzero(new))


def _whole(values: NDArray[np.int64], size: int) -> NDArray[np.object_]:
    """Return the fixed-point values of a column's codes as integers of any size."""
    array = np.asarray(values)
    if array.shape != (size,) or array.dtype.kind not in "iuO":
        raise ValueError(f"one whole number is needed for each of the {size} codes of a column")
    return np.array([int(value) for value in array], dtype=object)


def _dot(counts: NDArray[Any], values: NDArray[np.object_]) -> int:
    """Return the exact sum of the products of two vectors of integers."""
    return sum(int(c) * v for c, v in zip(counts, values, strict=True) if c)
