"""How well a release keeps the dependence of each two columns.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes and is never part of a release, a certificate or a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.evaluate.paired_counts import (
    Comparable,
    can_count,
    count_sides,
    keep_released_columns,
    side_of,
)

__all__ = ["Association", "Associations", "associations", "cramers_v"]

#: Pairs of columns with more combinations of values than this are not compared.
MOST_CELLS = 2**22


@dataclass(frozen=True)
class Association:
    """How much two columns depend on each other, in truth and in the release.

    Parameters
    ----------
    columns
        The two columns.
    truth, released
        Cramér's V on either side: 0 for independent columns, 1 if one decides the other.
    """

    columns: tuple[str, str]
    truth: float
    released: float

    @property
    def error(self) -> float:
        """How far off the release is."""
        return abs(self.truth - self.released)


@dataclass(frozen=True)
class Associations:
    """The dependence of all pairs of columns that a release holds. Not private.

    Parameters
    ----------
    pairs
        One comparison a pair.
    """

    pairs: tuple[Association, ...]

    @property
    def average_error(self) -> float | None:
        """The average error; `None` where no pair was compared."""
        return float(np.mean([pair.error for pair in self.pairs])) if self.pairs else None

    @property
    def worst(self) -> Association | None:
        """The pair that is furthest off."""
        return max(self.pairs, key=lambda pair: pair.error, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "private": False,
            "average_error": self.average_error,
            "pairs": [
                {"columns": list(pair.columns), "truth": pair.truth, "released": pair.released}
                for pair in self.pairs
            ],
        }


def cramers_v(table: NDArray[Any]) -> float:
    """Return Cramér's V of a two-way table of counts; 0 where a column has one value only."""
    counts = np.asarray(table, dtype=np.float64)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) <= 1:
        return 0.0
    shares = counts / counts.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    squares = float(((shares - expected) ** 2 / expected).sum())
    return float(min(1.0, (squares / (min(counts.shape) - 1)) ** 0.5))


def associations(table: Table, release: Comparable) -> Associations:
    """Compare the dependence of all pairs of columns that the release holds. Not private.

    Parameters
    ----------
    table
        The private table.
    release
        What it is compared with.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    table = keep_released_columns(table, release)
    names, sizes = table.public.columns, table.public.sizes
    pairs = [
        pair
        for pair in combinations(range(len(names)), 2)
        if sizes[pair[0]] * sizes[pair[1]] <= MOST_CELLS and can_count(release, pair)
    ]
    found = [
        Association((names[pair[0]], names[pair[1]]), cramers_v(truth), cramers_v(released))
        for pair, (truth, released) in count_sides([table.counts, side_of(release)], pairs, sizes)
    ]
    return Associations(tuple(found))
