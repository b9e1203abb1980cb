"""Entropy, association and correlation of shares that were estimated from reports.

Each is a measure with its gradient; the delta method and its limits are in
`sfumato.local.derived`. Post-processing of reports that are already private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sfumato.local.contingency import ShareTable
from sfumato.local.derived import Measure, measure_of, square_table
from sfumato.local.law import Floats
from sfumato.local.shares import Shares

__all__ = [
    "chi_squared",
    "correlation",
    "entropy",
    "g_squared",
    "log_odds_ratio",
    "mutual_information",
    "odds_ratio",
]


def entropy(shares: Shares | ShareTable) -> Measure:
    """Return the entropy −Σ π·log₂π in bits.

    Parameters
    ----------
    shares
        The shares of one question, or of a table.
    """
    return measure_of(
        "entropy (bits)",
        shares,
        lambda at: -float((at * np.log2(at)).sum()),
        lambda at: -(np.log2(at) + 1 / math.log(2)),
        curvature=lambda at: -1 / (at * math.log(2)),
    )


def _margins(at: Floats) -> tuple[Floats, Floats]:
    """Return the shares of the rows and of the columns of a table."""
    return at.sum(axis=1, keepdims=True), at.sum(axis=0, keepdims=True)


def chi_squared(table: ShareTable) -> Measure:
    """Return χ² = n·Σ(π − rc)²/(rc) of a table of two questions, n the number of reports.

    Parameters
    ----------
    table
        The table.

    Notes
    -----
    It is too large by about a constant that does not shrink with n: half the trace of its second
    derivative times the dispersion.
    """
    square_table(table, "χ²")
    n = table.reports

    def value(at: Floats) -> float:
        rows, columns = _margins(at)
        return n * float(((at - rows * columns) ** 2 / (rows * columns)).sum())

    def gradient(at: Floats) -> Floats:
        rows, columns = _margins(at)
        by_row = (at**2 / columns).sum(axis=1, keepdims=True) / rows**2
        by_column = (at**2 / rows).sum(axis=0, keepdims=True) / columns**2
        return np.asarray(n * (2 * at / (rows * columns) - by_row - by_column))

    return measure_of("χ²", table, value, gradient)


def mutual_information(table: ShareTable) -> Measure:
    """Return Σ π·log₂(π/(rc)) in bits.

    Parameters
    ----------
    table
        A table of two questions.
    """
    square_table(table, "mutual information")
    return measure_of("mutual information (bits)", table, *_information(1 / math.log(2)))


def g_squared(table: ShareTable) -> Measure:
    """Return G² = 2n·Σ π·ln(π/(rc)), the likelihood-ratio statistic of independence.

    Parameters
    ----------
    table
        A table of two questions.
    """
    square_table(table, "G²")
    return measure_of("G²", table, *_information(2.0 * table.reports))


def _information(scale: float) -> tuple[Callable[[Floats], float], Callable[[Floats], Floats]]:
    """Return the mutual information times a scale, and its gradient up to a constant."""

    def value(at: Floats) -> float:
        rows, columns = _margins(at)
        return scale * float((at * np.log(at / (rows * columns))).sum())

    def gradient(at: Floats) -> Floats:
        rows, columns = _margins(at)
        return np.asarray(scale * np.log(at / (rows * columns)))

    return value, gradient


def _two_by_two(table: ShareTable, what: str) -> ShareTable:
    """Return a table of two questions with two answers each, or raise `ValueError`."""
    if square_table(table, what).unbiased.shape != (2, 2):
        raise ValueError(f"{what} is of two questions with two answers each")
    return table


def log_odds_ratio(table: ShareTable) -> Measure:
    """Return ln(π₁₁π₂₂/(π₁₂π₂₁)); its interval is the one to rely on, not the ratio's own.

    Parameters
    ----------
    table
        A table of two questions with two answers each.
    """
    _two_by_two(table, "an odds ratio")
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return measure_of(
        "log odds ratio",
        table,
        lambda at: float((signs * np.log(at)).sum()),
        lambda at: signs / at,
        curvature=lambda at: -signs / at**2,
    )


def odds_ratio(table: ShareTable) -> Measure:
    """Return π₁₁π₂₂/(π₁₂π₂₁).

    Parameters
    ----------
    table
        A table of two questions with two answers each.
    """
    _two_by_two(table, "an odds ratio")
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])

    def value(at: Floats) -> float:
        return math.exp(float((signs * np.log(at)).sum()))

    return measure_of("odds ratio", table, value, lambda at: value(at) * signs / at)


def correlation(
    table: ShareTable,
    rows: Sequence[float] | None = None,
    columns: Sequence[float] | None = None,
) -> Measure:
    """Return Pearson's correlation of two questions' answers, read as numbers.

    Parameters
    ----------
    table
        A table of two questions.
    rows, columns
        The number that each answer stands for; by default 0, 1, 2, …, which for two answers
        each is φ.
    """
    square_table(table, "a correlation")
    sizes = table.unbiased.shape
    x = _numbers(rows, sizes[0], "rows")[:, None]
    y = _numbers(columns, sizes[1], "columns")[None, :]

    def parts(at: Floats) -> tuple[Floats, Floats, float]:
        left, right = x - float((at * x).sum()), y - float((at * y).sum())
        # Standardised, so that the correlation is the mean of their product.
        left = left / math.sqrt(float((at * left**2).sum()))
        right = right / math.sqrt(float((at * right**2).sum()))
        return left, right, float((at * left * right).sum())

    def gradient(at: Floats) -> Floats:
        left, right, found = parts(at)
        return np.asarray(left * right - found * (left**2 + right**2) / 2)

    return measure_of("correlation", table, lambda at: parts(at)[2], gradient)


def _numbers(given: Sequence[float] | None, size: int, what: str) -> Floats:
    """Return one number for each answer, not all equal."""
    found = np.asarray(range(size) if given is None else given, dtype=np.float64)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise ValueError(f"{what} must be {size} finite numbers, one for each answer")
    if (found == found[0]).all():
        raise ValueError(f"{what} must not all be the same number: nothing varies then")
    return found
