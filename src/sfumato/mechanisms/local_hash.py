"""Local hashing: a report names a random set of answers, by two numbers, that may hold the truth.

The set of a report (a, c) is all answers x with (a·x + c) mod 2⁶⁴ < w. The step a is uniform and
says nothing of the answer; c puts the true one into the set with probability p, and any other one
is in it with probability w/2⁶⁴ = q, exactly, because a is uniform (docs/proofs/local-designs.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.local_response import (
    Codes,
    LocalResponse,
    log_fraction,
    require_rows,
)
from sfumato.noise.bits import Words
from sfumato.noise.choices import Choices, feed, fence
from sfumato.noise.expansions import WORD, enclose_exponential, lies

__all__ = ["HashResponse", "hash_width"]

_DIGITS = 16
#: Bits to which the best width is computed before it is rounded.
_FINE = 192


@dataclass(frozen=True, kw_only=True)
class HashResponse(LocalResponse):
    """Say a random set of answers that holds the true one with probability p > q.

    Parameters
    ----------
    answers, epsilon
        As for every response.

    Notes
    -----
    A report is a text of 32 hexadecimal digits, a and then c; those of many clients are rows of
    two words.

    Privacy: a report is p(1 − q)/(q(1 − p)) ≤ e^ε times as likely where the answer is in its set
    as where it is not (docs/proofs/local-designs.md).
    """

    kind: ClassVar[str] = "hash response"

    @property
    def width(self) -> int:
        """How many of the 2⁶⁴ places are in the set, w."""
        return hash_width(self.answers, self.epsilon)

    @property
    def threshold(self) -> int:
        """How many words out of 2⁶⁴ put the true answer into the set."""
        return WORD - lies(self.width, WORD - self.width, self.epsilon)

    @property
    def truth(self) -> Fraction:
        """The probability p that the true answer is in the set."""
        return Fraction(self.threshold, WORD)

    @property
    def other(self) -> Fraction:
        """The probability q that another answer is in the set."""
        return Fraction(self.width, WORD)

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return how likely a place is that holds the truth and one that does not."""
        if self.answers == 1:
            return []
        return [(self.truth / self.width, (1 - self.truth) / (WORD - self.width))]

    def draw(self, value: int, choices: Choices) -> str:
        """Draw the step, throw a coin, and put the answer inside the set or outside."""
        width = self.width
        step = choices.uniform(WORD)
        if choices.coin(self.threshold):
            place = choices.uniform(width)
        else:
            place = width + choices.uniform(WORD - width)
        return _text(step, (place - step * value) % WORD)

    def draw_all(self, values: Codes) -> Words:
        """Return the two words of each of many clients."""
        from sfumato.mechanisms.local_kernels import draw_hashed

        width = self.width
        said = np.empty((values.size, 2), dtype=np.uint64)
        bounds = (self.threshold, width, fence(width), WORD - width, fence(WORD - width))
        feed(draw_hashed, values.size, values, said, *map(np.uint64, bounds))
        return said

    def holds(self, report: str, answer: int) -> bool:
        """Tell whether an answer is in the set of a report."""
        step, shift = _numbers(report)
        return (step * answer + shift) % WORD < self.width

    def _share(self, value: int, report: str) -> tuple[Fraction, int]:
        """Return how likely the answer is in or out of the set, as it is, and the places there."""
        if self.holds(report, value):
            return self.truth, self.width
        return 1 - self.truth, WORD - self.width

    def probability(self, value: int, report: str) -> Fraction:
        """Return the exact probability of a report."""
        share, places = self._share(value, report)
        return share / (WORD * places)

    def log_law(self, value: int, report: str) -> float:
        """Return the log-probability of a report."""
        share, places = self._share(value, report)
        return log_fraction(share) - 64 * math.log(2) - math.log(places)

    def outputs(self) -> Iterator[str]:
        """Refuse: there are 2¹²⁸ reports."""
        raise ValueError("the reports of local hashing are too many to be listed")

    def rows(self, reports: Sequence[str]) -> Words:
        """Return texts as rows of two words."""
        for number, report in enumerate(reports):
            if (
                not isinstance(report, str)
                or len(report) != 2 * _DIGITS
                or set(report) - set("0123456789abcdef")
            ):
                raise ValueError(
                    f"report {number} must be a text of {2 * _DIGITS} hexadecimal digits"
                )
        packed = np.frombuffer(bytes.fromhex("".join(reports)), dtype=">u8")
        return packed.astype(np.uint64).reshape(-1, 2)

    def check_rows(self, rows: NDArray[Any]) -> None:
        """Raise unless an array has two words in a row."""
        require_rows(rows, np.dtype(np.uint64), 2)

    def plain(self, rows: NDArray[Any]) -> list[str]:
        """Return rows of two words as texts."""
        return [_text(step, shift) for step, shift in rows.tolist()]

    def telling(self, value: int, neighbour: int) -> str:
        """Return a set that holds one answer and not the other."""
        # A step that takes the neighbour half the circle away, as far as its factors 2 allow.
        apart = neighbour - value
        step = WORD // 2 // (apart & -apart) if apart else 0
        return _text(step, -step * value % WORD)


@lru_cache(maxsize=256)
def hash_width(answers: int, epsilon: Fraction, *, bits: int = 64) -> int:
    """Return how many of 2ᵇ places a set should have for the least mean variance of all shares.

    Parameters
    ----------
    answers
        How many answers there are, k.
    epsilon
        The loss for one answer.
    bits
        The b of 2ᵇ.
    """
    # The best q is r/(1 + r) with r² = y(1 + (k − 1)y)/(y + k − 1) and y = e⁻ᵉ (see the proof).
    y, one, others = enclose_exponential(epsilon, _FINE)[1], 1 << _FINE, answers - 1
    root = math.isqrt((y * (one + others * y) << _FINE) // (y + others * one))
    # Below 2^m answers a difference has fewer than m factors 2, and the highest 65 − m bits of
    # a·difference are uniform: the width may not look at more of them.
    spare = max(0, (answers - 1).bit_length() - 1)
    return max(1, (root << (bits - spare)) // (one + root)) << spare


def _text(step: int, shift: int) -> str:
    """Return a report as text."""
    return f"{step:0{_DIGITS}x}{shift:0{_DIGITS}x}"


def _numbers(report: str) -> tuple[int, int]:
    """Return the step and the shift of a report."""
    return int(report[:_DIGITS], 16), int(report[_DIGITS:], 16)
