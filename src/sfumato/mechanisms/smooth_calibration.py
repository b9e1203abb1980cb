"""How much noise a smooth bound on the local sensitivity asks for, with certified constants.

Everything here is public arithmetic, except `smooth_maximum`, whose result is as private as the
data and may only become the input of a primitive. β is always rounded down and every noise scale
up. Proofs: docs/proofs/smooth-sensitivity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from scipy.optimize import brentq
from scipy.special import gammainccinv, gammaincinv

from sfumato.noise.exact import Number, exact, positive
from sfumato.privacy.rounding import exp_down, exp_up, log_up, round_down, round_up

__all__ = [
    "Calibration",
    "cauchy_calibration",
    "laplace_beta",
    "laplace_calibration",
    "smooth_maximum",
]

# Sums of positive terms, each rounded up, bound a tail probability from above.
_UP = Context(prec=40, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)

#: How much of β is kept back for the rounding of S itself.
_SLACK = Fraction(1, 10**30)
#: No smooth bound is below this part of its cap; noise of that scale is nothing.
_FLOOR = Fraction(1, 2**256)


@dataclass(frozen=True)
class Calibration:
    """What a noise asks of the smooth bound, and how it is scaled by it.

    Parameters
    ----------
    beta
        The smoothness the bound must have: S(x) ≤ e^beta·S(y) for neighbours.
    factor
        The noise is S·factor times a standard draw.
    """

    beta: Fraction
    factor: Fraction


def cauchy_calibration(
    epsilon: Number, *, published: bool = False, power: int = 2, slide: Number = Fraction(1, 2)
) -> Calibration:
    """Return the calibration of noise with density ∝ 1/(1 + |z|^power): pure ε.

    Parameters
    ----------
    epsilon
        The pure privacy loss.
    published
        Use the constants of Nissim, Raskhodnikova and Smith (2007), factor 6/ε and β = ε/6 for
        power 2, instead of the tight 2/ε and ε/2.
    power
        A whole number; 2 is Cauchy noise, 3 has a finite mean, 4 and above a finite variance.
    slide
        The share of ε spent on moving the centre; the rest pays for the change of the scale.

    Notes
    -----
    The log-density moves by at most (power−1)^((power−1)/power) for each unit of a shift, and by
    at most power−1 for each unit of a logarithmic dilation.

    Examples
    --------
    >>> cauchy_calibration(1)
    Calibration(beta=Fraction(1, 2), factor=Fraction(2, 1))
    >>> cauchy_calibration(1, published=True)
    Calibration(beta=Fraction(1, 6), factor=Fraction(6, 1))
    """
    budget = positive(epsilon, "epsilon")
    share = exact(slide)
    if not 0 < share < 1:
        raise ValueError(f"slide must be greater than 0 and less than 1; got {slide!r}")
    if power < 2:
        raise ValueError(f"power must be at least 2; got {power!r}")
    if published:
        # Their general form is β = ε/(2(γ+1)) and a factor of 2(γ+1)/ε.
        return Calibration(budget / (2 * (power + 1)), 2 * (power + 1) / budget)
    slope = Fraction(1) if power == 2 else _slide_slope(power)
    return Calibration((1 - share) * budget / (power - 1), slope / (share * budget))


def laplace_calibration(
    epsilon: Number,
    delta: Number,
    dimension: int = 1,
    *,
    slide: Number = Fraction(1, 2),
    symmetric: bool = True,
) -> Calibration:
    """Return the calibration of independent Laplace noise on every coordinate: (ε, δ).

    Parameters
    ----------
    epsilon, delta, dimension, slide, symmetric
        As for `laplace_beta`.

    Examples
    --------
    >>> laplace_calibration(1, "0.01").factor
    Fraction(2, 1)
    """
    beta = laplace_beta(epsilon, delta, dimension, slide=slide, symmetric=symmetric)
    return Calibration(beta, 1 / (exact(slide) * exact(epsilon)))


def laplace_beta(
    epsilon: Number,
    delta: Number,
    dimension: int = 1,
    *,
    slide: Number = Fraction(1, 2),
    symmetric: bool = True,
) -> Fraction:
    """Return the exact smoothness β of smooth-sensitivity Laplace noise, rounded down.

    Parameters
    ----------
    epsilon, delta
        The approximate privacy loss.
    dimension
        The public number d of coordinates.
    slide
        The share α/ε of ε that pays for moving the centre; the noise is (S/α)·Laplace.
    symmetric
        Whether S(x) bounds the change to *every* neighbour, added or removed. If it covers one
        direction only, δ is taken e^α times smaller.

    Notes
    -----
    β is the largest value with (e^β − 1)·q_hi − d·β ≤ ε − α and d·β − (1 − e^−β)·q_lo ≤ ε − α,
    where q_hi and q_lo are the upper and lower δ-quantiles of Gamma(d). The quantiles and β are
    found in floating point and then certified with directed rounding.

    Examples
    --------
    >>> round(float(laplace_beta(1, "0.01")), 6)
    0.127799
    """
    budget = positive(epsilon, "epsilon")
    failure = positive(delta, "delta")
    share = exact(slide)
    if failure >= 1 or failure < Fraction(1, 10**300):
        raise ValueError(f"delta must be at least 1e-300 and less than 1; got {delta!r}")
    if not 0 < share < 1:
        raise ValueError(f"slide must be greater than 0 and less than 1; got {slide!r}")
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1; got {dimension!r}")
    if not symmetric:
        failure *= exp_down(-share * budget)
    return _certify_beta((1 - share) * budget, failure, dimension)


def smooth_maximum(
    bound: Callable[[int], int | Fraction],
    beta: Number,
    cap: int | Fraction,
    *,
    horizon: int | None = None,
) -> Fraction:
    """Return S = max_s e^(−β·s)·min(bound(s), cap), rounded up, and still β-smooth after that.

    Parameters
    ----------
    bound
        U^(s): at least the local sensitivity for s = 0, and U^(s)(x) ≤ U^(s+1)(y) for neighbours.
        It is asked for s = 0, 1, 2, … until no later answer can matter.
    beta
        The smoothness of the result.
    cap
        The public global sensitivity.
    horizon
        A public distance beyond which `bound` does not grow any more.

    Notes
    -----
    The result is private: it depends on the data, and so does the running time.

    The maximum is taken with β − 10^−30 and rounded up by less than a factor e^(10^−30), so that
    the rounded S is exactly β-smooth. It is never below cap·2^−256, a constant, which is smooth,
    and ends the search after at most 178/β steps.

    Examples
    --------
    >>> float(smooth_maximum(lambda s: min(3 + s, 10), "0.5", 10))  # e^0·3 wins
    3.0
    """
    rate = positive(beta, "beta") - _SLACK
    most = positive(cap, "cap")
    if rate <= 0:
        raise ValueError(f"beta must be greater than 1e-30; got {beta!r}")
    best, largest, step = most * _FLOOR, Fraction(0), 0
    last = _last_step(best, most, rate, horizon)
    while step <= last:
        value = min(Fraction(bound(step)), most)
        # A later term wins only with a larger bound than any before it.
        if value > largest:
            largest = value
            term = value * exp_up(-rate * step) if step else value
            if value == most:
                return max(best, term)
            if term > best:
                best = term
                last = _last_step(best, most, rate, horizon)
        step += 1
    return best


def _last_step(best: Fraction, most: Fraction, rate: Fraction, horizon: int | None) -> int:
    """Return a step after which no term can exceed the best one."""
    reach = math.floor(log_up(most / best) / rate) + 1
    return reach if horizon is None else min(horizon, reach)


def _slide_slope(power: int) -> Fraction:
    """Return the steepest slope of ln(1 + z^power), (power−1)^((power−1)/power), rounded up."""
    return round_up(exp_up(log_up(Fraction(power - 1)) * Fraction(power - 1, power)))


@lru_cache(maxsize=256)
def _certify_beta(budget: Fraction, failure: Fraction, dimension: int) -> Fraction:
    """Return the largest β whose dilation costs at most the budget, except with the failure."""
    high = _upper_quantile(dimension, failure)
    low = _lower_quantile(dimension, failure)
    d, q_high, q_low, room = dimension, float(high), float(low), float(budget)
    ceiling = 1.0
    while math.expm1(ceiling) * q_high - d * ceiling < room:
        ceiling *= 2
    growing = brentq(lambda b: math.expm1(b) * q_high - d * b - room, 0, ceiling, xtol=1e-300)
    while d * ceiling + math.expm1(-ceiling) * q_low < room:
        ceiling *= 2
    shrinking = brentq(lambda b: d * b + math.expm1(-b) * q_low - room, 0, ceiling, xtol=1e-300)
    beta = round_down(Fraction(min(growing, shrinking)) * (1 - Fraction(1, 10**12)))
    while (exp_up(beta) - 1) * high - d * beta > budget or (
        d * beta - (1 - exp_up(-beta)) * low > budget
    ):
        beta = round_down(beta * (1 - Fraction(1, 10**9)))
    return beta


def _upper_quantile(dimension: int, failure: Fraction) -> Fraction:
    """Return q ≥ d with P(Gamma(d) > q) ≤ failure, certified."""
    guess = Fraction(float(gammainccinv(dimension, float(failure))))
    quantile = round_up(guess * (1 + Fraction(1, 10**12)), 15)
    while _tail_above(dimension, quantile) > failure:
        quantile = round_up(quantile * (1 + Fraction(1, 10**9)), 15)
    return max(quantile, Fraction(dimension))


def _lower_quantile(dimension: int, failure: Fraction) -> Fraction:
    """Return q ≤ d with P(Gamma(d) < q) ≤ failure, certified."""
    guess = min(Fraction(float(gammaincinv(dimension, float(failure)))), Fraction(dimension))
    if guess == 0:
        return guess
    quantile = round_down(guess * (1 - Fraction(1, 10**12)), 15)
    while _tail_below(dimension, quantile) > failure:
        quantile = round_down(quantile * (1 - Fraction(1, 10**9)), 15)
    return quantile


def _tail_above(dimension: int, quantile: Fraction) -> Fraction:
    """Return an upper bound on P(Gamma(d) > q) = e^−q·Σ_{k<d} q^k/k!."""
    rate = _decimal(quantile)
    term = total = Decimal(1)
    for k in range(1, dimension):
        term = _UP.divide(_UP.multiply(term, rate), Decimal(k))
        total = _UP.add(total, term)
    return Fraction(total) * exp_up(-quantile)


def _tail_below(dimension: int, quantile: Fraction) -> Fraction:
    """Return an upper bound on P(Gamma(d) < q) = e^−q·Σ_{k≥d} q^k/k!, for q < d."""
    rate = _decimal(quantile)
    term = Decimal(1)
    for k in range(1, dimension + 1):
        term = _UP.divide(_UP.multiply(term, rate), Decimal(k))
    total, k = term, dimension
    # Ratios of terms fall below q/(k+1) < 1, so that a geometric series bounds what is left out.
    while term > total.scaleb(-30):
        k += 1
        term = _UP.divide(_UP.multiply(term, rate), Decimal(k))
        total = _UP.add(total, term)
    rest = Fraction(term) * quantile / (k + 1 - quantile)
    return (Fraction(total) + rest) * exp_up(-quantile)


def _decimal(value: Fraction) -> Decimal:
    """Return a value as a decimal, rounded up."""
    return _UP.divide(Decimal(value.numerator), Decimal(value.denominator))
