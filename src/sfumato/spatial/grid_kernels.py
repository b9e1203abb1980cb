"""The hot loops of box counts over grids, compiled by Numba.

Imported only when a release is asked. They read released counts; nothing private comes here.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["sum_nested", "sum_weighted"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sum_weighted(table: Any, strides: Any, places: Any, weights: Any, sums: Any) -> None:
    """Sum products of weights, one a dimension, times entries of a table, for each query.

    Parameters
    ----------
    table, strides
        The flat table and how far apart its entries are along each axis.
    places, weights
        Arrays of shape (queries, dimensions, terms); a weight of 0 ends a branch.
    sums
        The answers, written to.
    """
    queries, dimensions, terms = places.shape
    digit = np.zeros(dimensions, dtype=np.int64)
    product = np.ones(dimensions + 1)
    offset = np.zeros(dimensions + 1, dtype=np.int64)
    for q in range(queries):
        total = 0.0
        digit[:] = 0
        axis = 0
        while axis >= 0:
            term = digit[axis]
            if term == terms:
                digit[axis] = 0
                axis -= 1
                if axis >= 0:
                    digit[axis] += 1
                continue
            weight = weights[q, axis, term]
            if weight == 0.0:
                digit[axis] += 1
                continue
            product[axis + 1] = product[axis] * weight
            offset[axis + 1] = offset[axis] + places[q, axis, term] * strides[axis]
            if axis == dimensions - 1:
                total += product[dimensions] * table[offset[dimensions]]
                digit[axis] += 1
            else:
                axis += 1
        sums[q] = total


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _below(table: Any, start: int, inner: int, x: float, y: float) -> float:
    """Return the count of one cell below (x, y), in shares of the cell's sides."""
    column, row = x * inner, y * inner
    i, j = min(int(column), inner - 1), min(int(row), inner - 1)
    u, v = column - i, row - j
    low = start + i * (inner + 1) + j
    high = low + inner + 1
    under = table[low] * (1.0 - v) + table[low + 1] * v
    over = table[high] * (1.0 - v) + table[high + 1] * v
    result: float = under * (1.0 - u) + over * u
    return result


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _part(
    table: Any, start: int, inner: int, left: float, right: float, down: float, up: float
) -> float:
    """Return the count of one cell between left and right, down and up."""
    result: float = (
        _below(table, start, inner, right, up)
        - _below(table, start, inner, left, up)
        - _below(table, start, inner, right, down)
        + _below(table, start, inner, left, down)
    )
    return result


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sum_nested(
    running: Any, table: Any, starts: Any, inner: Any, low: Any, high: Any, sums: Any
) -> None:
    """Sum the sub-cells that lie in each box, parts of them in proportion to their area.

    Parameters
    ----------
    running
        Array of shape (columns, rows + 1): running totals of the cells along each column.
    table, starts
        The summed-area table of every cell, one after the other, and where each begins.
    inner
        Array of shape (columns, rows): sub-cells along each side of a cell.
    low, high
        Arrays of shape (queries, 2): corners in units of cells, within the grid.
    sums
        The answers, written to.
    """
    columns, rows = inner.shape
    for q in range(sums.size):
        total = 0.0
        y0, y1 = low[q, 1], high[q, 1]
        first, last = min(int(y0), rows - 1), min(int(y1), rows - 1)
        left = min(int(low[q, 0]), columns - 1)
        right = min(int(high[q, 0]), columns - 1)
        for i in range(left, right + 1):
            x0, x1 = max(low[q, 0] - i, 0.0), min(high[q, 0] - i, 1.0)
            if x0 == 0.0 and x1 == 1.0:
                # Whole columns: inner cells come from the running totals, the ends cell by cell.
                down, up = y0 - first, min(y1 - first, 1.0)
                total += _part(table, starts[i, first], inner[i, first], 0.0, 1.0, down, up)
                if last > first:
                    up = min(y1 - last, 1.0)
                    total += _part(table, starts[i, last], inner[i, last], 0.0, 1.0, 0.0, up)
                if last > first + 1:
                    total += running[i, last] - running[i, first + 1]
            else:
                for j in range(first, last + 1):
                    down, up = max(y0 - j, 0.0), min(y1 - j, 1.0)
                    total += _part(table, starts[i, j], inner[i, j], x0, x1, down, up)
        sums[q] = total
