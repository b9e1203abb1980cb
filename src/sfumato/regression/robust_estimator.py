"""Perturbed statistics of clipped rows, and the fits that can be made of them.

The estimator has public settings only; it measures once, all statistics together, and fits from
what was said (docs/proofs/robust-regression.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import pure_within
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.regression.bayesian import (
    Posterior,
    Statistics,
    fixed_precisions,
    gibbs,
    noise_ridge,
)
from sfumato.regression.estimator import LinearFit, Setting
from sfumato.regression.noise_aware import Clipped, noise_aware
from sfumato.regression.robust_sensitivity import joint
from sfumato.regression.robust_statistics import Box
from sfumato.regression.robust_thresholds import Thresholds
from sfumato.regression.rows import ROW, RowRule

__all__ = ["ENGINES", "STATISTICS", "RobustEstimator"]

Floats = NDArray[np.float64]

#: The label in transcripts.
STATISTICS = "statistics"
#: How weights are fitted to noisy statistics.
ENGINES = ("noise_aware", "gibbs", "fixed")


@dataclass(frozen=True)
class RobustEstimator:
    """Rows clipped to a box, their statistics with noise, and a Bayesian fit.

    Parameters
    ----------
    filled
        How many entries of a row may differ from 0.
    thresholds
        Where rows and answers are clipped, and how the loss is shared.
    engine
        `"noise_aware"`, `"gibbs"` or `"fixed"`.
    longest
        How many times its usual length a row has at most; None where every row has a length of 1.
    cautious
        Whether the noise is as wide as published, which spends less than it may; the split is then
        that of the published shares of ε.
    """

    filled: int
    thresholds: Thresholds
    engine: str = "noise_aware"
    longest: float | None = None
    cautious: bool = False

    @property
    def name(self) -> str:
        """What it is called, in words."""
        return "noise on sums of clipped rows"

    @property
    def needs_delta(self) -> bool:
        """Whether its budget must be one with a delta: no."""
        return False

    @property
    def answer_bound(self) -> float:
        """Where answers are cut, in standard deviations."""
        return self.thresholds.answers

    @property
    def entry(self) -> int:
        """The threshold of an entry, in whole units."""
        return min(max(int(self.thresholds.rows * self._usual), 1), ROW)

    @property
    def _usual(self) -> float:
        """The usual size of an entry that is not 0, in units."""
        return ROW / math.sqrt(self.filled) / (self.longest or 1.0)

    def box(self, setting: Setting) -> Box:
        """Return which statistics are measured."""
        return Box.of(setting.dimension, self.filled, self.entry, self.thresholds.split)

    def noise(self, setting: Setting) -> GeometricNoise:
        """Return the noise on them."""
        epsilon = pure_within(setting.limit)
        if self.cautious:
            # The published scales add up bounds that are never attained together: they are those
            # of a smaller loss.
            epsilon *= min(joint(self.thresholds.split, setting.relation), Fraction(1))
        return self.box(setting).noise(epsilon, setting.relation)

    def check(self, setting: Setting) -> None:
        """Raise where the box does not fit."""
        self.box(setting)

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return what is measured."""
        box, law = self.box(setting), self.noise(setting)
        matrix, products, square = (math.sqrt(2) * scale for scale in box.scales(law))
        return (
            PlanStep(
                what=f"{law.shape[0]:,} sums of products of clipped rows",
                loss=setting.limit,
                noise=f"± {matrix:,.4g}, {products:,.4g} and {square:,.4g} (1 s.d.) on each of the "
                "matrix, the products and the square, of which one record adds at most 1",
                error="the fewer records for so much noise, the worse",
                figures={"margin": products},
            ),
        )

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask for all statistics at once, and return the weights."""
        said = yield Ask(budget, self.noise(setting), self.box(setting).query(rule), STATISTICS)
        yield FINISH
        return self.fitted(self.statistics(setting, said))

    def statistics(self, setting: Setting, said: NDArray[np.int64]) -> Statistics:
        """Return the noisy statistics, for rows and answers of 1 at their thresholds."""
        records = 1.0 if setting.records is None else setting.records
        return self.box(setting).read(said, self.noise(setting), records)

    def fitted(self, statistics: Statistics) -> LinearFit:
        """Return the weights of rows of length 1 that noisy statistics speak for."""
        posterior = self._posterior(statistics)
        # An entry of a row is that many thresholds.
        turn = ROW / self.entry
        aware = self.engine == "noise_aware"
        note = (
            "The intervals take the noise into account."
            if aware
            else "How sure the weights are was computed as if there were no noise."
        )
        return LinearFit(
            posterior.mean * turn,
            posterior.covariance * turn**2 if aware else None,
            posterior.deviation if aware else None,
            (note,),
        )

    def _posterior(self, statistics: Statistics) -> Posterior:
        if self.engine == "noise_aware":
            # Of all entries, 0 or not, the mean square is smaller.
            rows = self.entry / self._usual * math.sqrt(statistics.dimension / self.filled)
            return noise_aware(statistics, Clipped(rows, self.thresholds.answers, self.longest))
        if self.engine == "gibbs":
            return gibbs(noise_ridge(statistics), noise.generator(statistics.dimension))
        return fixed_precisions(statistics)

    def rehearsed(
        self, setting: Setting, x: Floats, y: Floats, generator: np.random.Generator
    ) -> LinearFit:
        """Return the weights that made-up public rows would have got."""
        entry, p = self.entry / ROW, setting.dimension
        true = Statistics.of(np.clip(x, -entry, entry) / entry, y)
        scales = self.box(setting).scales(self.noise(setting))
        upper = np.triu(generator.laplace(0.0, scales[0], (p, p)))
        return self.fitted(
            Statistics(
                true.xx + upper + np.triu(upper, 1).T,
                true.xy + generator.laplace(0.0, scales[1], p),
                true.yy + generator.laplace(0.0, scales[2]),
                len(y),
                scales,
            )
        )
