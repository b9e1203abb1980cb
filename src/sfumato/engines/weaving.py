"""How points on a grid become keys that sort by cell, and keys become points again.

A key holds the bits of all coordinates in the order of the splits: Morton's order when the axes
take turns. Everything here is public; keys of private points are as private as the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Weaving", "turns"]

BLOCK = 2**16
"""Points that are woven at once: their coordinates stay in the cache."""


def turns(dimensions: int, depth: int | None = None) -> tuple[int, ...]:
    """Return the splits of Morton's order: the axes in turn, `depth` times each (64 in all)."""
    if not 1 <= dimensions <= 64:
        raise ValueError(f"points have 1 to 64 dimensions here; got {dimensions}")
    times = 64 // dimensions if depth is None else depth
    return tuple(range(dimensions)) * times


@dataclass(frozen=True)
class Weaving:
    """How coordinates become keys, and keys become coordinates again. Public.

    Parameters
    ----------
    dimensions
        The number of axes.
    axes
        Which axis each split halves, in order; at most 64 splits.
    """

    dimensions: int
    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        known = all(0 <= axis < self.dimensions for axis in self.axes)
        if len(self.axes) > 64 or not known:
            raise ValueError(
                f"at most 64 splits of axes 0 to {self.dimensions - 1}; got {len(self.axes)} splits"
            )

    @property
    def bits(self) -> tuple[int, ...]:
        """How often each axis is split: a coordinate is less than 2 to this power."""
        return tuple(self.axes.count(axis) for axis in range(self.dimensions))

    def keys(self, grid: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        """Return the key of every point, given its coordinates axis by axis."""
        from sfumato.engines.point_kernels import weave

        keys = np.empty(len(grid[0]), dtype=np.uint64)
        for first in range(0, len(keys), BLOCK):
            part = slice(first, first + BLOCK)
            block = np.stack([column[part] for column in grid]).astype(np.uint64)
            weave(block, _spread(self), keys[part])
        return keys

    def coordinates(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the coordinates of every key, one row for each axis."""
        from sfumato.engines.point_kernels import unweave

        grid = np.empty((self.dimensions, len(keys)), dtype=np.uint64)
        unweave(np.ascontiguousarray(keys), _gather(self), grid)
        return grid


@lru_cache(maxsize=16)
def _places(weaving: Weaving) -> tuple[tuple[int, int, int], ...]:
    """Return the axis of each split with its bit of the coordinate and its bit of the key."""
    left = list(weaving.bits)
    found = []
    for step, axis in enumerate(weaving.axes):
        left[axis] -= 1
        found.append((axis, left[axis], len(weaving.axes) - 1 - step))
    return tuple(found)


@lru_cache(maxsize=16)
def _spread(weaving: Weaving) -> NDArray[np.uint64]:
    """Return which bits of the key each byte of each coordinate sets."""
    table = np.zeros((weaving.dimensions, max(1, -(-max(weaving.bits) // 8)), 256), np.uint64)
    for axis, inside, outside in _places(weaving):
        _set_bit(table[axis], inside, outside)
    return table


@lru_cache(maxsize=16)
def _gather(weaving: Weaving) -> NDArray[np.uint64]:
    """Return which bits of each coordinate each byte of the key sets."""
    table = np.zeros((weaving.dimensions, max(1, -(-len(weaving.axes) // 8)), 256), np.uint64)
    for axis, inside, outside in _places(weaving):
        _set_bit(table[axis], outside, inside)
    return table


def _set_bit(table: NDArray[np.uint64], source: int, target: int) -> None:
    """Let one bit of a number set one bit of what is looked up from its bytes."""
    byte, bit = divmod(source, 8)
    table[byte, (np.arange(256) >> bit) & 1 == 1] |= np.uint64(1 << target)
