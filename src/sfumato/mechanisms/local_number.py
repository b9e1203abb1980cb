"""Numbers from clients: one bit, or a place near the number, from which a mean follows.

The input is a step of a public grid from 0 to N. The mean of a report is a straight line in it,
exactly, so that the mean of reports tells the mean of the numbers (docs/proofs/local-designs.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.local_response import Codes, NumberedResponse, smallest_unsigned
from sfumato.noise.choices import Choices, feed, fence
from sfumato.noise.expansions import WORD, lies

__all__ = ["BitOfNumber", "NumberResponse", "PlaceOfNumber"]


@dataclass(frozen=True, kw_only=True)
class NumberResponse(NumberedResponse):
    """What the two responses for numbers share.

    Parameters
    ----------
    answers
        How many steps the grid has, N; the number is from 0 to N.
    epsilon
        The loss for one number replaced by any other.
    """

    @property
    def inputs(self) -> int:
        """How many numbers there are, N + 1."""
        return self.answers + 1

    @property
    @abstractmethod
    def reports(self) -> int:
        """How many different reports there are."""

    @abstractmethod
    def line(self) -> tuple[Fraction, Fraction]:
        """Return (a, b): the mean report for the number i is a + b·i."""

    @abstractmethod
    def square(self, value: int) -> Fraction:
        """Return the mean square of the report for a number."""

    def spread(self, value: int) -> Fraction:
        """Return the variance of (report − a)/b, an unbiased estimate of the number."""
        start, slope = self.line()
        return (self.square(value) - (start + slope * value) ** 2) / slope**2


@dataclass(frozen=True, kw_only=True)
class BitOfNumber(NumberResponse):
    """Say 1 with a probability that grows with the number, from 1/(e^ε + 1) to e^ε/(e^ε + 1).

    Parameters
    ----------
    answers, epsilon
        As for every response to a number.

    Notes
    -----
    Privacy: both bits have probabilities that are at most e^ε apart for all numbers (Duchi, Jordan
    and Wainwright, 2013; docs/proofs/local-designs.md).
    """

    kind: ClassVar[str] = "bit of a number"

    def _check_parameters(self) -> None:
        if self.rise < 1:
            raise ValueError(
                "epsilon is so small that a report would hold no information; use a larger epsilon"
            )

    @property
    def least(self) -> int:
        """How many words out of 2⁶⁴ say 1 for the number 0."""
        least, steps = lies(1, 1, self.epsilon), self.answers
        # So much more that what is left rises evenly: 2⁶⁴ − 2·least is a multiple of the steps.
        if steps % 2 == 0:
            return least + (WORD // 2 - least) % (steps // 2)
        return least + (WORD - 2 * least) * (steps + 1) // 2 % steps

    @property
    def rise(self) -> int:
        """How many words more say 1 for the next number."""
        return (WORD - 2 * self.least) // self.answers

    @property
    def reports(self) -> int:
        """A bit: two."""
        return 2

    def line(self) -> tuple[Fraction, Fraction]:
        """Return the chance of a 1 for the number 0, and by how much it grows."""
        return Fraction(self.least, WORD), Fraction(self.rise, WORD)

    def square(self, value: int) -> Fraction:
        """Return the chance of a 1."""
        start, slope = self.line()
        return start + slope * value

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return how likely each bit is for the largest number and for 0."""
        low, high = self.square(0), self.square(self.answers)
        return [(high, low), (1 - low, 1 - high)]

    def draw(self, value: int, choices: Choices) -> int:
        """Throw one coin."""
        return int(choices.coin(self.least + self.rise * value))

    def draw_all(self, values: Codes) -> NDArray[Any]:
        """Return the bits of many clients."""
        from sfumato.mechanisms.local_kernels import draw_graded

        said = np.empty(values.size, dtype=np.uint8)
        feed(draw_graded, values.size, values, said, np.uint64(self.least), np.uint64(self.rise))
        return said

    def probability(self, value: int, report: int) -> Fraction:
        """Return the exact probability of a bit."""
        one = self.square(value)
        return one if report else 1 - one

    def telling(self, value: int, neighbour: int) -> int:
        """Return the bit for which the number speaks more than the other does."""
        return int(value > neighbour)


@dataclass(frozen=True, kw_only=True)
class PlaceOfNumber(NumberResponse):
    """Say one of N + w places, e^ε times as likely in the window of w that begins at the number.

    Parameters
    ----------
    answers, epsilon
        As for every response to a number.
    window
        How many places are near a number, w.

    Notes
    -----
    Privacy: places in the window are equally likely, and so are all others, at most e^ε less (the
    piecewise mechanism of Wang et al., 2019, on a grid; docs/proofs/local-designs.md).
    """

    kind: ClassVar[str] = "place of a number"

    window: int

    def _check_parameters(self) -> None:
        if self.window < 1:
            raise ValueError("a window has at least one place")
        if self.line()[1] <= 0:
            raise ValueError(
                "epsilon is so small that a report would hold no information; use a larger epsilon"
            )

    @property
    def threshold(self) -> int:
        """How many words out of 2⁶⁴ say a place in the window."""
        return WORD - lies(self.window, self.answers, self.epsilon)

    @property
    def near(self) -> Fraction:
        """The probability of the window."""
        return Fraction(self.threshold, WORD)

    @property
    def reports(self) -> int:
        """How many places there are, N + w."""
        return self.answers + self.window

    def line(self) -> tuple[Fraction, Fraction]:
        """Return the mean place for the number 0, and by how much it grows."""
        steps, window, near = self.answers, self.window, self.near
        slope = near - (1 - near) * Fraction(window, steps)
        # For the number 0 the window is 0, …, w − 1, and the others are w, …, N + w − 1.
        start = near * Fraction(window - 1, 2) + (1 - near) * Fraction(2 * window + steps - 1, 2)
        return start, slope

    def square(self, value: int) -> Fraction:
        """Return the mean square of the place."""
        everywhere = _squares(self.reports)
        inside = _squares(value + self.window) - _squares(value)
        outside = Fraction(everywhere - inside, self.answers)
        return self.near * Fraction(inside, self.window) + (1 - self.near) * outside

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return how likely a place is inside the window and outside."""
        return [(self.near / self.window, (1 - self.near) / self.answers)]

    def draw(self, value: int, choices: Choices) -> int:
        """Throw a coin for the window, then choose a place inside it or outside."""
        if choices.coin(self.threshold):
            return value + choices.uniform(self.window)
        other = choices.uniform(self.answers)
        return other if other < value else other + self.window

    def draw_all(self, values: Codes) -> NDArray[Any]:
        """Return the places of many clients."""
        from sfumato.mechanisms.local_kernels import draw_windowed

        said = np.empty(values.size, dtype=smallest_unsigned(self.reports - 1))
        window, steps = self.window, self.answers
        bounds = (self.threshold, window, fence(window), steps, fence(steps))
        feed(draw_windowed, values.size, values, said, *map(np.uint64, bounds))
        return said

    def probability(self, value: int, report: int) -> Fraction:
        """Return the exact probability of a place."""
        if value <= report < value + self.window:
            return self.near / self.window
        return (1 - self.near) / self.answers

    def telling(self, value: int, neighbour: int) -> int:
        """Return the end of the window that is further from the other number."""
        return value if value < neighbour else value + self.window - 1


def _squares(count: int) -> int:
    """Return 0² + 1² + … + (count − 1)²."""
    return (count - 1) * count * (2 * count - 1) // 6
