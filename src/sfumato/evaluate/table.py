"""How far a release of a table is from the private table it was made of.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import Table
from sfumato.evaluate.association import Associations, associations
from sfumato.evaluate.classifiers import Classification, train_and_test
from sfumato.evaluate.paired_counts import (
    Comparable,
    can_count,
    count_sides,
    keep_released_columns,
    side_of,
)
from sfumato.evaluate.ranges import RangeErrors, range_errors
from sfumato.evaluate.warning import WARNING
from sfumato.sections import Grid, Text
from sfumato.tabular.noisy_tables import NoisyTables
from sfumato.tabular.synthetic import SyntheticTable

__all__ = [
    "WARNING",
    "Distance",
    "Evaluation",
    "Summary",
    "average_total_variation",
    "choose_sets",
    "evaluate",
    "total_variation",
]

#: Of more combinations of columns than this, a random part is compared.
MOST_SETS = 5000
#: Tables of more cells than this are not compared cell by cell.
MOST_CELLS = 2**24


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
    left_out
        How many tables were not compared because they are too many or too large.
    """

    what: str
    distances: tuple[Distance, ...]
    missing: int = 0
    left_out: int = 0

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
            "left_out": self.left_out,
            "tables": [
                {"columns": list(item.columns), "total_variation": item.total_variation}
                for item in self.distances
            ],
        }

    def cells(self) -> tuple[str, ...]:
        """Return its line of the table that people read."""
        missing = f" ({self.missing} not released)" if self.missing else ""
        missing += f" ({self.left_out} left out)" if self.left_out else ""
        average, worst = self.average, self.worst
        return (
            self.what,
            f"{len(self.distances)}{missing}",
            "—" if average is None else f"{100 * average:.2f} %",
            "—" if worst is None else f"{worst.name}: {100 * worst.total_variation:.2f} %",
        )


@dataclass(frozen=True)
class Evaluation:
    """A comparison of a release with the private table. Not private.

    Parameters
    ----------
    released
        The tables as they were released, or as they were counted for released rows.
    by_ways
        All one-way tables, all two-way tables, and so on, as far as the release holds them.
    associations
        How far off the dependence of each two columns is.
    ranges
        How far off counts of random ranges are; `None` where none were asked for.
    classifications
        How well rules learnt from the released rows predict private ones, one a target.
    """

    released: Summary
    by_ways: tuple[Summary, ...]
    associations: Associations
    ranges: RangeErrors | None = None
    classifications: tuple[Classification, ...] = ()

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
            "associations": self.associations.to_json(),
            "ranges": None if self.ranges is None else self.ranges.to_json(),
            "classifications": [item.to_json() for item in self.classifications],
        }

    def blocks(self) -> list[Text | Grid]:
        """Return the same for people."""
        head = ("tables", "compared", "average distance", "furthest off")
        rows = tuple(summary.cells() for summary in self.summaries)
        return [
            Grid(head, rows),
            *(Text(line) for line in self._further_lines()),
            Text(
                "Total variation distance: the share of rows that would have to move to turn the "
                "released table into the true one."
            ),
        ]

    def _further_lines(self) -> list[str]:
        """Return the comparisons that are not of tables, one per line."""
        lines = []
        worst = self.associations.worst
        if worst is not None:
            lines.append(
                "Dependence of two columns (Cramér's V): off by "
                f"{self.associations.average_error:.3f} on average; most for "
                f"{' × '.join(worst.columns)}, {worst.released:.3f} instead of {worst.truth:.3f}."
            )
        ranges = self.ranges
        if ranges is not None and ranges.average is not None and ranges.median is not None:
            lines.append(
                f"Counts of {len(ranges.queries):,} random ranges: off by "
                f"{100 * ranges.average:.1f} % on average (median {100 * ranges.median:.1f} %), as "
                "a percentage of the true count, or of 0.1 % of all rows if that is larger."
            )
        return [*lines, *(item.words() for item in self.classifications)]


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
    table: Table, release: Comparable, what: str, sets: Sequence[tuple[int, ...]], *, others: int
) -> Summary:
    """Compare the combinations of columns that the release holds, counted in batches.

    Parameters
    ----------
    table, release
        The two sides.
    what
        Which tables, in words.
    sets
        The combinations of columns.
    others
        How many further ones of the family were left out because they are too many.
    """
    names, sizes = table.public.columns, table.public.sizes
    known = [columns for columns in sets if can_count(release, columns)]
    small = [columns for columns in known if prod(sizes[c] for c in columns) <= MOST_CELLS]
    found = [
        Distance(tuple(names[column] for column in columns), total_variation(truth, released))
        for columns, (truth, released) in count_sides(
            [table.counts, side_of(release)], small, sizes
        )
    ]
    left_out = others + len(known) - len(small)
    return Summary(what, tuple(found), len(sets) - len(known), left_out)


