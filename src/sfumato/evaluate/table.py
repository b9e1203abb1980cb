"""How far a release of tables is from the private table it was made of.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic

__all__ = [
    "WARNING",
    "Distance",
    "Evaluation",
    "Summary",
    "average_total_variation",
    "evaluate",
    "total_variation",
]

WARNING = (
    "Not private: these figures were computed from the private data without noise. They are for "
    "the custodian's eyes; do not publish them with the release."
)


class TablesOfCounts(Protocol):
    """A release that answers with counts for the combinations of columns it holds."""

    public: TablePublic
    sets: tuple[tuple[int, ...], ...]

    def counts(self, columns: Sequence[str]) -> NDArray[np.float64]:
        """Return released counts, one axis a column."""


@dataclass(frozen=True)
class Distance:
    """How far one released table is from the truth.

    Parameters
    ----------
    columns
        The columns of the table.
    total_variation
        The share of rows that would have to move for the released table to be the true one.
    """

    columns: tuple[str, ...]
    total_variation: float

    @property
    def name(self) -> str:
        """The table's name, as plans and releases write it."""
        return " × ".join(self.columns)


@dataclass(frozen=True)
class Summary:
    """The distances of a family of tables.

    Parameters
    ----------
    what
        Which tables, in words.
    distances
        One distance a table that the release holds.
    missing
        How many tables of the family no released table holds.
    """

    what: str
    distances: tuple[Distance, ...]
    missing: int = 0

    @property
    def average(self) -> float | None:
        """The average total variation distance; `None` where the release holds no such table."""
        if not self.distances:
            return None
        return float(np.mean([distance.total_variation for distance in self.distances]))

    @property
    def worst(self) -> Distance | None:
        """The table that is furthest off."""
        return max(self.distances, key=lambda item: item.total_variation, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "what": self.what,
            "average_total_variation": self.average,
            "missing": self.missing,
            "tables": [
                {"columns": list(item.columns), "total_variation": item.total_variation}
                for item in self.distances
            ],
        }


@dataclass(frozen=True)
class Evaluation:
    """A comparison of a release with the private table. Not private.

    Parameters
    ----------
    released
        The tables as they were released.
    by_ways
        All one-way tables, all two-way tables, and so on, as far as the release holds them.
    """

    released: Summary
    by_ways: tuple[Summary, ...]

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """All families of tables that were compared."""
        return (self.released, *self.by_ways)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "released": self.released.to_json(),
            "by_ways": [summary.to_json() for summary in self.by_ways],
        }


def total_variation(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the total variation distance of two tables of counts, each taken as shares.

    It is half the sum of absolute differences: 0 for equal shares, 1 for tables that share no
    cell. A table without any count is at distance 1 from every other one that has some.
    """
    if first.shape != second.shape:
        raise ValueError(f"tables must have one shape; got {first.shape} and {second.shape}")
    totals = float(first.sum()), float(second.sum())
    if min(totals) <= 0:
        return 0.0 if max(totals) <= 0 else 1.0
    return float(0.5 * np.abs(first / totals[0] - second / totals[1]).sum())


def _distances(
    table: Table, release: TablesOfCounts, sets: Iterable[tuple[int, ...]]
) -> tuple[Distance, ...]:
    """Return the distance of each combination of columns, counted in one pass."""
    wanted = list(sets)
    names = table.public.columns
    truth = table.counts.marginals(wanted)
    found = []
    for columns, counts in zip(wanted, truth, strict=True):
        chosen = tuple(names[column] for column in columns)
        found.append(Distance(chosen, total_variation(counts, release.counts(chosen))))
    return tuple(found)


def _of_ways(table: Table, release: TablesOfCounts, ways: int) -> Summary:
    """Compare all combinations of `ways` columns that the release holds."""
    every = list(combinations(range(len(table.public.columns)), ways))
    held = [item for item in every if any(set(item) <= set(columns) for columns in release.sets)]
    return Summary(
        f"all {ways}-way tables", _distances(table, release, held), len(every) - len(held)
    )


def _check_same_columns(table: Table, release: TablesOfCounts) -> None:
    """Raise unless the table and the release speak of the same columns and values."""
    mine, theirs = table.public.schema, release.public.schema
    if [c.coding for c in mine.columns] != [c.coding for c in theirs.columns] or (
        mine.names != theirs.names
    ):
        raise ValueError(
            "the release was made with another schema than this table has; evaluate it with the "
            "schema it was made with"
        )


def evaluate(table: Table, release: TablesOfCounts, *, ways: Sequence[int] = (1, 2)) -> Evaluation:
    """Compare a release with the private table. Not private.

    Parameters
    ----------
    table
        The private table, with its contributions bounded as for the release.
    release
        The release of it.
    ways
        For how many columns at a time all combinations are compared as well.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    _check_same_columns(table, release)
    most = len(table.public.columns)
    if any(not 1 <= number <= most for number in ways):
        raise ValueError(f"ways must be from 1 to the number of columns, {most}; got {list(ways)}")
    released = Summary("the released tables", _distances(table, release, release.sets))
    return Evaluation(released, tuple(_of_ways(table, release, number) for number in ways))


def average_total_variation(table: Table, release: TablesOfCounts, *, ways: int) -> float | None:
    """Return the average distance over all tables of `ways` columns that the release holds.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    (summary,) = evaluate(table, release, ways=(ways,)).by_ways
    return summary.average
