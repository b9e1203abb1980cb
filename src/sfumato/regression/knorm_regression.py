"""Linear regression by K-norm noise: pure ε, good with few records for many features."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.mechanisms.knorm import KNormNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import pure_within
from sfumato.privacy.parameters import OneOf, parameter
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.rounding import sqrt_up
from sfumato.regression.design import Design
from sfumato.regression.estimator import Estimator, LinearFit, Setting
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.preparation import usual_radius
from sfumato.regression.queries import RowSums
from sfumato.regression.rows import ANSWER, ROW, RowRule, is_number

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

    Parameters not listed here are those of every linear method (`LinearMethod`).

    Parameters
    ----------
    delta
        Must be left out: the guarantee is pure.
    moments
        `"trace"`: Xᵀy and the total squared length of rows are measured, and second moments are
        guessed from the schema; best with few records. `"matrix"`: all second moments are measured.
        `"auto"`: chosen by the number of records.

    Notes
    -----
    Privacy: rows have length at most 1 and responses size at most 1, so one record moves the vector
    of all sums by at most Δ, and noise of density ∝ exp(−ε‖z‖/Δ) is added
    (docs/proofs/k-norm-regression.md; for privately chosen scales docs/proofs/regression-rows.md).
    """

    proof: ClassVar[str] = "k-norm-regression.md"

    moments: str = parameter(OneOf(("auto", "trace", "matrix")), "auto")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is not None:
            raise ValueError("K-norm noise has a pure privacy loss; leave delta out")

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


# Linear regression by Euclidean K-norm noise on sums over rows: pure ε, fitted afterwards.
#
# Noise of one radius falls on one vector: Σ y·x, and beside it either Σ |x|², from which second
# moments are guessed, or all of Σ x xᵀ. Where features are few or ε is large the whole matrix is
# better, else the guess. Proof: docs/proofs/k-norm-regression.md.


Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

SUMS = "sums"
#: Products of a feature with itself, and of two features, have these whole weights: 99² is 1 more
#: than 2·70², so that the weighed upper triangle is about as long as the whole matrix.
SQUARE, CROSS = 70, 99
#: The weights of Σ y·x and Σ |x|²: 12² + 5² = 13², and a trace that costs nothing if replaced.
TRACE = {Relation.ADD_REMOVE: (12, 5), Relation.REPLACE_ONE: (2, 3)}