def _of_ways(table: Table, release: Comparable, ways: int) -> Summary:
    """Compare all combinations of `ways` columns, or a random part of very many."""
    sets, others = choose_sets(len(table.public.columns), ways, MOST_SETS)
    return _distances(table, release, f"all {ways}-way tables", sets, others=others)


def choose_sets(columns: int, ways: int, most: int) -> tuple[list[tuple[int, ...]], int]:
    """Return all combinations of `ways` columns, or a random part of very many, and how many more.

    It is the same part each time, so that two releases can be compared by it.
    """
    every = comb(columns, ways)
    if every <= most:
        return list(combinations(range(columns), ways)), 0
    generator = noise.generator(ways)
    drawn = {tuple(sorted(generator.permutation(columns)[:ways].tolist())) for _ in range(most)}
    return sorted(drawn), every - len(drawn)


def _own_sets(release: Comparable) -> tuple[str, list[tuple[int, ...]]]:
    """Return the combinations of columns that a release was made of."""
    if isinstance(release, NoisyTables):
        return "the released tables", list(release.sets)
    if isinstance(release, SyntheticTable):
        sets = {tuple(sorted(set(part.columns))) for part in release.network.parts}
        return "the tables of the model", sorted(sets)
    return "the columns", [(column,) for column in range(len(release.public.columns))]


def evaluate(
    table: Table,
    release: Comparable,
    *,
    ways: Sequence[int] = (1, 2),
    queries: int = 0,
    predict: Sequence[str] = (),
) -> Evaluation:
    """Compare a release with the private table. Not private.

    Parameters
    ----------
    table
        The private table, with its contributions bounded as for the release.
    release
        The release of it: tables of counts, synthetic rows, or a table of rows made otherwise.
    ways
        The numbers of columns per table; all combinations are compared.
    queries
        The number of random ranges of the ordered columns to compare.
    predict
        Columns that are predicted from all others by rules learnt from released rows.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    table = keep_released_columns(table, release)
    most = len(table.public.columns)
    if any(not 1 <= number <= most for number in ways):
        raise ValueError(f"ways must be from 1 to the number of columns, {most}; got {list(ways)}")
    if predict and isinstance(release, NoisyTables):
        raise ValueError(
            "predict needs synthetic rows, and this release holds tables of counts; release a "
            "synthetic table, or leave predict out"
        )
    table.public.schema.indices(predict)
    what, own = _own_sets(release)
    return Evaluation(
        _distances(table, release, what, own, others=0),
        tuple(_of_ways(table, release, number) for number in ways),
        associations(table, release),
        range_errors(table, release, queries=queries) if queries else None,
        tuple(
            train_and_test(table, release, target=name)
            for name in predict
            if not isinstance(release, NoisyTables)
        ),
    )


def average_total_variation(table: Table, release: Comparable, *, ways: int) -> float | None:
    """Return the average distance over all tables of `ways` columns that the release holds.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    table = keep_released_columns(table, release)
    return _of_ways(table, release, ways).average
