"""AdaSSP: noisy sums of squares and products, and a ridge as large as their noise asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.mechanisms.normal import NormalNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, Number
from sfumato.privacy.parameters import OneOf, parameter
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.rounding import round_up
from sfumato.regression.estimator import LinearFit, Setting
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.moment_noise import SQUARE, MomentNoise
from sfumato.regression.multiples import Multiple
from sfumato.regression.queries import RowSums
from sfumato.regression.rows import ANSWER, ROW, RowRule

__all__ = ["AdaSSP", "AdaSSPEstimator", "describe_error", "gaussian", "solve_lifted"]

Floats = NDArray[np.float64]

MOMENTS = "moments"
#: Answers are cut at one standard deviation further for so many records times μ a feature.
WIDER = 12.0


def solve_lifted(matrix: Floats, linear: Floats, floor: float) -> Floats:
    """Return the solution of (M + λ)w = v with the least λ ≥ 0 that lifts M to a floor.

    Parameters
    ----------
    matrix, linear
        M and v, noisy.
    floor
        The smallest eigenvalue that M + λ may have, positive.
    """
    curvatures, directions = np.linalg.eigh(matrix)
    ridge = max(0.0, floor - float(curvatures[0]))
    # The difference of two nearly equal numbers may round to nothing.
    curved = np.maximum(curvatures + ridge, floor)
    return np.asarray(directions @ ((directions.T @ linear) / curved))


@dataclass(frozen=True, kw_only=True)
class AdaSSPEstimator:
    """Ridge regression on a noisy matrix Σ x xᵀ and a noisy vector Σ y x.

    Parameters
    ----------
    ridge
        The smallest eigenvalue that the matrix is lifted to, in multiples of √p and of the noise
        on a square; 1.4 is what the noise alone amounts to.
    balance
        How much further than the matrix one record moves the vector, squared, both weighed: the
        larger it is, the less noise there is on the vector and the more on the matrix.
    answer_bound
        Where answers are best cut, in standard deviations.
    deviation
        The noise on the sums, for rows and answers of 1, if it is not to be as small as the budget
        allows; the balance is 1 then.
    """

    ridge: float = 1.96
    balance: float = 1.0
    answer_bound: float = 1.0
    deviation: float | None = None

    name: ClassVar[str] = "AdaSSP"
    needs_delta: ClassVar[bool] = True

    def check(self, setting: Setting) -> None:
        """Raise unless the budget is a Gaussian one, and pays for the noise."""
        limit = gaussian(setting, self.name)
        _, noise = self.noise(setting)
        if noise.mu_squared > limit.mu_squared:
            raise ValueError(
                "the privacy loss of the paper's constants exceeds this epsilon and delta; use "
                "variant='tight'"
            )

    def noise(self, setting: Setting) -> tuple[MomentNoise, NormalNoise]:
        """Return how the moments are weighed, and the noise on them."""
        moments = MomentNoise.balance_weight(
            setting.dimension, setting.relation, bound=ANSWER, vectors=1, balance=self.balance
        )
        mu_squared = gaussian(setting, self.name).mu_squared
        if self.deviation is not None:
            drawn = Fraction(self.deviation) * SQUARE * ROW**2
            mu_squared = round_up(moments.squared_sensitivity / drawn**2)
        return moments, NormalNoise(
            shape=(moments.entries + setting.dimension,),
            squared_sensitivity=moments.squared_sensitivity,
            mu_squared=mu_squared,
        )

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return the one step that there is."""
        moments, noise = self.noise(setting)
        widths = moments.widths(noise.standard_deviation)
        return (
            PlanStep(
                what=f"{noise.shape[0]:,} sums of squares and products",
                loss=setting.limit,
                noise=f"± {widths.square:,.4g} and ± {widths.vector:,.4g} (1 s.d.), of which one "
                "record adds at most 1",
                error=describe_error(setting, widths.square),
                figures={"margin": widths.vector},
            ),
        )

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask for the matrix and the vector at once, and return the weights."""
        moments, noise = self.noise(setting)
        weights = np.concatenate([moments.matrix_weights, moments.vector_weights])
        query = RowSums(rule=rule, parts=("matrix", "products"), weights=weights)
        said = yield Ask(budget, noise, query, MOMENTS)
        yield FINISH
        matrix = moments.matrix(said[: moments.entries])
        linear = moments.vector(said[moments.entries :])
        return self._fitted(matrix, linear, moments.widths(noise.standard_deviation).square)

    def _fitted(self, matrix: Floats, linear: Floats, deviation: float) -> LinearFit:
        floor = self.ridge * math.sqrt(len(matrix)) * deviation
        return LinearFit(weights=solve_lifted(matrix, linear, floor))

    def rehearse(self, setting: Setting, x: Floats, y: Floats, generator: Any) -> LinearFit:
        """Return the weights that synthetic public rows would have got."""
        moments, noise = self.noise(setting)
        widths = moments.widths(noise.standard_deviation)
        matrix = x.T @ x + widths.symmetric(x.shape[1], generator)
        linear = x.T @ y + generator.normal(0.0, widths.vector, x.shape[1])
        return self._fitted(matrix, linear, widths.square)


def fitting_bound(setting: Setting) -> float:
    """Return where answers are best cut, in standard deviations: further out for more records.

    Cutting leaves a bias that no record takes away, and not cutting leaves noise that records do.
    """
    if setting.records is None or not isinstance(setting.limit, GDP):
        return 2.0
    mu = math.sqrt(setting.limit.mu_squared)
    return min(max(setting.records * mu / (WIDER * setting.dimension), 1.0), 4.0)


def gaussian(setting: Setting, name: str) -> GDP:
    """Return the budget of a setting as a Gaussian one, or say that a delta is missing."""
    if not isinstance(setting.limit, GDP):
        raise ValueError(f"{name} needs a delta, such as delta = 1e-6")
    return setting.limit


def describe_error(setting: Setting, deviation: float) -> str:
    """Return what can be said about the error of a fit before it is made.

    Parameters
    ----------
    setting
        How many features and records there are.
    deviation
        The noise on a sum of squares.
    """
    if setting.records is None:
        return "larger with fewer records; not known without them"
    # Records of length 1 spread over p features add up to n/p squares in each direction.
    curvature = setting.records / setting.dimension
    spectral = math.sqrt(2 * setting.dimension) * deviation
    return f"the noise is {spectral / curvature:.2g} of what the records add up to in a direction"


@dataclass(frozen=True, kw_only=True)
class AdaSSP(LinearMethod):
    """Release a linear model by AdaSSP (Wang, 2018): noisy moments and an adaptive ridge.

    It requires a delta. It suits data with many records per feature; with few, `BoostedAdaSSP`
    loses less by clipping the target. Parameters not listed here are those of every linear method
    (`LinearMethod`).

    Parameters
    ----------
    bound
        Where the target is clipped, in multiples of its spread. Default: one to four standard
        deviations, more with more records.
    ridge
        Lower bound of the eigenvalues of the noisy matrix, in multiples of √p times its noise, for
        p features.
    balance
        Budget of the products with the target relative to that of the products of features. 1 gives
        both the same noise relative to their sensitivity; a smaller value is better if columns are
        highly correlated.
    variant
        `"tight"`: the smallest noise that the budget allows. `"paper"`: the noise of the paper,
        which leaves half of the budget or more unused. It is refused under replace-one, and if its
        privacy loss would exceed epsilon.

    Notes
    -----
    Privacy: rows have length at most 1 and responses size at most 1, so one record moves the matrix
    and the vector together by a known distance, to which normal noise is scaled; the ridge is
    computed from the noisy matrix (docs/proofs/adassp.md).
    """

    proof: ClassVar[str] = "adassp.md"
    example: ClassVar[dict[str, Any]] = {"delta": "1e-6"}

    ridge: Number = parameter(Multiple(), 1.96)
    balance: Number = parameter(Multiple(), 1)
    variant: str = parameter(OneOf(("tight", "paper"), {"published": "paper"}), "tight")

    def estimator(self, public: TablePublic) -> AdaSSPEstimator:
        """Return AdaSSP with these settings."""
        ridge, balance = float(self.ridge), float(self.balance)
        if self.variant == "tight" or self.delta is None:
            return AdaSSPEstimator(ridge=ridge, balance=balance)
        _, relation = self.record_budget(public)
        if public.contribution > 1 or relation is not Relation.ADD_REMOVE:
            raise ValueError("variant='paper' is for add/remove; use variant='tight'")
        logarithm = math.log(6 / float(Fraction(self.delta)))
        deviation = 3 * math.sqrt(logarithm) / float(Fraction(self.epsilon))
        return AdaSSPEstimator(ridge=ridge, balance=1.0, deviation=deviation)

    def chosen(self, public: TablePublic, setting: Setting) -> AdaSSPEstimator:
        """Return AdaSSP with a cut that suits the number of records."""
        return replace(self.estimator(public), answer_bound=fitting_bound(setting))
