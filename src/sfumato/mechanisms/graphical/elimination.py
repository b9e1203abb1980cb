"""Variable elimination: the marginal of a product of small tables.

Public arithmetic on released figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Factor", "TooLarge", "eliminate"]

#: A factor: its columns, and one axis for each.
Factor = tuple[tuple[int, ...], NDArray[np.float64]]


class TooLarge(ValueError):
    """An intermediate table would have more cells than are allowed."""


def eliminate(
    factors: Sequence[Factor],
    keep: Sequence[int],
    sizes: Sequence[int],
    *,
    most_cells: int = 2**24,
) -> NDArray[np.float64]:
    """Return the product of factors, summed over all columns but some.

    Parameters
    ----------
    factors
        The tables that are multiplied.
    keep
        The columns of the result, in the order of its axes; each in some factor.
    sizes
        The domain size of each column.
    most_cells
        The most cells of any table on the way.

    Raises
    ------
    TooLarge
        If a table on the way would be larger; nothing is approximated.
    """
    kept = set(keep)
    left = list(factors)
    gone = {column for columns, _ in left for column in columns} - kept
    while gone:
        column = min(gone, key=lambda one: (_cost(one, left, sizes), one))
        mine = [factor for factor in left if column in factor[0]]
        left = [factor for factor in left if column not in factor[0]]
        columns = tuple(sorted({c for inside, _ in mine for c in inside} - {column}))
        left.append((columns, _product(mine, columns, sizes, most_cells, summed=sizes[column])))
        gone.remove(column)
    return _product(left, tuple(keep), sizes, most_cells)


def _cost(column: int, factors: Sequence[Factor], sizes: Sequence[int]) -> int:
    joined = {c for columns, _ in factors if column in columns for c in columns}
    return prod(sizes[c] for c in joined)


def _product(
    factors: Sequence[Factor],
    columns: tuple[int, ...],
    sizes: Sequence[int],
    most_cells: int,
    summed: int = 1,
) -> NDArray[np.float64]:
    """Multiply factors and sum over all columns that are not asked for."""
    cells = prod(sizes[column] for column in columns) * summed
    if cells > most_cells:
        raise TooLarge(f"a table of {cells:,} cells would be needed; {most_cells:,} are allowed")
    letters: dict[int, int] = {}
    operands: list[Any] = []
    for inside, table in factors:
        operands += [table, [letters.setdefault(column, len(letters)) for column in inside]]
    wanted = [letters[column] for column in columns]
    return np.asarray(np.einsum(*operands, wanted, optimize="greedy"), dtype=np.float64)
