"""Subset selection: the most telling reports there are, for small and middling lists of answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.local.design import Design
from sfumato.mechanisms.local_subset import SubsetResponse
from sfumato.privacy.parameters import OrNone, Whole, parameter

__all__ = ["SubsetSelection"]


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(Design):
    """Collect a random set of answers per person, which is more likely to contain the true one.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers, or their number.
    size
        Number of answers in a set. Default: the size of least variance, near k/(e^ε + 1) for k
        answers (Wang et al., 2016; Ye and Barg, 2018).

    Notes
    -----
    Privacy: sets that contain the true answer are at most e^ε times as likely as those that do not
    (docs/proofs/local-designs.md).

    Examples
    --------
    >>> survey = SubsetSelection(epsilon=1, answers=8)
    >>> len(survey.perturb("3"))
    2
    """

    size: Any = parameter(OrNone(Whole(1)), None)

    def _check_parameters(self) -> None:
        if self.size is not None and self.size > max(1, self.k - 1):
            raise ValueError(
                f"size must be less than the number of answers, {self.k}; got {self.size}"
            )

    @property
    def sets_of(self) -> int:
        """How many answers a set has."""
        return self.size or best_size(self.k, self.exact_epsilon())

    @cached_property
    def primitive(self) -> SubsetResponse:
        """What randomises an answer."""
        return SubsetResponse(answers=self.k, epsilon=self.exact_epsilon(), size=self.sets_of)

    @property
    def p(self) -> Fraction:
        """The probability that the set holds the true answer."""
        return self.primitive.truth

    @property
    def q(self) -> Fraction:
        """The probability that the set holds another answer."""
        return self.primitive.other

    @property
    def bits(self) -> float:
        """How many bits a report has: the logarithm of how many sets there are."""
        k, d = self.k, self.sets_of
        return (math.lgamma(k + 1) - math.lgamma(d + 1) - math.lgamma(k - d + 1)) / math.log(2)

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """How likely a set holds the true answer and another one, and two others."""
        p, d, others = self.p, self.sets_of, max(1, self.k - 1)
        # Beside the true answer d − 1 of the others are in the set, and d without it.
        both = p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)
        return p * (d - 1) / others, both / (others * max(1, self.k - 2))

    def _ratio(self) -> Fraction:
        p, d = self.p, self.sets_of
        return p * (self.k - d) / ((1 - p) * d)

    def _words(self) -> str:
        return (
            f"a set of {self.sets_of} that holds the true answer with probability "
            f"{float(self.p):.3g}, every other one with {float(self.q):.3g}"
        )

    def _count(self, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        from sfumato.mechanisms.local_counting import count_members

        count_members(rows, counts)


def best_size(answers: int, epsilon: Fraction) -> int:
    """Return how many answers a set must have for the least mean variance of all shares.

    Parameters
    ----------
    answers
        How many answers there are, k.
    epsilon
        The loss for one answer.
    """
    if answers < 3:
        return 1
    likely = answers / (math.exp(min(float(epsilon), 700.0)) + 1)
    near = range(max(1, math.floor(likely) - 1), min(answers - 1, math.ceil(likely) + 1) + 1)

    def summed(size: int) -> Fraction:
        """Return the sum of the variances of all shares, times the number of reports."""
        law = SubsetResponse(answers=answers, epsilon=epsilon, size=size)
        p, q = law.truth, law.other
        if p <= q:
            return Fraction(10**30)
        return (p * (1 - p) + (answers - 1) * q * (1 - q)) / (p - q) ** 2

    return min(near, key=summed)
