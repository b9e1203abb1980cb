"""The sets of columns that rounds choose from, and which of them a model can still take in.

Public arithmetic on declared sizes and on what was chosen before. The same questions come up while
a release is planned, tried out, measured and built, so the last answers are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.layout import running

__all__ = ["Pool", "Set", "candidate_pool", "joinable_sets"]

Set = tuple[int, ...]
Level = tuple[NDArray[np.int64], NDArray[np.int64]]

#: Tables of more cells than this are all alike: none is ever counted.
ENDLESS = 2**62


@dataclass(frozen=True, eq=False)
class Pool:
    """Sets of columns to choose from, their tables laid one after another.

    Parameters
    ----------
    sets
        The sets, none of them empty.
    sizes
        The domain size of each column.
    """

    sets: tuple[Set, ...]
    sizes: tuple[int, ...]
    cells: NDArray[np.int64] = field(init=False)
    starts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        columns, firsts = self.members
        sizes = np.asarray(self.sizes, dtype=np.int64)
        cells = np.multiply.reduceat(sizes[columns], firsts[:-1]) if self.sets else sizes[:0]
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "starts", running(cells.tolist()))

    @cached_property
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of all sets one after another, and where each set starts."""
        columns = [column for inside in self.sets for column in inside]
        lengths = [len(inside) for inside in self.sets]
        return np.asarray(columns, dtype=np.int64), running(lengths)


def candidate_pool(
    sizes: tuple[int, ...],
    cells: float,
    *,
    most_sets: int,
    most_cells: int,
    ways: int | None = None,
    singles: bool = False,
) -> Pool:
    """Return sets of two or more columns whose tables are small enough to be worth measuring.

    Parameters
    ----------
    sizes
        The domain size of each column; columns of one value are left out.
    cells
        The most cells of a table.
    most_sets, most_cells
        All sets of k + 1 columns are taken in only if there are no more sets and cells than this
        in all; of the first k that do not fit, the smallest tables.
    ways
        The most columns of a set.
    singles
        Whether every single column is taken in as well.
    """
    limit = int(min(cells, ENDLESS))
    return _candidate_pool(tuple(sizes), limit, most_sets, most_cells, ways, singles)


@lru_cache(maxsize=16)
def _candidate_pool(
    sizes: tuple[int, ...],
    limit: int,
    most_sets: int,
    most_cells: int,
    ways: int | None,
    singles: bool,
) -> Pool:
    useful = np.asarray([c for c, size in enumerate(sizes) if size > 1], dtype=np.int64)
    measures = np.asarray(sizes, dtype=np.int64)
    level: Level = useful[:, None], measures[useful]
    taken: list[Set] = _tuples(level[0]) if singles else []
    used = int(level[1].sum()) if singles else 0
    for _ in range(2, (ways or len(useful)) + 1):
        level = _longer(level, useful, measures, limit)
        if not level[1].size:
            break
        fitting = _smallest(level, most_sets - len(taken), most_cells - used)
        taken += fitting
        if len(fitting) < level[1].size:
            break
        used += int(level[1].sum())
    return Pool(tuple(sorted(taken)), sizes)


def _tuples(sets: NDArray[np.int64]) -> list[Set]:
    return [tuple(columns) for columns in sets.tolist()]


def _longer(level: Level, useful: NDArray[np.int64], sizes: NDArray[np.int64], limit: int) -> Level:
    """Return all sets of one column more, and their cells, if those are within a limit."""
    sets, cells = level
    after = np.searchsorted(useful, sets[:, -1], side="right")
    many = len(useful) - after
    which = np.repeat(np.arange(len(sets)), many)
    place = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many)
    column = useful[after[which] + place]
    kept = cells[which] <= limit // sizes[column]
    which, column = which[kept], column[kept]
    return np.column_stack([sets[which], column]), cells[which] * sizes[column]


def _smallest(level: Level, most_sets: int, most_cells: int) -> list[Set]:
    """Return all sets of a level where they fit, else the smallest tables."""
    sets, cells = level
    # Larger ones than what is left do not fit anyway, and would only overflow.
    ranked = np.sort(np.minimum(cells, max(most_cells, 0) + 1))
    fitting = int(np.searchsorted(np.cumsum(ranked), most_cells, side="right"))
    fitting = max(min(fitting, most_sets), 0)
    if fitting == len(sets):
        return _tuples(sets)
    last = ranked[fitting]
    below = sets[cells < last]
    # Among tables of one size no columns come first: a fixed public lot decides.
    alike = sets[cells == last]
    first = np.argsort(_lots(alike), kind="stable")[: fitting - len(below)]
    return _tuples(below) + _tuples(alike[first])


def _lots(sets: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return numbers that look random and are the same everywhere.

    They are the CRC-32 of the sets as they are written, such as `(0, 7, 12)`.
    """
    table = _checksums()
    lots = np.full(len(sets), 0xFFFFFFFF, dtype=np.uint32)

    def read(letters: NDArray[np.uint8], there: NDArray[np.bool_] | bool = True) -> None:
        after = table[(lots ^ letters) & np.uint32(0xFF)] ^ (lots >> np.uint32(8))
        np.copyto(lots, after, where=there)

    names = np.char.encode(np.arange(int(sets.max(initial=0)) + 1).astype(str))
    letters = names.view(np.uint8).reshape(len(names), -1)
    for place in range(sets.shape[1]):
        for letter in b", " if place else b"(":
            read(np.asarray([letter], dtype=np.uint8))
        for column in letters.T:
            # Shorter numbers end in zeros.
            read(column[sets[:, place]], column[sets[:, place]] > 0)
    read(np.asarray(list(b")"), dtype=np.uint8))
    return ~lots


@cache
def _checksums() -> NDArray[np.uint32]:
    """Return what each byte becomes in a CRC-32."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0xEDB88320), table >> 1)
    return table.astype(np.uint32)


def joinable_sets(near: NDArray[np.bool_], pool: Pool, most_cells: float) -> NDArray[np.int64]:
    """Return the numbers of the sets that can be joined without making a model too large.

    Parameters
    ----------
    near
        Which columns the model joins already.
    pool
        The sets.
    most_cells
        The most cells of the model.
    """
    return _joinable_sets(near.tobytes(), pool, most_cells)


@lru_cache(maxsize=128)
def _joinable_sets(near: bytes, pool: Pool, most_cells: float) -> NDArray[np.int64]:
    from sfumato.mechanisms.graphical.growth_kernels import joinable

    if not pool.sets:
        return np.zeros(0, dtype=np.int64)
    sizes = np.asarray(pool.sizes, dtype=np.float64)
    joined = np.frombuffer(near, dtype=np.bool_).reshape(len(sizes), len(sizes))
    offered = np.flatnonzero(joinable(joined, sizes, *pool.members, most_cells)).astype(np.int64)
    offered.flags.writeable = False
    return offered
