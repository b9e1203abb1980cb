"""Any design matrix: a report is an answer, drawn from the column of the true one.

A column is a line of positive whole numbers that add up to 2⁶⁴. That no row holds two numbers more
than e^ε apart is checked in integers when the primitive is made (docs/proofs/local-designs.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.local_response import (
    Codes,
    NumberedResponse,
    smallest_unsigned,
    within,
)
from sfumato.noise.choices import Choices, feed
from sfumato.noise.expansions import WORD, enclose_exponential

__all__ = ["Columns", "MatrixResponseLaw", "laplace_columns", "whole_columns", "worst_ratio"]

#: For every answer, the probabilities of all reports.
Columns = Sequence[Sequence[Fraction]]

#: Shares of an even answer that are mixed in where rounding alone would cost more than ε.
MIXED = (Fraction(0), *(Fraction(1, 1 << bits) for bits in range(56, 23, -4)))
#: Bits to which the entries of a Laplace matrix are computed.
_FINE = 192


@dataclass(frozen=True, kw_only=True)
class MatrixResponseLaw(NumberedResponse):
    """Say an answer, drawn from the column of the true one.

    Parameters
    ----------
    answers, epsilon
        As for every response.
    weights
        For every answer, how many words out of 2⁶⁴ say each of the answers.

    Notes
    -----
    Privacy: no two weights of one report are more than e^ε apart
    (docs/proofs/local-designs.md).
    """

    kind: ClassVar[str] = "matrix response"

    weights: tuple[tuple[int, ...], ...]

    def _check_parameters(self) -> None:
        if len(self.weights) != self.answers or {len(w) for w in self.weights} != {self.answers}:
            raise ValueError(f"{self.answers} answers need as many columns of as many weights")
        if any(min(column) < 1 or sum(column) != WORD for column in self.weights):
            raise ValueError("the weights of a column must be positive and add up to 2^64")
        if not within(worst_ratio(self.weights), self.epsilon):
            raise ValueError("the weights of a row differ by a factor of more than e^epsilon")

    def contrasts(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Return the largest and the least weight of a row that has them furthest apart."""
        return [(worst_ratio(self.weights), Fraction(1))]

    def draw(self, value: int, choices: Choices) -> int:
        """Draw a report from the answer's column."""
        return choices.piece(list(accumulate(self.weights[value])))

    def draw_all(self, values: Codes) -> NDArray[Any]:
        """Return the answers of many clients."""
        from sfumato.mechanisms.local_kernels import pieces

        said = np.zeros(values.size, dtype=smallest_unsigned(self.answers - 1))
        lasts = [[end - 1 for end in accumulate(column)] for column in self.weights]
        feed(pieces, values.size, values, said, np.array(lasts, dtype=np.uint64))
        return said

    def probability(self, value: int, report: int) -> Fraction:
        """Return the exact probability of an answer."""
        return Fraction(self.weights[value][report], WORD)

    def telling(self, value: int, neighbour: int) -> int:
        """Return the answer whose weights are furthest apart."""
        here, there = self.weights[value], self.weights[neighbour]
        return max(range(self.answers), key=lambda said: Fraction(here[said], there[said]))


def worst_ratio(columns: Sequence[Sequence[Any]]) -> Fraction:
    """Return the largest ratio of two entries that stand for the same report.

    Parameters
    ----------
    columns
        For every answer, positive whole numbers or fractions.
    """
    return max(Fraction(max(row)) / Fraction(min(row)) for row in zip(*columns, strict=True))


def whole_columns(columns: Columns, epsilon: Fraction) -> tuple[tuple[int, ...], ...]:
    """Return columns as whole numbers out of 2⁶⁴ of which no row costs more than ε.

    Parameters
    ----------
    columns
        For every answer, positive probabilities that add up to 1.
    epsilon
        The loss that is allowed. Where rounding would exceed it, a little of an even answer is
        mixed in.
    """
    even = Fraction(1, len(columns))
    for part in MIXED:
        mixed = [[(1 - part) * share + part * even for share in column] for column in columns]
        weights = tuple(_round_column(column) for column in mixed)
        if min(map(min, weights)) >= 1 and within(worst_ratio(weights), epsilon):
            return weights
    raise ValueError("the privacy loss of the matrix exceeds epsilon")


def _round_column(column: Sequence[Fraction]) -> tuple[int, ...]:
    """Round a column to whole numbers that add up to 2⁶⁴; the largest takes what is over."""
    weights = [round(share * WORD) for share in column]
    weights[column.index(max(column))] += WORD - sum(weights)
    return tuple(weights)


def laplace_columns(answers: int, epsilon: Fraction) -> list[list[Fraction]]:
    """Return the matrix of Laplace noise on the number of an answer, rounded and cut to the list.

    The noise has scale (k − 1)/ε; entries are right to 2⁻¹⁹⁰, and columns add up to 1 exactly.

    Parameters
    ----------
    answers
        How many answers there are, k.
    epsilon
        The loss of the noise before it is rounded.
    """
    if answers == 1:
        return [[Fraction(1)]]

    def tail(half_steps: int) -> Fraction:
        """Return the chance of noise beyond so many half answers."""
        exponent = epsilon * half_steps / (2 * (answers - 1))
        return Fraction(enclose_exponential(exponent, _FINE)[0], 2 << _FINE)

    def below(cut: int, value: int) -> Fraction:
        """Return the chance of an answer before the cut, which lies half an answer below it."""
        away = 2 * (cut - value) - 1
        return 1 - tail(away) if away > 0 else tail(-away)

    columns = []
    for value in range(answers):
        ends = [Fraction(0), *(below(cut, value) for cut in range(1, answers)), Fraction(1)]
        columns.append([high - low for low, high in pairwise(ends)])
    return columns
