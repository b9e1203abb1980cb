"""Private partition selection: which values of an open domain are frequent, and how frequent.

Nobody can list the values, so noise cannot be added to those that do not occur. Every value that
occurs gets two-sided geometric noise that is cut off at a public reach k, and is released if its
noisy count exceeds k. One that does not occur can never be released, and one that occurs once is
released with probability at most δ (docs/proofs/partition-selection.md). Nothing here may depend
on the order of the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import LARGEST_COUNT, LARGEST_INPUT, cut
from sfumato.privacy.escaping import escape
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ApproxDP, Loss, Measure, Unpriced
from sfumato.privacy.primitive import Change, Primitive, require_array
from sfumato.privacy.rounding import exp_down, exp_up, round_up

__all__ = ["FrequentValues", "ValueCounts", "is_presentable"]


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The different values of a column and how many records have each. Private.

    Parameters
    ----------
    values
        The values, each once, in any order.
    counts
        How many records have each of them, at least one.
    """

    values: Sequence[str]
    counts: NDArray[np.int64]

    def as_dict(self) -> dict[str, int]:
        """Return the count of each value, for audits."""
        return dict(zip(self.values, self.counts.tolist(), strict=True))


#: Values found, in the order of their texts, and their noisy counts.
Found = tuple[tuple[str, ...], NDArray[np.int64]]


def is_presentable(text: str, longest: int) -> bool:
    """Tell whether a text may be a value: trimmed, not too long, and nothing that needs escaping.

    Parameters
    ----------
    text
        The text.
    longest
        How many characters it may have at most.
    """
    return 0 < len(text) <= longest and text == text.strip() and escape(text) == text


