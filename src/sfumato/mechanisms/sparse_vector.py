"""The sparse vector technique: which of many counts lie above a threshold, paying for few.

One threshold noise is drawn and kept hidden; each query is compared with fresh noise of its own,
and only the comparison is said. This module may never say a noisy answer (that reveals an upper
bound on the hidden threshold), never draw the query noise without counting its positives, and never
go on after the last one. Proof: docs/proofs/sparse-vector.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import LARGEST_COUNT
from sfumato.mechanisms.summing import log_sum
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, StatefulPrimitive

__all__ = ["AboveThreshold", "threshold_share"]

#: Query noise is drawn this many at a time; what is left over at the end is thrown away.
_BLOCK = 128
#: The sum over the hidden noise is evaluated in windows of this many integers.
_WINDOW = 4096
#: … or fewer, so that not more than this many probabilities are held at once.
_CELLS = 1 << 22


def threshold_share(positives: int, *, monotone: bool) -> Fraction:
    """Return the share of ε for the threshold that makes the comparison least noisy.

    Parameters
    ----------
    positives
        After how many positives the run stops.
    monotone
        Whether all queries move in one direction when a record is added.

    Notes
    -----
    ε₁ : ε₂ = 1 : (2t)^(2/3), or 1 : t^(2/3) for monotone queries (Lyu, Su and Li, 2017); any share
    is private, so that it is rounded to a simple fraction.

    Examples
    --------
    >>> threshold_share(1, monotone=True), threshold_share(4, monotone=False)
    (Fraction(1, 2), Fraction(1, 5))
    """
    ratio = (positives if monotone else 2 * positives) ** (2 / 3)
    share = Fraction(1 / (1 + ratio)).limit_denominator(1000)
    return max(share, Fraction(1, 1000))


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(StatefulPrimitive):
    """Tell, query by query, whether an integer answer lies above a threshold; stop after a few.

    Parameters
    ----------
    threshold
        The public threshold T.
    sensitivity
        A bound Δ on the change of any one answer between neighbours, a whole number.
    positives
        The run stops after this many answers above the threshold, t.
    epsilon
        The pure loss of the whole run, however many queries are asked.
    monotone
        Whether all answers move in one direction between neighbours, as counts do under
        add/remove; half the query noise then suffices. Under replace-one counts are not monotone.
    share
        The share of epsilon for the threshold; by default the best one.

    Notes
    -----
    The answer to q is [q + ν ≥ T + ρ] with discrete Laplace noise, ρ of scale Δ/ε₁ drawn once and
    ν of scale 2tΔ/ε₂ (monotone: tΔ/ε₂) drawn afresh, ε₁ + ε₂ = ε.

    Privacy: shifting ρ by Δ costs ε₁ and makes every negative at least as likely; each of the at
    most t positives then costs ε₂/t (docs/proofs/sparse-vector.md). To release the values of
    positives too, measure them with fresh noise from a slice of their own.
    """

    kind: ClassVar[str] = "above threshold"

    threshold: int
    sensitivity: int
    positives: int
    epsilon: Fraction
    monotone: bool = False
    share: Fraction = field(default=Fraction(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sensitivity < 1 or self.positives < 1:
            raise ValueError(
                "sensitivity and positives must be whole numbers of at least 1; "
                f"got {self.sensitivity!r} and {self.positives!r}"
            )
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive and finite; got {self.epsilon!r}")
        if abs(self.threshold) > LARGEST_COUNT:
            raise ValueError(f"threshold must be at most {LARGEST_COUNT} in size")
        if self.share == 0:
            best = threshold_share(self.positives, monotone=self.monotone)
            object.__setattr__(self, "share", best)
        if not 0 < self.share < 1:
            raise ValueError(f"share must be greater than 0 and less than 1; got {self.share!r}")

    @property
    def threshold_scale(self) -> Fraction:
        """The scale Δ/ε₁ of the hidden noise on the threshold."""
        return self.sensitivity / (self.share * self.epsilon)

    @property
    def query_scale(self) -> Fraction:
        """The scale of the fresh noise on every answer."""
        steps = self.sensitivity * self.positives * (1 if self.monotone else 2)
        return steps / ((1 - self.share) * self.epsilon)

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the answer is a whole number."""
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError("the answer to a query must be a whole number")

    def start(self) -> AboveThresholdRun:
        """Draw the hidden noise on the threshold and return a run."""
        return AboveThresholdRun(self)

    def check_output(self, value: Any, before: Sequence[Any], output: Any) -> None:
        """Raise unless an output is yes or no."""
        if type(output) is not bool:
            raise ValueError("the sparse vector technique says yes or no")

    def is_stopped(self, outputs: Sequence[Any]) -> bool:
        """Tell whether the last allowed positive has been said."""
        return outputs.count(True) >= self.positives

    def log_probability(self, values: Sequence[int], outputs: Sequence[bool]) -> float:
        """Return the log-probability of all answers, the hidden noise summed out.

        Terms are summed outward from the largest one. They are log-concave in the hidden noise,
        so that their ratios fall and a geometric series bounds what is left out. Where they change
        slowly, whole blocks are summed at once (`summing`).
        """
        if len(values) != len(outputs) or not self._possible(outputs):
            return -math.inf
        # Equal answers said equally often share one evaluation.
        asked = Counter(
            (int(value) - self.threshold, bool(output))
            for value, output in zip(values, outputs, strict=True)
        )
        margins = np.array([margin for margin, _ in asked], dtype=np.float64)
        above = np.array([said for _, said in asked], dtype=bool)
        times = np.array(list(asked.values()), dtype=np.float64)
        scales = float(self.threshold_scale), float(self.query_scale)

        def log_terms(hidden: NDArray[np.float64]) -> NDArray[np.float64]:
            return _log_terms(hidden, margins, above, times, *scales)

        # Where a term passes from one side of a two-sided law to the other.
        kinks = np.unique(np.append(margins + ~above, 0.0))
        width = max(2, min(_WINDOW, _CELLS // max(len(asked), 1)))
        return log_sum(log_terms, kinks, scale=min(scales), width=width)

    def change(self, values: Sequence[int], neighbours: Sequence[int]) -> Change:
        """Measure the largest change of an answer, all in one direction if monotone."""
        norm = "largest change" + (", all in one direction" if self.monotone else "")
        if len(values) != len(neighbours):
            return Change(math.inf, self.sensitivity, norm)
        moves = [int(b) - int(a) for a, b in zip(values, neighbours, strict=True)]
        if self.monotone and min(moves, default=0) < 0 < max(moves, default=0):
            return Change(math.inf, self.sensitivity, norm)
        return Change(max((abs(move) for move in moves), default=0), self.sensitivity, norm)

    def _possible(self, outputs: Sequence[bool]) -> bool:
        """Tell whether a run can say this: it stops with its last allowed positive."""
        found = sum(bool(output) for output in outputs)
        return found < self.positives or (found == self.positives and bool(outputs[-1]))


class AboveThresholdRun:
    """One run of `AboveThreshold`; its threshold noise never leaves it.

    Parameters
    ----------
    primitive
        The public signature.
    """

    def __init__(self, primitive: AboveThreshold) -> None:
        self._primitive = primitive
        hidden = noise.discrete_laplace(None, scale=primitive.threshold_scale)
        self._noisy_threshold = primitive.threshold + int(hidden)
        self._left = primitive.positives
        self._noise: list[int] = []

    def __repr__(self) -> str:
        return f"AboveThresholdRun({self._left} positives left)"

    @property
    def done(self) -> bool:
        """Whether the last allowed positive has been said."""
        return self._left <= 0

    def step(self, value: int) -> bool:
        """Tell whether an answer plus fresh noise reaches the noisy threshold."""
        answer = int(value)
        if self.done:
            raise RuntimeError(
                "the run has stopped; start a new one, which has its own privacy loss"
            )
        if not self._noise:
            block = noise.discrete_laplace(_BLOCK, scale=self._primitive.query_scale)
            self._noise = block.tolist()
        above = answer + self._noise.pop() >= self._noisy_threshold
        # Counted before anything is said, so that no early return can lose the stop.
        self._left -= above
        return above


def _log_survival(least: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return ln P(ν ≥ least) for discrete Laplace ν."""
    rate = 1 / scale
    one_plus = math.log1p(math.exp(-rate))
    with np.errstate(over="ignore"):
        below = np.exp((np.minimum(least, 0) - 1) * rate - one_plus)
    return np.where(least >= 0, -least * rate - one_plus, np.log1p(-below))


def _log_terms(
    hidden: NDArray[np.float64],
    margins: NDArray[np.float64],
    above: NDArray[np.bool_],
    times: NDArray[np.float64],
    threshold_scale: float,
    query_scale: float,
) -> NDArray[np.float64]:
    """Return, for each value ρ of the hidden noise, ln P(ρ) + Σ ln P(answer | ρ)."""
    logs = math.log(math.tanh(0.5 / threshold_scale)) - np.abs(hidden) / threshold_scale
    least = hidden[:, None] - margins[None, :]
    # [ν ≥ m] for a positive; a negative is ν ≤ m − 1, which has the probability of ν ≥ 1 − m.
    signed = np.where(above[None, :], least, 1 - least)
    total: NDArray[np.float64] = logs + _log_survival(signed, query_scale) @ times
    return total
