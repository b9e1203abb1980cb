"""Boosted AdaSSP: one noisy matrix, then rounds of what the model so far leaves unexplained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.mechanisms.normal_steps import NormalSteps
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Number
from sfumato.privacy.parameters import OrNone, Whole, parameter
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Program, Start, Step
from sfumato.regression.adassp import describe_error, gaussian
from sfumato.regression.estimator import LinearFit, Setting
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.moment_noise import MomentNoise
from sfumato.regression.multiples import Multiple
from sfumato.regression.queries import ResidualSums, RowSums
from sfumato.regression.rows import ANSWER, RowRule

__all__ = ["BoostedAdaSSP", "BoostedEstimator"]

Floats = NDArray[np.float64]

ROUNDS = "rounds"
#: Answers are cut at so many standard deviations, far out: it is residuals that are cut closely.
FAR = 4.0


def best_balance(relation: Relation) -> float:
    """Return how much further, squared, vectors should move than the matrix by default.

    For a record replaced, vectors that move twice as far or more cost as much as without the
    matrix, which then comes for free (docs/proofs/boosted-adassp.md).
    """
    return 2.0 if relation is Relation.REPLACE_ONE else 1.0


@dataclass(frozen=True, kw_only=True)
class BoostedEstimator:
    """Steps towards least squares along noisy gradients of cut residuals.

    Parameters
    ----------
    rounds
        How many steps are taken.
    residual_bound
        Where residuals are cut, in standard deviations of the answers.
    ridge
        What is added to the eigenvalues of the noisy matrix, in multiples of √p and of the noise
        on a square; 1.4 is what the noise alone amounts to.
    balance
        How much further than the matrix one record moves all rounds together, squared, both
        weighed.
    answer_bound
        Where answers are cut before, in standard deviations.
    """

    rounds: int = 10
    residual_bound: float = 0.3
    ridge: float = 1.4
    balance: float | None = None
    answer_bound: float = FAR

    name: ClassVar[str] = "boosted AdaSSP"
    needs_delta: ClassVar[bool] = True

    @property
    def bound(self) -> int:
        """Where residuals are cut, in whole units of answers."""
        return max(1, round(min(self.residual_bound / self.answer_bound, 2.0) * ANSWER))

    def check(self, setting: Setting) -> None:
        """Raise unless the budget is a Gaussian one."""
        gaussian(setting, self.name)

    def noise(self, setting: Setting) -> tuple[MomentNoise, NormalSteps]:
        """Return how the moments are weighed, and the noise on the matrix and on each round."""
        balance = best_balance(setting.relation) if self.balance is None else self.balance
        moments = MomentNoise.balance_weight(
            setting.dimension,
            setting.relation,
            bound=self.bound,
            vectors=self.rounds,
            balance=balance,
        )
        return moments, NormalSteps(
            lengths=(moments.entries, *[setting.dimension] * self.rounds),
            squared_sensitivity=moments.squared_sensitivity,
            mu_squared=gaussian(setting, self.name).mu_squared,
        )

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return the one step that there is: the matrix and all rounds."""
        moments, noise = self.noise(setting)
        widths = moments.widths(noise.standard_deviation)
        return (
            PlanStep(
                what=f"{moments.entries:,} sums of squares and products, and {self.rounds} rounds "
                f"of {setting.dimension:,} sums of residuals",
                loss=setting.limit,
                noise=f"± {widths.square:,.4g} and ± {widths.vector:,.4g} (1 s.d.), of which one "
                "record adds at most 1",
                error=describe_error(setting, widths.square),
                figures={"margin": widths.vector},
            ),
        )

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask for the matrix, then for the residuals of one model after another."""
        moments, noise = self.noise(setting)
        run = yield Start(budget, noise, ROUNDS)
        matrix = yield Step(
            run, RowSums(rule=rule, parts=("matrix",), weights=moments.matrix_weights)
        )
        width = moments.widths(noise.standard_deviation).square
        inverse = self._inverse(moments.matrix(matrix), width)
        weights = np.zeros(setting.dimension)
        for _ in range(self.rounds):
            query = ResidualSums(
                rule=rule, coefficients=weights, bound=self.bound, weights=moments.vector_weights
            )
            gradient = moments.vector((yield Step(run, query)))
            weights = weights + self.bound / ANSWER * (inverse @ gradient)
        return LinearFit(weights=weights)

    def _inverse(self, matrix: Floats, deviation: float) -> Floats:
        """Return the inverse of the matrix without its negative part and with a ridge."""
        curvatures, directions = np.linalg.eigh(matrix)
        ridge = self.ridge * math.sqrt(len(matrix)) * deviation
        kept = np.maximum(curvatures, 0.0) + ridge
        return np.asarray((directions / kept) @ directions.T)

    def rehearse(self, setting: Setting, x: Floats, y: Floats, generator: Any) -> LinearFit:
        """Return the weights that synthetic public rows would have got."""
        moments, noise = self.noise(setting)
        widths = moments.widths(noise.standard_deviation)
        size, bound = x.shape[1], self.bound / ANSWER
        noisy = x.T @ x + widths.symmetric(size, generator)
        inverse, weights = self._inverse(noisy, widths.square), np.zeros(size)
        for drawn in generator.normal(0.0, widths.vector, (self.rounds, size)):
            left = np.clip((y - x @ weights) / bound, -1.0, 1.0)
            weights = weights + bound * (inverse @ (x.T @ left + drawn))
        return LinearFit(weights=weights)


@dataclass(frozen=True, kw_only=True)
class BoostedAdaSSP(LinearMethod):
    """Release a linear model by boosted AdaSSP (Tang et al., 2023), with corrected calibration.

    It requires a delta. Residuals can be clipped more tightly than the target, which needs less
    noise; several rounds correct the bias of clipping. Parameters not listed here are those of
    every linear method (`LinearMethod`).

    Parameters
    ----------
    bound
        Where the target is clipped, in multiples of its spread. Default: four standard deviations.
    rounds
        Number of boosting rounds. Fewer are better if the other columns hardly predict the target.
    residuals
        Where residuals are clipped, in standard deviations of the target.
    ridge
        Term added to the eigenvalues of the noisy matrix, in multiples of √p times its noise, for p
        features.
    balance
        Budget of the rounds relative to that of the products of features. Default: chosen for the
        relation (add/remove or replace-one).

    Notes
    -----
    Privacy: whatever earlier rounds released, one record moves the matrix and all rounds together
    by a known distance, to which normal noise is scaled (docs/proofs/boosted-adassp.md).
    """

    proof: ClassVar[str] = "boosted-adassp.md"
    example: ClassVar[dict[str, Any]] = {"delta": "1e-6", "rounds": 2}

    rounds: int = parameter(Whole(1, 1000), 10)
    residuals: Number = parameter(Multiple(), 0.3)
    ridge: Number = parameter(Multiple(), 1.4)
    balance: Number | None = parameter(OrNone(Multiple()), None)

    def estimator(self, public: TablePublic) -> BoostedEstimator:
        """Return boosted AdaSSP with these settings."""
        bound = FAR if self.bound is None else float(self.bound)
        return BoostedEstimator(
            rounds=self.rounds,
            residual_bound=float(self.residuals),
            ridge=float(self.ridge),
            balance=None if self.balance is None else float(self.balance),
            answer_bound=bound,
        )
