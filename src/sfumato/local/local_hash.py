"""Local hashing: for any number of answers, reports of two words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.local.design import Design
from sfumato.mechanisms.local_hash import HashResponse

__all__ = ["LocalHash"]


@dataclass(frozen=True, kw_only=True)
class LocalHash(Design):
    """Collect answers by local hashing: a short report that stands for a random set of answers.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers, or their number.

    Notes
    -----
    A set is encoded by two numbers, however many answers there are: optimal local hashing (Wang et
    al., 2017) without its rounding, since the share of answers in a set need not be one over a
    whole number; for many answers it is 1/(e^ε + 1), and the true one is in half of the sets.

    Privacy: a report is at most e^ε times as likely where the answer is in its set as where it is
    not (docs/proofs/local-designs.md).

    Examples
    --------
    >>> survey = LocalHash(epsilon=1, answers=["red", "green", "blue"])
    >>> len(survey.perturb("red"))
    32
    """

    @cached_property
    def primitive(self) -> HashResponse:
        """What randomises an answer."""
        return HashResponse(answers=self.k, epsilon=self.exact_epsilon())

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
        """How many bits a report has: two words."""
        return 128.0

    def _ratio(self) -> Fraction:
        p, q = self.p, self.q
        return p * (1 - q) / (q * (1 - p))

    def _words(self) -> str:
        return (
            f"a random set that holds the true answer with probability {float(self.p):.3g}, every "
            f"other one with {float(self.q):.3g}"
        )

    def _count(self, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        from sfumato.mechanisms.local_counting import count_hashed

        signed = np.ascontiguousarray(rows.T).view(np.int64)
        # Unsigned words are compared as signed ones half the circle on.
        half = np.int64(-(1 << 63))
        count_hashed(signed[0], signed[1] ^ half, self.primitive.width - (1 << 63), counts)
