"""The value of a formula from noisy units, with what is known of its error.

Everything here is post-processing of what primitives said. Sums, products of independent parts and
polynomials are estimated without bias; a ratio or another function cannot be, and its bias is told
by the delta method. Where the scale of a noise is private, no error is told: it would tell it.
Where such a scale was paid for, it is a noisy estimate, and so are errors that follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.mechanisms.expression.jets import combine, function_value, jet_of, ratio_value
from sfumato.mechanisms.expression.noises import EstimatedNoise, HiddenNoise, Noise
from sfumato.mechanisms.expression.polynomials import (
    LARGEST,
    Polynomial,
    evaluate,
    number,
    polynomial_of,
    remove_bias,
    variance,
)
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

__all__ = ["Estimate", "estimate", "plain_value"]

Range = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A statistic estimated from noisy units.

    Parameters
    ----------
    value
        The estimate, a float, or an array for a vector.
    standard_error
        Its standard error: exact for a polynomial but for the noisy values it is evaluated at,
        otherwise by the delta method. `None` where a noise follows the data and its scale is
        private; where that was paid for, a noisy estimate.
    bias
        The mean error: 0 where the estimate is unbiased, by the delta method otherwise, `None`
        where it is not known. It is told, not subtracted.
    """

    value: Any
    standard_error: Any | None
    bias: Any | None


def plain_value(term: Term, values: Mapping[Unit, Any], *, floor: float = 0.5) -> Any:
    """Return a formula at given values, with nothing corrected.

    Parameters
    ----------
    term
        The formula.
    values
        The value of every unit.
    floor
        The least a denominator may be.
    """
    return jet_of(term, values, floor=floor).value


def estimate(
    term: Term,
    values: Mapping[Unit, Any],
    noises: Mapping[Unit, Noise],
    *,
    floor: float = 0.5,
    between: Range | None = None,
) -> Estimate:
    """Return the estimate of a formula.

    Parameters
    ----------
    term
        The formula.
    values
        The noisy value of every unit.
    noises
        What is publicly known about the noise of every unit.
    floor
        The least a denominator may be.
    between
        A public range that the estimate is moved into, which changes its bias; it is not counted.
    """
    safe = {unit: _float(value) for unit, value in values.items()}
    walk = _Walk(safe, noises, floor)
    with np.errstate(all="ignore"):
        value = walk.value(term)
    known = not any(isinstance(noises[unit], HiddenNoise) for unit in term.units)
    error, bias = None, None
    if known:
        error, bias = _delta_method(term, safe, noises, floor, value)
        exact = _exact_error(term, safe, noises)
        error = error if exact is None else exact
    if walk.exact:
        bias = _zeros(value)
    moved = value if between is None else np.clip(value, *between)
    return Estimate(*(_finite(figure, term.length) for figure in (moved, error, bias)))


class _Walk:
    """Estimates a formula from its parts, and notes whether that is without bias."""

    def __init__(
        self, values: Mapping[Unit, Any], noises: Mapping[Unit, Noise], floor: float
    ) -> None:
        self.values = values
        self.noises = noises
        self.floor = floor
        self.exact = True

    def value(self, term: Term) -> Any:
        """Return the estimate of a term."""
        if isinstance(term, Constant):
            return number(term.value)
        if isinstance(term, Unit | Item):
            return self._unit(term)
        if isinstance(term, Sum):
            return self.value(term.left) + self.value(term.right)
        if isinstance(term, Total):
            return np.sum(self.value(term.of))
        if isinstance(term, Product) and not _overlap(term.left, term.right):
            # The mean of a product of independent estimates is the product of their means.
            if any(
                unit in term.right.units and self._estimate_term(unit) for unit in term.left.units
            ):
                # Entries of a vector share one estimate of their scale.
                self.exact = False
            return self.value(term.left) * self.value(term.right)
        if isinstance(term, Product | Power):
            return self._write_out_product(term)
        self.exact = False
        if isinstance(term, Function):
            return function_value(term.name, self.value(term.of), self.floor)
        assert isinstance(term, Ratio)
        return ratio_value(
            self.value(term.left), self.value(term.right), floor=self.floor, share=term.share
        )

    def _unit(self, term: Unit | Item) -> Any:
        unit = term if isinstance(term, Unit) else term.of
        assert isinstance(unit, Unit)
        noise = self.noises[unit]
        if isinstance(noise, HiddenNoise) and not noise.centred:
            self.exact = False
        value = self.values[unit]
        return value if isinstance(term, Unit) else value[term.index]

    def _write_out_product(self, term: Product | Power) -> Any:
        """Return the estimate of a product of dependent parts or of a power."""
        corrected = _correct_bias(term, self.noises)
        if corrected is not None:
            self.exact = self.exact and self._fair(term)
            return evaluate(corrected, self.values)
        if isinstance(term, Power) and term.exponent == 1:
            return self.value(term.of)
        self.exact = False
        if isinstance(term, Power):
            return self.value(term.of) ** term.exponent
        return self.value(term.left) * self.value(term.right)

    def _estimate_term(self, unit: Unit) -> bool:
        return isinstance(self.noises[unit], EstimatedNoise)

    def _fair(self, term: Term) -> bool:
        """Tell whether corrections by an estimated scale are right on average.

        They are if its square is estimated without bias, and enters no monomial twice.
        """
        for monomial in polynomial_of(term) or {}:
            squared = [variable.unit for variable, power in monomial if power > 1]
            for unit in squared:
                noise = self.noises[unit]
                if isinstance(noise, EstimatedNoise) and not (
                    noise.fair and squared.count(unit) == 1
                ):
                    return False
        return True


