"""A method that releases a statistic written as a formula; the data kind says what names mean.

Each unit is measured once, by a primitive with its own part of the budget; the formula is evaluated
on what was said. Nothing here looks at data.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.estimate import Estimate, estimate
from sfumato.mechanisms.expression.jets import jet_of
from sfumato.mechanisms.expression.noises import EstimatedNoise, HiddenNoise, Noise
from sfumato.mechanisms.expression.parameters import Figures, Formula, Range, Split
from sfumato.mechanisms.expression.queries import UnitQuery
from sfumato.mechanisms.expression.reading import Vocabulary, read_formula
from sfumato.mechanisms.expression.release import StatisticRelease
from sfumato.mechanisms.expression.scale import ScaleNoise, SmoothNoise
from sfumato.mechanisms.expression.terms import Term, Unit
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, Number, PureDP
from sfumato.privacy.method import DataT, Method
from sfumato.privacy.parameters import OrNone, Positive, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.primitive import Primitive
from sfumato.privacy.program import FINISH, Ask, Program

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
                "split='optimal' and guess={unit: value, …} must be given together: the best "
                "split depends on the values, which must not be computed from private data"
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
            raise ValueError(f"{self.expression!r} has no unit to measure; use at least one")
        self._shares(term)

    def _shares(self, term: Term) -> dict[Unit, Fraction]:
        """Return the share of ε of each unit, from public facts."""
        if self.split == "equal":
            return equal_shares(term)
        if self.split != "optimal":
            return share_by_weights(term, dict(self.split))
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
                "The scale of some noise depends on the data; it is measured with noise, so the "
                "standard error will be an estimate."
            )
        elif any(isinstance(plan.noise, HiddenNoise) for plan in plans):
            notes.append(
                "The scale of some noise depends on the data, so no standard error is released."
            )
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
                raise ValueError(f"{missing[0]} was not measured; measured units: {others}")
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
        error="varies with the data, so it is private",
    )


# How a budget is shared among the units of a formula: from public facts alone.


#: Shares are whole multiples of one over this; no unit gets less than one of them.
PARTS = 1000


def equal_shares(term: Term) -> dict[Unit, Fraction]:
    """Return the same share for every unit."""
    units = term.units
    return {unit: Fraction(1, len(units)) for unit in units}


def share_by_weights(term: Term, weights: Mapping[str, Fraction]) -> dict[Unit, Fraction]:
    """Return shares in the proportion of given weights.

    Parameters
    ----------
    term
        The formula.
    weights
        A positive weight for the text of each unit.
    """
    units = {unit.text: unit for unit in term.units}
    if set(weights) != set(units):
        raise ValueError(
            f"split must have a weight for each of {', '.join(units)}; got "
            f"{', '.join(weights) or 'nothing'}"
        )
    total = sum(weights.values(), Fraction(0))
    return {units[text]: weights[text] / total for text in units}


def optimal_shares(
    term: Term,
    guesses: Mapping[Unit, Any],
    sensitivities: Mapping[Unit, float],
    *,
    floor: float = 0.5,
) -> dict[Unit, Fraction]:
    """Return the shares that make the error of a formula least where the guesses are right.

    Parameters
    ----------
    term
        The formula.
    guesses
        A public guess at the value of every unit, made without looking at the data.
    sensitivities
        How wide the noise of a unit is at ε = 1.
    floor
        The least a denominator may be.

    Notes
    -----
    The mean squared error of the delta method is Σ 2·(gᵢΔᵢ/εᵢ)², with gᵢ the derivative by the
    unit i; under Σεᵢ = ε it is least for εᵢ ∝ (gᵢΔᵢ)^(2/3). For a vector gᵢ is the root of the sum
    of squares over its entries.
    """
    jet = jet_of(term, guesses, floor=floor)
    if not jet.told:
        return equal_shares(term)
    weights = {
        unit: float(np.sqrt(np.sum(np.square(jet.first[unit])))) * sensitivities[unit]
        for unit in term.units
    }
    largest = max(weights.values())
    if not 0 < largest < float("inf"):
        return equal_shares(term)
    # Rounded to a few digits, so that every machine finds the same shares.
    parts = {
        unit: max(1, round(PARTS * (weight / largest) ** (2 / 3)))
        for unit, weight in weights.items()
    }
    total = sum(parts.values())
    return {unit: Fraction(part, total) for unit, part in parts.items()}


# Asking for the units of a formula, each once.
#
# What a unit is and how far it moves between neighbours is the business of the data kind; here its
# budget is cut and its primitive is chosen, by public facts.


@dataclass(frozen=True)
class UnitPlan:
    """What a unit costs and how it is measured.

    Parameters
    ----------
    unit
        The unit.
    loss
        Its part of the budget.
    primitive
        What measures it.
    scale
        How the scale of its noise is told, where that follows the data and is paid for.
    scale_loss
        What that costs.
    """

    unit: Unit
    loss: Loss
    primitive: Primitive
    scale: ScaleNoise | None = None
    scale_loss: Loss | None = None

    @property
    def scale_label(self) -> str:
        """What the scale is called in transcripts."""
        return f"scale of {self.unit.text}"

    @property
    def noise(self) -> Noise:
        """What is publicly known about its noise before anything is told."""
        found: Noise = self.unit.statistic.noise(self.primitive)
        return found


def plan_units(
    term: Term,
    shares: Mapping[Unit, Fraction],
    budget: Loss,
    *,
    error_share: Fraction | None = None,
) -> tuple[UnitPlan, ...]:
    """Return how each unit of a formula is measured.

    Parameters
    ----------
    term
        The formula.
    shares
        The share of ε of each unit.
    budget
        The pure or approximate loss to be spent; δ is shared equally by the units that need it.
    error_share
        The share of a unit's ε that tells the scale of its noise, where that follows the data.
    """
    assert isinstance(budget, PureDP | ApproxDP)
    needy = sum(unit.statistic.needs_delta for unit in term.units)
    plans = []
    for unit in term.units:
        epsilon, delta = budget.epsilon * shares[unit], None
        if unit.statistic.needs_delta and isinstance(budget, ApproxDP):
            delta = budget.delta / needy
        plans.append(_plan(unit, epsilon, delta, error_share, pure=isinstance(budget, PureDP)))
    return tuple(plans)


def _plan(
    unit: Unit,
    epsilon: Fraction,
    delta: Fraction | None,
    error_share: Fraction | None,
    *,
    pure: bool,
) -> UnitPlan:
    def loss(part: Fraction, failure: Fraction | None) -> Loss:
        return PureDP(part) if pure else ApproxDP(part, failure or 0)

    primitive = unit.statistic.primitive(epsilon, delta)
    if error_share is None or not isinstance(primitive, SmoothNoise):
        return UnitPlan(unit, loss(epsilon, delta), primitive)
    rest, part = epsilon * (1 - error_share), epsilon * error_share
    smaller = unit.statistic.primitive(rest, delta)
    assert isinstance(smaller, SmoothNoise)
    scale = ScaleNoise(smaller, part)
    return UnitPlan(unit, loss(rest, delta), smaller, scale, loss(part, None))


@dataclass(frozen=True)
class MeasuredUnits:
    """The noisy value of each unit, and what is known of its noise after all was said."""

    values: dict[Unit, Any]
    noises: dict[Unit, Noise]


def measure_units(budget: Budget, plans: Sequence[UnitPlan]) -> Program[MeasuredUnits]:
    """Ask for all units at once, each from its own slice.

    Parameters
    ----------
    budget
        What pays.
    plans
        What is measured.
    """
    asks = []
    for plan in plans:
        query, text = UnitQuery(plan.unit, plan.primitive), plan.unit.text
        asks.append(Ask(budget.take(plan.loss, text), plan.primitive, query, text))
        if plan.scale is not None and plan.scale_loss is not None:
            part, label = budget.take(plan.scale_loss, plan.scale_label), plan.scale_label
            asks.append(Ask(part, plan.scale.primitive, replace(query, scale=plan.scale), label))
    said = dict(zip([ask.label for ask in asks], (yield asks), strict=True))
    return MeasuredUnits(
        {
            plan.unit: plan.unit.statistic.read(plan.primitive, said[plan.unit.text])
            for plan in plans
        },
        {
            plan.unit: plan.noise if plan.scale is None else plan.scale.read(said[plan.scale_label])
            for plan in plans
        },
    )
