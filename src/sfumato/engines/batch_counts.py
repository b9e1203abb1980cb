"""A batch of contingency tables that are counted in one pass over the rows.

The tables are put into lexicographic order once, so that the compiled loop can count thousands of
small ones at the price of about one column each. A batch only adds up what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.bits import Tables, split
from sfumato.engines.counts import Integers64
from sfumato.engines.distinct_rows import distinct_rows

__all__ = ["Batch"]


class Batch:
    """Tables of some columns, all zero to begin with.

    Parameters
    ----------
    tables
        The columns of each table, in increasing order and at least one, no two tables alike.
    sizes
        The domain size of every column.
    block
        The most rows that are counted at once.
    """

    def __init__(
        self, tables: Sequence[tuple[int, ...]], sizes: tuple[int, ...], block: int
    ) -> None:
        self.tables = sorted(tables)
        self.columns = sorted({column for table in tables for column in table})
        number = {column: i for i, column in enumerate(self.columns)}
        widest = max(map(len, self.tables), default=0)
        self._members = np.zeros((len(self.tables), widest), dtype=np.intp)
        for i, table in enumerate(self.tables):
            self._members[i, : len(table)] = [number[column] for column in table]
        self._lengths = np.array([len(table) for table in self.tables], dtype=np.intp)
        self._shared = _count_shared_columns(self.tables)
        cells = [prod(sizes[column] for column in table) for table in self.tables]
        self._places = np.concatenate([[0], np.cumsum(cells, dtype=np.intp)]).astype(np.intp)
        self._counts = np.zeros(int(self._places[-1]), dtype=np.int64)
        self._sizes = np.array([sizes[column] for column in self.columns], dtype=np.uint32)
        self._codes = np.empty((len(self.columns), block), dtype=np.uint32)
        self._index = np.empty((widest, block), dtype=np.uint32)
        self._ones = np.ones(block, dtype=np.int64)

    def add(self, columns: Sequence[NDArray[Any]], weights: Integers64 | None = None) -> None:
        """Count some rows.

        Parameters
        ----------
        columns
            The codes of each of `self.columns`.
        weights
            How often each row occurs; by default once.
        """
        from sfumato.engines.kernels import count_block

        rows = len(columns[0])
        for number, codes in enumerate(columns):
            self._codes[number, :rows] = codes
        count_block(
            self._counts,
            self._places,
            self._members,
            self._lengths,
            self._shared,
            self._sizes,
            self._codes,
            self._ones[:rows] if weights is None else weights,
            self._index,
        )

    def cells(self) -> dict[tuple[int, ...], Integers64]:
        """Return the counts of each table, flat in the order of its columns."""
        bounds = pairwise(self._places.tolist())
        return {t: self._counts[a:b] for t, (a, b) in zip(self.tables, bounds, strict=True)}

    def clear(self) -> None:
        """Set all counts back to zero, to count other rows."""
        self._counts[:] = 0

    def flat(self) -> Integers64:
        """Return the counts of all tables, one after the other in the order of `tables`."""
        return self._counts.copy()


def _count_shared_columns(tables: list[tuple[int, ...]]) -> NDArray[np.intp]:
    """Return how many first columns of each table are indexed for the one before it."""
    shared = np.zeros(len(tables), dtype=np.intp)
    for number, (before, table) in enumerate(pairwise(tables), start=1):
        alike = 0
        # The last column of a table is counted without an index of its own.
        while alike < min(len(before), len(table)) - 1 and before[alike] == table[alike]:
            alike += 1
        shared[number] = alike
    return shared


# Many tables counted at once: the small ones 64 rows at a time, the others row by row.


def join_cells(
    tables: Tables,
    sizes: tuple[int, ...],
    chunks: Callable[[Sequence[int]], Iterable[Sequence[NDArray[Any]]]],
    others: Callable[[Tables], Sequence[Integers64]],
) -> Integers64:
    """Return the cells of some tables, one table after another.

    Parameters
    ----------
    tables
        The columns of each table, in increasing order and at least one, no two tables alike.
    sizes
        The domain size of every column.
    chunks
        Returns the rows, chunk after chunk: the codes of each of some columns.
    others
        Counts those tables that are not small.
    """
    if not tables:
        return np.zeros(0, dtype=np.int64)
    together, small = split(tables, sizes)
    if together is not None and small.all():
        return together.count(chunks(together.columns))
    counted = others(tuple(compress(tables, ~small)))
    if together is None:
        return np.concatenate([table.reshape(-1) for table in counted])
    flat = together.count(chunks(together.columns))
    large = iter(counted)
    cells = np.cumsum([0, *(prod(sizes[c] for c in table) for table in compress(tables, small))])
    parts = iter(pairwise(cells.tolist()))
    return np.concatenate(
        [flat[slice(*next(parts))] if few else next(large).reshape(-1) for few in small]
    )


def count_tables(
    tables: Tables, sizes: tuple[int, ...], rows: Sequence[NDArray[Any]]
) -> Integers64:
    """Return the cells of some tables in rows that are at hand, one table after another.

    Parameters
    ----------
    tables, sizes
        As for `join_cells`.
    rows
        The codes of each column.
    """

    def others(large: Tables) -> Sequence[Integers64]:
        found = distinct_rows([[codes.astype(np.uint32) for codes in rows]], sizes)
        assert found is not None
        distinct, weights = found
        batch = Batch(large, sizes, len(weights))
        batch.add([distinct[column] for column in batch.columns], weights)
        cells = batch.cells()
        return [cells[table] for table in large]

    return join_cells(tables, sizes, lambda columns: [[rows[c] for c in columns]], others)
