"""The functional mechanism: noise on the coefficients of a regression's objective."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.noise.exact import exact
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Number, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import (
    Constraint,
    Flag,
    Labels,
    Name,
    Names,
    OneOf,
    OrNone,
    parameter,
)
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.regression.design import UNIT, Design, Response, check_dimension
from sfumato.regression.model import RegressionModel
from sfumato.regression.queries import FeatureSums

__all__ = ["FunctionalRegression"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

COEFFICIENTS = "coefficients"
#: The finest ratio of two noise scales: weights stay small beside 64 bits.
FINEST = 1000


@dataclass(frozen=True)
class Ratio(Constraint):
    """A share from above 0 to 1 that is a fraction of small numbers."""

    allowed = f"above 0 and at most 1, a fraction with a denominator of at most {FINEST}"

    def parse(self, value: Any) -> Fraction:
        """Return the ratio as a fraction."""
        ratio = exact(value)
        if not 0 < ratio <= 1 or ratio.denominator > FINEST:
            raise ValueError
        return ratio


@dataclass(frozen=True)
class Layout:
    """Which coefficients of an objective are measured, and how they are weighed. Public.

    Parameters
    ----------
    design
        How records become features.
    rows, columns
        The two features of each measured product.
    weights
        The whole weight of each measured coefficient, the linear ones first: the larger it is,
        the less noise there is on it.
    sensitivity
        The most by which one record moves the weighed coefficients, in L1 and in whole units.
    slope
        What the linear coefficients are multiples of: −2 in a linear, −4 in a logistic model.
    """

    design: Design
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    weights: Integers64
    sensitivity: int
    slope: int

    @property
    def query(self) -> FeatureSums:
        """What is asked for: a product of two features stands twice in the objective."""
        twice = np.where(self.rows == self.columns, 1, 2)
        factors = np.concatenate([np.full(self.design.dimension, self.slope), twice])
        return FeatureSums(
            design=self.design,
            rows=self.rows,
            columns=self.columns,
            weights=factors * self.weights,
        )

    def noise(self, epsilon: Fraction) -> GeometricNoise:
        """Return the noise on the weighed coefficients."""
        return GeometricNoise(
            shape=self.weights.shape, sensitivity=Fraction(self.sensitivity), epsilon=epsilon
        )

    def objective(self, noisy: Integers64, records: int | None) -> tuple[Floats, Floats]:
        """Return the matrix and the linear part of the noisy objective, for features of 1.

        Parameters
        ----------
        noisy
            What the primitive said.
        records
            The number of records, where it is public: then it is the product of the intercept
            with itself, which is not measured.
        """
        found = noisy / self.weights / UNIT**2
        dimension = self.design.dimension
        matrix = np.zeros((dimension, dimension))
        # A product of two features is halved between the two places where it stands.
        halved = np.where(self.rows == self.columns, 1.0, 0.5) * found[dimension:]
        matrix[self.rows, self.columns] = halved
        matrix[self.columns, self.rows] = halved
        if records is not None and self.design.intercept:
            matrix[-1, -1] = records
        return matrix, found[:dimension]

    def deviations(self, noise: GeometricNoise) -> Floats:
        """Return the standard deviation of the noise on the diagonal of the matrix."""
        dimension = self.design.dimension
        found = np.zeros(dimension)
        squares = self.rows == self.columns
        found[self.rows[squares]] = noise.standard_deviation / self.weights[dimension:][squares]
        return found / UNIT**2


@dataclass(frozen=True, kw_only=True)
class FunctionalRegression(Method[Table, RegressionModel]):
    """Release a linear or logistic regression by the functional mechanism.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    target
        The column to predict: of numbers or dates, or of classes if `positive` is given.
    positive
        The values of the target that are the positive class of a logistic model. Without it the
        model is linear.
    sensitive
        Columns whose coefficients get more noise than the others.
    ratio
        Noise on the other coefficients divided by the noise on those of the sensitive columns,
        above 0 and at most 1. It does not change the guarantee for a person, which is epsilon.
    categories
        `"indicators"`: one coefficient per category. `"places"`: one coefficient per column, for
        the position of the category in the declared list, with far less noise if there are many.
    intercept
        Whether the model has a constant term.
    add_ridge
        Whether four standard deviations of the noise are added to the curvature.

    Notes
    -----
    Privacy: the objective is a polynomial of degree two whose coefficients are sums over records;
    geometric noise is added to each, in proportion to how far one record moves all of them
    (docs/proofs/functional-mechanism.md). The noisy polynomial is minimised.
    """

    kind: ClassVar[str] = "table"
    proof: ClassVar[str] = "functional-mechanism.md"
    former_names: ClassVar[dict[str, str]] = {"ridge": "add_ridge"}

    target: str = parameter(Name())
    positive: Any = parameter(OrNone(Labels()), None)
    sensitive: Any = parameter(OrNone(Names()), None)
    ratio: Number = parameter(Ratio(), 1)
    categories: str = parameter(OneOf(("indicators", "places")), "indicators")
    intercept: bool = parameter(Flag(), True)
    add_ridge: bool = parameter(Flag(), True)

    @classmethod
    def example_method(cls, epsilon: Number, public: TablePublic, **more: Any) -> Self:
        """Return a logistic model of the last value of the last column."""
        target = public.columns[-1]
        told = {"target": target, "positive": [public.labels(target)[-1]]}
        return super().example_method(epsilon, public, **told, **more)

    def design(self, public: TablePublic) -> Design:
        """Return how records become features."""
        if self.positive is None:
            response = Response.number(public, self.target)
        else:
            response = Response.classes(public, self.target, self.positive)
        places = self.categories == "places"
        return Design.of(public, response, intercept=self.intercept, places=places)

    def check(self, public: TablePublic) -> None:
        """Raise where a column or a value is unknown, or there is nothing to explain with."""
        super().check(public)
        check_dimension(self.design(public).dimension)
        if self.target in (self.sensitive or ()):
            raise ValueError("the target cannot be one of the sensitive columns")
        public.schema.indices(self.sensitive or ())

    def layout(self, public: TablePublic) -> Layout:
        """Return which coefficients are measured, and how they are weighed."""
        design = self.design(public)
        _, relation = self.record_budget(public)
        rows, columns = np.triu_indices(design.dimension)
        if public.rows is not None and self.intercept:
            # The intercept times itself is the number of records, which is public.
            rows, columns = rows[:-1], columns[:-1]
        guarded = self._find_sensitive(public, design)
        touched = np.concatenate([guarded, guarded[rows] | guarded[columns]])
        ratio = exact(self.ratio) if guarded.any() else Fraction(1)
        weights = np.where(touched, ratio.numerator, ratio.denominator).astype(np.int64)
        free = self._columns(design, guarded)
        every = self._columns(design, np.zeros_like(guarded))
        # Σ over the others + ratio · Σ over the touched = (1 − ratio) · others + ratio · all.
        difference = ratio.denominator - ratio.numerator
        bound = difference * self._bound(free, relation)
        bound += ratio.numerator * self._bound(every, relation)
        slope = -2 if self.positive is None else -4
        return Layout(design, rows, columns, weights, bound * UNIT**2, slope)

    def _find_sensitive(self, public: TablePublic, design: Design) -> NDArray[np.bool_]:
        """Return which features are those of sensitive columns."""
        numbers = public.schema.indices(self.sensitive or ())
        factors = np.array([*(column in numbers for column in design.columns), False])
        return np.asarray(factors[design.owner])

    def _columns(self, design: Design, left_out: NDArray[np.bool_]) -> Columns:
        """Return how many columns of which kind there are, some left out."""
        gone = set(design.owner[left_out].tolist())
        kept = [f for number, f in enumerate(design.factors) if number not in gone]
        singles = sum(factor.single for factor in kept)
        return Columns(singles, len(kept) - singles, int(self.intercept))

    def _bound(self, columns: Columns, relation: Relation) -> int:
        if self.positive is None:
            return columns.linear(relation)
        return columns.logistic(relation)

    def _noise(self, public: TablePublic) -> GeometricNoise:
        limit, _ = self.record_budget(public)
        assert isinstance(limit, PureDP)
        return self.layout(public).noise(limit.epsilon)

    def plan(self, public: TablePublic) -> Plan:
        """Return how the noise compares with what one record adds."""
        self.check(public)
        layout, noise = self.layout(public), self._noise(public)
        least = noise.standard_deviation / int(layout.weights.max()) / UNIT**2
        most = noise.standard_deviation / int(layout.weights.min()) / UNIT**2
        spread = f"{least:,.4g}" if least == most else f"{least:,.4g} to {most:,.4g}"
        step = PlanStep(
            what=f"{noise.shape[0]:,} coefficients of the objective",
            loss=self.loss(),
            noise=f"± {spread} (1 s.d.) on each, of which one record adds at most 2",
            error="larger with fewer records; not known without them",
            figures={"margin": most},
        )
        sizes = (Size(noise.shape[0], "sums"),)
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,), sizes=sizes)

    def program(self, public: TablePublic, budget: Budget) -> Program[RegressionModel]:
        """Ask for all coefficients at once, and minimise what was said."""
        layout, noise = self.layout(public), self._noise(public)
        said = yield Ask(budget, noise, layout.query, COEFFICIENTS)
        yield FINISH
        matrix, linear = layout.objective(said, public.rows)
        if self.positive is not None:
            # The coefficients of the logistic objective are kept eightfold.
            matrix, linear = matrix / 8, linear / 8
        deviations = layout.deviations(noise) / (1 if self.positive is None else 8)
        weights = minimiser(matrix, linear, deviations, ridge=self.add_ridge)
        return RegressionModel(
            public,
            layout.design,
            weights,
            positive=self.positive,
            about=(
                "Noise was added to the coefficients of the sum of squares that is minimised."
                if self.positive is None
                else "Noise was added to the coefficients of a quadratic stand-in for the logistic "
                "loss that is minimised."
            ),
        )


# How far one record can move the coefficients of a regression's objective: public arithmetic.
#
# The bounds are proved on docs/proofs/functional-mechanism.md and hold for features that are kept
# in whole units. Everything here is a function of how many columns there are of which kind.


@dataclass(frozen=True)
class Columns:
    """How many columns explain, by kind.

    Parameters
    ----------
    singles
        Columns with one feature from −1 to 1.
    blocks
        Columns with several features, of which a record has one.
    constants
        1 with an intercept, else 0.
    """

    singles: int
    blocks: int
    constants: int

    def linear(self, relation: Relation) -> int:
        """Return the most by which one record moves Σ (y − xᵀω)² in L1, over its monomials."""
        whole = self.singles + self.blocks + self.constants
        added = whole**2 + 2 * whole
        if relation is Relation.ADD_REMOVE:
            return added
        # The response is one more column from −1 to 1.
        return min(2 * added, self._replacement_bound(self.singles + 1))

    def logistic(self, relation: Relation) -> int:
        """Return eight times the most by which one record moves Σ (xᵀω)²/8 + (½ − y)·xᵀω."""
        whole = self.singles + self.blocks + self.constants
        added = whole**2 + 4 * whole
        if relation is Relation.ADD_REMOVE:
            return added
        # The linear part counts as much as two more columns from −1 to 1 would.
        return min(2 * added, self._replacement_bound(self.singles + 2))

    def _replacement_bound(self, singles: int) -> int:
        """Return (s + c)² + 4b(s + c) + 2b² for s single columns, b blocks and c constants."""
        plain = singles + self.constants
        return plain**2 + 4 * self.blocks * plain + 2 * self.blocks**2


# The minimum of a noisy quadratic function: public post-processing.
#
# Noise can bend a quadratic function downwards, so that it has no minimum. A ridge of four
# standard deviations of the noise makes that rare, and directions in which it still falls are left
# out (Zhang, Zhang, Xiao, Yang and Winslett, 2012).


#: How many standard deviations of the noise are added to the curvature.
RIDGE = 4.0
#: Curvatures below this share of the largest count as none.
FLAT = 1e-9


def minimiser(matrix: Floats, linear: Floats, deviations: Floats, *, ridge: bool = True) -> Floats:
    """Return a minimiser of ωᵀMω + aᵀω over the directions in which it rises.

    Parameters
    ----------
    matrix
        M, noisy; its symmetric part counts.
    linear
        a, noisy.
    deviations
        The standard deviation of the noise on each entry of M's diagonal.
    ridge
        Whether to add four of these deviations to the diagonal.
    """
    curved = (matrix + matrix.T) / 2 + np.diag(RIDGE * deviations if ridge else 0 * deviations)
    curvatures, directions = np.linalg.eigh(curved)
    largest = curvatures.max(initial=0.0)
    rising = curvatures > FLAT * largest
    if not rising.any():
        return np.zeros(len(linear))
    slopes = directions[:, rising].T @ linear
    return np.asarray(directions[:, rising] @ (-slopes / (2 * curvatures[rising])))
