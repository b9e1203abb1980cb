"""Real-valued Laplace and normal noise with a public scale, through a grid of powers of two.

Floating-point noise leaks: which floats can be the sum of a value and a float depends on the value
(Mironov, 2012). Here values are first rounded to the multiples of a public power of two, in exact
arithmetic, and discrete noise is added to these integers. The answer is a number of steps; it is
exact, every integer is possible whatever the value was, and turning it into a float afterwards is
post-processing. Nothing here may ever choose a grid from private values.

*Rounding.* x ↦ R(x) = ⌊x + 1/2⌋ in units of the step, ties upward. Half-to-even is not used: R
commutes with adding integers, half-to-even does not, and its sensitivity is larger (3/2 ↦ 2 and
1/2 ↦ 0, two steps apart for a change of one).

*Claim.* Let values change between neighbours in at most d coordinates. Let δ > 0 be the L1 change
in steps. Then the rounded values change by at most ⌈δ⌉ + d − 1 in L1, and no smaller bound holds.
Let δ be the L2 change in steps and Q = ⌈δ²⌉ − 1. Then they change by at most
Q + 2·min(Q, ⌊√(dQ)⌋) + d in squared L2, which is attained when Q ≤ d or Q/d is a square.

*Proof.* R does not decrease and R(x + n) = R(x) + n, so |R(x) − R(y)| ≤ ⌈|x − y|⌉, and every
positive distance attains this for some x. Write n_i = ⌈δ_i⌉ for a coordinate that changes by
δ_i > 0, and m_i = n_i − 1 ≥ 0; then m_i < δ_i.

- L1: Σn_i < Σδ_i + d ≤ δ + d, and the sum is an integer, so it is at most ⌈δ⌉ + d − 1. Attained by
  d − 1 tiny changes and one of nearly δ.
- L2: Σm_i² < Σδ_i² ≤ δ², so the integer Σm_i² is at most Q. Now Σn_i² = Σm_i² + 2Σm_i + d, where
  Σm_i ≤ Σm_i² ≤ Q for integers, and Σm_i ≤ √(d·Σm_i²) ≤ √(dQ) by Cauchy and Schwarz. Both bounds
  grow with d, so that coordinates that do not change do no harm. ∎

So the noise must be calibrated to the rounded sensitivity; `grid_for` takes steps so small that
this hardly matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.noise._lazy import check_grid, rational_value
from sfumato.noise.exact import Number, exact_named, positive
from sfumato.noise.gaussian import discrete_gaussian
from sfumato.noise.laplace import discrete_laplace

#: By default a scale has at least 2 to this many steps.
PRECISION = 20
#: Values of more steps than this are refused; noise would have no room in an int64.
LARGEST_UNITS = 1 << 62


@dataclass(frozen=True)
class GridValues:
    """Numbers on a grid: `units` whole steps of 2 to the `exponent`.

    Parameters
    ----------
    units
        How many steps, int64.
    exponent
        The exponent of the step.
    """

    units: NDArray[np.int64]
    exponent: int

    def to_float(self) -> NDArray[np.float64]:
        """Return the nearest floats: exact up to 2⁵³ steps, post-processing in any case."""
        return np.ldexp(self.units.astype(np.float64), self.exponent)


def grid_for(scale: Number, *, precision: int = PRECISION) -> int:
    """Return the exponent of the coarsest grid with at least 2^precision steps in the scale.

    Parameters
    ----------
    scale
        The public scale or standard deviation of the noise.
    precision
        How fine the grid is; each bit halves what rounding adds to the sensitivity.
    """
    if isinstance(precision, bool) or not isinstance(precision, int) or not 0 <= precision <= 40:
        raise ValueError(f"precision must be an integer from 0 to 40; got {precision!r}")
    return check_grid(_floor_log2(positive(scale, "scale")) - precision)


def to_units(values: ArrayLike, *, exponent: int) -> NDArray[np.int64]:
    """Round values to the grid, ties upward, in exact arithmetic.

    Parameters
    ----------
    values
        Floats (each the dyadic rational it is), integers, or an array of Fractions.
    exponent
        The public exponent of the grid.

    Raises
    ------
    ValueError
        If a value is not finite or lies beyond 2⁶² steps. Clip private values to public bounds
        first: whether this is raised depends on them.
    """
    grid = check_grid(exponent)
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return _floats_to_units(array.astype(np.float64), grid)
    if array.dtype.kind == "i" and grid <= 62:
        return _integers_to_units(array.astype(np.int64), grid)
    if array.dtype.kind not in "iuO":
        raise ValueError(
            f"values must be floats, integers or Fractions; got an array of {array.dtype}"
        )
    step = Fraction(2) ** grid
    flat = [math.floor(rational_value(value) / step + Fraction(1, 2)) for value in array.flat]
    if any(abs(units) > LARGEST_UNITS for units in flat):
        raise _too_large(grid)
    return np.array(flat, dtype=np.int64).reshape(array.shape)


def rounded_l1_sensitivity(sensitivity: Number, *, dimension: int, exponent: int) -> int:
    """Return the L1 sensitivity of rounded values, in steps of the grid: ⌈δ⌉ + d − 1.

    Parameters
    ----------
    sensitivity
        The L1 sensitivity of the values themselves.
    dimension
        In how many coordinates neighbours may differ.
    exponent
        The public exponent of the grid.
    """
    change = _check_sensitivity(sensitivity) / Fraction(2) ** check_grid(exponent)
    return math.ceil(change) + _check_dimension(dimension) - 1 if change else 0


def rounded_l2_sensitivity_squared(
    sensitivity_squared: Number, *, dimension: int, exponent: int
) -> int:
    """Return the square of the L2 sensitivity of rounded values, in squared steps of the grid.

    Parameters
    ----------
    sensitivity_squared
        The square of the L2 sensitivity of the values themselves.
    dimension
        In how many coordinates neighbours may differ.
    exponent
        The public exponent of the grid.
    """
    d = _check_dimension(dimension)
    change = _check_sensitivity(sensitivity_squared) / Fraction(4) ** check_grid(exponent)
    if change == 0:
        return 0
    q = math.ceil(change) - 1
    return q + 2 * min(q, math.isqrt(d * q)) + d


def grid_laplace(values: ArrayLike, *, scale: Number, exponent: int) -> GridValues:
    """Round values to the grid and add discrete Laplace noise of the given scale.

    Parameters
    ----------
    values
        The private values, as `to_units` takes them.
    scale
        The public scale, in the units of the values.
    exponent
        The public exponent of the grid, as `grid_for` gives it.

    Notes
    -----
    Privacy: ε-DP with ε = rounded_l1_sensitivity · 2^exponent / scale.
    """
    in_steps = positive(scale, "scale") / Fraction(2) ** check_grid(exponent)
    units = to_units(values, exponent=exponent)
    noise = discrete_laplace(units.shape, scale=in_steps)
    return GridValues(_add(units, noise), int(exponent))


def grid_gaussian(values: ArrayLike, *, variance: Number, exponent: int) -> GridValues:
    """Round values to the grid and add discrete Gaussian noise of the given variance.

    Parameters
    ----------
    values
        The private values, as `to_units` takes them.
    variance
        The public variance parameter, in squared units of the values.
    exponent
        The public exponent of the grid, as `grid_for` gives it.

    Notes
    -----
    Privacy: ρ-zCDP with ρ = rounded_l2_sensitivity_squared · 4^exponent / (2 · variance)
    (Canonne, Kamath and Steinke, 2020).
    """
    in_steps = positive(variance, "variance") / Fraction(4) ** check_grid(exponent)
    units = to_units(values, exponent=exponent)
    noise = discrete_gaussian(units.shape, variance=in_steps)
    return GridValues(_add(units, noise), int(exponent))


def _floats_to_units(values: NDArray[np.float64], exponent: int) -> NDArray[np.int64]:
    """Round floats to the grid; every step but the first is exact.

    Scaling by a power of two is exact unless it underflows, and what underflows is rounded to zero
    in any case. The fraction of a float is a float.
    """
    if not np.isfinite(values).all():
        raise ValueError("values must be finite; at least one is NaN or infinite")
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(values, -exponent)
    if not (np.abs(scaled) <= LARGEST_UNITS).all():
        raise _too_large(exponent)
    whole = np.trunc(scaled)
    fraction = scaled - whole
    return whole.astype(np.int64) + (fraction >= 0.5) - (fraction < -0.5)


def _integers_to_units(values: NDArray[np.int64], exponent: int) -> NDArray[np.int64]:
    """Round integers to the grid by shifting."""
    if exponent > 0:
        units: NDArray[np.int64] = (values >> exponent) + ((values >> (exponent - 1)) & 1)
        return units
    largest = LARGEST_UNITS >> -exponent
    if not ((values >= -largest) & (values <= largest)).all():
        raise _too_large(exponent)
    return np.where(values == 0, 0, values << min(-exponent, 62))


def _add(units: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add noise to values of at most 2⁶² steps, cutting off at the ends of int64.

    The cut is a function of the exact sum alone, hence post-processing, and next to impossible.
    """
    ends = np.iinfo(np.int64)
    room = np.clip(noise, ends.min + np.maximum(-units, 0), ends.max - np.maximum(units, 0))
    return units + room


def _floor_log2(x: Fraction) -> int:
    """Return ⌊log2 x⌋ for a positive fraction."""
    estimate = x.numerator.bit_length() - x.denominator.bit_length()
    return estimate if Fraction(2) ** estimate <= x else estimate - 1


def _too_large(exponent: int) -> ValueError:
    return ValueError(
        f"a value lies beyond 2^62 steps of the grid 2^{exponent}; clip values to public bounds "
        "or take a coarser grid"
    )


def _check_sensitivity(sensitivity: Number) -> Fraction:
    """Return a sensitivity as a fraction, or refuse it."""
    value = exact_named(sensitivity, "sensitivity")
    if value < 0:
        raise ValueError(f"sensitivity must not be negative; got {sensitivity}")
    return value


def _check_dimension(dimension: int) -> int:
    """Return the number of coordinates that may change, or refuse it."""
    if isinstance(dimension, bool) or not isinstance(dimension, (int, np.integer)) or dimension < 1:
        raise ValueError(f"dimension must be a positive integer; got {dimension!r}")
    return int(dimension)
