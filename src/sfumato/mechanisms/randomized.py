"""Randomised response: say the truth with a known probability, else any other answer.

The primitive runs where the answer is, on one person's own value
(docs/proofs/randomized-response.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.local_response import Codes, NumberedResponse, smallest_unsigned
from sfumato.noise.choices import Choices, feed, fence
from sfumato.noise.expansions import WORD, lies

__all__ = ["Randomized"]


@dataclass(frozen=True, kw_only=True)
class Randomized(NumberedResponse):
    """Answer truly with probability e^ε/(e^ε + k − 1), else one of the k − 1 others, evenly.

    Parameters
    ----------
    answers
        How many answers there are, k.
    epsilon
        The loss for one answer replaced by any other.

    Notes
    -----
    The probability of a lie is rounded up to a whole number out of 2⁶⁴.

    Privacy: P(say i | truth i)/P(say i | truth j) ≤ e^ε, and all other ratios are 1 or its inverse
    (docs/proofs/randomized-response.md).
    """

    kind: ClassVar[str] = "randomised response"

    @property
    def threshold(self) -> int:
        """How many words out of 2⁶⁴ tell the truth."""
        return WORD - lies(1, self.answers - 1, self.epsilon)

    @property
    def truth(self) -> Fraction:
        """The probability p that the truth is told."""
        return Fraction(self.threshold, WORD)

    @property
    def other(self) -> Fraction:
        """The probability q of each other answer."""
        return (1 - self.truth) / max(1, self.answers - 1)

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return how likely an answer is where it is true and where it is not."""
        return [(self.truth, self.other)] if self.answers > 1 else []

    def draw(self, value: int, choices: Choices) -> int:
        """Throw a coin for the truth; on tails choose among the others."""
        if self.answers == 1 or choices.coin(self.threshold):
            return value
        other = choices.uniform(self.answers - 1)
        return other + (other >= value)

    def draw_all(self, values: Codes) -> NDArray[Any]:
        """Return the answers of many clients, in the narrowest type that holds them."""
        from sfumato.mechanisms.local_kernels import draw_randomized

        said = np.zeros(values.size, dtype=smallest_unsigned(self.answers - 1))
        if self.answers > 1:
            others = self.answers - 1
            feed(
                draw_randomized,
                values.size,
                values,
                said,
                np.uint64(self.threshold),
                np.uint64(others),
                np.uint64(fence(others)),
            )
        return said

    def probability(self, value: int, report: int) -> Fraction:
        """Return the exact probability of an answer."""
        return self.truth if value == report else self.other

    def telling(self, value: int, neighbour: int) -> int:
        """Return the answer itself."""
        return value
