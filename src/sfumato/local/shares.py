"""Estimated shares of answers, with their variances, their intervals and a plain table.

Everything here is post-processing of reports that are already private: it costs nothing, however
often it is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.data.frames import ToFrame
from sfumato.local.law import AnyLaw, Floats, MatrixLaw
from sfumato.local.scores import normal_quantile, require_level, share_intervals
from sfumato.local.simplex import on_simplex

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Of", "Shares", "Summary", "normal_quantile", "require_level"]

#: Whom a statement is about: the clients who reported, or the population they were drawn from.
Of = Literal["sample", "population"]


def is_population(of: str) -> bool:
    """Return whether a statement is about the population, or raise `ValueError`."""
    if of not in ("sample", "population"):
        raise ValueError(f"of must be one of 'sample', 'population'; got {of!r}")
    return of == "population"


@dataclass(frozen=True)
class Summary:
    """One line of the table of shares.

    Parameters
    ----------
    answer
        The answer.
    share
        Its estimated share.
    low, high
        The interval.
    """

    answer: str
    share: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Shares(ToFrame):
    """Which share of the people hold each answer, as far as their reports tell.

    Parameters
    ----------
    answers
        The answers.
    estimates
        The estimated share of each.
    unbiased
        The unbiased estimate of each, from which variances and intervals follow; it may be
        negative.
    reports
        How many people reported.
    law
        The law of their reports.
    estimator
        How `estimates` was made: `"inverse"`, `"project"` or `"em"`.

    Notes
    -----
    Variances are those of the unbiased estimate. For the *sample*, the people who reported, only
    the randomisation counts. For the *population* they were drawn from, the draw counts as well.
    """

    answers: tuple[str, ...]
    estimates: Floats
    unbiased: Floats
    reports: int
    law: AnyLaw
    estimator: str = "inverse"

    def __repr__(self) -> str:
        return f"Shares({len(self.answers)} answers, {self.reports} reports, {self.estimator!r})"

    def __getitem__(self, answer: str) -> float:
        """Return the estimated share of one answer."""
        return float(self.estimates[self._place(answer)])

    def _place(self, answer: str) -> int:
        if answer not in self.answers:
            raise KeyError(f"{answer!r} is not one of the answers")
        return self.answers.index(answer)

    @property
    def counts(self) -> Floats:
        """About how many of those who reported hold each answer."""
        return self.estimates * self.reports

    def variances(self, of: Of = "population") -> Floats:
        """Return the estimated variance of the unbiased estimate of each share.

        Parameters
        ----------
        of
            Whom it is about: the `"sample"` or the `"population"`.

        Notes
        -----
        For the population the estimate of the variance is itself unbiased, with n − 1 in the
        denominator; it is NaN where there are fewer than two reports.
        """
        if is_population(of):
            if self.reports < 2:
                return np.full(len(self.answers), np.nan)
            spread = self.law.spread(self.unbiased, population=True) / (self.reports - 1)
        elif self.reports == 0:
            return np.full(len(self.answers), np.nan)
        else:
            # In a matrix law one share's variance depends on all of them.
            matrix = isinstance(self.law, MatrixLaw)
            inside = on_simplex(self.unbiased) if matrix else np.clip(self.unbiased, 0.0, 1.0)
            spread = self.law.spread(inside, population=False) / self.reports
        return np.maximum(spread, 0.0)

    def deviations(self, of: Of = "population") -> Floats:
        """Return the estimated standard deviation of each unbiased share."""
        return np.asarray(np.sqrt(self.variances(of)))

    def variance_along(self, gradient: Floats, at: Floats, of: Of = "population") -> float:
        """Return the variance of Σ gradient·share by the delta method.

        Parameters
        ----------
        gradient
            The derivative of a measure in each share.
        at
            The shares at which the sample's variance is taken; the population's is taken at the
            unbiased estimate, where it needs no projection.
        of
            Whom it is about.
        """
        if is_population(of):
            if self.reports < 2:
                return math.nan
            whole = self.law.spread_along(gradient, self.unbiased, population=True)
            return max(whole, 0.0) / (self.reports - 1)
        if self.reports == 0:
            return math.nan
        return max(self.law.spread_along(gradient, at, population=False), 0.0) / self.reports

    def intervals(
        self, level: float = 0.95, *, of: Of = "population", simultaneous: bool = False
    ) -> Floats:
        """Return the two ends of an interval for each share, as an array of shape (k, 2).

        Parameters
        ----------
        level
            How often an interval shall hold the true share.
        of
            Whom it is about.
        simultaneous
            Whether all intervals together shall hold that often (Bonferroni), not each alone.

        Notes
        -----
        They are score intervals: all shares under which what was seen is no more than z standard
        deviations off, with a correction for continuity (Wilson, 1927, for the population; the
        same with the two-part variance for the sample). So they are not too narrow where few
        report, or all reports agree. Where the variance of one share depends on the others, as
        under a design matrix, those are taken as estimated. Shares lie between 0 and 1, so
        intervals are cut there, which loses nothing; one that is empty after that is a single
        point.
        """
        z = normal_quantile(level, len(self.answers) if simultaneous else 1)
        population = is_population(of)
        return share_intervals(self.law, self.unbiased, self.reports, z, population=population)

    def lines(self, level: float = 0.95, *, of: Of = "population") -> list[Summary]:
        """Return one line for each answer.

        Parameters
        ----------
        level, of
            As for `intervals`.
        """
        ends = self.intervals(level, of=of)
        return [
            Summary(answer, float(share), float(low), float(high))
            for answer, share, (low, high) in zip(self.answers, self.estimates, ends, strict=True)
        ]

    def to_polars(self) -> pl.DataFrame:
        """Return the shares as a Polars frame, with intervals and standard deviations."""
        frame: pl.DataFrame = self.to_frame()
        return frame

    def to_frame(
        self,
        level: float = 0.95,
        *,
        of: Of = "population",
        simultaneous: bool = False,
        backend: str = "polars",
    ) -> Any:
        """Return the shares as a plain table, with intervals and standard deviations.

        Parameters
        ----------
        level, of, simultaneous
            As for `intervals`.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.
        """
        import polars as pl

        from sfumato.data.frames import to_backend

        low, high = self.intervals(level, of=of, simultaneous=simultaneous).T
        frame = pl.DataFrame(
            {
                "answer": list(self.answers),
                "share": self.estimates,
                "low": low,
                "high": high,
                "count": self.counts,
                "sample_deviation": self.deviations("sample"),
                "population_deviation": self.deviations("population"),
            }
        )
        return to_backend(frame, backend)
