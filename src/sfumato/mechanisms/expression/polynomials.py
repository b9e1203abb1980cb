"""Formulas that are polynomials of their units: exact unbiased estimates and exact variances.

A polynomial maps monomials to coefficients. Coefficients are exact fractions, so that what cancels
cancels; they are public. Values come in only when a polynomial is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.noises import HiddenNoise, Noise
from sfumato.mechanisms.expression.terms import (
    Constant,
    Item,
    Power,
    Product,
    Sum,
    Term,
    Total,
    Unit,
)

__all__ = ["Polynomial", "Variable", "number", "polynomial_of", "remove_bias", "variance"]

#: A formula with more monomials is not written out.
MOST_MONOMIALS = 4000
#: Noisy values and coefficients are cut to this in floating point.
LARGEST = 1e300


@dataclass(frozen=True)
class Variable:
    """A noisy number: a unit, all entries of a vector alike, or one entry of it."""

    unit: Unit
    index: int | None = None


Monomial = tuple[tuple[Variable, int], ...]
Polynomial = dict[Monomial, Fraction]
ONE: Monomial = ()
#: What a noisy number itself is replaced by: itself.
LINEAR = {1: Fraction(1)}


def _monomial(powers: Mapping[Variable, int]) -> Monomial:
    """Return a monomial with its variables in a fixed order, so that sums are taken in one."""
    return tuple(sorted(powers.items(), key=_place))


def _place(power: tuple[Variable, int]) -> tuple[str, int]:
    variable = power[0]
    return variable.unit.text, -1 if variable.index is None else variable.index


def polynomial_of(term: Term) -> Polynomial | None:
    """Return a formula as a polynomial; `None` if it is none, or one of too many monomials."""
    if isinstance(term, Constant):
        return {ONE: term.value} if term.value else {}
    if isinstance(term, Unit):
        return {((Variable(term), 1),): Fraction(1)}
    if isinstance(term, Item):
        assert isinstance(term.of, Unit)
        return {((Variable(term.of, term.index), 1),): Fraction(1)}
    if isinstance(term, Total):
        return _total(term)
    if isinstance(term, Power):
        base = polynomial_of(term.of)
        return None if base is None else _power(base, term.exponent)
    if isinstance(term, Sum | Product):
        left, right = polynomial_of(term.left), polynomial_of(term.right)
        if left is None or right is None:
            return None
        return _plus(left, right) if isinstance(term, Sum) else _times(left, right)
    return None


def _total(term: Total) -> Polynomial | None:
    """Return the sum over the entries of a vector, written out."""
    inner, length = polynomial_of(term.of), term.of.length
    assert length is not None
    if inner is None or len(inner) * length > MOST_MONOMIALS:
        return None
    total: Polynomial = {}
    for index in range(length):
        for monomial, coefficient in inner.items():
            powers: dict[Variable, int] = {}
            for variable, power in monomial:
                entry = _entry(variable, index)
                powers[entry] = powers.get(entry, 0) + power
            _add(total, _monomial(powers), coefficient)
    return total


def _entry(variable: Variable, index: int) -> Variable:
    whole = variable.index is None and variable.unit.entries is not None
    return Variable(variable.unit, index) if whole else variable


def _add(polynomial: Polynomial, monomial: Monomial, coefficient: Fraction) -> None:
    value = polynomial.get(monomial, Fraction(0)) + coefficient
    if value:
        polynomial[monomial] = value
    else:
        polynomial.pop(monomial, None)


def _plus(left: Polynomial, right: Polynomial, sign: int = 1) -> Polynomial | None:
    total = dict(left)
    for monomial, coefficient in right.items():
        _add(total, monomial, sign * coefficient)
    return total if len(total) <= MOST_MONOMIALS else None


def _times(left: Polynomial, right: Polynomial) -> Polynomial | None:
    if len(left) * len(right) > MOST_MONOMIALS**2 // 64:
        return None
    product: Polynomial = {}
    for first, a in left.items():
        for second, b in right.items():
            powers = dict(first)
            for variable, power in second:
                powers[variable] = powers.get(variable, 0) + power
            _add(product, _monomial(powers), a * b)
    return product if len(product) <= MOST_MONOMIALS else None


def _power(base: Polynomial, exponent: int) -> Polynomial | None:
    power: Polynomial | None = {ONE: Fraction(1)}
    for _ in range(exponent):
        power = None if power is None else _times(power, base)
    return power


def remove_bias(polynomial: Polynomial, noises: Mapping[Unit, Noise]) -> Polynomial | None:
    """Return the polynomial in noisy values whose mean is the given one in the true values.

    `None` if the noise of a unit that occurs in a power above 1 is private, or has no mean.
    """
    return _replace_powers(polynomial, noises, _unbiased_power)


def _unbiased_power(noise: Noise, power: int) -> dict[int, Fraction] | None:
    if not isinstance(noise, HiddenNoise):
        return noise.unbiased_power(power)
    return {1: Fraction(1)} if power == 1 and noise.centred else None


def _mean_power(noise: Noise, power: int) -> dict[int, Fraction] | None:
    """Return E[(a + Z)^power] as a polynomial in a; noise of a private scale is refused before."""
    assert not isinstance(noise, HiddenNoise)
    moments = noise.moments(power)
    if moments is None:
        return None
    return {power - k: comb(power, k) * moments[k] for k in range(power + 1) if moments[k]}


def _replace_powers(
    polynomial: Polynomial, noises: Mapping[Unit, Noise], rule: Any
) -> Polynomial | None:
    """Return a polynomial with every power of every variable replaced by a polynomial in it."""
    total: Polynomial = {}
    for monomial, coefficient in polynomial.items():
        product: Polynomial = {ONE: coefficient}
        singles = [rule(noises[variable.unit], power) for variable, power in monomial]
        if all(single == LINEAR for single in singles):
            _add(total, monomial, coefficient)
            continue
        for (variable, _), single in zip(monomial, singles, strict=True):
            if single is None:
                return None
            replaced = {
                (((variable, degree),) if degree else ONE): factor
                for degree, factor in single.items()
                if factor
            }
            multiplied = _times(product, replaced)
            if multiplied is None:
                return None
            product = multiplied
        for part, value in product.items():
            _add(total, part, value)
    return total if len(total) <= MOST_MONOMIALS else None


def variance(estimator: Polynomial, noises: Mapping[Unit, Noise]) -> Polynomial | None:
    """Return the variance of a polynomial in noisy values, as a polynomial in the true ones.

    `None` if a noise is private or lacks a moment, or if there are too many monomials.
    """
    units = {variable.unit for monomial in estimator for variable, _ in monomial}
    if any(isinstance(noises[unit], HiddenNoise) for unit in units):
        return None
    square, mean = _power(estimator, 2), _replace_powers(estimator, noises, _mean_power)
    if square is None or mean is None:
        return None
    second, mean_square = _replace_powers(square, noises, _mean_power), _power(mean, 2)
    if second is None or mean_square is None:
        return None
    return _plus(second, mean_square, -1)


def number(value: Fraction | int | float) -> np.float64:
    """Return a number in floating point, cut to ±1e300."""
    if isinstance(value, float):
        return np.float64(min(max(value, -LARGEST), LARGEST))
    most = 10**300
    return np.float64(float(min(max(value, -most), most)))


def evaluate(polynomial: Polynomial, values: Mapping[Unit, Any]) -> Any:
    """Return the value of a polynomial: a float, or an array of them.

    Parameters
    ----------
    polynomial
        What is evaluated.
    values
        The value of every unit, in floating point.
    """
    total: Any = np.float64(0)
    with np.errstate(all="ignore"):
        for monomial, coefficient in polynomial.items():
            product: Any = number(coefficient)
            for variable, power in monomial:
                value = values[variable.unit]
                base = value if variable.index is None else value[variable.index]
                product = product * base**power
            total = total + product
    return total
