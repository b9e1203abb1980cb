"""How well a release counts random ranges of its ordered columns.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes and is never part of a release, a certificate or a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import Table, TablePublic
from sfumato.evaluate.paired_counts import (
    Comparable,
    can_count,
    count_sides,
    keep_released_columns,
    side_of,
)

__all__ = ["RangeError", "RangeErrors", "ordered_columns", "range_errors"]

#: The kinds of columns whose codes are in order.
ORDERED = ("number", "integer", "date", "datetime")
#: Boxes span this many columns at most, and tables of this many cells.
MOST_WAYS = 3
MOST_CELLS = 2**22
#: Counts below this share of all rows are judged as if they were that large.
SANITY = 0.001


@dataclass(frozen=True)
class RangeError:
    """The count of one box.

    Parameters
    ----------
    columns
        The columns whose values are bounded.
    truth, released
        The number of rows within the bounds on either side.
    relative
        The difference as a share of the true count, or of a thousandth of all rows if that is
        more.
    """

    columns: tuple[str, ...]
    truth: float
    released: float
    relative: float


@dataclass(frozen=True)
class RangeErrors:
    """The counts of random boxes. Not private.

    Parameters
    ----------
    queries
        One comparison a box; none where the table has no ordered columns that the release holds.
    """

    queries: tuple[RangeError, ...]

    @property
    def average(self) -> float | None:
        """The average relative error; `None` where nothing was compared."""
        return float(np.mean([item.relative for item in self.queries])) if self.queries else None

    @property
    def median(self) -> float | None:
        """The median relative error; `None` where nothing was compared."""
        return float(np.median([item.relative for item in self.queries])) if self.queries else None

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "private": False,
            "queries": len(self.queries),
            "average_relative_error": self.average,
            "median_relative_error": self.median,
        }


def ordered_columns(public: TablePublic) -> tuple[int, ...]:
    """Return the columns whose values have an order: numbers, whole numbers and dates."""
    return tuple(
        number
        for number, column in enumerate(public.schema.columns)
        if column.coding.kind in ORDERED and column.coding.proper > 1
    )


def range_errors(
    table: Table,
    release: Comparable,
    *,
    queries: int = 1000,
    generator: np.random.Generator | None = None,
) -> RangeErrors:
    """Count random boxes of up to three ordered columns on both sides. Not private.

    Parameters
    ----------
    table
        The private table.
    release
        What it is compared with.
    queries
        How many boxes.
    generator
        Draws the boxes; by default always the same ones, so that two releases can be compared.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    table = keep_released_columns(table, release)
    public = table.public
    generator = noise.generator(0) if generator is None else generator
    sets = _sets(public, release)
    if not sets:
        return RangeErrors(())
    chosen = np.sort(generator.integers(0, len(sets), queries))
    wanted = {sets[number]: int((chosen == number).sum()) for number in np.unique(chosen)}
    found = []
    rows = table.counts.rows
    sides = [table.counts, side_of(release)]
    for columns, tables in count_sides(sides, list(wanted), public.sizes):
        names = tuple(public.columns[column] for column in columns)
        for _ in range(wanted[columns]):
            box = _box(public, columns, generator)
            truth, released = (float(side[box].sum()) for side in tables)
            relative = abs(truth - released) / max(truth, SANITY * rows, 1.0)
            found.append(RangeError(names, truth, released, relative))
    return RangeErrors(tuple(found))


def _sets(public: TablePublic, release: Comparable) -> list[tuple[int, ...]]:
    """Return the combinations of ordered columns over which boxes are drawn."""
    ordered = ordered_columns(public)
    return [
        columns
        for ways in range(1, MOST_WAYS + 1)
        for columns in combinations(ordered, ways)
        if prod(public.sizes[column] for column in columns) <= MOST_CELLS
        and can_count(release, columns)
    ]


def _box(
    public: TablePublic, columns: tuple[int, ...], generator: np.random.Generator
) -> tuple[slice, ...]:
    """Return random bounds for each column, uniform among all that are not empty."""
    box = []
    for column in columns:
        proper = public.schema.columns[column].coding.proper
        ends: NDArray[np.int64] = np.sort(generator.choice(proper + 1, 2, replace=False))
        box.append(slice(int(ends[0]), int(ends[1])))
    return tuple(box)
