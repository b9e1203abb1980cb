"""Counting points by the prefix of their cell, from sorted keys.

Each split halves one axis, so a cell is a string of bits and the points of a cell are neighbours
in the sorted order of the points' own bit strings (Morton's order when the axes take turns). A
count is two binary searches. Points are handed in as integers on a public grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64

__all__ = ["MemoryPoints", "turns"]


def turns(dimensions: int, depth: int | None = None) -> tuple[int, ...]:
    """Return the splits of Morton's order: the axes in turn, `depth` times each (64 in all)."""
    if not 1 <= dimensions <= 64:
        raise ValueError(f"points have 1 to 64 dimensions here; got {dimensions}")
    times = 64 // dimensions if depth is None else depth
    return tuple(range(dimensions)) * times


class MemoryPoints:
    """Private points on a grid, sorted by the cells of a binary tree.

    Parameters
    ----------
    coordinates
        Array of shape (points, dimensions): whole numbers from 0 to 2**b − 1 on an axis that is
        split b times.
    axes
        Which axis each split halves, in order; at most 64 splits.
    """

    __slots__ = ("_axes", "_keys")

    def __init__(self, coordinates: NDArray[Any], axes: Sequence[int]) -> None:
        grid = np.asarray(coordinates)
        self._axes = tuple(int(axis) for axis in axes)
        if grid.ndim != 2 or grid.dtype.kind not in "iu":
            raise ValueError("coordinates must be whole numbers of shape (points, dimensions)")
        if len(self._axes) > 64 or any(not 0 <= a < grid.shape[1] for a in self._axes):
            raise ValueError(
                f"at most 64 splits of axes 0 to {grid.shape[1] - 1}; got {len(self._axes)} splits"
            )
        keys = np.zeros(len(grid), dtype=np.uint64)
        left = [self._axes.count(axis) for axis in range(grid.shape[1])]
        for axis, bits in enumerate(left):
            column = grid[:, axis]
            if len(grid) and (int(column.min()) < 0 or int(column.max()) >> bits):
                raise ValueError(f"axis {axis} is split {bits} times and holds 0 to 2**{bits} − 1")
        unsigned = grid.astype(np.uint64)
        for axis in self._axes:
            left[axis] -= 1
            bit = (unsigned[:, axis] >> np.uint64(left[axis])) & np.uint64(1)
            keys = (keys << np.uint64(1)) | bit
        keys.sort()
        keys.flags.writeable = False
        self._keys = keys

    @property
    def rows(self) -> int:
        """The number of points. Private under add/remove."""
        return len(self._keys)

    @property
    def axes(self) -> tuple[int, ...]:
        """Which axis each successive split halves. Public."""
        return self._axes

    def __repr__(self) -> str:
        return f"MemoryPoints(splits={len(self._axes)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private points are not pickled; save a release of them instead")

    def cells(self, prefixes: NDArray[np.uint64], length: int) -> Integers64:
        """Return the number of points in each cell named by a prefix of `length` splits."""
        splits = len(self._axes)
        if not 0 <= length <= splits:
            raise ValueError(f"a prefix has 0 to {splits} splits; got {length}")
        wanted = np.asarray(prefixes, dtype=np.uint64)
        if length < 64 and (wanted >> np.uint64(length)).any():
            raise ValueError(f"a prefix of {length} splits is less than 2**{length}")
        if length == 0:
            return np.full(wanted.shape, self.rows, dtype=np.int64)
        rest = np.uint64(splits - length)
        last = np.uint64((1 << int(rest)) - 1)
        low = np.searchsorted(self._keys, wanted << rest, side="left")
        high = np.searchsorted(self._keys, (wanted << rest) | last, side="right")
        return (high - low).astype(np.int64)
