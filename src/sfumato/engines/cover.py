"""Which few larger tables to count so that all marginals asked for follow from them.

Counting costs a pass over the rows for each table; summing a small table costs nothing. All 66
two-way marginals of twelve columns of 16 values follow from 26 three-way ones. The choice depends
on public sizes and on the number of rows, changes no answer, and is not private.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["SMALL_TABLE", "cover"]

SMALL_TABLE = 2**14
"""Most cells of a merged table: its counts stay in the second-level cache."""


def cover(
    sets: list[tuple[int, ...]], sizes: tuple[int, ...], most_cells: int = SMALL_TABLE
) -> list[tuple[int, ...]]:
    """Return tables such that every set is contained in one of them.

    Parameters
    ----------
    sets
        The sets of columns asked for.
    sizes
        The domain size of every column.
    most_cells
        No set is enlarged beyond this number of cells; larger sets stay as they are.
    """
    wanted = np.zeros((len(sets), len(sizes)), dtype=np.bool_)
    for row, columns in enumerate(sets):
        wanted[row, list(columns)] = True
    wanted = np.unique(wanted, axis=0)
    # Large tables first: they cover small ones for nothing.
    wanted = wanted[np.argsort(-(wanted * np.log(sizes)).sum(axis=1), kind="stable")]
    tables: list[tuple[int, ...]] = []
    while len(wanted):
        table = _grow(wanted[0].copy(), wanted, sizes, most_cells)
        tables.append(tuple(int(c) for c in np.flatnonzero(table)))
        wanted = wanted[(wanted & ~table).any(axis=1)]
    return tables


def _grow(
    table: NDArray[np.bool_], wanted: NDArray[np.bool_], sizes: tuple[int, ...], most_cells: int
) -> NDArray[np.bool_]:
    """Add columns to a table while that covers further sets and the table stays small."""
    cells = prod(sizes[c] for c in np.flatnonzero(table))
    while True:
        lacking = wanted & ~table
        one_short = lacking.sum(axis=1) == 1
        gain = lacking[one_short].sum(axis=0)
        gain[[cells * size > most_cells for size in sizes]] = 0
        best = int(np.argmax(gain))
        if gain[best] == 0:
            return table
        table[best] = True
        cells *= sizes[best]