def _correct_bias(term: Term, noises: Mapping[Unit, Noise]) -> Polynomial | None:
    written = polynomial_of(term)
    return None if written is None else remove_bias(written, noises)


def _overlap(left: Term, right: Term) -> bool:
    """Tell whether two terms share a noisy number."""
    mine, theirs = _support(left), _support(right)
    return any(
        unit == other and (index is None or place is None or index == place)
        for unit, index in mine
        for other, place in theirs
    )


def _support(term: Term) -> set[tuple[Unit, int | None]]:
    """Return the noisy numbers a term is made of; `None` stands for all entries."""
    if isinstance(term, Item):
        assert isinstance(term.of, Unit)
        return {(term.of, term.index)}
    if isinstance(term, Unit):
        return {(term, None)}
    found: set[tuple[Unit, int | None]] = set()
    for part in term.parts:
        found |= _support(part)
    return found


def _exact_error(
    term: Term, values: Mapping[Unit, Any], noises: Mapping[Unit, Noise]
) -> Any | None:
    """Return the standard error of an unbiased polynomial, at noisy values."""
    if isinstance(term, Total) and all(unit.entries is not None for unit in term.of.units):
        # Different entries have independent noise.
        inner = None if any(isinstance(t, Total | Item) for t in term.of.walk()) else term.of
        entries = None if inner is None else _exact_error(inner, values, noises)
        return None if entries is None else np.sqrt(np.sum(np.square(entries)))
    corrected = _correct_bias(term, noises)
    spread = None if corrected is None else variance(corrected, noises)
    if spread is None:
        return None
    # A variance is never negative, whatever the values are; only rounding could make it so.
    return np.sqrt(np.maximum(evaluate(spread, values), 0.0))


def _delta_method(
    term: Term, values: Mapping[Unit, Any], noises: Mapping[Unit, Noise], floor: float, value: Any
) -> tuple[Any | None, Any | None]:
    """Return the standard error and the bias to first order, at noisy values."""
    jet = jet_of(term, values, floor=floor)
    if not jet.told:
        return None, None
    variances = {}
    for unit in term.units:
        noise = noises[unit]
        assert not isinstance(noise, HiddenNoise)
        variances[unit] = float(number(noise.variance))
    vector = bool(np.ndim(jet.value))
    with np.errstate(all="ignore"):
        squares = {unit: slope**2 for unit, slope in jet.first.items()}
        error = np.sqrt(combine(squares, variances, vector=vector))
        # E[F(noisy)] ≈ F + ½ΣF″·variance; the estimate differs from F by what was corrected.
        bias = combine(jet.second, variances, vector=vector) / 2 + (value - jet.value)
    return error, bias


def _float(value: Any) -> Any:
    """Return a noisy value in floating point, cut to ±1e300."""
    if not isinstance(value, np.ndarray):
        return number(value)
    if value.dtype.kind in "iuf":
        return np.clip(value.astype(np.float64), -LARGEST, LARGEST)
    return np.array([number(entry) for entry in value.tolist()], dtype=np.float64)


def _zeros(value: Any) -> Any:
    return np.zeros_like(value)


def _finite(value: Any | None, length: int | None) -> Any | None:
    """Return plain floats, cut to what a file can say; one for each entry of a vector."""
    if value is None:
        return None
    safe = np.clip(np.nan_to_num(value, nan=0.0), -LARGEST, LARGEST)
    return float(safe) if length is None else np.array(np.broadcast_to(safe, (length,)))
