"""Unary encoding: a bit for every answer, each turned over by a coin of its own.

The bit of the true answer is 1 with probability p, every other one with probability q < p
(docs/proofs/local-designs.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
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
from sfumato.noise.choices import Choices
from sfumato.noise.expansions import WORD, lies
from sfumato.noise.flips import coin_words

__all__ = ["UnaryResponse"]

#: Bits that are drawn at a time: 32 MiB.
CHUNK = 1 << 28


@dataclass(frozen=True, kw_only=True)
class UnaryResponse(LocalResponse):
    """Say a bit for every answer: 1 with probability p for the true one, q for each other.

    Parameters
    ----------
    answers, epsilon
        As for every response.
    symmetric
        Whether a 1 is turned over as often as a 0 is. Otherwise p = 1/2, which is optimal where no
        answer is held by very many.

    Notes
    -----
    A report is a text of zeros and ones, such as `0100`; those of many clients are rows of bits in
    words of 64, the lowest bit first.

    Privacy: two answers differ in two bits, and p(1 − q)/(q(1 − p)) ≤ e^ε
    (docs/proofs/local-designs.md).
    """

    kind: ClassVar[str] = "unary response"

    symmetric: bool = False

    @property
    def thresholds(self) -> tuple[int, int]:
        """How many words out of 2⁶⁴ make the bit of the true answer 1, and that of another."""
        if self.symmetric:
            other = lies(1, 1, self.epsilon / 2)
            return WORD - other, other
        return WORD // 2, lies(1, 1, self.epsilon)

    @property
    def truth(self) -> Fraction:
        """The probability p that the bit of the true answer is 1."""
        return Fraction(self.thresholds[0], WORD)

    @property
    def other(self) -> Fraction:
        """The probability q that the bit of another answer is 1."""
        return Fraction(self.thresholds[1], WORD)

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return how likely two bits are that tell one answer from another, for either of them."""
        if self.answers == 1:
            return []
        return [(self.truth * (1 - self.other), self.other * (1 - self.truth))]

    def draw(self, value: int, choices: Choices) -> str:
        """Throw a coin for each answer in turn."""
        true, other = self.thresholds
        thresholds = (true if answer == value else other for answer in range(self.answers))
        return "".join("1" if choices.coin(threshold) else "0" for threshold in thresholds)

    def draw_all(self, values: Codes) -> Words:
        """Return the bits of many clients; coins are thrown 64 at a time."""
        from sfumato.mechanisms.local_kernels import place_bits, spread_rows

        rows = np.empty((values.size, -(-self.answers // 64)), dtype=np.uint64)
        step = max(1, CHUNK // self.answers)
        for first in range(0, values.size, step):
            part = rows[first : first + step]
            spread_rows(coin_words(len(part) * self.answers, self.other), part, self.answers)
        place_bits(rows, values, coin_words(values.size, self.truth))
        return rows

    def _split(self, value: int, report: str) -> tuple[Fraction, int, int]:
        """Return the probability of the true answer's bit, and how many others are 1 and 0."""
        held = report[value] == "1"
        ones = report.count("1") - held
        return (self.truth if held else 1 - self.truth), ones, self.answers - 1 - ones

    def probability(self, value: int, report: str) -> Fraction:
        """Return the exact probability of the bits."""
        own, ones, zeros = self._split(value, report)
        return own * self.other**ones * (1 - self.other) ** zeros

    def log_law(self, value: int, report: str) -> float:
        """Return the log-probability of the bits, without powers of long fractions."""
        own, ones, zeros = self._split(value, report)
        rest = (ones * log_fraction(self.other), zeros * log_fraction(1 - self.other))
        return math.fsum((log_fraction(own), *rest))

    def outputs(self) -> Iterator[str]:
        """Return every row of bits."""
        return map("".join, product("01", repeat=self.answers))

    def rows(self, reports: Sequence[str]) -> Words:
        """Return texts of zeros and ones as rows of bits."""
        size = self.answers
        for number, report in enumerate(reports):
            if not isinstance(report, str) or len(report) != size or set(report) - {"0", "1"}:
                raise ValueError(f"report {number} must be a text of {size} zeros and ones")
        loose = np.zeros((len(reports), 64 * -(-size // 64)), dtype=np.uint8)
        text = np.frombuffer("".join(reports).encode(), dtype=np.uint8)
        loose[:, :size] = text.reshape(-1, size) - ord("0")
        return np.packbits(loose, axis=1, bitorder="little").view(np.uint64)

    def check_rows(self, rows: NDArray[Any]) -> None:
        """Raise unless an array has a bit for every answer in a row, and none beyond."""
        words = -(-self.answers // 64)
        require_rows(rows, np.dtype(np.uint64), words)
        last = self.answers - 64 * (words - 1)
        if int(rows[:, -1].max(initial=0)) >> last:
            raise ValueError(f"there are bits for {self.answers} answers and no others")

    def plain(self, rows: NDArray[Any]) -> list[str]:
        """Return rows of bits as texts of zeros and ones."""
        packed = np.ascontiguousarray(rows).view(np.uint8)
        loose = np.unpackbits(packed, axis=1, count=self.answers, bitorder="little") + ord("0")
        return [row.tobytes().decode() for row in loose]

    def telling(self, value: int, neighbour: int) -> str:
        """Return the bit of the answer alone."""
        return "".join("1" if answer == value else "0" for answer in range(self.answers))
