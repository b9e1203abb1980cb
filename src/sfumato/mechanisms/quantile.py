"""Private quantiles by the exponential mechanism.

Over a public list of candidates, which may be as generous as one likes (the rank error grows with
the logarithm of their number only), a kind of data scores them and `Choose` chooses; here is what
one record can do to the scores. `IntervalQuantile` chooses among all points of a public range,
grouped by the intervals between the sorted data. Candidates and range are public; this module may
never read them off the data. Proof: docs/proofs/quantile.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import LARGEST_COUNT
from sfumato.mechanisms.weighted_choice import group_log_probabilities, weighted_choice
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_whole

__all__ = ["IntervalQuantile", "quantile_sensitivity"]

Number = int | float | str | Fraction


def quantile_sensitivity(quantile: Number, relation: Relation) -> int:
    """Return how far one record moves a score −|(b−a)·#{≤ c} − a·#{> c}| of a candidate c.

    Parameters
    ----------
    quantile
        The quantile a/b, between 0 and 1.
    relation
        What a neighbour is: max(a, b − a) for a record added or removed, b for one replaced.

    Examples
    --------
    >>> quantile_sensitivity("0.95", Relation.ADD_REMOVE)
    19
    """
    part = _check_quantile(quantile)
    above, whole = part.numerator, part.denominator
    return whole if relation is Relation.REPLACE_ONE else max(above, whole - above)


@dataclass(frozen=True, kw_only=True)
class IntervalQuantile(Primitive):
    """Choose a quantile among all whole numbers from low to high.

    Parameters
    ----------
    low, high
        The public range, both included; values outside count as its ends.
    quantile
        The quantile that is looked for.
    epsilon
        The pure loss.
    relation
        What a neighbour is.

    Notes
    -----
    The input is an int64 array with one value a record, in steps of a public grid. All points
    between two neighbouring values share a score, so that a choice takes n log n steps however
    long the range is, and follows the exponential mechanism over all its points exactly.

    Privacy: one record moves every score by at most Δ, and the rate is ε/2Δ
    (docs/proofs/quantile.md); ε²/8-zCDP.
    """

    kind: ClassVar[str] = "interval quantile"

    low: int
    high: int
    quantile: Fraction
    epsilon: Fraction
    relation: Relation

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_quantile(self.quantile)
        if not -LARGEST_COUNT <= self.low <= self.high <= LARGEST_COUNT:
            raise ValueError(
                f"low must not exceed high, both within ±{LARGEST_COUNT}; "
                f"got {self.low!r} and {self.high!r}"
            )
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive and finite; got {self.epsilon!r}")

    @property
    def rate(self) -> Fraction:
        """The factor of the scores in the exponent."""
        return self.epsilon / (2 * quantile_sensitivity(self.quantile, self.relation))

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or ε²/8 under zCDP."""
        if measure is ZCDP:
            return ZCDP(self.epsilon**2 / 8)
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is one int64 value a record."""
        if not isinstance(value, np.ndarray) or value.dtype != np.int64 or value.ndim != 1:
            raise ValueError("the input of a quantile must be a one-dimensional int64 array")

    def sample(self, value: NDArray[np.int64]) -> int:
        """Return the chosen point: first its interval, then uniformly within it."""
        starts, widths, scores = self._intervals(value)
        chosen = weighted_choice(scores, widths, rate=self.rate)
        within = noise.uniform_integers(None, bound=int(widths[chosen]))
        return int(starts[chosen]) + int(within)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a point of the interval."""
        require_whole(output, self.low, self.high)

    def log_probability(self, value: NDArray[np.int64], output: int) -> float:
        """Return the log-probability of a point."""
        if not self.low <= output <= self.high:
            return -math.inf
        starts, widths, scores = self._intervals(value)
        chosen = int(np.searchsorted(starts, output, side="right")) - 1
        logs = group_log_probabilities(scores, widths, self.rate)
        return float(logs[chosen]) - math.log(int(widths[chosen]))

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Count the records that are in one input and not in the other."""
        points, places = np.unique(np.concatenate([value, neighbour]), return_inverse=True)
        counts = np.bincount(places[: value.size], minlength=points.size)
        others = np.bincount(places[value.size :], minlength=points.size)
        moved = int(np.abs(counts - others).sum())
        if self.relation is Relation.REPLACE_ONE:
            alike = value.size == neighbour.size
            return Change(moved if alike else math.inf, 2, "records taken out and put in")
        return Change(moved, 1, "records added or removed")

    def _intervals(
        self, value: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return where the stretches of equal score begin, their widths and their scores."""
        data = np.sort(np.clip(value, self.low, self.high))
        starts = np.unique(np.concatenate([np.array([self.low], dtype=np.int64), data]))
        widths = np.diff(starts, append=self.high + 1)
        at_most = np.searchsorted(data, starts, side="right").astype(np.int64)
        return starts, widths, _rank_scores(at_most, data.size, self.quantile)


def _rank_scores(at_most: NDArray[np.int64], records: int, quantile: Fraction) -> NDArray[np.int64]:
    """Return −|(b−a)·#{≤ c} − a·#{> c}| = −|b·#{≤ c} − a·n| for a quantile a/b."""
    return -np.abs(quantile.denominator * at_most - quantile.numerator * records)


def _check_quantile(quantile: Number) -> Fraction:
    """Return a quantile as a simple fraction, or say what is allowed."""
    part = noise.exact(quantile)
    if not 0 <= part <= 1 or part.denominator > 10**6:
        raise ValueError(
            "quantile must be a fraction from 0 to 1 with a denominator of at most 1000000; "
            f"got {quantile!r}"
        )
    return part
