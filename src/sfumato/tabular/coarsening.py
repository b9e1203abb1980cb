"""Columns coarsened for tables of several columns: rare values share a code.

A value of fewer rows than the noise on its cells adds up to cannot be told from noise in a table
with other columns. Its frequency is known from its own column; only its dependence on other columns
is given up. Everything here is post-processing of noisy one-way counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.tabular.binned_model import Bins

__all__ = ["WORTH_A_CODE", "Coarsening", "merge_rare"]

Floats = NDArray[np.float64]

#: A value keeps a code of its own in tables of several columns if its rows are at least this many
#: times the noise on its cells in a table with a typical column.
WORTH_A_CODE = 0.25
#: Above any number of rows.
ENDLESS = 2.0**62
#: Less noise than this is none.
LEAST_SPREAD = 1e-9


class Coarsening:
    """How columns are coarsened, for any noise. Public.

    Parameters
    ----------
    masses
        For each measured column the numbers of rows of its values, not negative.
    """

    def __init__(self, masses: Mapping[int, Floats]) -> None:
        self._masses = masses
        # All columns are looked up together: their values in increasing order, and whose they are.
        columns = [np.sort(column) for column in masses.values()]
        self._sizes = np.array([len(column) for column in columns], dtype=np.int64)
        owners = np.repeat(np.arange(len(columns)), self._sizes)
        flat = np.concatenate(columns)
        order = np.argsort(flat, kind="stable")
        self._ranked, self._owners = flat[order], owners[order]
        # The rows of the rarest values of each column, and where those of each column begin.
        self._below = np.concatenate([[0.0, *np.cumsum(column)] for column in columns])
        self._begins = np.cumsum(self._sizes + 1) - (self._sizes + 1)

    def codes(self, spread: float) -> NDArray[np.int64]:
        """Return the number of codes of each column, for a mean absolute noise on a cell."""
        return self._codes(self._threshold(spread))

    def bins(self, spread: float) -> dict[int, Bins]:
        """Return the columns whose values are merged, and how."""
        threshold, found = self._threshold(spread), {}
        for column, masses in self._masses.items():
            groups = merge_rare(masses, threshold)
            if groups.max() + 1 < len(masses):
                found[column] = Bins(groups, len(masses), masses)
        return found

    def _codes(self, threshold: float) -> NDArray[np.int64]:
        """Return how many codes each column has once values below a threshold are merged."""
        many = int(np.searchsorted(self._ranked, threshold, side="left"))
        rare = np.bincount(self._owners[:many], minlength=self._sizes.size)
        frequent = self._sizes - rare
        return frequent + _count_groups(frequent, self._below[self._begins + rare], threshold)

    def _threshold(self, spread: float) -> float:
        """Return the fewest rows of a code: what noise on its cells in a typical table adds up to.

        The lower it is, the more codes there are, and the more noise: both meet once.
        """
        if spread < LEAST_SPREAD:
            return 0.0
        low, high = WORTH_A_CODE * spread, ENDLESS
        while high > low * 1.001:
            middle = low * sqrt(high / low)
            if middle < WORTH_A_CODE * spread * float(self._codes(middle).mean()):
                low = middle
            else:
                high = middle
        return high


def _count_groups(frequent: NDArray[np.int64], rest: Floats, threshold: float) -> NDArray[np.int64]:
    """Return into how many groups rare values are merged that have so many rows together."""
    if threshold > 0:
        groups = np.minimum(rest / threshold, ENDLESS).astype(np.int64)
    else:
        groups = np.zeros_like(frequent)
    # Without any frequent value there is at least one group.
    most: NDArray[np.int64] = np.maximum(groups, 1 - np.minimum(frequent, 1))
    return most


def merge_rare(masses: Floats, threshold: float) -> NDArray[np.intp]:
    """Return the code of each value once values below a threshold share codes.

    Values with at least as many rows as the threshold keep a code each. The others are merged, in
    their declared order, to groups of about equal numbers of rows, each at least the threshold;
    where all of them together have fewer, they join the rarest of the frequent values.

    Parameters
    ----------
    masses
        The number of rows of each value, not negative.
    threshold
        The fewest rows of a code.
    """
    frequent = masses >= threshold
    if frequent.all():
        return np.arange(len(masses), dtype=np.intp)
    rare = ~frequent
    rest = float(masses[rare].sum())
    groups = int(_count_groups(np.array([frequent.sum()]), np.array([rest]), threshold)[0])
    # A code stands where its first value stands, so that codes keep the declared order.
    first = np.arange(len(masses))
    if groups == 0:
        # Together they are no more than noise: they go with the rarest value that is more.
        first[rare] = np.flatnonzero(frequent)[np.argmin(masses[frequent])]
    else:
        before = np.cumsum(masses[rare]) - masses[rare]
        group = np.minimum(before * (groups / max(rest, 1e-300)), groups - 1).astype(np.int64)
        _, begins, inverse = np.unique(group, return_index=True, return_inverse=True)
        first[rare] = np.flatnonzero(rare)[begins[inverse]]
    return np.unique(first, return_inverse=True)[1].astype(np.intp)
