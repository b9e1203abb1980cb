"""Where the middle of a column lies and how wide it is: one private choice among public intervals.

Candidates are intervals of all widths and places between the declared bounds. The best hold two
thirds of the records, and no narrower one within them does: of a normal column such an interval
reaches about one standard deviation to either side, of one that is mostly 0 it lies around 0. How
far a column reaches beyond it is told by noisy counts of records in shells around its middle.
Proofs: docs/proofs/regression-rows.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log, log2

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.choose import Choose
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, PureDP, pure_within

__all__ = ["IntervalChoice", "Shells", "Tails", "candidates", "count_farthest", "needed_loss"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: The interval that is looked for holds all records but one in so many.
OUTSIDE = 3
#: Widths fall from the whole range by a factor of √2; this many of them.
WIDTHS = 21
#: Intervals of one width begin at multiples of its part.
STARTS = 4
#: Intervals below this width are the narrowest.
NARROWEST = 2.0 ** (1.25 - (WIDTHS - 1) / 2)
#: How much narrower the intervals within an interval are, and where their slack lies.
NARROWER, WITHIN = 2.0**-0.5, (0.0, 0.5, 1.0)
#: One choice in so many may take an interval that holds all records, however few there are in it.
SELDOM = 1000
#: Where shells begin, in multiples of half an interval's width, as far as the narrowest interval
#: needs to reach all values: coarse ones from 2 on, a factor 2 apart; fine ones from ½ on, up to 4
#: a factor √2 apart.
COARSE_SHELLS = 2.0 ** np.arange(1, WIDTHS // 2 + 3)
SHELLS = np.concatenate([0.5 * 2.0 ** (np.arange(6) / 2), COARSE_SHELLS[1:]])
#: A record counts in the shells of so many columns.
COUNTED = 2
#: Counts are told from noise beyond so many standard deviations of it.
CLEAR = 2.0
#: Tails are taken to fall to no more than this whenever the distance doubles.
SLOWEST = 0.7
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
        """The choice: one record moves a score by at most 2 where added, 3 where replaced."""
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
        With N of m records in an interval and at most K in one of the intervals within it, √2 times
        narrower, at its left end, its middle and its right end (none, K = 0, within the narrowest),
        a score is −max(0, 2m − 3N, 3K − 2m), less a public number that takes back half of what a
        width gains by having many places.
        """
        low, high, _ = candidates()
        sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
        slack = (high - low) * (1 - NARROWER)
        within = [_held(sums, places, low + at * slack, high + (at - 1) * slack) for at in WITHIN]
        held, wanted = _held(sums, places, low, high), (OUTSIDE - 1) * sums[-1]
        # Nothing narrower is looked for than the narrowest intervals, the last ones.
        most = np.where(high - low < NARROWEST, 0, np.maximum.reduce(within))
        far = np.maximum(np.maximum(wanted - OUTSIDE * held, OUTSIDE * most - wanted), 0)
        return np.asarray(self._handicap - far, dtype=np.int64)

    @property
    def _handicap(self) -> Integers64:
        """What is subtracted from a score for the others of its width. Public."""
        # A rate that no double holds is taken as the least that one does.
        rate = max(float(self.primitive.rate), np.finfo(np.float64).tiny)
        logs = 0.5 * np.log(candidates()[2]) / rate
        return -np.rint(np.minimum(logs, LARGEST_HANDICAP)).astype(np.int64)

    def read(self, chosen: int) -> tuple[float, float]:
        """Return the middle of a chosen interval and half its width."""
        low, high, _ = candidates()
        return float(low[chosen] + high[chosen]) / 2, float(high[chosen] - low[chosen]) / 2

    @property
    def ranks(self) -> float:
        """How many records the chosen interval holds too few or too many, 19 times in 20."""
        return log(20 * candidates()[0].size) / float(self.primitive.rate) / OUTSIDE


def _held(sums: Integers64, places: Floats, low: Floats, high: Floats) -> Integers64:
    """Return how many records lie from `low` to `high`, given cumulative counts of places."""
    first = np.searchsorted(places, low, side="left")
    last = np.searchsorted(places, high, side="right")
    return np.asarray(sums[last] - sums[first])


def needed_loss(relation: Relation) -> float:
    """Return how many records times ε a choice needs to find an interval of any width.

    An interval that holds all records scores as many less than the best one as there are records,
    and is taken at most once in `SELDOM` even if all other candidates were like it.
    """
    rate = float(IntervalChoice(PureDP(1), relation).primitive.rate)
    return log(SELDOM * candidates()[0].size) / rate


