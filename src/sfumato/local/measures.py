"""Entropy, association and correlation of shares that were estimated from reports.

Each is a measure with its gradient; the delta method and its limits are in
`sfumato.local.measures`. Post-processing of reports that are already private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.local.axes import AxisLaws, FlatLaw
from sfumato.local.contingency import ShareTable
from sfumato.local.law import AnyLaw, Floats, MatrixLaw, PureLaw
from sfumato.local.shares import Of, Shares, normal_quantile
from sfumato.local.simplex import on_simplex

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
        raise ValueError(f"{what} needs two questions with two answers each")
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
        raise ValueError(f"{what} must not all be the same number")
    return found


# Measures of shares, with standard deviations by the delta method and flags where it breaks.
#
# A measure g of the shares π has about the variance ∇gᵀ·disp(π̂)·∇g. That is computed as the
# variance of an influence of each report, in time linear in the number of cells; the covariance
# matrix is never formed. It is a first-order statement: it holds where every share stands clear of
# zero, and each measure says whether it does. Post-processing of reports that are already private.


#: A share stands clear of zero from this many standard deviations on.
CLEAR = 3.0
#: The bias is found for tables of at most this many cells.
MOST_CELLS = 1000


@dataclass(frozen=True)
class Measure:
    """A measure of shares.

    Parameters
    ----------
    name
        What it is.
    value
        The measure at the estimated shares, moved onto the simplex where that is needed.
    variance
        Its variance for the population, by the delta method.
    sample_variance
        Its variance for those who reported.
    bias
        How much the value is too large on average, to second order; `None` where not known.
    doubts
        Why the variance may not be relied on; empty where it may.
    """

    name: str
    value: float
    variance: float
    sample_variance: float
    bias: float | None = None
    doubts: tuple[str, ...] = ()

    @property
    def reliable(self) -> bool:
        """Whether the delta method holds, as far as can be told."""
        return not self.doubts

    def interval(self, level: float = 0.95, *, of: Of = "population") -> tuple[float, float]:
        """Return the value ± z standard deviations.

        Parameters
        ----------
        level
            How often the interval shall hold the truth, where the measure is reliable.
        of
            Whom it is about.
        """
        variance = self.variance if of == "population" else self.sample_variance
        wide = normal_quantile(level) * math.sqrt(variance)
        return self.value - wide, self.value + wide


def measure_of(
    name: str,
    shares: Shares | ShareTable,
    value: Callable[[Floats], float],
    gradient: Callable[[Floats], Floats],
    *,
    curvature: Callable[[Floats], Floats] | None = None,
) -> Measure:
    """Return any measure of shares, with its variance by the delta method.

    Parameters
    ----------
    name
        What it is called.
    shares
        The estimated shares, of one question or of a table.
    value, gradient
        The measure and its derivatives, as functions of shares that are all positive.
    curvature
        The second derivative in each share, where the measure is a sum over shares; with it the
        bias is told for designs whose reports are no answers, too.

    Notes
    -----
    The measure and its gradient are taken at the unbiased shares if those are all at least
    1/(2n), else at the closest shares that are and sum to 1 (n reports).
    """
    if shares.reports == 0:
        return Measure(name, math.nan, math.nan, math.nan, None, ("there are no reports",))
    floor = 1 / (2 * shares.reports)
    low = bool((shares.unbiased < floor).any())
    # Shares of designs whose reports support several answers need not sum to 1.
    loose = abs(float(shares.unbiased.sum()) - 1) > 1e-9
    at = on_simplex(shares.unbiased, floor=floor) if low or loose else shares.unbiased
    slopes = gradient(at)
    deviations = shares.deviations()
    bias = None
    if shares.reports > 1:
        bias = _bias(shares, at, gradient)
        if bias is None and curvature is not None:
            bias = float((curvature(at) * deviations**2).sum() / 2)
    return Measure(
        name,
        float(value(at)),
        shares.variance_along(slopes, at, "population"),
        shares.variance_along(slopes, at, "sample"),
        bias,
        _doubts(shares, deviations, low),
    )


def _bias(
    shares: Shares | ShareTable, at: Floats, gradient: Callable[[Floats], Floats]
) -> float | None:
    """Return half the trace of the second derivative times the dispersion, or None.

    The dispersion is a mean over reports c of dᵀd, with d what one report c adds to the shares; so
    the trace is a mean of second derivatives along each d, taken by differences of the gradient.
    """
    law = shares.law
    cells = at.size
    if cells > MOST_CELLS or not reports_are_answers(law):
        return None
    chances = law.reported_shares(at).ravel()
    total = 0.0
    for cell in np.flatnonzero(chances > 0):
        unit = np.zeros(cells)
        unit[cell] = 1.0
        way = law.shares(unit.reshape(law.shape)) - at
        step = 1e-4 * float(at.min()) / float(abs(way).max())
        bend = (gradient(at + step * way) - gradient(at - step * way)) / (2 * step)
        total += float(chances[cell]) * float((bend * way).sum())
    return total / (2 * shares.reports)


def reports_are_answers(law: AnyLaw) -> bool:
    """Return whether each report is one answer, or one combination of answers."""
    if isinstance(law, FlatLaw):
        law = law.law
    if isinstance(law, MatrixLaw):
        rows, columns = law.matrix.shape
        return bool(rows == columns)
    if isinstance(law, PureLaw):
        return law.exclusive and law.k > 1
    return isinstance(law, AxisLaws)


def _doubts(shares: Shares | ShareTable, deviations: Floats, low: bool) -> tuple[str, ...]:
    """Return why the delta method may not hold."""
    doubts = []
    if low:
        doubts.append(
            "some shares were estimated below 1/(2n) and were moved onto the simplex, so the "
            "value is biased and the variance does not hold"
        )
    near = int((shares.unbiased <= CLEAR * deviations).sum())
    if near:
        doubts.append(
            f"{near} of {shares.unbiased.size} shares are not {CLEAR:g} standard deviations above "
            "zero; collect more reports or join answers"
        )
    if shares.reports < 2:
        doubts.append("one report tells no variance")
    return tuple(doubts)


def square_table(table: Any, what: str) -> ShareTable:
    """Return a table of two questions, or raise `ValueError`."""
    if not isinstance(table, ShareTable) or table.unbiased.ndim != 2:
        raise ValueError(f"{what} needs a table of two questions")
    return table
