"""A formula at given values, with its first and second derivatives by every unit.

For the delta method: the derivatives are taken at noisy values. Only the pure second derivatives
are kept, which is enough since the noises are independent of one another. The derivatives of a
vector by a vector are its diagonal; where there is more than that (a vector divided by its own sum)
they are not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.polynomials import number
from sfumato.mechanisms.expression.terms import (
    Constant,
    Function,
    Item,
    Power,
    Product,
    Ratio,
    Sum,
    Term,
    Total,
    Unit,
)

__all__ = ["Jet", "combine", "function_value", "jet_of", "ratio_value"]


@dataclass(frozen=True)
class Jet:
    """A value with derivatives.

    Parameters
    ----------
    value
        A float, or an array for a vector.
    first, second
        For each unit the first and second derivatives by it. Of a number by a vector unit they
        are arrays over its entries; of a vector by a vector unit, the diagonals.
    told
        Whether the derivatives are all there.
    """

    value: Any
    first: dict[Unit, Any] = field(default_factory=dict)
    second: dict[Unit, Any] = field(default_factory=dict)
    told: bool = True


def ratio_value(left: Any, right: Any, *, floor: float, share: bool) -> Any:
    """Return a ratio with the denominator at least the floor; a share lies between 0 and 1."""
    ratio = left / np.maximum(right, floor)
    if not share:
        return ratio
    return np.where(np.asarray(right) < floor, 0.0, np.clip(ratio, 0.0, 1.0))[()]


def function_value(name: str, value: Any, floor: float) -> Any:
    """Return a function that is continued where it has no value: roots of 0, logs of the floor."""
    return _derivatives(name, value, floor)[0]


def _derivatives(name: str, value: Any, floor: float) -> tuple[Any, Any, Any]:
    """Return a function with its two derivatives."""
    if name == "abs":
        return np.abs(value), np.sign(value), np.zeros_like(value)
    if name == "exp":
        power = np.exp(np.minimum(value, 600.0))
        return power, power, power
    safe = np.maximum(value, floor)
    if name == "sqrt":
        root = np.sqrt(safe)
        return np.sqrt(np.maximum(value, 0.0)), 0.5 / root, -0.25 / (root * safe)
    return np.log(safe), 1 / safe, -1 / safe**2


def jet_of(term: Term, values: Mapping[Unit, Any], *, floor: float) -> Jet:
    """Return a formula with its derivatives at given values.

    Parameters
    ----------
    term
        The formula.
    values
        The value of every unit: a float, or an array.
    floor
        The least a denominator may be.
    """
    with np.errstate(all="ignore"):
        return _jet(term, values, floor)


def _jet(term: Term, values: Mapping[Unit, Any], floor: float) -> Jet:
    if isinstance(term, Constant):
        return Jet(number(term.value))
    if isinstance(term, Unit):
        value = values[term]
        return Jet(value, {term: np.ones_like(value)}, {term: np.zeros_like(value)})
    if isinstance(term, Item):
        assert isinstance(term.of, Unit)
        return _entry(values[term.of], term.of, term.index)
    inner = [_jet(part, values, floor) for part in term.parts]
    if isinstance(term, Total):
        return _total(inner[0])
    if isinstance(term, Power):
        k, x = term.exponent, inner[0].value
        slope = k * x ** max(k - 1, 0) if k else np.zeros_like(x)
        bend = k * (k - 1) * x ** max(k - 2, 0) if k > 1 else np.zeros_like(x)
        return _chain(inner[0], x**k, slope, bend)
    if isinstance(term, Function):
        return _chain(inner[0], *_derivatives(term.name, inner[0].value, floor))
    left, right = inner
    if isinstance(term, Sum):
        return _plus(left, right)
    if isinstance(term, Product):
        return _times(left, right)
    assert isinstance(term, Ratio)
    below = np.maximum(right.value, floor)
    ratio = _times(left, _chain(right, 1 / below, -1 / below**2, 2 / below**3))
    value = ratio_value(left.value, right.value, floor=floor, share=term.share)
    return Jet(value, ratio.first, ratio.second, ratio.told)


def _entry(values: Any, unit: Unit, index: int) -> Jet:
    chosen = np.zeros_like(values)
    chosen[index] = 1.0
    return Jet(values[index], {unit: chosen}, {unit: np.zeros_like(values)})


def _total(inner: Jet) -> Jet:
    """Return the sum of a vector: derivatives by a vector stay entry by entry, others add up."""

    def kept(unit: Unit, slope: Any) -> Any:
        return slope if unit.entries is not None else np.sum(slope)

    return Jet(
        np.sum(inner.value),
        {unit: kept(unit, slope) for unit, slope in inner.first.items()},
        {unit: kept(unit, bend) for unit, bend in inner.second.items()},
        inner.told,
    )


def _chain(inner: Jet, value: Any, slope: Any, bend: Any) -> Jet:
    """Return a function of a jet, given its value and derivatives."""
    return Jet(
        value,
        {unit: slope * first for unit, first in inner.first.items()},
        {unit: bend * first**2 + slope * inner.second[unit] for unit, first in inner.first.items()},
        inner.told,
    )


def _plus(left: Jet, right: Jet) -> Jet:
    if not _diagonal(left, right):
        return Jet(left.value + right.value, told=False)
    first, second = {}, {}
    for unit in {**left.first, **right.first}:
        first[unit] = left.first.get(unit, 0.0) + right.first.get(unit, 0.0)
        second[unit] = left.second.get(unit, 0.0) + right.second.get(unit, 0.0)
    return _join_jets(left, right, left.value + right.value, first, second)


def _times(left: Jet, right: Jet) -> Jet:
    if not _diagonal(left, right):
        return Jet(left.value * right.value, told=False)
    first, second = {}, {}
    for unit in {**left.first, **right.first}:
        a, b = left.first.get(unit, 0.0), right.first.get(unit, 0.0)
        first[unit] = a * right.value + left.value * b
        bends = left.second.get(unit, 0.0) * right.value
        second[unit] = bends + left.value * right.second.get(unit, 0.0) + 2 * a * b
    return _join_jets(left, right, left.value * right.value, first, second)


def _join_jets(
    left: Jet, right: Jet, value: Any, first: dict[Unit, Any], second: dict[Unit, Any]
) -> Jet:
    """Return two jets joined; a number stands for every entry where the value is a vector."""
    if np.ndim(value):
        shape = np.shape(value)
        first = {unit: np.broadcast_to(slope, shape) for unit, slope in first.items()}
        second = {unit: np.broadcast_to(bend, shape) for unit, bend in second.items()}
    return Jet(value, first, second, left.told and right.told)


def _diagonal(left: Jet, right: Jet) -> bool:
    """Tell whether a vector and a number made of a vector unit's entries do not meet."""
    for one, other in ((left, right), (right, left)):
        mixed = bool(np.ndim(one.value)) and not np.ndim(other.value)
        if mixed and any(unit.entries is not None for unit in other.first):
            return False
    return True


def combine(slopes: Mapping[Unit, Any], variances: Mapping[Unit, float], *, vector: bool) -> Any:
    """Return Σ slope·variance over the units, and over the entries of a vector unit of a number.

    Parameters
    ----------
    slopes
        Squared first, or second, derivatives.
    variances
        The variance of the noise of each unit.
    vector
        Whether the value is a vector.
    """
    total: Any = np.float64(0)
    with np.errstate(all="ignore"):
        for unit, slope in slopes.items():
            part = slope * variances[unit]
            total = total + (part if vector or unit.entries is None else np.sum(part))
    return total
