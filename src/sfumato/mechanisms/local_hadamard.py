"""Hadamard response: a report is one of K numbers, half of which speak for each answer.

Number y speaks for answer x where x + 1 and y have an even number of ones in common: the rows of a
Hadamard matrix. Any two answers share a quarter of the numbers (docs/proofs/local-designs.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.local_response import Codes, NumberedResponse, smallest_unsigned
from sfumato.noise.choices import Choices, feed
from sfumato.noise.expansions import WORD, lies

__all__ = ["HadamardResponseLaw"]


@dataclass(frozen=True, kw_only=True)
class HadamardResponseLaw(NumberedResponse):
    """Say one of K = 2^⌈log₂(k + 1)⌉ numbers, e^ε times as likely where it speaks for the truth.

    Parameters
    ----------
    answers, epsilon
        As for every response.

    Notes
    -----
    Privacy: all numbers that speak for the truth are equally likely, and at most e^ε times as
    likely as the others (docs/proofs/local-designs.md).
    """

    kind: ClassVar[str] = "hadamard response"

    @property
    def order(self) -> int:
        """How many numbers there are, K."""
        return 1 << self.answers.bit_length()

    @property
    def reports(self) -> int:
        """How many different reports there are, K."""
        return self.order

    @property
    def threshold(self) -> int:
        """How many words out of 2⁶⁴ speak for the truth."""
        return WORD - lies(1, 1, self.epsilon)

    @property
    def truth(self) -> Fraction:
        """The probability p that the number speaks for the true answer."""
        return Fraction(self.threshold, WORD)

    @property
    def other(self) -> Fraction:
        """The probability q that the number speaks for another answer."""
        return Fraction(1, 2)

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return how likely the halves are that speak for the truth and against it."""
        return [(self.truth, 1 - self.truth)] if self.answers > 1 else []

    def draw(self, value: int, choices: Choices) -> int:
        """Throw a coin for the truth, then choose among the numbers of that half."""
        holds = choices.coin(self.threshold)
        return _complete_number(value + 1, choices.uniform(self.order // 2), holds)

    def draw_all(self, values: Codes) -> NDArray[Any]:
        """Return the numbers of many clients."""
        from sfumato.mechanisms.local_kernels import hadamard

        said = np.empty(values.size, dtype=smallest_unsigned(self.order - 1))
        half = np.uint64(self.order // 2 - 1)
        feed(hadamard, values.size, values, said, np.uint64(self.threshold), half)
        return said

    def probability(self, value: int, report: int) -> Fraction:
        """Return the exact probability of a number."""
        share = self.truth if _speaks(value + 1, report) else 1 - self.truth
        return 2 * share / self.order

    def telling(self, value: int, neighbour: int) -> int:
        """Return a number that speaks for one answer and not for the other."""
        here, there = value + 1, neighbour + 1
        # A bit in which they differ tells them apart: alone, or with one more.
        differ = (here ^ there) & -(here ^ there)
        if differ & there:
            return differ
        # Then `differ` speaks against the first answer; a bit that it has beside makes up for it.
        for bit in (1 << place for place in range(self.answers.bit_length())):
            for number in (bit, bit | differ):
                if _speaks(here, number) and not _speaks(there, number):
                    return number
        return 0


def _speaks(row: int, number: int) -> bool:
    """Tell whether a number and a row of the matrix have an even number of ones in common."""
    return (row & number).bit_count() % 2 == 0


def _complete_number(row: int, rest: int, speaks: bool) -> int:
    """Return the number with the bits of `rest` around the one that decides if it speaks."""
    lowest = row & -row
    below = rest & (lowest - 1)
    number = ((rest - below) << 1) | below
    return number if _speaks(row, number) == speaks else number | lowest
