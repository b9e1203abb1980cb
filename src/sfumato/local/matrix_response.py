"""Any design matrix, and that of rounded Laplace noise, for comparison."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.local.design import Design, Variances
from sfumato.local.randomized import answer_numbers
from sfumato.mechanisms.local_matrix import (
    MatrixResponseLaw,
    laplace_columns,
    whole_columns,
    worst_ratio,
)
from sfumato.noise.exact import exact
from sfumato.noise.expansions import WORD
from sfumato.privacy.parameters import Constraint, is_list, parameter, read_exact

__all__ = ["LaplaceResponse", "MatrixDesign", "MatrixResponse", "epsilon_of"]

#: By how much the sum of a column may miss 1; it is then divided by it.
SLACK = Fraction(1, 10**12)


@dataclass(frozen=True)
class Matrix(Constraint):
    """A square matrix of positive probabilities whose columns add up to 1."""

    allowed = "a square list of rows of positive numbers, each column adding up to 1"

    def parse(self, value: Any) -> tuple[tuple[Fraction, ...], ...]:
        """Return the rows as fractions, columns divided by their sums."""
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not is_list(value) or not value:
            raise TypeError
        rows = [[read_exact(entry) for entry in row] for row in value]
        if {len(row) for row in rows} != {len(rows)} or min(map(min, rows)) <= 0:
            raise ValueError
        sums = [sum(column) for column in zip(*rows, strict=True)]
        if any(abs(total - 1) > SLACK for total in sums):
            raise ValueError
        return tuple(
            tuple(read_exact(entry / total) for entry, total in zip(row, sums, strict=True))
            for row in rows
        )


@dataclass(frozen=True, kw_only=True)
class MatrixDesign(Design):
    """What designs have whose reports are answers, drawn from the column of the true one."""

    @abstractmethod
    def _weights(self) -> tuple[tuple[int, ...], ...]:
        """Return the columns as whole numbers out of 2⁶⁴."""

    @cached_property
    def primitive(self) -> MatrixResponseLaw:
        """What randomises an answer."""
        return MatrixResponseLaw(
            answers=self.k, epsilon=self.exact_epsilon(), weights=self._weights()
        )

    @property
    def p(self) -> Fraction:
        """Refuse: it differs from answer to answer."""
        raise ValueError("a design matrix has no common p and q; use matrix")

    @property
    def q(self) -> Fraction:
        """Refuse: it differs from answer to answer."""
        return self.p

    @property
    def tells(self) -> bool:
        """Whether the shares follow from those of the reports: the matrix can be inverted."""
        matrix = np.array(self._weights(), dtype=np.float64).T / WORD
        return bool(np.linalg.matrix_rank(matrix) == self.k)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The probability of answer i where j is true."""
        return np.array(self._weights(), dtype=np.float64).T / WORD

    @property
    def bits(self) -> float:
        """How many bits a report has: log₂ k."""
        return math.log2(self.k)

    def _ratio(self) -> Fraction:
        return worst_ratio(self._weights())

    def _figures(self) -> dict[str, float]:
        return {"truth": float(np.diag(self.matrix).mean())}

    def _words(self) -> str:
        truths = np.diag(self.matrix)
        return f"the truth is reported with probability {truths.min():.3g} to {truths.max():.3g}"

    def _plain(self, said: list[Any]) -> list[Any]:
        return [self.answers[number] for number in said]

    def _said(self, plain: list[Any]) -> list[Any]:
        return answer_numbers(self.answers, plain)

    def _count(self, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        from sfumato.mechanisms.local_counting import count_answers

        count_answers(rows, counts)

    def variance(self, share: float | Fraction, n: int) -> Variances:
        """Refuse: it needs the shares of all answers."""
        raise ValueError("the variance of a design matrix depends on all shares; use variances")

    def variances(self, shares: ArrayLike, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the variances of all estimated shares, for the sample and for the population."""
        held = np.asarray(shares, dtype=np.float64)
        inverse = np.linalg.inv(self.matrix)
        # Of a report for answer v: Σ_u inverse[i, u]²·P[u, v] − [i = v], in column v.
        each = inverse**2 @ self.matrix - np.eye(self.k)
        sample = each @ held / n
        return sample, sample + held * (1 - held) / n

    def counts(self, support: NDArray[Any], total: int) -> NDArray[np.float64]:
        """Return the unbiased estimate of how many clients hold each answer, by inversion."""
        return np.asarray(np.linalg.solve(self.matrix, support.astype(np.float64)))


@dataclass(frozen=True, kw_only=True)
class MatrixResponse(MatrixDesign):
    """Collect answers by a user-defined design matrix.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other. The loss of the matrix must not exceed
        it; `epsilon_of` computes that loss.
    answers
        The possible answers, or their number.
    matrix_rows
        The probability of each report (rows) for each true answer (columns), all positive.

    Notes
    -----
    Privacy: the entries of a row differ by a factor of at most e^ε, which is checked in whole
    numbers (docs/proofs/local-designs.md).
    """

    #: The truth is said e times as often as each of the two others.
    example: ClassVar[dict[str, Any]] = {
        **MatrixDesign.example,
        "matrix_rows": (
            ("0.5761168847658291", "0.21194155761708547", "0.21194155761708547"),
            ("0.21194155761708547", "0.5761168847658291", "0.21194155761708547"),
            ("0.21194155761708547", "0.21194155761708547", "0.5761168847658291"),
        ),
    }

    matrix_rows: Any = parameter(Matrix())

    def __post_init__(self) -> None:
        # Before the rest, which works with the matrix: a refusal must say what is wrong with it.
        for item in ("answers", "matrix_rows", "epsilon"):
            constraint = type(self).__dataclass_fields__[item].metadata["constraint"]
            object.__setattr__(self, item, constraint(item, getattr(self, item)))
        if len(self.matrix_rows) != self.k:
            raise ValueError(
                f"{self.k} answers need a matrix of {self.k} rows; got {len(self.matrix_rows)}"
            )
        try:
            self._weights()
        except ValueError:
            cost = epsilon_of(self.matrix_rows)
            raise ValueError(
                f"the privacy loss of the matrix is {cost:.6g}, which exceeds epsilon"
            ) from None
        super().__post_init__()

    def _weights(self) -> tuple[tuple[int, ...], ...]:
        return _whole(self.matrix_rows, self.exact_epsilon())


@dataclass(frozen=True, kw_only=True)
class LaplaceResponse(MatrixDesign):
    """Collect answers with Laplace noise on their position, rounded to the list; for comparison.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers in order, or their number.

    Notes
    -----
    For two answers this is Laplace noise with a threshold of 1/2. Its privacy loss is less than ε,
    and it is far less accurate than randomised response at the same ε.

    Privacy: rounding is post-processing of Laplace noise of scale (k − 1)/ε; the privacy loss of
    the rounded matrix is checked in whole numbers (docs/proofs/local-designs.md).
    """

    def _weights(self) -> tuple[tuple[int, ...], ...]:
        return _laplace(self.k, self.exact_epsilon())


def epsilon_of(matrix: Any) -> float:
    """Return what a design matrix costs: the logarithm of the worst ratio within a row.

    Parameters
    ----------
    matrix
        Rows of probabilities, a row for each report and a column for each true answer.
    """
    rows = [[exact(entry) for entry in row] for row in np.asarray(matrix, dtype=object).tolist()]
    used = [row for row in rows if any(row)]
    if any(min(row) <= 0 for row in used):
        return math.inf
    ratio = max(max(row) / min(row) for row in used)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@lru_cache(maxsize=32)
def _whole(
    rows: tuple[tuple[Fraction, ...], ...], epsilon: Fraction
) -> tuple[tuple[int, ...], ...]:
    """Return the columns of a matrix as whole numbers out of 2⁶⁴."""
    return whole_columns(list(zip(*rows, strict=True)), epsilon)


@lru_cache(maxsize=32)
def _laplace(answers: int, epsilon: Fraction) -> tuple[tuple[int, ...], ...]:
    """Return the columns of rounded Laplace noise as whole numbers out of 2⁶⁴."""
    return whole_columns(laplace_columns(answers, epsilon), epsilon)
