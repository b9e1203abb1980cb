"""Making noisy tables agree on what they share, where columns may stand at different levels.

Public repair: everything here is a function of released figures. Two tables share the columns that
both hold, each at the coarser of its two levels. Averaging one shared marginal over all tables that
hold it is a least-squares projection; going round all of them, with negative counts taken back in
between, approaches tables that agree and are counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.projection import project_simplex
from sfumato.tabular.parents import ParentSet
from sfumato.tabular.structure import WorkingColumns

__all__ = ["Cells", "agreeing", "holds", "sum_to"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

#: Rounds of alternating projection.
ROUNDS = 30
#: A round that moves no cell by more than this share of the total is the last.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Cells:
    """A table of some working columns at some levels.

    Parameters
    ----------
    places
        The columns with their levels, in the order of the axes.
    values
        One value a cell.
    possible
        Which cells some row can fall into; all if None.
    """

    places: ParentSet
    values: Floats
    possible: NDArray[np.bool_] | None = None


def holds(table: ParentSet, wanted: ParentSet) -> bool:
    """Tell whether a table of some columns at some levels tells that of others."""
    levels = dict(table)
    return all(column in levels and levels[column] <= level for column, level in wanted)


def _cell_map(columns: WorkingColumns, table: ParentSet, onto: ParentSet) -> Codes:
    """Return for each cell of a table, flat, the cell of a marginal it adds to."""
    shape = columns.shape(table)
    cells = np.zeros(shape, dtype=np.intp)
    axes = {column: (axis, level) for axis, (column, level) in enumerate(table)}
    for column, level in onto:
        axis, finer = axes[column]
        groups = columns.coarser(column, finer, level)
        along = [1] * len(shape)
        along[axis] = shape[axis]
        cells = cells * columns.sizes[column][level] + groups.reshape(along)
    return cells.ravel()


def sum_to(columns: WorkingColumns, table: Cells, onto: ParentSet) -> Floats:
    """Return the marginal of a table on some of its columns, at its levels or coarser ones."""
    shape = columns.shape(onto)
    cells = _cell_map(columns, table.places, onto)
    sums = np.bincount(cells, weights=table.values.ravel(), minlength=prod(shape))
    return np.asarray(sums, dtype=np.float64).reshape(shape)


class _Shared:
    """A marginal that several tables hold."""

    def __init__(
        self, columns: WorkingColumns, tables: Sequence[Cells], kept: Sequence[Codes], on: ParentSet
    ) -> None:
        self.members = [i for i, table in enumerate(tables) if holds(table.places, on)]
        self.size = prod(columns.shape(on))
        self.maps = [_cell_map(columns, tables[i].places, on)[kept[i]] for i in self.members]
        # How many possible cells add up to each cell of the marginal: the variance of its noise.
        self.groups = [
            np.maximum(np.bincount(cells, minlength=self.size), 1).astype(np.float64)
            for cells in self.maps
        ]
        self.weight = np.sum([1.0 / group for group in self.groups], axis=0)

    def average(self, values: list[Floats]) -> None:
        """Make the tables agree on this marginal, moving them as little as possible."""
        sums = [
            np.bincount(cells, weights=values[i], minlength=self.size)
            for i, cells in zip(self.members, self.maps, strict=True)
        ]
        parts = [one / group for one, group in zip(sums, self.groups, strict=True)]
        mean = np.sum(parts, axis=0) / self.weight
        for i, cells, one, group in zip(self.members, self.maps, sums, self.groups, strict=True):
            values[i] = values[i] + ((mean - one) / group)[cells]


def _find_shared(
    columns: WorkingColumns, tables: Sequence[Cells], kept: Sequence[Codes]
) -> list[_Shared]:
    """Return what any two tables share, small marginals first."""
    found: set[ParentSet] = set()
    for one, other in combinations(tables, 2):
        levels = dict(other.places)
        shared = sorted((c, max(level, levels[c])) for c, level in one.places if c in levels)
        if shared:
            found.add(tuple(shared))
    ordered = sorted(found, key=lambda places: (len(places), places))
    return [_Shared(columns, tables, kept, places) for places in ordered]


def agreeing(
    columns: WorkingColumns, tables: Sequence[Cells], total: float, *, rounds: int = ROUNDS
) -> list[Floats]:
    """Return non-negative tables of one total, near the noisy ones, that nearly agree.

    Parameters
    ----------
    columns
        The working columns.
    tables
        Noisy tables whose cells all have the same noise.
    total
        Their common total, positive.
    rounds
        The most rounds. With none, every table is projected by itself.

    Notes
    -----
    Between rounds each table is projected onto counts of the given total, with Dykstra's
    correction (1983), so that the limit is near the noisy tables and not just any that agree.
    """
    kept = [_possible(table) for table in tables]
    values = [
        table.values.ravel()[cells].astype(np.float64)
        for table, cells in zip(tables, kept, strict=True)
    ]
    shared = _find_shared(columns, tables, kept) if rounds else []
    correction = [np.zeros_like(value) for value in values]
    current = [project_simplex(value, total) for value in values] if not shared else values
    for _ in range(rounds if shared else 0):
        for marginal in shared:
            marginal.average(values)
        shifted = [value + extra for value, extra in zip(values, correction, strict=True)]
        current = [project_simplex(value, total) for value in shifted]
        correction = [value - there for value, there in zip(shifted, current, strict=True)]
        moved = max(
            float(np.abs(a - b).max(initial=0.0)) for a, b in zip(current, values, strict=True)
        )
        values = list(current)
        if moved <= TOLERANCE * total:
            break
    return [
        _spread(table, cells, value)
        for table, cells, value in zip(tables, kept, current, strict=True)
    ]


def _possible(table: Cells) -> Codes:
    """Return the cells of a table, flat, that some row can fall into."""
    if table.possible is None:
        return np.arange(table.values.size)
    return np.flatnonzero(table.possible.ravel())


def _spread(table: Cells, cells: Codes, values: Floats) -> Floats:
    """Return a whole table, given its possible cells."""
    whole = np.zeros(table.values.size)
    whole[cells] = values
    return whole.reshape(table.values.shape)
