"""Making noisy marginals agree with each other, non-negative, and of one total.

Public repair: everything here is a function of what the primitives said. A family of tables is
consistent when any two of them have the same marginal on the columns they share. The least-squares
projection onto consistent families has a closed form: split every table into its interactions (the
parts that sum to zero along each of their own axes), average each interaction over the tables that
hold it, weighted by precision, and put the tables together again. Interactions are orthogonal and
the noise of the cells is independent, so this is generalised least squares, not a heuristic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.progress import track

Floats = NDArray[np.float64]
Columns = tuple[int, ...]

#: Rounds of alternating projection; each halves what is left of the negativity, roughly.
ROUNDS = 200
#: With cells that cannot occur it takes more of them.
MOST_ROUNDS = 3000
#: The loop ends when no cell is below minus this share of the total.
TOLERANCE = 1e-7


def marginalise(table: Floats, columns: Columns, onto: Columns) -> Floats:
    """Return the marginal of a table on some of its columns, in their order within the table."""
    gone = tuple(axis for axis, column in enumerate(columns) if column not in onto)
    return np.asarray(table.sum(axis=gone), dtype=np.float64)


def _centre(table: Floats) -> Floats:
    """Return the part of a table that sums to zero along each axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _subsets(columns: Columns) -> list[Columns]:
    return [subset for size in range(len(columns) + 1) for subset in combinations(columns, size)]


@dataclass(frozen=True)
class Family:
    """A family of tables over sets of columns, with the variance of their cells.

    Parameters
    ----------
    sets
        The columns of each table, increasing.
    sizes
        How many values each column has.
    variances
        The noise variance of a cell of each table; only their ratios matter.
    """

    sets: tuple[Columns, ...]
    sizes: tuple[int, ...]
    variances: tuple[float, ...]

    def __post_init__(self) -> None:
        if any(tuple(sorted(set(columns))) != columns for columns in self.sets):
            raise ValueError("the columns of each table must be increasing and distinct")

    def _cells(self, columns: Columns) -> int:
        return prod(self.sizes[column] for column in columns)

    def interactions(self, tables: Sequence[Floats]) -> dict[Columns, Floats]:
        """Return the precision-weighted average of every interaction, as parts of marginals."""
        sums: dict[Columns, Floats] = {}
        weights: dict[Columns, float] = {}
        for columns, table, variance in zip(self.sets, tables, self.variances, strict=True):
            for subset in _subsets(columns):
                # A cell of the marginal adds up cells(A)/cells(S) noisy cells.
                weight = self._cells(subset) / (variance * self._cells(columns))
                part = weight * _centre(marginalise(table, columns, subset))
                sums[subset] = sums[subset] + part if subset in sums else part
                weights[subset] = weights.get(subset, 0.0) + weight
        return {subset: part / weights[subset] for subset, part in sums.items()}

    def assemble(self, parts: dict[Columns, Floats]) -> list[Floats]:
        """Return the consistent tables that have the given interactions."""
        tables = []
        for columns in self.sets:
            table = np.zeros([self.sizes[column] for column in columns])
            for subset in _subsets(columns):
                share = self._cells(subset) / self._cells(columns)
                shape = [self.sizes[c] if c in subset else 1 for c in columns]
                table += parts[subset].reshape(shape) * share
            tables.append(table)
        return tables


def consistent(family: Family, tables: Sequence[Floats]) -> list[Floats]:
    """Return the consistent tables that are closest in weighted least squares."""
    return family.assemble(family.interactions(tables))


def consistent_counts(
    family: Family,
    tables: Sequence[Floats],
    total: float | None = None,
    even: Sequence[Floats] | None = None,
) -> list[Floats]:
    """Return non-negative consistent tables close to the given noisy ones.

    The total is estimated first, by least squares, and held: non-negativity alone would push it up,
    because clipping fills empty cells. Dykstra's alternating projections then approach the nearest
    family that is both consistent and non-negative, and mixing with the uniform table removes what
    is left of the negativity, so that the result is exactly both.

    Parameters
    ----------
    family
        The columns of the tables and the variances of their cells.
    tables
        The noisy tables.
    total
        The common total where it is public; else it is estimated from the tables.
    even
        Consistent shares that are 0 where a cell cannot occur, and positive elsewhere; by default
        all cells are alike. With cells that cannot occur, tables agree up to the tolerance.
    """
    if even is None:
        even = [np.full(np.shape(table), 1.0 / np.size(table)) for table in tables]
    possible = [shares > 0 for shares in even]
    parts = family.interactions(tables)
    size = float(parts[()]) if total is None else total
    if size <= 0.0:
        return [np.zeros(np.shape(table)) for table in tables]
    fixed = np.array(size)
    current = [np.asarray(table, dtype=np.float64) for table in tables]
    correction = [np.zeros_like(table) for table in current]
    rounds = ROUNDS if all(there.all() for there in possible) else MOST_ROUNDS
    for _ in track(range(rounds), "making the tables agree"):
        parts = family.interactions(current)
        parts[()] = fixed
        projected = family.assemble(parts)
        wrong = max(
            float(np.maximum(-table, np.where(there, 0.0, table)).max())
            for table, there in zip(projected, possible, strict=True)
        )
        if wrong <= TOLERANCE * max(size, 1.0):
            break
        shifted = [table + extra for table, extra in zip(projected, correction, strict=True)]
        current = [
            np.where(there, np.maximum(table, 0.0), 0.0)
            for table, there in zip(shifted, possible, strict=True)
        ]
        correction = [table - kept for table, kept in zip(shifted, current, strict=True)]
    return _mix_with_even(projected, size, even)


def _mix_with_even(tables: Sequence[Floats], size: float, even: Sequence[Floats]) -> list[Floats]:
    """Mix consistent tables with even ones of the same total, just enough to lose negatives."""
    share = 0.0
    for table, shares in zip(tables, even, strict=True):
        low = (table < 0) & (shares > 0)
        if low.any():
            share = max(share, float((-table[low] / (size * shares[low] - table[low])).max()))
    return [
        np.where(shares > 0, np.maximum((1 - share) * table + share * size * shares, 0.0), 0.0)
        for table, shares in zip(tables, even, strict=True)
    ]
