"""Linear regression by K-norm noise: pure ε, good with few records for many features."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.data.table import TablePublic
from sfumato.privacy.loss import pure_within
from sfumato.privacy.parameters import OneOf, parameter
from sfumato.regression.design import Design
from sfumato.regression.estimator import Estimator, Setting
from sfumato.regression.knorm import KNormEstimator
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.preparation import usual_radius
from sfumato.regression.rows import is_number

__all__ = ["KNormRegression", "second_moments"]

#: The whole matrix is measured where there are this many records times ε for each of its entries.
WORTH_A_MATRIX = 20
#: How often a number is taken to be missing, where it may be.
OFTEN_MISSING = 0.1


def second_moments(public: TablePublic, design: Design) -> tuple[float, ...]:
    """Return how large the second moments of features are taken to be, from the schema alone."""
    found: list[float] = []
    for factor in design.factors:
        many = len(factor.names)
        if many == 1:
            found.append(1.0)
        elif is_number(public.schema.columns[factor.column].coding):
            found += [1.0] + [OFTEN_MISSING] * (many - 1)
        else:
            found += [1.0 / many] * many
    return tuple(found + [1.0] * design.intercept)


@dataclass(frozen=True, kw_only=True)
class KNormRegression(LinearMethod):
    """Release a linear regression by Euclidean K-norm noise on its sums of products.

    Parameters
    ----------
    epsilon, target, categories, intercept, response, features, bound, radius, rows
        As for every linear method (`LinearMethod`).
    delta
        Not used: the guarantee is pure.
    moments
        `"trace"`: beside Xᵀy only how long the rows are is measured, and their second moments are
        guessed from the schema, which is best with few records; `"matrix"`: all second moments
        are measured; `"auto"`: whichever the number of records is enough for.

    Notes
    -----
    Privacy: rows have length at most 1 and answers size at most 1, so one record moves the vector
    of all sums by a known length; noise of density ∝ exp(−ε‖z‖/Δ) hides it
    (docs/proofs/k-norm-regression.md). What is paid beforehand is on
    docs/proofs/regression-rows.md.
    """

    proof: ClassVar[str] = "k-norm-regression.md"

    moments: str = parameter(OneOf(("auto", "trace", "matrix")), "auto")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is not None:
            raise ValueError("delta must be None: K-norm noise gives a pure guarantee without it")

    def estimator(self, public: TablePublic) -> Estimator:
        """Return K-norm noise with second moments guessed from the schema, or measured."""
        design = self.design(public)
        constant = 1.0 / usual_radius(design, float(Fraction(self.radius))) ** 2
        return KNormEstimator(
            matrix=self.moments == "matrix",
            profile=second_moments(public, design),
            constant=constant if self.intercept else 0.0,
        )

    def chosen(self, public: TablePublic, setting: Setting) -> Estimator:
        """Return the same, with all second moments where there are records enough."""
        if self.moments != "auto" or setting.records is None:
            return self.estimator(public)
        enough = WORTH_A_MATRIX * setting.dimension**2
        if setting.records * float(pure_within(setting.limit)) < enough:
            return self.estimator(public)
        return KNormEstimator(matrix=True)
