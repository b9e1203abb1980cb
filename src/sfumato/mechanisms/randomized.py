"""Randomised response: say the truth with a known probability, else any other answer.

The primitive runs where the answer is, on one person's own value
(docs/proofs/randomized-response.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato import noise
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive


@dataclass(frozen=True, kw_only=True)
class Randomized(Primitive):
    """Answer truly with probability e^ε/(e^ε + k − 1), else one of the k − 1 others, evenly.

    Parameters
    ----------
    answers
        How many answers there are, k.
    epsilon
        The loss for one answer replaced by any other.

    Notes
    -----
    Privacy: P(say i | truth i)/P(say i | truth j) = e^ε, and all other ratios are 1 or e^−ε
    (docs/proofs/randomized-response.md).
    """

    kind: ClassVar[str] = "randomised response"

    answers: int
    epsilon: Fraction

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is the number of an answer."""
        if not isinstance(value, int) or not 0 <= value < self.answers:
            raise ValueError(f"the answer must be a number from 0 to {self.answers - 1}")

    def sample(self, value: int) -> int:
        """Return the randomised answer: the exponential mechanism on the score 'is the truth'."""
        scores = np.zeros(self.answers, dtype=np.int64)
        scores[value] = 1
        return noise.exponential(scores, rate=self.epsilon)

    def log_probability(self, value: int, output: int) -> float:
        """Return the log-probability of an answer."""
        epsilon = float(self.epsilon)
        # −ln(1 + (k−1)e^−ε) is the log-probability of the truth, whatever ε is.
        truth = -math.log1p((self.answers - 1) * math.exp(-epsilon))
        return truth if value == output else truth - epsilon

    def change(self, value: int, neighbour: int) -> Change:
        """Tell whether the answers differ; any difference is allowed."""
        return Change(Fraction(int(value != neighbour)), Fraction(1), "another answer")

    def extremes(self, value: int, neighbour: int) -> list[int]:
        """Return the two answers: saying one of them attains the bound."""
        return [value, neighbour]
