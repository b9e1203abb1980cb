"""Counting points by the prefix of their cell, from sorted keys.

Each split halves one axis, so a cell is a string of bits and the points of a cell are neighbours
in the sorted order of the points' own bit strings (Morton's order when the axes take turns). A
count is two binary searches. Points are handed in as integers on a public grid; the keys are in
memory, or mapped from a file that is larger, and cannot be written to afterwards.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import MOST_CELLS, Integers64

__all__ = ["MemoryPoints", "MortonOrder", "turns"]

BLOCK = 2**16
"""Keys that are unwoven at once: their coordinates stay in the cache."""

MANY = 2**14
"""Prefixes that are looked up at once: the pages they touch in a mapped file are few."""

LONG = 2**22
"""Keys of a mapped file that are in memory at once while all are looked at."""


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

    __slots__ = ("_keys", "_morton")

    def __init__(self, coordinates: NDArray[Any], axes: Sequence[int]) -> None:
        grid = np.asarray(coordinates)
        if grid.ndim != 2 or grid.dtype.kind not in "iu":
            raise ValueError("coordinates must be whole numbers of shape (points, dimensions)")
        morton = MortonOrder(grid.shape[1], tuple(int(axis) for axis in axes))
        for axis, bits in enumerate(morton.bits):
            column = grid[:, axis]
            if len(grid) and (int(column.min()) < 0 or int(column.max()) >> bits):
                raise ValueError(f"axis {axis} is split {bits} times and holds 0 to 2**{bits} − 1")
        keys = morton.keys(list(grid.T))
        keys.sort()
        self._morton = morton
        self._keys = _immutable(keys)

    @classmethod
    def of_keys(cls, keys: NDArray[np.uint64], morton: MortonOrder) -> MemoryPoints:
        """Return points by their keys, which are sorted already; a memory map is kept as it is."""
        points = cls.__new__(cls)
        points._morton = morton
        points._keys = _immutable(keys) if _map_of(keys) is None else keys
        return points

    @property
    def rows(self) -> int:
        """The number of points. Private under add/remove."""
        return len(self._keys)

    @property
    def axes(self) -> tuple[int, ...]:
        """Which axis each successive split halves. Public."""
        return self._morton.axes

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The read-only keys in increasing order. Private."""
        return self._keys

    def __repr__(self) -> str:
        return f"MemoryPoints(splits={len(self.axes)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private points cannot be pickled; save a release of them instead")

    def cells(self, prefixes: NDArray[np.uint64], length: int) -> Integers64:
        """Return the number of points in each cell named by a prefix of `length` splits."""
        splits = len(self.axes)
        if not 0 <= length <= splits:
            raise ValueError(f"a prefix has 0 to {splits} splits; got {length}")
        wanted = np.asarray(prefixes, dtype=np.uint64)
        if length < 64 and (wanted >> np.uint64(length)).any():
            raise ValueError(f"a prefix of {length} splits is less than 2**{length}")
        if length == 0:
            return np.full(wanted.shape, self.rows, dtype=np.int64)
        found = np.empty(wanted.size, dtype=np.int64)
        flat = wanted.reshape(-1)
        for first in range(0, len(flat), MANY):
            part = slice(first, first + MANY)
            found[part] = self._between(flat[part], np.uint64(splits - length))
        return found.reshape(wanted.shape)

    def _between(self, prefixes: NDArray[np.uint64], rest: np.uint64) -> Integers64:
        """Return the number of keys that begin with each prefix and go on for `rest` bits."""
        last = np.uint64((1 << int(rest)) - 1)
        low = np.searchsorted(self._keys, prefixes << rest, side="left")
        high = np.searchsorted(self._keys, (prefixes << rest) | last, side="right")
        self._let_go()
        return (high - low).astype(np.int64)

    def histogram(self, shape: Sequence[int]) -> Integers64:
        """Return the number of points in each cell of a grid of equal cells."""
        from sfumato.engines.point_kernels import count_grid

        cells = self._shape(shape)
        counts = np.zeros(prod(cells), dtype=np.int64)
        sizes = np.array(cells, dtype=np.uint64)
        for grid in self._blocks():
            count_grid(grid, self._shifts, sizes, counts)
        return counts.reshape(cells)

    def count_nested(self, shape: Sequence[int], inner: NDArray[np.int64]) -> Integers64:
        """Return the number of points in each cell of grids within the cells of a grid."""
        from sfumato.engines.point_kernels import count_nested

        cells = self._shape(shape)
        parts = np.asarray(inner)
        if parts.shape != cells or parts.dtype.kind not in "iu" or int(parts.min()) < 1:
            raise ValueError("inner must hold a whole number from 1 for each cell of the grid")
        if int(parts.max()) > MOST_CELLS:
            raise ValueError(f"a cell has at most {MOST_CELLS} inner cells per axis")
        # In floats first, since the exact number may not fit into 64 bits.
        about = (parts.reshape(-1).astype(np.float64) ** len(cells)).sum()
        _check_cells(int(min(about, 2.0**62)))
        sizes = parts.reshape(-1).astype(np.int64) ** len(cells)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
        counts = np.zeros(int(starts[-1]), dtype=np.int64)
        divisions, outer = parts.reshape(-1).astype(np.uint64), np.array(cells, dtype=np.uint64)
        for grid in self._blocks():
            count_nested(grid, self._shifts, outer, divisions, starts, counts)
        return counts

    def _shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of cells of a grid, checked."""
        cells = tuple(int(size) for size in shape)
        if len(cells) != self._morton.dimensions or min(cells) < 1:
            raise ValueError(
                f"a grid has 1 or more cells on each of {self._morton.dimensions} axes; got {cells}"
            )
        _check_cells(prod(cells))
        if max(self._morton.bits) > 32:
            raise ValueError("points are counted on a grid if no axis is split more than 32 times")
        return cells

    @property
    def _shifts(self) -> NDArray[np.uint64]:
        return np.array(self._morton.bits, dtype=np.uint64)

    def _blocks(self) -> Iterator[NDArray[np.uint64]]:
        """Yield the coordinates of the points, block by block."""
        for keys in self.blocks(BLOCK):
            yield self._morton.coordinates(keys)

    def blocks(self, length: int) -> Iterator[NDArray[np.uint64]]:
        """Yield the keys in increasing order, so many at a time. Private."""
        for first in range(0, len(self._keys), length):
            yield self._keys[first : first + length]
            if (first // length) % max(1, LONG // length) == 0:
                self._let_go()

    def _let_go(self) -> None:
        """Leave the pages of a mapped file to the system, which keeps them if it has room."""
        whole = _map_of(self._keys)
        if whole is not None and hasattr(mmap, "MADV_DONTNEED"):
            whole.madvise(mmap.MADV_DONTNEED)


def _check_cells(cells: int) -> None:
    if cells > MOST_CELLS:
        raise ValueError(
            f"the grid has {cells} cells, more than {MOST_CELLS}; ask for fewer on each axis"
        )


def _map_of(keys: NDArray[np.uint64]) -> mmap.mmap | None:
    """Return the map of a file that keys lie in, if they do and nobody can write to it."""
    base = keys.base
    owner = base.obj if isinstance(base, memoryview) else base
    return owner if isinstance(owner, mmap.mmap) and not keys.flags.writeable else None


def _immutable(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a copy that nobody can make writable again."""
    return np.frombuffer(keys.tobytes(), dtype=np.uint64)


