"""Tables of the shares of several questions' answers at once, estimated from reports.

Post-processing of reports that are already private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.data.frames import ToFrame
from sfumato.local.axes import AxisLaws, FlatLaw
from sfumato.local.law import AnyLaw, Floats
from sfumato.local.scores import share_intervals
from sfumato.local.shares import Of, is_population, normal_quantile
from sfumato.local.simplex import on_simplex

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ShareTable", "table_of_counts"]


@dataclass(frozen=True, eq=False)
class ShareTable(ToFrame):
    """Which share of the people give each combination of answers, as far as reports tell.

    Parameters
    ----------
    questions
        The answers of each question, by its name; one axis of the table each.
    estimates
        The estimated share of each combination.
    unbiased
        The unbiased estimates, from which variances follow; some may be negative.
    reports
        How many people reported.
    law
        The law of their reports.
    estimator
        How `estimates` was made: `"inverse"` or `"project"`.
    """

    questions: dict[str, tuple[str, ...]]
    estimates: Floats
    unbiased: Floats
    reports: int
    law: AnyLaw
    estimator: str = "inverse"

    def __repr__(self) -> str:
        return f"ShareTable({' × '.join(map(repr, self.questions))}, {self.reports} reports)"

    def variances(self, of: Of = "population") -> Floats:
        """Return the estimated variance of the unbiased share of each combination.

        Parameters
        ----------
        of
            Whom it is about: the `"sample"` or the `"population"`.
        """
        population = is_population(of)
        if self.reports < (2 if population else 1):
            return np.full(self.law.shape, np.nan)
        at = self.unbiased if population else on_simplex(self.unbiased)
        spread = self.law.spread(at, population=population)
        return np.maximum(spread, 0.0) / (self.reports - population)

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
            The shares at which the sample's variance is taken.
        of
            Whom it is about.
        """
        population = is_population(of)
        if self.reports < (2 if population else 1):
            return math.nan
        point = self.unbiased if population else at
        spread = self.law.spread_along(gradient, point, population=population)
        return max(spread, 0.0) / (self.reports - population)

    def intervals(
        self, level: float = 0.95, *, of: Of = "population", simultaneous: bool = False
    ) -> Floats:
        """Return the two ends of each score interval along a last axis.

        Parameters
        ----------
        level, of, simultaneous
            As for the shares of one question.
        """
        z = normal_quantile(level, self.unbiased.size if simultaneous else 1)
        population = is_population(of)
        return share_intervals(self.law, self.unbiased, self.reports, z, population=population)

    def margin(self, names: Sequence[str]) -> Floats:
        """Return the shares of some questions' answers, summed over the other questions.

        Parameters
        ----------
        names
            The questions, in the order of the axes wanted.
        """
        order = list(self.questions)
        unknown = [name for name in names if name not in order]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a question of this table; it has {order}")
        away = tuple(place for place, name in enumerate(order) if name not in names)
        kept = [name for name in order if name in names]
        summed = self.estimates.sum(axis=away)
        return np.asarray(np.transpose(summed, [kept.index(name) for name in names]))

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
        """Return the table as plain rows, one a combination, with intervals and deviations.

        Parameters
        ----------
        level, of, simultaneous
            As for `intervals`.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.
        """
        import polars as pl

        from sfumato.data.frames import to_backend

        ends = self.intervals(level, of=of, simultaneous=simultaneous).reshape(-1, 2)
        codes = np.indices(self.law.shape).reshape(len(self.questions), -1)
        labels = {
            name: [answers[code] for code in row]
            for (name, answers), row in zip(self.questions.items(), codes, strict=True)
        }
        figures = {
            "share": self.estimates.ravel(),
            "low": ends[:, 0],
            "high": ends[:, 1],
            "sample_deviation": self.deviations("sample").ravel(),
            "population_deviation": self.deviations("population").ravel(),
        }
        return to_backend(pl.DataFrame({**labels, **figures}), backend)


def table_of_counts(
    law: AxisLaws | FlatLaw,
    counts: ArrayLike,
    reports: int,
    questions: dict[str, tuple[str, ...]] | None = None,
    *,
    project: bool = False,
) -> ShareTable:
    """Return the shares of all combinations of answers from counts of reports.

    Parameters
    ----------
    law
        The law of the reports: independent ones for each question, or one for all.
    counts
        How many people reported each combination (or, in one report for all questions, how many
        reports support it), in the shape of the table or flat with the last question fastest.
    reports
        How many people reported.
    questions
        The answers of each question, by its name; by default numbers.
    project
        Whether to return the closest shares that are not negative and sum to 1.
    """
    named = questions or {
        f"question {place}": tuple(map(str, range(size))) for place, size in enumerate(law.shape, 1)
    }
    if tuple(len(answers) for answers in named.values()) != law.shape:
        raise ValueError("the numbers of answers do not match the shape of the table")
    if reports == 0:
        nothing = np.full(law.shape, np.nan)
        return ShareTable(named, nothing, nothing, 0, law)
    unbiased = law.shares(np.asarray(counts, dtype=np.float64).reshape(law.shape) / reports)
    estimates = on_simplex(unbiased) if project else unbiased
    return ShareTable(named, estimates, unbiased, reports, law, "project" if project else "inverse")