@dataclass(frozen=True)
class Shells:
    """Distances from the middle of an interval. Public, or made of what was said.

    Parameters
    ----------
    middle, half
        The middle of the interval, from −1 to 1, and half its width.
    coarse
        Whether there are few shells, which are wide.
    """

    middle: float
    half: float
    coarse: bool = False

    @property
    def ends(self) -> Floats:
        """Where shells begin, in multiples of half the width: those with values, at least one."""
        every = COARSE_SHELLS if self.coarse else SHELLS
        many = int(np.count_nonzero(every * self.half < 1.0 + abs(self.middle)))
        return np.asarray(every[: max(many, 1)])

    def numbers(self, places: Floats) -> Integers64:
        """Return the number of the shell of each place, from 1 on; 0 before the first."""
        distance = np.abs(places - self.middle) / self.half
        return np.searchsorted(self.ends, distance, side="left").astype(np.int64)


def count_farthest(
    shells: Sequence[Shells], numbers: Iterable[Integers64], records: int
) -> Integers64:
    """Return how many records lie in each shell of each column, column after column. Private.

    A record counts in the two columns in which its shells have the largest numbers, of equal ones
    in the first. So one record moves `COUNTED` counts by 1 at most, however many columns there are,
    and two columns whose tails are those of the same records are both seen.

    Parameters
    ----------
    shells
        Those of each column.
    numbers
        For each column the number of every record's shell.
    records
        How many records there are. Private.
    """
    first = second = cell = other = np.zeros(records, dtype=np.int64)
    start = 0
    for one, number in zip(shells, numbers, strict=True):
        # What was farthest so far comes second where this column is farther out.
        further, next_to = number > first, number > second
        other = np.where(further, cell, np.where(next_to, start + number, other))
        second = np.where(further, first, np.maximum(second, number))
        cell = np.where(further, start + number, cell)
        first = np.maximum(first, number)
        start += one.ends.size
    counted = np.bincount(cell, minlength=start + 1) + np.bincount(other, minlength=start + 1)
    return counted[1:].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Tails:
    """How far a column reaches: noisy counts of records in shells.

    Parameters
    ----------
    ends
        Where shells begin, in spreads.
    counts
        The noisy counts.
    deviation
        The standard deviation of the noise on each.
    """

    ends: Floats
    counts: Floats
    deviation: float

    @property
    def beyond(self) -> Floats:
        """How many records lie beyond the beginning of each shell."""
        return np.asarray(np.cumsum(self.counts[::-1])[::-1])

    @property
    def unsure(self) -> Floats:
        """The standard deviation of the noise on that."""
        return np.asarray(self.deviation * np.sqrt(np.arange(len(self.counts), 0, -1)))

    def reach(self, records: float, among: float) -> float:
        """Return the least distance beyond which few records lie, in spreads.

        Where noise hides more than few, the tail is taken to go on as it went before: to fall by
        the same factor whenever the distance doubles.

        Parameters
        ----------
        records
            How many are few.
        among
            How many records there are.
        """
        hidden = CLEAR * self.unsure
        enough = np.flatnonzero(self.beyond <= np.maximum(hidden, records))
        if not enough.size:
            return float(2 * self.ends[-1])
        place = int(enough[0])
        reach = float(self.ends[place])
        # A third of the records lies beyond half the width.
        before, start = (
            (float(self.beyond[place - 1]), float(self.ends[place - 1]))
            if place
            else (among / OUTSIDE, min(1.0, reach / 2))
        )
        left = float(self.beyond[place] - self.unsure[place]) / max(before, 1.0)
        if hidden[place] <= records or left <= 0:
            return reach
        doublings = log2(reach / start)
        falls = min(left ** (1 / doublings), SLOWEST)
        wanted = log(hidden[place] / max(records, 1.0)) / -log(falls)
        # Rounded, since machines disagree on the last digits.
        return round(float(min(reach * 2**wanted, 2 * self.ends[-1])), 3)

    def mean_square(self, among: float) -> float:
        """Return how large the mean square of a column is, in spreads squared.

        It is taken to be at least 1, and no larger than if all records lay at a bound, whatever
        noise says.

        Parameters
        ----------
        among
            How many records there are.
        """
        # A record between two ends is taken to lie at their geometric mean.
        squares = self.ends * np.append(self.ends[1:], 2 * self.ends[-1])
        return 1.0 + min(max(float(self.counts @ squares) / among, 0.0), float(squares[-1]))

    def hidden(self) -> float:
        """Return how many records may lie beyond the last distance at which some are seen."""
        hidden = CLEAR * self.unsure
        enough = np.flatnonzero(self.beyond <= hidden)
        return float(hidden[enough[0]]) if enough.size else 0.0
