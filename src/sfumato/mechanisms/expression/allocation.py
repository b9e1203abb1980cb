"""How a budget is shared among the units of a formula: from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.jets import jet_of
from sfumato.mechanisms.expression.terms import Term, Unit

__all__ = ["equal_shares", "given_shares", "optimal_shares"]

#: Shares are whole multiples of one over this; no unit gets less than one of them.
PARTS = 1000


def equal_shares(term: Term) -> dict[Unit, Fraction]:
    """Return the same share for every unit."""
    units = term.units
    return {unit: Fraction(1, len(units)) for unit in units}


def given_shares(term: Term, weights: Mapping[str, Fraction]) -> dict[Unit, Fraction]:
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
            f"the budget is shared among {', '.join(units)}; got weights for "
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