@dataclass(frozen=True)
class KNormEstimator:
    """K-norm noise on sums over rows.

    Parameters
    ----------
    matrix
        Whether the whole matrix of second moments is measured, or its trace alone.
    profile
        Without the matrix, how large the second moments of the features are taken to be, one
        beside the other; by default all alike.
    constant
        The square of the last feature where every record has the same, so that records times it
        is its second moment; 0 where there is none.
    answer_bound
        Where answers are best cut, in standard deviations of the response.
    """

    matrix: bool = False
    profile: tuple[float, ...] | None = None
    constant: float = 0.0
    answer_bound: float = 1.5

    @property
    def name(self) -> str:
        """What it is called, in words."""
        return "K-norm noise on second moments" if self.matrix else "K-norm noise on Xᵀy"

    @property
    def needs_delta(self) -> bool:
        """No: the noise is for pure ε."""
        return False

    def check(self, setting: Setting) -> None:
        """Raise where the profile is that of other features."""
        if self.profile is not None and (
            len(self.profile) != setting.dimension or min(self.profile) <= 0
        ):
            raise ValueError("profile must have a positive number for each feature")

    def _beside(self, size: int, relation: Relation) -> tuple[int, Integers64]:
        """Return the whole weights of Σ y·x, and of Σ |x|² or the upper triangle of Σ x xᵀ."""
        if self.matrix:
            i, j = np.triu_indices(size)
            return CROSS, np.where(i == j, SQUARE, CROSS).astype(np.int64)
        linear, trace = TRACE[relation]
        return linear, np.array([trace], dtype=np.int64)

    def sensitivity(self, relation: Relation) -> Fraction:
        """Return how far one record moves the weighed sums at most, in L2."""
        unit = ROW * ANSWER
        if self.matrix and relation is Relation.ADD_REMOVE:
            return CROSS * unit * sqrt_up(Fraction(3, 2))
        if self.matrix:
            return Fraction(2 * CROSS * unit)
        linear, trace = TRACE[relation]
        longest = 2 * linear if relation is Relation.REPLACE_ONE else isqrt(linear**2 + trace**2)
        return Fraction(longest * unit)

    def noise(self, setting: Setting) -> KNormNoise:
        """Return the noise on the weighed sums."""
        size = setting.dimension
        return KNormNoise(
            dimension=size + (size * (size + 1) // 2 if self.matrix else 1),
            sensitivity=self.sensitivity(setting.relation),
            epsilon=pure_within(setting.limit),
        )

    def deviation(self, setting: Setting) -> float:
        """Return the standard deviation of the noise on one sum Σ y·x, for rows of length 1."""
        noise = self.noise(setting)
        linear, _ = self._beside(setting.dimension, setting.relation)
        # A radius of Gamma(D, s) has mean square D(D + 1)s², shared by D coordinates.
        return float(noise.scale) * sqrt(noise.dimension + 1) / linear / (ROW * ANSWER)

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return the one step, and how its noise compares with what one record adds."""
        noise, deviation = self.noise(setting), self.deviation(setting)
        error = "the error is larger with fewer records"
        if setting.records is not None:
            share = deviation / setting.records * setting.dimension
            error = f"weights off by about {share:.3g} each, where 1 explains an answer wholly"
        step = PlanStep(
            what=f"{noise.dimension:,} sums of products",
            loss=setting.limit,
            noise=f"± {deviation:,.4g} (1 s.d.) on each, of which one record adds at most 1",
            error=error,
            figures={"margin": deviation},
        )
        return (step,)

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask for the sums, once, and return the weights that shrink the noise away."""
        noise = self.noise(setting)
        said = yield Ask(budget, noise, self.query(rule, setting.relation), SUMS)
        yield FINISH
        return self._fitted(setting, noise.read(said) / (ROW * ANSWER))

    def query(self, rule: RowRule, relation: Relation) -> RowSums:
        """Return which sums are asked for: Σ y·x, and those beside it."""
        linear, beside = self._beside(rule.dimension, relation)
        return RowSums(
            rule=rule,
            parts=("products", "matrix" if self.matrix else "trace"),
            weights=np.concatenate([np.full(rule.dimension, linear), beside]),
            floats=True,
        )

    def rehearse(self, setting: Setting, x: Floats, y: Floats, generator: Any) -> LinearFit:
        """Return the weights that synthetic public rows would have got."""
        linear, beside = self._beside(x.shape[1], setting.relation)
        second = np.array([np.sum(x * x)])
        if self.matrix:
            second = (x.T @ x)[np.triu_indices(x.shape[1])]
        noise = self.noise(setting)
        direction = generator.standard_normal(noise.dimension)
        radius = generator.gamma(noise.dimension, float(noise.scale) / (ROW * ANSWER))
        found = np.concatenate([linear * (x.T @ y), beside * second])
        return self._fitted(setting, found + radius * direction / np.linalg.norm(direction))

    def _guess_moments(self, trace: float, setting: Setting) -> Floats:
        """Return the second moments of features that add up to a trace."""
        profile = np.ones(setting.dimension) if self.profile is None else np.array(self.profile)
        if not self.constant or setting.records is None or len(profile) == 1:
            return np.asarray(trace * profile / profile.sum())
        last = min(self.constant * setting.records, trace / 2)
        others = (trace - last) * profile[:-1] / profile[:-1].sum()
        return np.append(others, last)

    def _fitted(self, setting: Setting, noisy: Floats) -> LinearFit:
        """Return the weights, from the noisy weighed sums of rows of length at most 1."""
        size = setting.dimension
        linear, beside = self._beside(size, setting.relation)
        deviation = self.deviation(setting)
        slope, second = noisy[:size] / linear, noisy[size:] / beside
        if not self.matrix:
            # Less than the noise cannot be told from none.
            trace = max(float(second[0]), deviation * linear / float(beside[0]))
            moments = np.diag(self._guess_moments(trace, setting))
            return LinearFit(shrunken(moments, slope, deviation))
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = second
        matrix = matrix + np.triu(matrix, 1).T
        # Off the diagonal the noise is that of the slope: both have the same weight.
        return LinearFit(shrunken(matrix, slope, deviation, deviation))


# Weights from noisy second moments: what noise could have made is shrunk away. Post-processing.
#
# With t = Mw + noise, M the second moments, the weights are taken to be normal around 0 with a
# variance that is read off the length of t. In a direction of M with moment m the best guess is
# then m·t·τ²/(m²·τ² + s²·m + σ²): least squares where m is large beside the noise, nothing where
# it is not.


#: What a model is taken to leave of an answer between −1 and 1, squared.
LEFT = 0.25
#: The variance of weights is never taken to be less than this share of what it looks like.
LEAST_SHARE = 0.1
#: Directions whose moment is below this share of the largest count as flat.
FLAT = 1e-9


def shrunken(matrix: Floats, slope: Floats, deviation: float, off: float = 0.0) -> Floats:
    """Return weights for noisy sums over rows of length at most 1 and answers from −1 to 1.

    Parameters
    ----------
    matrix
        M = Σ x xᵀ, perhaps noisy or guessed; symmetric.
    slope
        t = Σ y·x, noisy.
    deviation
        The standard deviation σ of the noise on an entry of t.
    off
        That of the noise on an entry of M beside the diagonal.
    """
    moments, directions = np.linalg.eigh(matrix)
    floor = FLAT * max(float(moments.max(initial=0.0)), 1e-300)
    rising = moments > floor
    if not rising.any():
        return np.zeros(len(slope))
    m, along = moments[rising], directions[:, rising].T @ slope
    squares = float(np.sum(m * m))
    seen = float(along @ along)
    of_noise = float(np.sum(LEFT * m + deviation**2))
    variance = max(seen - of_noise, LEAST_SHARE * seen) / squares
    # Noise in M meets weights of this variance, and adds to what lies on t.
    whole = LEFT * m + deviation**2 + len(slope) * variance * off**2
    guess = m * along * variance / (m * m * variance + whole) if variance > 0 else 0.0 * along
    return np.asarray(directions[:, rising] @ guess)
