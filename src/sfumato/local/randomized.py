"""Randomised response over a list of answers: perturb on the client, estimate at the collector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.local.design import Design
from sfumato.local.reports import Estimate
from sfumato.mechanisms.randomized import Randomized

__all__ = ["Estimate", "RandomizedResponse"]


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Design):
    """Collect one of several answers per person by randomised response.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers, or their number.

    Notes
    -----
    Privacy: the true answer is sent with probability e^ε/(e^ε + k − 1), else another one, chosen
    uniformly; ε-DP for the report (docs/proofs/randomized-response.md).

    Examples
    --------
    >>> survey = RandomizedResponse(epsilon=1, answers=["yes", "no"])
    >>> report = survey.perturb("yes")
    >>> report in ("yes", "no")
    True
    """

    proof: ClassVar[str] = "randomized-response.md"

    @cached_property
    def primitive(self) -> Randomized:
        """What randomises an answer."""
        return Randomized(answers=self.k, epsilon=self.exact_epsilon())

    @property
    def p(self) -> Fraction:
        """The probability that the truth is told."""
        return self.primitive.truth

    @property
    def q(self) -> Fraction:
        """The probability of each other answer."""
        return self.primitive.other

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The probability of answer i where j is true."""
        p, q = float(self.p), float(self.q)
        return np.where(np.eye(self.k, dtype=np.bool_), p, q)

    @property
    def bits(self) -> float:
        """How many bits a report has: log₂ k."""
        return math.log2(self.k)

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """No report speaks for two answers."""
        return Fraction(0), Fraction(0)

    def _ratio(self) -> Fraction:
        return self.p / self.q

    def _words(self) -> str:
        return f"the truth is reported with probability {float(self.p):.3g}"

    def _plain(self, said: list[Any]) -> list[Any]:
        return [self.answers[number] for number in said]

    def _said(self, plain: list[Any]) -> list[Any]:
        return answer_numbers(self.answers, plain)

    def _count(self, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        from sfumato.mechanisms.local_counting import count_answers

        count_answers(rows, counts)


def answer_numbers(answers: tuple[str, ...], plain: list[Any]) -> list[int]:
    """Return the numbers of answers, or refuse what is not one.

    Parameters
    ----------
    answers
        The possible answers.
    plain
        Reports, which are answers.
    """
    numbers = {answer: number for number, answer in enumerate(answers)}
    try:
        return [numbers[report] for report in plain]
    except (KeyError, TypeError):
        strange = next(r for r in plain if not isinstance(r, str) or r not in numbers)
        raise ValueError(f"{strange!r} is not one of the answers of this survey") from None
