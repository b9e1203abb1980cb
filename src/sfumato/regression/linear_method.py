"""What all private linear models share: rows, what is paid beforehand, the release.

A method is this and an estimator. Everything before the estimator is public or paid for; the
estimator gets rows of bounded length and the rest of the budget.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

from sfumato.data.table import Table, TablePublic
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ApproxDP, Loss, Number, PureDP, pure_within
from sfumato.privacy.loss_check import record_limit
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, Flag, Name, OneOf, OrNone, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Program
from sfumato.regression.design import Design, check_dimension, sums_of
from sfumato.regression.estimator import Estimator, LinearFit, Said, Setting, answer_bound
from sfumato.regression.estimator_choice import example_table
from sfumato.regression.intervals import Shells, needed_loss
from sfumato.regression.model import RegressionModel
from sfumato.regression.multiples import Multiple
from sfumato.regression.preparation import (
    COUNT,
    FEATURE_TAILS,
    FEATURES,
    RESPONSE_TAILS,
    SHARES,
    Preparation,
)
from sfumato.regression.rows import RowRule, answering, numeric

__all__ = ["FIT", "LinearMethod"]

#: The slice that the estimator is paid from.
FIT = "fit"

_gaussian = lru_cache(maxsize=256)(GDP.within)


@dataclass(frozen=True, kw_only=True)
class LinearMethod(Method[Table, RegressionModel]):
    """A method that releases a linear model of one column given the others.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    target
        The column to predict, of numbers or dates. A record with a missing target counts as a row
        of zeros.
    delta
        If given, the guarantee is (epsilon, delta) and the budget is accounted in Gaussian
        differential privacy; otherwise the guarantee is pure.
    categories
        `"indicators"`: one weight per category. `"places"`: one weight per column, for the position
        of the category in the declared list.
    intercept
        Whether the model has a constant term.
    response
        How the centre and spread of the target are set. `"paid"`: they are chosen privately for a
        tenth of the budget, more with few records and less with many. `"declared"`: they are the
        middle and a sixth of the declared range.
    features
        How the centres and spreads of the other columns are set, as for `response`; `"paid"` uses
        another tenth of the budget. `"auto"`: `"paid"` if it is worth its budget at the number of
        records, which is public or given as `rows_about` in the schema.
    bound
        Where the target is clipped, in multiples of its spread. Default: chosen for the estimator.
    radius
        Maximum length of a row of features, in multiples of the usual length.
    rows
        What happens to a record whose row is too long. `"weigh"`: the record gets less weight.
        `"clip"`: its row is shortened and its target is unchanged.
    """

    kind: ClassVar[str] = "table"

    target: str = parameter(Name())
    delta: Number | None = parameter(OrNone(DELTA), None)
    categories: str = parameter(OneOf(("indicators", "places")), "indicators")
    intercept: bool = parameter(Flag(), True)
    response: str = parameter(OneOf(("paid", "declared")), "paid")
    features: str = parameter(OneOf(("auto", "paid", "declared")), "auto")
    bound: Number | None = parameter(OrNone(Multiple()), None)
    radius: Number = parameter(Multiple(), 1)
    rows: Any = parameter(OneOf(("weigh", "clip")), "weigh")

    @classmethod
    def example_public(
        cls, relation: Relation | None = None, max_rows: int | None = None
    ) -> TablePublic:
        """Return a small table whose last column is a number."""
        return example_table(relation, max_rows)

    @classmethod
    def example_method(cls, epsilon: Number, public: TablePublic, **more: Any) -> Self:
        """Return a model of the last column."""
        return super().example_method(epsilon, public, target=public.columns[-1], **more)

    @abstractmethod
    def estimator(self, public: TablePublic) -> Estimator:
        """Return what finds the weights."""

    def chosen(self, public: TablePublic, setting: Setting) -> Estimator:
        """Return what finds the weights once records have been counted: the same, as a rule."""
        return self.estimator(public)

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        return PureDP(self.epsilon) if self.delta is None else ApproxDP(self.epsilon, self.delta)

    def working_loss(self) -> Loss:
        """Return ε, or the largest μ² that implies (ε, δ)."""
        limit = self.loss()
        return _gaussian(limit) if isinstance(limit, ApproxDP) else limit

    def design(self, public: TablePublic) -> Design:
        """Return how records become features."""
        places = self.categories == "places"
        response = answering(public, self.target)
        return Design.of(public, response, intercept=self.intercept, places=places)

    def preparation(self, public: TablePublic) -> Preparation:
        """Return what is paid for before the fit."""
        limit, relation = self.record_budget(public)
        design = self.design(public)
        return Preparation(
            public=public,
            design=design,
            limit=limit,
            relation=relation,
            count=public.rows is None,
            response=self.response,
            features=self._features(public, design, limit),
        )

    def _features(self, public: TablePublic, design: Design, limit: Loss) -> str:
        """Return whether the scales of features are paid for. Public."""
        if self.features != "auto":
            return self.features
        columns = int(numeric(public, design).sum())
        about = public.rows if public.rows is not None else public.rows_about
        if not columns or about is None:
            return "declared"
        part = limit.share(SHARES[FEATURES]).share(Fraction(1, columns))
        needed = needed_loss(record_limit(limit, public)[1])
        return "paid" if about * pure_within(part) >= needed else "declared"

    def setting(self, public: TablePublic, said: Said) -> Setting:
        """Return what the estimator knows before it measures."""
        preparation = self.preparation(public)
        return Setting(
            dimension=preparation.design.dimension,
            relation=preparation.relation,
            limit=preparation.limit.share(preparation.rest),
            records=preparation.records(said),
            tails=preparation.response_tails(said),
        )

    def _planned(self, public: TablePublic) -> Setting:
        """Return the same as far as it can be told before anything is spent."""
        about = public.rows_about if public.rows is None else public.rows
        records = None if about is None else float(max(about, 1))
        return replace(self.setting(public, {}), records=records)

    def rule(self, public: TablePublic, said: Said, estimator: Estimator) -> RowRule:
        """Return what becomes of a record."""
        bound = answer_bound(estimator) if self.bound is None else float(Fraction(self.bound))
        return self.preparation(public).rule(
            said, bound=bound, radius=float(Fraction(self.radius)), shape=self.rows
        )

    def check(self, public: TablePublic) -> None:
        """Raise where a column is unknown, or the estimator does not fit."""
        super().check(public)
        check_dimension(self.design(public).dimension)
        setting = self._planned(public)
        estimator = self.chosen(public, setting)
        if estimator.needs_delta and self.delta is None:
            raise ValueError(f"{estimator.name} needs a delta, such as delta = 1e-6")
        estimator.check(setting)

    def plan(self, public: TablePublic) -> Plan:
        """Return what is paid for, and what the estimator measures."""
        self.check(public)
        setting = self._planned(public)
        steps = [*self._preparing(public), *self.chosen(public, setting).steps(setting)]
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(replace(step, loss=self._for_unit(step.loss, public)) for step in steps),
            sizes=sums_of(self.design(public).dimension),
        )

    def _for_unit(self, loss: Loss, public: TablePublic) -> Loss:
        """Return what a loss for one record is for one unit."""
        _, relation = self.record_budget(public)
        return loss.group(public.contribution * (1 if relation is public.relation else 2))

    def _preparing(self, public: TablePublic) -> list[PlanStep]:
        preparation = self.preparation(public)
        steps = []
        for name in preparation.shares:
            loss = preparation.slice(name)
            if name == COUNT:
                deviation = preparation.counting.standard_deviation
                steps.append(
                    PlanStep(
                        what="the number of records",
                        loss=loss,
                        noise=f"± {deviation:,.4g} (1 s.d.)",
                        error=f"± {2 * deviation:,.4g}",
                        figures={"margin": 2 * deviation},
                    )
                )
                continue
            many = len(preparation.columns)
            if name in (RESPONSE_TAILS, FEATURE_TAILS):
                steps.append(self._counting_tails(preparation, name))
                continue
            choice = preparation.choice(name)
            what = f"where {self.target} lies and how far it spreads"
            if name == FEATURES:
                what = f"where {many} column{'s' * (many != 1)} lie and how far they spread"
            steps.append(
                PlanStep(
                    what=what,
                    loss=loss,
                    noise=f"a choice among {choice.primitive.candidates:,} intervals each",
                    error=f"two thirds of the records ± {choice.ranks:,.4g}, 19 times in 20",
                    figures={"margin": choice.ranks},
                )
            )
        return steps

    def _counting_tails(self, preparation: Preparation, name: str) -> PlanStep:
        """Return the step that tells how far columns reach."""
        many = len(preparation.columns)
        whose = self.target if name == RESPONSE_TAILS else f"{many} column{'s' * (many != 1)}"
        shells = [Shells(0.0, 1.0)] * (1 if name == RESPONSE_TAILS else many)
        noise = preparation.counting_shells(name, shells).standard_deviation
        return PlanStep(
            what=f"how far {whose} reach{'es' if name == RESPONSE_TAILS else ''} beyond",
            loss=preparation.slice(name),
            noise=f"± {noise:,.4g} (1 s.d.) on each number of records",
            error=f"± {2 * noise:,.4g}",
            figures={"margin": 2 * noise},
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[RegressionModel]:
        """Pay for what comes before the fit, then let the estimator ask."""
        preparation = self.preparation(public)
        said = yield from preparation.ask(budget)
        setting = self.setting(public, said)
        estimator = self.chosen(public, setting)
        rule = self.rule(public, said, estimator)
        fit = yield from estimator.fit(rule, setting, budget.take(preparation.rest, FIT))
        return self._model(public, rule, fit, estimator)

    def _model(
        self, public: TablePublic, rule: RowRule, fit: LinearFit, estimator: Estimator
    ) -> RegressionModel:
        """Return a fit of rows as a model of features."""
        matrix = rule.to_design(public)
        weights = matrix @ fit.weights
        weights[-1] += rule.response_centre
        covariance = None if fit.covariance is None else matrix @ fit.covariance @ matrix.T
        deviation = None if fit.deviation is None else fit.deviation * rule.response_bound
        return RegressionModel(
            public,
            rule.design,
            weights[:-1],
            offset=float(weights[-1]),
            covariance=covariance,
            deviation=deviation,
            about=" ".join([f"It was found by {estimator.name}.", *fit.notes]),
        )
