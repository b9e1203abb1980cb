"""Scores of how much a column depends on its parents, in whole numbers.

A score reads tables of counts (child × parents) and gives an integer for each: what it measures in
rows, times the score's steps. Its sensitivity is proved for these very integers, under either
relation (docs/proofs/scores.md). Nothing here draws, chooses or releases; scores are private.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["SCORES", "Assignment", "Independence", "Information", "Score"]

Integers64 = NDArray[np.int64]

#: Steps a row of the scores that are no whole numbers of rows.
STEPS = 2**10
#: Fractional bits that a logarithm loses so that STEPS are left.
SHIFT = 42
#: Totals below this leave room for their squares in 64 bits.
LARGEST_TOTAL = 2**31
#: So many logarithms are listed, the others are computed where they are needed.
LISTED = 2**20


class Score(ABC):
    """A measure of dependence with an exact sensitivity.

    Attributes
    ----------
    letter
        The name of the score in the literature.
    steps
        How many steps of the integer score make one row.
    """

    letter: ClassVar[str]
    steps: ClassVar[int]

    @abstractmethod
    def __call__(self, tables: Integers64) -> Integers64:
        """Return the score of each table.

        Parameters
        ----------
        tables
            Counts with axes (table, child, parents), all of the same rows.
        """

    @abstractmethod
    def sensitivity(self, rows: int | None, smaller: int) -> Fraction:
        """Return a bound on the change of any score between neighbours, in steps.

        Parameters
        ----------
        rows
            The number of rows under replace-one, where it is public; None under add/remove.
        smaller
            The number of values of the child or of the parents, whichever is less, at most.
        """


class Assignment(Score):
    """F: how close the table is to one in which the parents decide a balanced binary child.

    Notes
    -----
    The score is 2n·F = −min (n − 2a)₊ + (n − 2b)₊ over all assignments of parent cells to the two
    values of the child, where a and b count the rows that agree with the assignment (Zhang et
    al., 2014). A record changes a, b and n by at most 1 each, and never so that both terms change
    by more than 2 together (docs/proofs/scores.md).
    """

    letter = "F"
    steps = 2

    def __call__(self, tables: Integers64) -> Integers64:
        """Return 2n·F of each table; the child must have two values."""
        from sfumato.tabular.score_kernels import assignment_scores

        if tables.ndim != 3 or tables.shape[1] != 2:
            raise ValueError(f"score F needs a child of two values; got shape {tables.shape}")
        scores: Integers64 = assignment_scores(tables)
        return scores

    def sensitivity(self, rows: int | None, smaller: int) -> Fraction:
        """Return 2 steps, which is one row, under either relation."""
        return Fraction(2)


class Independence(Score):
    """R: the total variation between the table and the product of its margins.

    Notes
    -----
    n·R = ½ Σ |c − a·b/n| is rounded down to steps of 2^−10 rows, exactly. One record added changes
    it by less than 2 rows, one replaced by at most 3, or by 2(1 − 1/n) where the child or its
    parents have two values; rounding down adds nothing to a whole number of steps
    (docs/proofs/scores.md).
    """

    letter = "R"
    steps = STEPS

    def __call__(self, tables: Integers64) -> Integers64:
        """Return the rounded n·R of each table."""
        from sfumato.tabular.score_kernels import independence_distances

        total = int(tables[0].sum()) if len(tables) else 0
        if not total:
            return np.zeros(len(tables), dtype=np.int64)
        if total >= LARGEST_TOTAL:
            return _exact_independence(tables, total)
        distances: Integers64 = independence_distances(tables)
        # ⌊S·W/2n⌋ in two parts, neither of which overflows.
        whole, rest = np.divmod(distances, 2 * total)
        scores: Integers64 = whole * STEPS + rest * STEPS // (2 * total)
        return scores

    def sensitivity(self, rows: int | None, smaller: int) -> Fraction:
        """Return 2 rows under add/remove; 3, or 2(1 − 1/n) rounded up, under replace-one."""
        if rows is None:
            return Fraction(2 * STEPS)
        if smaller > 2:
            return Fraction(3 * STEPS)
        return Fraction(max(1, -(-2 * STEPS * (rows - 1) // max(rows, 1))))


def _exact_independence(tables: Integers64, total: int) -> Integers64:
    """Return ⌊S·n·R⌋ in integers of any size."""
    scores = np.empty(len(tables), dtype=np.int64)
    for number, table in enumerate(tables):
        counts = table.astype(object)
        down, across = counts.sum(axis=1), counts.sum(axis=0)
        distance = int(np.abs(total * counts - np.outer(down, across)).sum())
        scores[number] = STEPS * distance // (2 * total)
    return scores


class Information(Score):
    """I: the mutual information of child and parents.

    Parameters
    ----------
    most_rows
        Under add/remove, a public number of rows N: the score is min(n, N)·I then. n·I itself has
        no bounded sensitivity.

    Notes
    -----
    n·I in bits is a sum of terms c·log2(c), each rounded down to steps of 2^−10 in integer
    arithmetic. One record replaced changes n·I by at most (n+1)log(n+1) − (n−1)log(n−1) − 2, or
    by n·log(n) − (n−1)log(n−1) where child or parents have two values (Zhang et al., 2014, Lemma
    1); the roundings of the terms that change are added (docs/proofs/scores.md).
    """

    letter = "I"
    steps = STEPS

    def __init__(self, most_rows: int | None = None) -> None:
        if most_rows is not None and not 2 <= most_rows < LARGEST_TOTAL:
            raise ValueError(f"most_rows must be from 2 to {LARGEST_TOTAL - 1:,}; got {most_rows}")
        self.most_rows = most_rows

    def __call__(self, tables: Integers64) -> Integers64:
        """Return the rounded n·I, or min(n, N)·I, of each table."""
        from sfumato.tabular.score_kernels import information, scaled_logarithms

        total = int(tables[0].sum()) if len(tables) else 0
        listed = scaled_logarithms(np.arange(min(total + 1, LISTED)), SHIFT)
        scores: Integers64 = information(tables, SHIFT, listed)
        if self.most_rows is None or total <= self.most_rows:
            return scores
        capped = [int(score) * self.most_rows // total for score in scores]
        return np.array(capped, dtype=np.int64)

    def sensitivity(self, rows: int | None, smaller: int) -> Fraction:
        """Return the bound of the class's notes, in steps, rounded up."""
        if rows is None:
            if self.most_rows is None:
                raise ValueError("score I has no bounded sensitivity without most_rows")
            rise = _scaled_logarithm(self.most_rows) - _scaled_logarithm(self.most_rows - 1)
            return Fraction(rise + STEPS * (smaller - 1).bit_length() + 12)
        size = max(rows, 1)
        if smaller <= 2:
            return Fraction(_scaled_logarithm(size) - _scaled_logarithm(size - 1) + 12)
        return Fraction(_scaled_logarithm(size + 1) - _scaled_logarithm(size - 1) - 2 * STEPS + 12)


def _scaled_logarithm(count: int) -> int:
    """Return 2^10·c·log2(c), rounded down."""
    from sfumato.tabular.score_kernels import scaled_logarithms

    return int(scaled_logarithms(np.array([count], dtype=np.int64), SHIFT)[0])


#: The scores by their letters.
SCORES: dict[str, type[Score]] = {
    score.letter: score for score in (Assignment, Independence, Information)
}
