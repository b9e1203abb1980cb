"""Linear regression by objective perturbation, under pure ε."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.data.table import TablePublic
from sfumato.noise.exact import exact
from sfumato.privacy.loss import Number
from sfumato.privacy.parameters import Constraint, parameter, read_exact
from sfumato.regression.estimator import Estimator
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.multiples import Multiple
from sfumato.regression.objective import ObjectiveEstimator

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
    """Release a linear regression by perturbing what it minimises.

    The weights minimise a Huber loss of the residuals, a ridge, and a random linear term. There is
    as much noise as on the sum Σ y x alone, and none on Σ x xᵀ, which makes it the best choice
    under pure ε; it takes longer than methods that only sum.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    target
        The column that is explained.
    residual_bound
        The residual up to which the loss is quadratic, in multiples of the target's spread (if
        `bound` is not given); beyond it a record pulls no harder.
    curvature
        The share of the loss that goes to the curvature of the objective: the more, the less the
        weights are shrunk, and the more noise there is.
    delta, categories, intercept, response, features, bound, radius, rows
        As for `LinearMethod`.

    Notes
    -----
    Privacy: rows are at most 1 long and no residual pulls harder than 1, so the random linear term
    hides one record; a hundredth of ε hides that the minimiser is computed and not exact
    (docs/proofs/objective-perturbation.md).
    """

    proof: ClassVar[str] = "objective-perturbation.md"

    residual_bound: Number = parameter(Multiple(), "1/2")
    curvature: Number = parameter(Curvature(), "1/8")

    def estimator(self, public: TablePublic) -> Estimator:
        """Return what finds the weights."""
        return ObjectiveEstimator(float(exact(self.residual_bound)), exact(self.curvature))
