"""Linear models of many columns at once: what the other columns are like is measured once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms.knorm import KNormNoise
from sfumato.mechanisms.normal import NormalNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ApproxDP, Loss, Number, PureDP, pure_within
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, Flag, Names, OneOf, OrNone, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.rounding import sqrt_up
from sfumato.regression.adassp import solve_lifted
from sfumato.regression.design import Design, Factor, check_dimension, sums_of
from sfumato.regression.estimator import Said
from sfumato.regression.estimator_choice import example_table
from sfumato.regression.knorm_regression import CROSS, SQUARE
from sfumato.regression.model import RegressionModel
from sfumato.regression.model_per_target import RegressionModels
from sfumato.regression.multiples import Multiple
from sfumato.regression.preparation import FEATURES, Preparation
from sfumato.regression.queries import ResponseSums
from sfumato.regression.rows import ANSWER, MOST_FEATURES, ROW, RowRule, answering

__all__ = ["ManyResponses"]

Floats = NDArray[np.float64]

MOMENTS = "moments"
FIT = "fit"
# One unit for squares and for products with responses.
assert ROW == ANSWER
_gaussian = lru_cache(maxsize=256)(GDP.within)


def squared_sensitivity(relation: Relation) -> Fraction:
    """Return how far one record moves all weighed sums at most, squared.

    Added or removed it moves the matrix by ½ and the products with responses by 1, in squared
    units of their weight; replaced, both together by 4 (docs/proofs/many-responses.md).
    """
    units = Fraction(3, 2) if relation is Relation.ADD_REMOVE else Fraction(4)
    return units * CROSS**2 * ROW**2 * ANSWER**2


@dataclass(frozen=True, kw_only=True)
class ManyResponses(Method[Table, RegressionModels]):
    """Release linear models of several target columns within one budget.

    The targets share the sums of products of the other columns, and noise is added to all sums at
    once. A missing target counts as the middle of its declared range, so the weights of a target
    are too small by the share of records in which it is missing; the ranking of predictions is not
    affected.

    Parameters
    ----------
    epsilon
        Total privacy loss of all models, for one unit of the table (row or person).
    targets
        The columns to predict, of numbers or dates. All other columns are explanatory.
    delta
        If given, the guarantee is (epsilon, delta) and noise is Gaussian, whose scale does not grow
        with the number of sums; otherwise the guarantee is pure.
    categories
        `"indicators"`: one weight per category. `"places"`: one weight per column, for the position
        of the category in the declared list.
    intercept
        Whether the models have a constant term.
    radius
        Maximum length of a row of features, in multiples of the usual length. A longer row is
        shortened.
    features
        Scales of the explanatory columns. `"declared"`: computed from the declared ranges.
        `"paid"`: chosen privately, for a tenth of the budget.
    bound
        Where each target is clipped, in multiples of a sixth of its declared range.
    length
        Maximum length of the vector of targets of a record, as a share of its length if every
        target is at its bound.
    ridge
        Lower bound of the eigenvalues of the matrix of products, in multiples of √p times the noise
        on a square, for p features.

    Notes
    -----
    Privacy: a row of features and a row of responses both have length at most 1, so one record
    moves all sums of products together as far as it would with one response
    (docs/proofs/many-responses.md).
    """

    kind: ClassVar[str] = "table"
    proof: ClassVar[str] = "many-responses.md"

    targets: Any = parameter(Names())
    delta: Number | None = parameter(OrNone(DELTA), None)
    categories: str = parameter(OneOf(("indicators", "places")), "indicators")
    intercept: bool = parameter(Flag(), True)
    features: str = parameter(OneOf(("declared", "paid")), "declared")
    bound: Number = parameter(Multiple(), 2)
    length: Number = parameter(Multiple(), "1/2")
    radius: Number = parameter(Multiple(), 1)
    ridge: Number = parameter(Multiple(), 1)

    @classmethod
    def example_public(
        cls, relation: Relation | None = None, max_rows: int | None = None
    ) -> TablePublic:
        """Return a small table whose last column is a number."""
        return example_table(relation, max_rows)

    @classmethod
    def example_method(cls, epsilon: Number, public: TablePublic, **more: Any) -> Self:
        """Return a model of the last column."""
        return super().example_method(epsilon, public, targets=[public.columns[-1]], **more)

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        return PureDP(self.epsilon) if self.delta is None else ApproxDP(self.epsilon, self.delta)

    def working_loss(self) -> Loss:
        """Return ε, or the largest μ² that implies (ε, δ)."""
        limit = self.loss()
        return _gaussian(limit) if isinstance(limit, ApproxDP) else limit

    def design(self, public: TablePublic, target: str) -> Design:
        """Return how records become features; no target explains another."""
        left_out = set(public.schema.indices(self.targets))
        places = self.categories == "places"
        factors = tuple(
            Factor.of(public, column, places=places)
            for column, size in enumerate(public.sizes)
            if column not in left_out and size > 1
        )
        return Design(factors, answering(public, target), self.intercept)

    def check(self, public: TablePublic) -> None:
        """Raise where a column is unknown or no number, or nothing is left to explain with."""
        super().check(public)
        if len(self.targets) > MOST_FEATURES:
            raise ValueError(
                f"targets must be at most {MOST_FEATURES:,} columns; got {len(self.targets):,}"
            )
        for target in self.targets:
            check_dimension(self.design(public, target).dimension)

    def preparation(self, public: TablePublic) -> Preparation:
        """Return what is paid for before the fit."""
        limit, relation = self.record_budget(public)
        return Preparation(
            public=public,
            design=self.design(public, self.targets[0]),
            limit=limit,
            relation=relation,
            count=False,
            response="declared",
            features=self.features,
        )

    def rules(self, public: TablePublic, said: Said) -> tuple[RowRule, ...]:
        """Return what becomes of a record, for each response."""
        rule = self.preparation(public).rule(
            said,
            bound=float(Fraction(self.bound)),
            radius=float(Fraction(self.radius)),
            shape="clip",
        )
        designs = (self.design(public, target) for target in self.targets)
        return tuple(replace(rule, design=design) for design in designs)

    @property
    def _length(self) -> float:
        """What rows of responses are divided by."""
        return float(Fraction(self.length)) * sqrt(len(self.targets))

    def noise(self, public: TablePublic) -> KNormNoise | NormalNoise:
        """Return the noise on all weighed sums."""
        preparation = self.preparation(public)
        size = preparation.design.dimension
        many = size * (size + 1) // 2 + size * len(self.targets)
        squared = squared_sensitivity(preparation.relation)
        limit = preparation.limit.share(preparation.rest)
        if isinstance(limit, GDP):
            return NormalNoise(
                shape=(many,), squared_sensitivity=squared, mu_squared=limit.mu_squared
            )
        return KNormNoise(dimension=many, sensitivity=sqrt_up(squared), epsilon=pure_within(limit))

    def _deviation(self, noise: KNormNoise | NormalNoise) -> float:
        """Return the standard deviation of the noise on one weighed sum."""
        if isinstance(noise, NormalNoise):
            return noise.standard_deviation
        # A radius of Gamma(D, s) has mean square D(D + 1)s², shared by D coordinates.
        return float(noise.scale) * sqrt(noise.dimension + 1)

    def plan(self, public: TablePublic) -> Plan:
        """Return what is measured, and how its noise compares with what one record adds."""
        self.check(public)
        preparation, noise = self.preparation(public), self.noise(public)
        _, relation = self.record_budget(public)
        group = public.contribution * (1 if relation is public.relation else 2)
        steps = []
        if preparation.columns:
            choice = preparation.choice(FEATURES)
            steps.append(
                PlanStep(
                    what=f"where {len(preparation.columns)} columns lie and how far they spread",
                    loss=preparation.slice(FEATURES).group(group),
                    noise=f"a choice among {choice.primitive.candidates:,} intervals each",
                    error=f"ends off by at most {choice.ranks:,.4g} records, 19 times in 20",
                    figures={"margin": choice.ranks},
                )
            )
        one = self._deviation(noise) / CROSS / ROW / ANSWER
        steps.append(
            PlanStep(
                what=f"sums of products of {preparation.design.dimension} features, and with "
                f"{len(self.targets)} targets",
                loss=preparation.limit.share(preparation.rest).group(group),
                noise=f"± {one:,.4g} (1 s.d.) on each, of which one record adds at most 1",
                error="the more targets, the less of a record's length is left to each",
                figures={"margin": one * self._length},
            )
        )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            sizes=sums_of(preparation.design.dimension, len(self.targets)),
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[RegressionModels]:
        """Pay for what comes before the fit, then ask for all sums at once."""
        preparation = self.preparation(public)
        said = yield from preparation.ask(budget)
        noise, rules = self.noise(public), self.rules(public, said)
        part = budget.take(preparation.rest, FIT)
        noisy = yield Ask(part, noise, self._query(rules, noise), MOMENTS)
        yield FINISH
        read = noise.read(noisy) if isinstance(noise, KNormNoise) else noisy.astype(np.float64)
        found = self._fitted(read / (ROW * ANSWER), rules[0].dimension, self._deviation(noise))
        models = {
            target: self._model(public, rule, weights)
            for target, rule, weights in zip(self.targets, rules, found.T, strict=True)
        }
        return RegressionModels(models)

    def _query(self, rules: tuple[RowRule, ...], noise: KNormNoise | NormalNoise) -> ResponseSums:
        """Return which sums are asked for."""
        size = rules[0].dimension
        i, j = np.triu_indices(size)
        weights = np.append(np.where(i == j, SQUARE, CROSS), np.full(size * len(rules), CROSS))
        floats = isinstance(noise, KNormNoise)
        return ResponseSums(rules=rules, length=self._length, weights=weights, floats=floats)

    def _fitted(self, noisy: Floats, size: int, deviation: float) -> Floats:
        """Return the weights of all targets, for rows of length at most 1."""
        i, j = np.triu_indices(size)
        matrix = np.zeros((size, size))
        matrix[i, j] = noisy[: len(i)] / np.where(i == j, SQUARE, CROSS)
        matrix = matrix + np.triu(matrix, 1).T
        slopes = noisy[len(i) :].reshape(size, -1) / CROSS
        floor = float(Fraction(self.ridge)) * sqrt(size) * deviation / SQUARE / (ROW * ANSWER)
        return np.column_stack([solve_lifted(matrix, slope, floor) for slope in slopes.T])

    def _model(self, public: TablePublic, rule: RowRule, weights: Floats) -> RegressionModel:
        """Return the model of one target."""
        own = rule.to_design(public) @ (self._length * weights)
        return RegressionModel(
            public,
            rule.design,
            own[:-1],
            offset=float(own[-1]) + rule.response_centre,
            about="It was found from noisy sums of products that serve all targets.",
        )
