"""A method that releases a statistic written as a formula; the data kind says what names mean.

Each unit is measured once, by a primitive with its own part of the budget; the formula is evaluated
on what was said. Nothing here looks at data.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.allocation import equal_shares, given_shares, optimal_shares
from sfumato.mechanisms.expression.estimate import Estimate, estimate
from sfumato.mechanisms.expression.measuring import UnitPlan, measure_units, plan_units
from sfumato.mechanisms.expression.noises import EstimatedNoise, HiddenNoise
from sfumato.mechanisms.expression.parameters import Figures, Formula, Range, Split
from sfumato.mechanisms.expression.reading import Vocabulary, read_formula
from sfumato.mechanisms.expression.release import StatisticRelease
from sfumato.mechanisms.expression.terms import Term, Unit
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss, Number, PureDP
from sfumato.privacy.method import DataT, Method
from sfumato.privacy.parameters import OrNone, Positive, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Program

__all__ = ["FormulaMethod"]


@dataclass(frozen=True, kw_only=True)
class FormulaMethod(Method[DataT, StatisticRelease]):
    """Release a statistic that is written as a formula.

    Parameters
    ----------
    epsilon
        Privacy loss, shared among the units of the formula.
    expression
        The formula.
    split
        How ε is shared: `"equal"`, `"optimal"` for the values in `guess`, or weights by unit.
    guess
        Public guesses at the values of the units, made without looking at the data.
    floor
        The least a denominator may be; denominators are taken to be positive.
    between
        A public range that the value is moved into.
    """

    expression: str = parameter(Formula())
    split: Any = parameter(Split(), "equal")
    guess: Any = parameter(OrNone(Figures(positive=False)), None)
    floor: Number = parameter(Positive(), Fraction(1, 2))
    between: Any = parameter(OrNone(Range()), None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.split == "optimal") != (self.guess is not None):
            raise ValueError(
                "split='optimal' and guess={unit: value, …} belong together: the best split "
                "depends on the values, and the data may not be asked"
            )

    @abstractmethod
    def _vocabulary(self, public: Any) -> Vocabulary:
        """Return what names mean, from what is public."""

    def _entries(self, public: Any, many: int) -> tuple[str, ...]:
        """Return what the entries of a vector are called."""
        return tuple(str(place) for place in range(many))

    def _term(self, public: Any, expression: str) -> Term:
        return read_formula(expression, self._vocabulary(public))

    def check(self, public: Any) -> None:
        """Raise where the formula does not fit what is public, or the budget the formula."""
        super().check(public)
        term = self._term(public, self.expression)
        if not term.units:
            raise ValueError(f"{self.expression!r} names no unit statistic: nothing is measured")
        self._shares(term)

    def _shares(self, term: Term) -> dict[Unit, Fraction]:
        """Return the share of ε of each unit, from public facts."""
        if self.split == "equal":
            return equal_shares(term)
        if self.split != "optimal":
            return given_shares(term, dict(self.split))
        guesses, guessed = {}, dict(self.guess)
        for unit in term.units:
            if unit.text not in guessed:
                raise ValueError(f"guess has no value for {unit.text}")
            value = np.float64(float(guessed[unit.text]))
            guesses[unit] = value if unit.entries is None else np.full(unit.entries, value)
        spreads = {unit: unit.statistic.spread for unit in term.units}
        return optimal_shares(term, guesses, spreads, floor=self._floor)

    @property
    def _floor(self) -> float:
        return float(Fraction(self.floor))

    def _plans(self, public: Any) -> tuple[UnitPlan, ...]:
        limit, _ = self.record_budget(public)
        term = self._term(public, self.expression)
        return plan_units(term, self._shares(term), limit, error_share=self._error_share)

    @property
    def _error_share(self) -> Fraction | None:
        """The share of a unit's ε that tells the scale of its noise where that is private."""
        return None

    def plan(self, public: Any) -> Plan:
        """Return what each unit costs, and its error where that is public."""
        self.check(public)
        plans = self._plans(public)
        notes = [f"The formula is {self.expression}."]
        if any(plan.scale is not None for plan in plans):
            notes.append(
                "Some noise follows the data; its scale is told with noise of its own, so that the "
                "standard error will be an estimate."
            )
        elif any(isinstance(plan.noise, HiddenNoise) for plan in plans):
            notes.append("Some noise follows the data, so no standard error will be told.")
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(step for plan in plans for step in self._steps(plan, public)),
            notes=tuple(notes),
        )

    def _steps(self, plan: UnitPlan, public: Any) -> tuple[PlanStep, ...]:
        first = _step(plan, self._planned_loss(plan.loss, public))
        if plan.scale is None or plan.scale_loss is None:
            return (first,)
        second = PlanStep(
            what=plan.scale_label,
            loss=self._planned_loss(plan.scale_loss, public),
            noise=f"a factor of e^± {math.sqrt(2) * plan.scale.spread:.4g} (1 s.d.)",
            error=f"a factor of {math.exp(math.log(20) * plan.scale.spread):,.4g} either way",
        )
        return first, second

    def _planned_loss(self, loss: Loss, public: Any) -> Loss:
        """Return what a measurement costs one unit of the data, which may have several records."""
        limit, working = self.record_budget(public)[0], self.working_loss()
        if limit == working or not isinstance(working, PureDP) or not isinstance(limit, PureDP):
            return loss
        assert isinstance(loss, PureDP)
        return working.share(loss.epsilon / limit.epsilon)

    def program(self, public: Any, budget: Budget) -> Program[StatisticRelease]:
        """Ask for all units, and evaluate the formula on what was said."""
        measured = yield from measure_units(budget, self._plans(public))
        yield FINISH
        values, noises = measured.values, measured.noises
        ends = None if self.between is None else tuple(float(end) for end in self.between)

        def evaluate(expression: str) -> Estimate:
            term = self._term(public, expression)
            missing = [unit.text for unit in term.units if unit not in values]
            if missing:
                others = ", ".join(unit.text for unit in values)
                raise ValueError(f"{missing[0]} was not measured; there are {others}")
            own = ends if expression == self.expression else None
            return estimate(term, values, noises, floor=self._floor, between=own)  # type: ignore[arg-type]

        found = evaluate(self.expression)
        many = len(found.value) if np.ndim(found.value) else 0
        return StatisticRelease(
            self.expression,
            found,
            {unit.text: value for unit, value in values.items()},
            entries=self._entries(public, many),
            following=any(isinstance(noise, HiddenNoise) for noise in noises.values()),
            estimated=any(isinstance(noise, EstimatedNoise) for noise in noises.values()),
            evaluate=evaluate,
        )


def _step(plan: UnitPlan, loss: Loss) -> PlanStep:
    primitive = plan.primitive
    if isinstance(primitive, GeometricNoise):
        step = float(plan.unit.statistic.step)
        off = float(primitive.scale) * math.log(20) * step
        many = "" if plan.unit.entries is None else f", {plan.unit.entries} entries"
        return PlanStep(
            what=f"{plan.unit.text}{many}",
            loss=loss,
            noise=f"± {primitive.standard_deviation * step:,.4g} (1 s.d.)",
            error=f"± {off:,.4g}",
            figures={"margin": off},
        )
    return PlanStep(
        what=plan.unit.text,
        loss=loss,
        noise=primitive.kind.removesuffix(" noise"),
        error="follows the data, so it is private",
    )
