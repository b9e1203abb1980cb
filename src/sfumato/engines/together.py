"""Many tables counted at once: the small ones 64 rows at a time, the others row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.batch import Batch
from sfumato.engines.bits import Tables, split
from sfumato.engines.condense import distinct_rows
from sfumato.engines.counts import Integers64

__all__ = ["counted_together", "joined"]


def joined(
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


def counted_together(
    tables: Tables, sizes: tuple[int, ...], rows: Sequence[NDArray[Any]]
) -> Integers64:
    """Return the cells of some tables in rows that are at hand, one table after another.

    Parameters
    ----------
    tables, sizes
        As for `joined`.
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

    return joined(tables, sizes, lambda columns: [[rows[c] for c in columns]], others)
