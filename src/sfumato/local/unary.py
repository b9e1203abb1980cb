"""Unary encoding: every client says a bit for every answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.local.design import Design
from sfumato.mechanisms.local_unary import UnaryResponse
from sfumato.privacy.parameters import Flag, parameter

__all__ = ["UnaryEncoding"]


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(Design):
    """Collect one bit per possible answer, each flipped independently.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers, or their number.
    symmetric
        Whether ones are flipped as often as zeros. By default the bit of the true answer is a fair
        coin, which is optimal if no answer is very common (Wang et al., 2017).

    Notes
    -----
    Privacy: two answers differ in two bits, whose flips change the probability of a report by a
    factor of at most e^ε (docs/proofs/local-designs.md).

    Examples
    --------
    >>> survey = UnaryEncoding(epsilon=1, answers=["red", "green", "blue"])
    >>> len(survey.perturb("red"))
    3
    """

    symmetric: Any = parameter(Flag(), False)

    @cached_property
    def primitive(self) -> UnaryResponse:
        """What randomises an answer."""
        return UnaryResponse(answers=self.k, epsilon=self.exact_epsilon(), symmetric=self.symmetric)

    @property
    def p(self) -> Fraction:
        """The probability that the true answer's bit is 1."""
        return self.primitive.truth

    @property
    def q(self) -> Fraction:
        """The probability that another answer's bit is 1."""
        return self.primitive.other

    @property
    def bits(self) -> float:
        """How many bits a report has: one for each answer."""
        return float(self.k)

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """The bits are independent."""
        return self.p * self.q, self.q**2

    def _ratio(self) -> Fraction:
        p, q = self.p, self.q
        return p * (1 - q) / (q * (1 - p))

    def _words(self) -> str:
        return (
            f"the bit of the true answer is 1 with probability {float(self.p):.3g}, every other "
            f"one with {float(self.q):.3g}"
        )

    def _count(self, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        from sfumato.mechanisms.local_counting import column_sums

        column_sums(rows, counts)
