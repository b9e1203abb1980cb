"""The hot loops of counting points.

Bits are woven and unwoven byte by byte through
small tables, so that any order of splits costs the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.compiling import compiled

__all__ = ["count_grid", "count_nested", "interleave_bits", "put_on_grid", "separate_bits"]


def _put_all_on_grid(
    values: Any, low: float, high: float, steps: float, codes: Any, out: Any
) -> None:
    """Do as `put_on_grid`, for all values at once."""
    numbers = values.astype(np.float64)
    out[:] = (numbers < low) | (numbers > high)
    share = (np.minimum(np.maximum(numbers, low), high) - low) / (high - low)
    codes[:] = np.minimum(share * steps, steps - 1.0)


@compiled(
    lambda values, low, high, steps, codes, out: 64 + values.size // 16,
    interpreted=_put_all_on_grid,
)
def put_on_grid(values: Any, low: float, high: float, steps: float, codes: Any, out: Any) -> None:
    """Write the step of every value on a grid of equal steps, and whether it lies outside.

    Parameters
    ----------
    values
        Numbers, none of them NaN.
    low, high
        The bounds; a value outside them gets the first or the last step.
    steps
        The number of steps, a power of two.
    codes, out
        One step and one mark for each value; written.
    """
    for i in range(values.size):
        value = values[i]
        out[i] = value < low or value > high
        share = (min(max(value, low), high) - low) / (high - low)
        codes[i] = np.uint32(min(share * steps, steps - 1.0))


def _exchange_bits(numbers: Any, tables: Any) -> Any:
    """Return for each number the bits that its bytes set, by a table for each of its bytes."""
    rest = numbers.astype(np.uint64)
    bits = np.zeros_like(rest)
    for table in tables:
        bits |= table[(rest & np.uint64(255)).astype(np.intp)]
        rest >>= np.uint64(8)
    return bits


def _interleave_all(grid: Any, spread: Any, keys: Any) -> None:
    """Do as `interleave_bits`, for all points at once."""
    keys[:] = 0
    for axis, tables in zip(grid, spread, strict=True):
        keys |= _exchange_bits(axis, tables)


@compiled(
    lambda grid, spread, keys: 64 + grid.size * spread.shape[1] // 16, interpreted=_interleave_all
)
def interleave_bits(grid: Any, spread: Any, keys: Any) -> None:
    """Write the key of every point: the bits of its coordinates in the order of the splits.

    Parameters
    ----------
    grid
        The coordinates, one row for each axis.
    spread
        For each axis, each byte of a coordinate (the least first) and each value of that byte, the
        bits of the key that it sets.
    keys
        One key for each point; written.
    """
    for i in range(keys.size):
        key = np.uint64(0)
        for axis in range(grid.shape[0]):
            rest = np.uint64(grid[axis, i])
            for place in range(spread.shape[1]):
                key |= spread[axis, place, rest & np.uint64(255)]
                rest >>= np.uint64(8)
        keys[i] = key


def _separate_all(keys: Any, gather: Any, grid: Any) -> None:
    """Do as `separate_bits`, for all keys at once."""
    for axis, tables in zip(grid, gather, strict=True):
        axis[:] = _exchange_bits(keys, tables)


@compiled(
    lambda keys, gather, grid: 64 + grid.size * gather.shape[1] // 16, interpreted=_separate_all
)
def separate_bits(keys: Any, gather: Any, grid: Any) -> None:
    """Write the coordinates of every key.

    Parameters
    ----------
    keys
        The keys.
    gather
        For each axis, each byte of a key (the least first) and each value of that byte, the bits of
        the coordinate that it sets.
    grid
        The coordinates, one row for each axis; written.
    """
    for axis in range(gather.shape[0]):
        for i in range(keys.size):
            rest = keys[i]
            value = np.uint64(0)
            for place in range(gather.shape[1]):
                value |= gather[axis, place, rest & np.uint64(255)]
                rest >>= np.uint64(8)
            grid[axis, i] = value


def _count_grid_points(grid: Any, shifts: Any, shape: Any, counts: Any) -> None:
    """Do as `count_grid`, for all points at once."""
    index = np.zeros(grid.shape[1], dtype=np.uint64)
    for axis, shift, cells in zip(grid, shifts, shape, strict=True):
        index = index * cells + ((axis.astype(np.uint64) * cells) >> shift)
    np.add.at(counts, index.astype(np.intp), 1)


@compiled(lambda grid, shifts, shape, counts: 64 + grid.size // 16, interpreted=_count_grid_points)
def count_grid(grid: Any, shifts: Any, shape: Any, counts: Any) -> None:
    """Count points in the cells of a grid of equal cells.

    Parameters
    ----------
    grid
        The coordinates, one row for each axis, of so many bits that the product with the number of
        cells has no more than 64.
    shifts
        How many bits the coordinates of each axis have.
    shape
        The number of cells of each axis.
    counts
        The cells in C order; added to.
    """
    for i in range(grid.shape[1]):
        index = np.uint64(0)
        for axis in range(grid.shape[0]):
            index = index * shape[axis] + ((grid[axis, i] * shape[axis]) >> shifts[axis])
        counts[index] += 1


@compiled(lambda grid, shifts, shape, inner, starts, counts: 16 * grid.size)
def count_nested(grid: Any, shifts: Any, shape: Any, inner: Any, starts: Any, counts: Any) -> None:
    """Count points in the cells of grids within the cells of a grid.

    Parameters
    ----------
    grid, shifts, shape
        As for `count_grid`.
    inner
        The number of inner cells of each axis, for each outer cell in C order.
    starts
        Where the inner cells of each outer cell begin in `counts`.
    counts
        All inner cells; added to.
    """
    dimensions, points = grid.shape
    rest = np.zeros(dimensions, dtype=np.uint64)
    for i in range(points):
        index = np.uint64(0)
        for axis in range(dimensions):
            scaled = grid[axis, i] * shape[axis]
            cell = scaled >> shifts[axis]
            rest[axis] = scaled - (cell << shifts[axis])
            index = index * shape[axis] + cell
        parts = inner[index]
        within = np.uint64(0)
        for axis in range(dimensions):
            within = within * parts + ((rest[axis] * parts) >> shifts[axis])
        counts[starts[index] + within] += 1
