"""Private choice of one candidate, or of several, by their scores.

Scores are whole numbers (real scores are rounded to a public grid first, which adds at most one
grid step to their sensitivity). Permute-and-flip is never worse than the exponential mechanism
under pure ε; under zCDP the exponential mechanism costs ε²/8, a bound that permute-and-flip does
not share (docs/proofs/selection.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import check_integers, cut
from sfumato.privacy.loss import ZCDP, Loss, Measure, PureDP, convert, pure_within
from sfumato.privacy.primitive import Change, Primitive, require_array, require_whole
from sfumato.privacy.rounding import round_down, sqrt_down

Law = Literal["permute-and-flip", "exponential"]


def score_change(
    value: NDArray[np.int64], neighbour: NDArray[np.int64], sensitivity: Fraction, monotone: bool
) -> Change:
    """Measure how far two score vectors are apart: the largest change, all one way if monotone."""
    difference = cut(neighbour) - cut(value)
    largest = Fraction(int(np.abs(difference).max(initial=0)))
    both_ways = bool((difference > 0).any() and (difference < 0).any())
    if monotone and both_ways:
        return Change(math.inf, sensitivity, "largest change, all in one direction")
    return Change(largest, sensitivity, "largest change")


def exponential_log_probabilities(scores: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    """Return the log-probabilities of the exponential mechanism."""
    weights = rate * (scores - scores.max()).astype(np.float64)
    return np.asarray(weights - math.log(np.exp(weights).sum()), dtype=np.float64)


@lru_cache(maxsize=64)
def _quadrature(nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nodes and weights of Gauss and Legendre."""
    return np.polynomial.legendre.leggauss(nodes)


