"""Asking for the units of a formula, each once.

What a unit is and how far it moves between neighbours is the business of the data kind; here its
budget is cut and its primitive is chosen, by public facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.mechanisms.expression.noises import Noise
from sfumato.mechanisms.expression.queries import UnitQuery
from sfumato.mechanisms.expression.scale import ScaleNoise, SmoothNoise
from sfumato.mechanisms.expression.terms import Term, Unit
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, PureDP
from sfumato.privacy.primitive import Primitive
from sfumato.privacy.program import Ask, Program

__all__ = ["MeasuredUnits", "UnitPlan", "measure_units", "plan_units"]


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
