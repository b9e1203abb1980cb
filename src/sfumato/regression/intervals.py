"""Where the middle of a column lies and how wide it is: one private choice among public intervals.

Candidates are intervals of all widths and places between the declared bounds. One is better the
closer a sixth of the records lies below it and a sixth above it; of a normal column it then reaches
one standard deviation to either side. Proof: docs/proofs/regression-rows.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.choose import Choose
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, pure_within

__all__ = ["IntervalChoice", "candidates"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: One record in so many lies below the interval that is looked for, and as many above it.
OUTSIDE = 6
#: Widths fall from the whole range by a factor of √2; this many of them.
WIDTHS = 21
#: Intervals of one width begin at multiples of its part.
STARTS = 4
#: Beyond this no score of a real table would tell.
LARGEST_HANDICAP = 2.0**60


@lru_cache(maxsize=1)
def candidates() -> tuple[Floats, Floats, Integers64]:
    """Return the ends of all candidates from −1 to 1, and how many of its width each has."""
    low, high, alike = [], [], []
    for number in range(WIDTHS):
        width = 2.0 ** (1 - number / 2)
        steps = int((2.0 - width) / width * STARTS)
        # Spread evenly from end to end, so that they lie alike on both sides of the middle.
        starts = -1.0 + (2.0 - width) * (np.arange(steps + 1) / max(steps, 1))
        low.append(starts)
        high.append(starts + width)
        alike.append(np.full(starts.size, starts.size))
    found = np.concatenate(low), np.concatenate(high), np.concatenate(alike)
    for array in found:
        array.setflags(write=False)
    return found


@dataclass(frozen=True)
class IntervalChoice:
    """A choice among the intervals, paid from one slice.

    Parameters
    ----------
    limit
        The whole slice.
    relation
        What a neighbour is.
    """

    limit: Loss
    relation: Relation

    @property
    def primitive(self) -> Choose:
        """The choice: one record moves a score by at most 5 where added, 6 where replaced."""
        return Choose(
            candidates=candidates()[0].size,
            sensitivity=Fraction(OUTSIDE - (self.relation is Relation.ADD_REMOVE)),
            epsilon=pure_within(self.limit),
            law="exponential",
        )

    def scores(self, counts: Integers64, places: Floats) -> Integers64:
        """Return the score of every candidate. Private.

        Parameters
        ----------
        counts
            How many records have each code of the column that stands for a number.
        places
            What these codes stand for, from −1 to 1, increasing.

        Notes
        -----
        A score is −max(|6·below − all|, |6·above − all|), less a public number that takes back
        half of what a width gains by having many places.
        """
        low, high, _ = candidates()
        sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
        below = sums[np.searchsorted(places, low, side="left")]
        above = sums[-1] - sums[np.searchsorted(places, high, side="right")]
        far = np.maximum(np.abs(OUTSIDE * below - sums[-1]), np.abs(OUTSIDE * above - sums[-1]))
        return np.asarray(self._handicap - far, dtype=np.int64)

    @property
    def _handicap(self) -> Integers64:
        """What is subtracted from a score for the others of its width. Public."""
        logs = 0.5 * np.log(candidates()[2]) / float(self.primitive.rate)
        return -np.rint(np.minimum(logs, LARGEST_HANDICAP)).astype(np.int64)

    def read(self, chosen: int) -> tuple[float, float]:
        """Return the middle of a chosen interval and half its width."""
        low, high, _ = candidates()
        return float(low[chosen] + high[chosen]) / 2, float(high[chosen] - low[chosen]) / 2

    @property
    def ranks(self) -> float:
        """How many records the chosen ends are off by, 19 times in 20, at most."""
        return log(20 * candidates()[0].size) / float(self.primitive.rate) / OUTSIDE
