"""The law of sums over some questions of reports on all combinations of answers at once.

Post-processing. In a pure law nothing but whether a combination belongs to a sum matters, so that
the variances of sums need the shares of the sums only, not those of single combinations.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sfumato.local.law import Floats, PureLaw

__all__ = ["SummedLaw"]


@dataclass(frozen=True)
class SummedLaw:
    """Reports on all combinations, summed over all questions but some.

    Parameters
    ----------
    law
        The law over all combinations, the last question running fastest.
    whole
        How many answers each question has.
    kept
        Which questions are kept, in the order of the axes wanted.
    """

    law: PureLaw
    whole: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums."""
        return tuple(self.whole[axis] for axis in self.kept)

    @property
    def _members(self) -> int:
        """How many combinations each sum is over."""
        return prod(self.whole) // prod(self.shape)

    def _sorted(self, table: Floats) -> Floats:
        """Return a table with its axes in the order of the questions."""
        return np.asarray(np.transpose(table.reshape(self.shape), np.argsort(self.kept)))

    def _lifted(self, table: Floats) -> Floats:
        """Return for each combination, flat, the entry of its sum."""
        beside = tuple(axis for axis in range(len(self.whole)) if axis not in self.kept)
        return np.broadcast_to(np.expand_dims(self._sorted(table), beside), self.whole).ravel()

    def shares(self, reported: Floats) -> Floats:
        """Return the unbiased sums for the shares of reports that support each combination."""
        table = self.law.shares(reported.ravel()).reshape(self.whole)
        away = tuple(axis for axis in range(len(self.whole)) if axis not in self.kept)
        order = sorted(self.kept)
        summed = table.sum(axis=away)
        return np.asarray(np.transpose(summed, [order.index(axis) for axis in self.kept]))

    def reported(self, shares: Floats) -> Floats:
        """Return which share of reports is expected to support each combination, spread evenly."""
        return self.law.reported(self._lifted(shares) / self._members).reshape(self.whole)

    def spread(self, shares: Floats, *, population: bool) -> Floats:
        """Return n times the variance of each sum."""
        law, m = self.law, self._members
        if law.true_pair is None or law.other_pair is None:
            # A sum has a variance only where pairs of supports have a law: say so there.
            law.spread_along(np.zeros(law.k), np.zeros(law.k), population=population)
        if law.k == 1:
            return np.zeros(self.shape)
        p, q = float(law.p), float(law.q)
        with_true, without = float(law.true_pair or 0), float(law.other_pair or 0)
        # The number of supported members of a sum: its moments where the truth is one, or not.
        inside = np.array([p + q * (m - 1), p + q * (m - 1)])
        inside[1] += 2 * with_true * (m - 1) + without * (m - 1) * (m - 2)
        outside = np.array([q * m, q * m + without * m * (m - 1)])
        mean, second = (
            shares * inside[moment] + (1 - shares) * outside[moment] for moment in (0, 1)
        )
        if population:
            return np.asarray((second - mean**2) / law.gap**2)
        squares = shares * inside[0] ** 2 + (1 - shares) * outside[0] ** 2
        return np.asarray((second - squares) / law.gap**2)

    def spread_beside(self, shares: Floats) -> Floats:
        """Return n times the variance of each sum where nobody is in it, whatever the others do."""
        return self.spread(np.zeros(self.shape), population=False)

    def spread_sure(self) -> Floats:
        """Return n times the variance of each sum where all are in it."""
        return self.spread(np.ones(self.shape), population=False)

    def weight(self) -> Floats:
        """Return the weight of one combination, the least by which a report moves a sum."""
        return np.full(self.shape, 1 / self.law.gap)

    def spread_along(self, gradient: Floats, shares: Floats, *, population: bool) -> float:
        """Return n times the variance of Σ gradient·sum."""
        lifted = self._lifted(shares) / self._members
        return self.law.spread_along(self._lifted(gradient), lifted, population=population)
