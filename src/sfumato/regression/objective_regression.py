"""Linear regression by objective perturbation, under pure ε."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.mechanisms.huber import FEATURE_BITS, proposal
from sfumato.mechanisms.residual import (
    Answered,
    ResidualObjective,
    ResidualPerturbation,
    residual_calibrated,
)
from sfumato.noise.exact import exact
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Number, pure_within
from sfumato.privacy.parameters import Constraint, parameter, read_exact
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.regression.estimator import Estimator, LinearFit, Setting
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.multiples import Multiple
from sfumato.regression.queries import AnsweredRecords
from sfumato.regression.rows import RowRule

__all__ = ["ObjectiveRegression"]


@dataclass(frozen=True)
class Curvature(Constraint):
    """A share of the loss that leaves something for the noise."""

    allowed = "from 1/1000 to 9/10"

    def parse(self, value: Any) -> Fraction:
        """Return the share as a fraction."""
        share = read_exact(value)
        if not Fraction(1, 1000) <= share <= Fraction(9, 10):
            raise ValueError
        return share


@dataclass(frozen=True, kw_only=True)
class ObjectiveRegression(LinearMethod):
    """Release a linear regression by objective perturbation.

    The weights minimise a Huber loss of the residuals plus a ridge and a random linear term. The
    noise is that of the sum Σ y x alone, with none on Σ x xᵀ, which makes it the best choice under
    pure ε. It is slower than methods that only sum. Parameters not listed here are those of every
    linear method (`LinearMethod`).

    Parameters
    ----------
    residual_bound
        Residual up to which the loss is quadratic, in multiples of the spread of the target, if
        `bound` is not given. Beyond it the loss is linear.
    curvature
        Share of the privacy loss for the curvature of the objective. A larger share shrinks the
        weights less and adds more noise.

    Notes
    -----
    Privacy: rows have length at most 1 and the gradient of the loss in a residual is at most 1, so
    the random linear term masks one record; a hundredth of ε covers the numerical error of the
    minimiser (docs/proofs/objective-perturbation.md).
    """

    proof: ClassVar[str] = "objective-perturbation.md"

    residual_bound: Number = parameter(Multiple(), "1/2")
    curvature: Number = parameter(Curvature(), "1/8")

    def estimator(self, public: TablePublic) -> Estimator:
        """Return what finds the weights."""
        return ObjectiveEstimator(float(exact(self.residual_bound)), exact(self.curvature))


# A linear model whose objective is perturbed: weights that minimise a Huber loss of residuals.


Floats = NDArray[np.float64]

WEIGHTS = "weights"
#: Answers are cut no nearer than at so many standard deviations, as far as halving leads there.
ANSWERS, MOST_HALVINGS = 4.0, 10


@dataclass(frozen=True)
class ObjectiveEstimator:
    """Objective perturbation: a random linear term is added to what is minimised.

    Parameters
    ----------
    residual_bound
        The residual up to which the loss is quadratic, in standard deviations of the response.
        Beyond it a record pulls no harder.
    curvature
        The share of the loss that may go to the curvature of the objective: the more, the less
        the weights are shrunk, and the more noise there is.
    """

    residual_bound: float = 0.5
    curvature: Fraction = Fraction(1, 8)

    @property
    def width(self) -> Fraction:
        """The same as a share of the bound on answers: the first power of a half that is enough."""
        halvings = 0
        while halvings < MOST_HALVINGS and self.residual_bound * 2**halvings < ANSWERS:
            halvings += 1
        return Fraction(1, 2**halvings)

    @property
    def answer_bound(self) -> float:
        """Where answers are cut, in standard deviations: where few are, since it costs nothing."""
        return self.residual_bound / float(self.width)

    @property
    def name(self) -> str:
        """What it is called, in words."""
        return "objective perturbation"

    @property
    def needs_delta(self) -> bool:
        """Whether its budget must be one with a delta."""
        return False

    def primitive(self, setting: Setting) -> ResidualPerturbation:
        """Return what is measured."""
        return residual_calibrated(
            setting.dimension,
            pure_within(setting.limit),
            setting.relation,
            width=self.width,
            curvature=self.curvature,
        )

    def check(self, setting: Setting) -> None:
        """Raise `ValueError` where the loss is too small for any fit."""
        self.primitive(setting)

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return how large the random term is beside the pull of one record."""
        primitive = self.primitive(setting)
        length = setting.dimension * float(primitive.scale)
        strength = float(primitive.strength / primitive.smoothness)
        step = PlanStep(
            what="the weights",
            loss=setting.limit,
            noise=f"a random pull as of {length:,.4g} records",
            error=f"weights are shrunk as by {strength:,.4g} records in every direction",
            figures={"margin": length, "strength": strength},
        )
        return (step,)

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask for the weights, of one primitive."""
        primitive = self.primitive(setting)
        said = yield Ask(budget, primitive, AnsweredRecords(rule), WEIGHTS)
        return LinearFit(weights=primitive.read(said))

    def rehearse(self, setting: Setting, x: Floats, y: Floats, generator: Any) -> LinearFit:
        """Return the weights that synthetic public rows would have got.

        Where there are fewer rows than records, the random term and the shrinking are made smaller
        in proportion.
        """
        primitive = self.primitive(setting)
        share = (
            Fraction(1)
            if setting.records is None
            else Fraction(len(x)) / Fraction(max(setting.records, 1.0))
        )
        direction = generator.normal(size=setting.dimension)
        radius = generator.gamma(setting.dimension, float(primitive.scale) * float(share))
        pull = direction / np.linalg.norm(direction) * radius
        objective = ResidualObjective(
            Answered.of(_fine(x), _fine(y)),
            primitive.strength * share,
            primitive.width,
            tuple(Fraction(item) for item in pull.tolist()),
        )
        return LinearFit(weights=proposal(objective))


def _fine(values: Floats) -> NDArray[np.int64]:
    return np.asarray(np.trunc(values * 2**FEATURE_BITS), dtype=np.int64)
