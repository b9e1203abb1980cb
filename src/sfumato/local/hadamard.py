"""Hadamard response: short reports for long lists of answers and a small epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.local.design import Design
from sfumato.mechanisms.local_hadamard import HadamardResponseLaw

__all__ = ["HadamardResponse"]


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(Design):
    """Collect one number per person by Hadamard response; half of all numbers support each answer.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers, or their number.

    Notes
    -----
    A report is as short as an answer, and one transform counts all reports. The variance is close
    to optimal up to about ε = 1 (Acharya, Sun and Zhang, 2019); above, other designs have less.

    Privacy: numbers that support the true answer are at most e^ε times as likely as the others
    (docs/proofs/local-designs.md).

    Examples
    --------
    >>> survey = HadamardResponse(epsilon=1, answers=["red", "green", "blue"])
    >>> 0 <= survey.perturb("red") < 4
    True
    """

    @cached_property
    def primitive(self) -> HadamardResponseLaw:
        """What randomises an answer."""
        return HadamardResponseLaw(answers=self.k, epsilon=self.exact_epsilon())

    @property
    def p(self) -> Fraction:
        """The probability that a number speaks for the true answer."""
        return self.primitive.truth

    @property
    def q(self) -> Fraction:
        """The probability that a number speaks for another answer."""
        return self.primitive.other

    @property
    def bits(self) -> float:
        """How many bits a report has."""
        return math.log2(self.primitive.order)

    def _ratio(self) -> Fraction:
        return self.p / (1 - self.p)

    def _count(self, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        from sfumato.mechanisms.local_counting import count_answers, walsh

        found = np.zeros(self.primitive.order, dtype=np.int64)
        count_answers(rows, found)
        walsh(found)
        # Row 0 holds how many reports there are; each row, those that speak for less those against.
        counts += (found[0] + found[1 : self.k + 1]) // 2
