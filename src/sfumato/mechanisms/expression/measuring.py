"""Measuring the units of a formula, each once, and reading what was said.

What a unit is and how far it moves between neighbours is the business of the data kind; here its
budget is cut and its primitive is paid. Which primitive a unit gets is decided by public facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from sfumato.mechanisms.expression.noises import Noise
from sfumato.mechanisms.expression.terms import Term, Unit
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP, Loss, PureDP
from sfumato.privacy.primitive import Primitive
from sfumato.privacy.transcript import Transcript

__all__ = ["Statistic", "UnitPlan", "measure_units", "plan_units", "read_units"]


class Statistic(Protocol):
    """What a data kind knows about a unit statistic."""

    @property
    def needs_delta(self) -> bool:
        """Whether its noise costs a part of δ. Public."""

    @property
    def spread(self) -> float:
        """How wide its noise is likely to be at ε = 1. Public."""

    def primitive(self, epsilon: Fraction, delta: Fraction | None) -> Primitive:
        """Return the primitive that measures it. Public."""

    def given(self, data: Any, primitive: Any) -> Any:
        """Return what the primitive looks at. Private."""

    def read(self, primitive: Any, said: Any) -> Any:
        """Return the noisy value, a number or an array, from what the primitive said."""

    def noise(self, primitive: Any) -> Noise:
        """Return what is publicly known about the noise."""


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
    """

    unit: Unit
    loss: Loss
    primitive: Primitive

    @property
    def noise(self) -> Noise:
        """What is publicly known about its noise."""
        found: Noise = self.unit.statistic.noise(self.primitive)
        return found


def plan_units(term: Term, shares: Mapping[Unit, Fraction], budget: Loss) -> tuple[UnitPlan, ...]:
    """Return how each unit of a formula is measured.

    Parameters
    ----------
    term
        The formula.
    shares
        The share of ε of each unit.
    budget
        The pure or approximate loss to be spent; δ is shared equally by the units that need it.
    """
    assert isinstance(budget, PureDP | ApproxDP)
    needy = sum(unit.statistic.needs_delta for unit in term.units)
    plans = []
    for unit in term.units:
        epsilon, delta = budget.epsilon * shares[unit], None
        if unit.statistic.needs_delta and isinstance(budget, ApproxDP):
            delta = budget.delta / needy
        pure = isinstance(budget, PureDP)
        loss: Loss = PureDP(epsilon) if pure else ApproxDP(epsilon, delta or 0)
        plans.append(UnitPlan(unit, loss, unit.statistic.primitive(epsilon, delta)))
    return tuple(plans)


def measure_units(budget: Budget, plans: tuple[UnitPlan, ...], data: Any) -> None:
    """Measure each unit from its own slice.

    Parameters
    ----------
    budget
        What pays.
    plans
        What is measured.
    data
        What the statistics look at. Private.
    """
    for plan in plans:
        text = plan.unit.text
        value = plan.unit.statistic.given(data, plan.primitive)
        budget.take(plan.loss, text).measure(plan.primitive, value, label=text)


def read_units(transcript: Transcript, plans: tuple[UnitPlan, ...]) -> dict[Unit, Any]:
    """Return the noisy value of each unit from what was said."""
    return {
        plan.unit: plan.unit.statistic.read(plan.primitive, transcript[plan.unit.text])
        for plan in plans
    }