# How points on a grid become keys that sort by cell, and keys become points again.
#
# A key holds the bits of all coordinates in the order of the splits: Morton's order when the axes
# take turns. Everything here is public; keys of private points are as private as the points.


def turns(dimensions: int, depth: int | None = None) -> tuple[int, ...]:
    """Return the splits of Morton's order: the axes in turn, `depth` times each (64 in all)."""
    if not 1 <= dimensions <= 64:
        raise ValueError(f"points have 1 to 64 dimensions here; got {dimensions}")
    times = 64 // dimensions if depth is None else depth
    return tuple(range(dimensions)) * times


@dataclass(frozen=True)
class MortonOrder:
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
        from sfumato.engines.point_kernels import interleave_bits

        keys = np.empty(len(grid[0]), dtype=np.uint64)
        for first in range(0, len(keys), BLOCK):
            part = slice(first, first + BLOCK)
            block = np.stack([column[part] for column in grid]).astype(np.uint64)
            interleave_bits(block, _spread(self), keys[part])
        return keys

    def coordinates(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the coordinates of every key, one row for each axis."""
        from sfumato.engines.point_kernels import separate_bits

        grid = np.empty((self.dimensions, len(keys)), dtype=np.uint64)
        separate_bits(np.ascontiguousarray(keys), _gather(self), grid)
        return grid


@lru_cache(maxsize=16)
def _places(morton: MortonOrder) -> tuple[tuple[int, int, int], ...]:
    """Return the axis of each split with its bit of the coordinate and its bit of the key."""
    left = list(morton.bits)
    found = []
    for step, axis in enumerate(morton.axes):
        left[axis] -= 1
        found.append((axis, left[axis], len(morton.axes) - 1 - step))
    return tuple(found)


@lru_cache(maxsize=16)
def _spread(morton: MortonOrder) -> NDArray[np.uint64]:
    """Return which bits of the key each byte of each coordinate sets."""
    table = np.zeros((morton.dimensions, max(1, -(-max(morton.bits) // 8)), 256), np.uint64)
    for axis, inside, outside in _places(morton):
        _set_bit(table[axis], inside, outside)
    return table


@lru_cache(maxsize=16)
def _gather(morton: MortonOrder) -> NDArray[np.uint64]:
    """Return which bits of each coordinate each byte of the key sets."""
    table = np.zeros((morton.dimensions, max(1, -(-len(morton.axes) // 8)), 256), np.uint64)
    for axis, inside, outside in _places(morton):
        _set_bit(table[axis], outside, inside)
    return table


def _set_bit(table: NDArray[np.uint64], source: int, target: int) -> None:
    """Let one bit of a number set one bit of what is looked up from its bytes."""
    byte, bit = divmod(source, 8)
    table[byte, (np.arange(256) >> bit) & 1 == 1] |= np.uint64(1 << target)