def permute_and_flip_log_probability(scores: NDArray[np.int64], rate: float, chosen: int) -> float:
    """Return the log-probability that permute-and-flip chooses a candidate.

    With a uniform arrival time for each candidate, candidate r is chosen if its coin shows heads
    and every candidate that came earlier showed tails: P(r) = p_r ∫₀¹ Π_{j≠r} (1 − t·p_j) dt, a
    polynomial that Gauss–Legendre quadrature with enough nodes integrates exactly.
    """
    coins = np.exp(rate * (scores - scores.max()).astype(np.float64))
    others = np.delete(coins, chosen)
    nodes, weights = _quadrature(min(others.size // 2 + 1, 64))
    # Pieces that shrink towards 0, where the integrand of many candidates lives.
    edges = (
        np.concatenate([[0.0], 2.0 ** -np.arange(40, -1, -1.0)]) if others.size > 126 else (0, 1)
    )
    total = 0.0
    for low, high in pairwise(edges):
        times = low + (high - low) * (nodes + 1) / 2
        with np.errstate(divide="ignore"):
            tails = np.exp(np.log1p(-np.outer(times, others)).sum(axis=1))
        total += float((weights * tails).sum()) * (high - low) / 2
    return rate * float(scores[chosen] - scores.max()) + math.log(total)


@dataclass(frozen=True, kw_only=True)
class Choose(Primitive):
    """Choose one candidate with a probability that grows with its score.

    Parameters
    ----------
    candidates
        How many candidates there are.
    sensitivity
        A bound on the change of any one score between neighbours.
    epsilon
        The pure loss.
    law
        `permute-and-flip` or `exponential`.
    monotone
        Whether all scores move in one direction when a record is added; the rate then doubles.

    Notes
    -----
    Privacy: with rate ε/2Δ (monotone: ε/Δ) both laws are ε-DP; the exponential mechanism is also
    ε²/8-zCDP (docs/proofs/selection.md).
    """

    kind: ClassVar[str] = "private choice"

    candidates: int
    sensitivity: Fraction
    epsilon: Fraction
    law: Law = "permute-and-flip"
    monotone: bool = False

    @property
    def rate(self) -> Fraction:
        """The factor of the scores in the exponent."""
        return self.epsilon / (self.sensitivity * (1 if self.monotone else 2))

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or ε²/8 for the exponential mechanism under zCDP."""
        if measure is ZCDP and self.law == "exponential":
            return ZCDP(self.epsilon**2 / 8)
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 score for each candidate."""
        check_integers(value, (self.candidates,))

    def sample(self, value: NDArray[np.int64]) -> int:
        """Return the number of the chosen candidate."""
        if self.law == "exponential":
            return noise.exponential(cut(value), rate=self.rate)
        return noise.permute_and_flip(cut(value), rate=self.rate)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is the number of a candidate."""
        require_whole(output, 0, self.candidates - 1)

    def log_probability(self, value: NDArray[np.int64], output: int) -> float:
        """Return the log-probability of a choice."""
        value = cut(value)
        if self.law == "exponential":
            return float(exponential_log_probabilities(value, float(self.rate))[output])
        return permute_and_flip_log_probability(value, float(self.rate), output)

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Measure the largest change of a score."""
        return score_change(value, neighbour, self.sensitivity, self.monotone)

    def concentrated_loss(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> float:
        """Return what the rate gives for these two inputs: range²/8, or for the other law ε²/2."""
        difference = (cut(neighbour) - cut(value)).astype(np.float64)
        reach = float(self.rate) * float(difference.max() - difference.min())
        if self.law == "exponential":
            return reach**2 / 8
        sizes = float(np.abs(difference).max()) * (1 if self.monotone else 2)
        return (float(self.rate) * sizes) ** 2 / 2

    def extremes(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> list[int]:
        """Return the candidates whose scores move most, either way."""
        difference = value - neighbour
        return [int(difference.argmax()), int(difference.argmin())]


def choose_within(loss: Loss, candidates: int, sensitivity: Fraction) -> Choose:
    """Return the choice that a slice pays for: the law that is better in its measure.

    Parameters
    ----------
    loss
        The whole slice: permute-and-flip for a pure loss, the exponential mechanism, whose price
        is ε²/8, for a zero-concentrated one.
    candidates, sensitivity
        As for `Choose`.
    """
    if isinstance(loss, ZCDP):
        return Choose(
            candidates=candidates,
            sensitivity=sensitivity,
            epsilon=round_down(sqrt_down(8 * loss.rho)),
            law="exponential",
        )
    return Choose(candidates=candidates, sensitivity=sensitivity, epsilon=pure_within(loss))


@dataclass(frozen=True, kw_only=True)
class ChooseSeveral(Primitive):
    """Choose several candidates, best first, by the exponential mechanism without replacement.

    Parameters
    ----------
    candidates, count
        How many candidates there are, and how many are chosen.
    sensitivity
        A bound on the change of any one score between neighbours.
    epsilon
        The pure loss of all choices together.
    monotone
        Whether all scores move in one direction when a record is added.

    Notes
    -----
    Privacy: adding Gumbel noise once and keeping the best k is the exponential mechanism applied k
    times without replacement (Durfee and Rogers, 2019), so k choices of ε/k each compose to ε, and
    to k·(ε/k)²/8 under zCDP (docs/proofs/selection.md).
    """

    kind: ClassVar[str] = "private choice of several"

    candidates: int
    count: int
    sensitivity: Fraction
    epsilon: Fraction
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.count <= self.candidates:
            raise ValueError(
                f"count must be from 1 to the {self.candidates} candidates; got {self.count}"
            )

    @property
    def rate(self) -> Fraction:
        """The factor of the scores in the exponent."""
        return self.epsilon / (self.count * self.sensitivity * (1 if self.monotone else 2))

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or ε²/8k under zCDP."""
        if measure is ZCDP:
            return ZCDP(self.epsilon**2 / (8 * self.count))
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 score for each candidate."""
        check_integers(value, (self.candidates,))

    def sample(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the chosen candidates, best first."""
        return noise.top_k(cut(value), self.count, rate=self.rate)

    def check_output(self, output: Any) -> None:
        """Raise unless an output holds the numbers of candidates, each at most once."""
        require_array(output, np.int64, (min(self.count, self.candidates),))
        # Read without a sign, a negative number is beyond every bound.
        inside = not output.size or output.view(np.uint64).max() < self.candidates
        if not inside or len(np.unique(output)) != len(output):
            raise ValueError("the numbers must be those of candidates, each at most once")

    def log_probability(self, value: NDArray[np.int64], output: Sequence[int]) -> float:
        """Return the log-probability of an ordered choice."""
        value = cut(value)
        left = np.ones(self.candidates, dtype=bool)
        total = 0.0
        for chosen in np.asarray(output):
            positions = np.flatnonzero(left)
            logs = exponential_log_probabilities(value[positions], float(self.rate))
            total += float(logs[np.searchsorted(positions, chosen)])
            left[chosen] = False
        return total

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Measure the largest change of a score."""
        return score_change(value, neighbour, self.sensitivity, self.monotone)

    def extremes(
        self, value: NDArray[np.int64], neighbour: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Return the candidates whose scores move most, either way, in that order."""
        order = np.argsort(neighbour - value, kind="stable")
        return [order[: self.count], order[::-1][: self.count]]