@dataclass(frozen=True, kw_only=True)
class FrequentValues(Primitive):
    """Release the values whose count, with truncated geometric noise, exceeds a threshold.

    Parameters
    ----------
    epsilon
        The rate of the noise: P(x) ∝ e^(−ε|x|) for |x| ≤ reach.
    reach
        The largest noise, k, and the threshold: a value is released if its noisy count exceeds k.
    longest
        How many characters a value may have at most.
    relation
        What a neighbour is.

    Notes
    -----
    Privacy: with δ = P(x = k), (ε, δ) for one record added or removed, and (2ε, 2δ) for one
    replaced (docs/proofs/partition-selection.md). The probability that a value is released is the
    largest that (ε, δ) allows (Desfontaines, Voss, Gipson and Mandayam, 2022).
    """

    kind: ClassVar[str] = "partition selection"

    epsilon: Fraction
    reach: int
    longest: int
    relation: Relation

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")
        # With a shorter reach nearly every draw of the noise would be thrown away.
        if not self.epsilon * self.reach >= 1 or self.reach > LARGEST_COUNT:
            raise ValueError(f"reach must be from 1/epsilon to {LARGEST_COUNT:,}")
        if self.longest < 1:
            raise ValueError("longest must be at least 1")

    @classmethod
    def within(cls, limit: ApproxDP, longest: int, relation: Relation) -> FrequentValues:
        """Return the selection of the lowest threshold that a loss for one record pays for.

        Parameters
        ----------
        limit
            The loss.
        longest, relation
            As in the class.
        """
        moves = 2 if relation is Relation.REPLACE_ONE else 1
        epsilon, delta = limit.epsilon / moves, limit.delta / moves
        if not epsilon or not delta:
            raise Unpriced("the frequent values of an open domain need epsilon > 0 and delta > 0")
        reach = _find_reach(epsilon, delta)
        return cls(epsilon=epsilon, reach=reach, longest=longest, relation=relation)

    @property
    def delta(self) -> Fraction:
        """An upper bound on the probability of the largest noise, P(x = k)."""
        return largest_noise(self.epsilon, self.reach)

    def cost(self, measure: Measure) -> Loss:
        """Return (ε, δ) for one record added or removed, twice as much for one replaced."""
        if measure is not ApproxDP:
            raise Unpriced(f"the choice of frequent values has no {measure.name} loss")
        moves = 2 if self.relation is Relation.REPLACE_ONE else 1
        return ApproxDP(self.epsilon * moves, self.delta * moves)

    def check(self, value: Any) -> None:
        """Raise unless the input is values with as many counts."""
        if not isinstance(value, ValueCounts) or value.counts.dtype != np.int64:
            raise ValueError("the input of a partition selection must be values with counts")
        if value.counts.shape != (len(value.values),):
            raise ValueError("every value needs one count")

    def sample(self, value: ValueCounts) -> Found:
        """Return the values found and their noisy counts, in the order of their texts."""
        noisy = cut(value.counts) + self._draw(len(value.counts))
        kept = np.flatnonzero(noisy > self.reach)
        found = sorted((value.values[place], int(noisy[place])) for place in kept.tolist())
        names = tuple(name for name, _ in found)
        return names, np.array([count for _, count in found], dtype=np.int64)

    def _draw(self, many: int) -> NDArray[np.int64]:
        """Return truncated geometric noise: what falls outside of the reach is drawn again."""
        drawn = noise.discrete_laplace(many, scale=1 / self.epsilon)
        while (outside := np.flatnonzero(np.abs(drawn) > self.reach)).size:
            drawn[outside] = noise.discrete_laplace(outside.size, scale=1 / self.epsilon)
        return drawn.astype(np.int64)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is values in order, each with a count above the threshold."""
        if not isinstance(output, tuple) or len(output) != 2 or not isinstance(output[0], tuple):
            raise ValueError("it is not a list of values with their counts")
        values, counts = output
        if not all(isinstance(v, str) and is_presentable(v, self.longest) for v in values):
            raise ValueError(f"its values must be plain texts of at most {self.longest} characters")
        if any(first >= second for first, second in pairwise(values)):
            raise ValueError("its values must be in order, each once")
        require_array(counts, np.int64, (len(values),))
        if counts.size and (counts.min() <= self.reach or counts.max() > 2 * LARGEST_INPUT):
            raise ValueError(f"its counts must exceed {self.reach}")

    # In floating point, for audits and plans.

    @property
    def _peak(self) -> float:
        """The probability that the noise is 0: (1 − q)/(1 + q − 2q^(k+1)), q = e^−ε."""
        rate = float(self.epsilon)
        lost = 2 * math.exp(-rate * (self.reach + 1))
        return -math.expm1(-rate) / (1 + math.exp(-rate) - lost)

    def _tail(self, least: int) -> float:
        """Return the probability that the noise is at least a positive number."""
        rate, terms = float(self.epsilon), self.reach - least + 1
        if terms <= 0:
            return 0.0
        first = self._peak * math.exp(-rate * least)
        return first * math.expm1(-rate * terms) / math.expm1(-rate)

    def keep_probability(self, count: int) -> float:
        """Return the probability that a value of so many records is released."""
        least = self.reach - count + 1
        return self._tail(least) if least > 0 else 1 - self._tail(1 - least)

    def drop_probability(self, count: int) -> float:
        """Return the probability that a value of so many records is not released."""
        most = self.reach - count
        return self._tail(-most) if most < 0 else 1 - self._tail(most + 1)

    def log_probability(self, value: ValueCounts, output: Found) -> float:
        """Return the log-probability of values with their noisy counts."""
        said = dict(zip(output[0], output[1].tolist(), strict=True))
        total = 0.0
        for name, count in value.as_dict().items():
            if name in said:
                away = abs(said.pop(name) - min(count, LARGEST_INPUT))
                if away > self.reach:
                    return -math.inf
                total += math.log(self._peak) - float(self.epsilon) * away
            elif (dropped := self.drop_probability(count)) > 0:
                total += math.log(dropped)
            else:
                return -math.inf
        return -math.inf if said else total

    def change(self, value: ValueCounts, neighbour: ValueCounts) -> Change:
        """Measure the L1 distance of the counts of all values."""
        here, there = value.as_dict(), neighbour.as_dict()
        apart = sum(abs(here.get(v, 0) - there.get(v, 0)) for v in here.keys() | there.keys())
        return Change(apart, 2 if self.relation is Relation.REPLACE_ONE else 1, "L1")

    def excess(self, value: ValueCounts, neighbour: ValueCounts) -> float:
        """Bound the probability of an output that loses more than ε a record, for audits.

        The bound is exact for each value, and added up over all of them.
        """
        here, there = value.as_dict(), neighbour.as_dict()
        names = here.keys() | there.keys()
        return math.fsum(self._excess(here.get(v, 0), there.get(v, 0)) for v in names)

    def _excess(self, count: int, other: int) -> float:
        """Return Σ max(0, P(y) − e^(jε)·Q(y)) over the outputs of one value, j records apart."""
        apart = abs(count - other)
        if apart == 0:
            return 0.0
        # What is said lies in a window of the noise around either count, or is nothing.
        low, high = min(count, other) - self.reach, max(count, other) + self.reach
        said = np.arange(max(low, self.reach + 1), high + 1)
        rate = float(self.epsilon)

        def law(centre: int) -> NDArray[np.float64]:
            away = np.abs(said - centre)
            # A value that does not occur gets no noise.
            inside = (away <= self.reach) & (centre > 0)
            return np.where(inside, self._peak * np.exp(-rate * away), 0.0)

        factor = math.exp(rate * apart)
        more = np.maximum(law(count) - factor * law(other), 0.0).sum()
        nothing = self.drop_probability(count) - factor * self.drop_probability(other)
        return float(more + max(nothing, 0.0))

    def extremes(self, value: ValueCounts, neighbour: ValueCounts) -> list[Found]:
        """Return what tells the inputs apart best within ε: every value with its own count."""
        found = []
        for counts in (value.as_dict(), neighbour.as_dict()):
            kept = sorted((v, n) for v, n in counts.items() if n > self.reach)
            noisy = np.array([n for _, n in kept], dtype=np.int64)
            found.append((tuple(v for v, _ in kept), noisy))
        return found


@lru_cache(maxsize=256)
def largest_noise(epsilon: Fraction, reach: int) -> Fraction:
    """Return an upper bound on P(x = k) = (1 − q)·q^k/(1 + q − 2q^(k+1)), with q = e^−ε.

    Parameters
    ----------
    epsilon
        The rate ε of the noise.
    reach
        The largest noise k, at least 1/ε.
    """
    low = exp_down(-epsilon)
    # 1 + q − 2q^(k+1) is at least 1 + q − 2/e, so that nothing cancels.
    whole = 1 + low - 2 * exp_up(-epsilon * (reach + 1))
    return round_up((1 - low) * exp_up(-epsilon * reach) / whole)


@lru_cache(maxsize=256)
def _find_reach(epsilon: Fraction, delta: Fraction) -> int:
    """Return the shortest reach, at least 1/ε, of which the largest noise has probability ≤ δ."""
    low = math.ceil(1 / epsilon)
    if low > LARGEST_COUNT:
        raise Unpriced(f"with epsilon = {float(epsilon):.3g} no value could ever be found")
    if largest_noise(epsilon, low) <= delta:
        return low
    high = 2 * low
    while largest_noise(epsilon, high) > delta:
        low, high = high, 2 * high
        if high > 2 * LARGEST_COUNT:
            raise Unpriced(f"with epsilon = {float(epsilon):.3g} no value could ever be found")
    # It falls with the reach: too likely at `low`, and not at `high`.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if largest_noise(epsilon, middle) > delta else (low, middle)
    return high
