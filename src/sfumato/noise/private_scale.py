"""Noise whose scale is private: generalised Cauchy, Laplace and normal, exact on a public grid.

With smooth sensitivity the scale of the noise is itself computed from the data, so that no grid in
units of that scale may be used: the grid is public, and value + scale · Z is rounded to it as a
whole. Z is drawn from the true continuous law, bit by bit, until that rounding is settled.
Nothing here may ever round the value, the scale or the noise before their sum.

*Precision.* The output is the rounding, to a grid that does not depend on the data, of the output
of the mechanism value + scale · Z over the real numbers. Rounding is post-processing. Hence every
guarantee proved for real numbers holds without loss, and the precision costs ε = 0 and δ = 0. The
value and the scale must be the rational numbers that the proof speaks of: for a smooth bound
S = max_s e^(−βs)·U^(s), replace e^(−β) by a rational q ≥ e^(−β); then S = max_s q^s·U^(s) is
rational and is ln(1/q)-smooth with ln(1/q) ≤ β, again without loss.

**Generalised Cauchy**, density h(z) ∝ 1/(1 + |z|^γ) with a rational γ > 1. γ = 2 is Cauchy's; the
mean is finite for γ > 2 and the variance for γ > 3 (it is 1 for γ = 4).

*Sampling.* Let γ' = γ/(γ−1) be the conjugate exponent and let (U, V) be uniform on the region
u^γ' + v^γ ≤ 1 of the unit square. Then V/U^(1/(γ−1)), with a random sign, has density h. *Proof.*
Put r = 1/(γ−1), so that γ' = r + 1 = rγ, and v = z·u^r. The region becomes
u^(r+1)·(1 + z^γ) ≤ 1, the area element u^r du dz, and the density of z is the integral of u^r
from 0 to (1 + z^γ)^(−1/(r+1)), which is (1 + z^γ)^(−1)/(r + 1). ∎ The region fills
Γ(1+1/γ)·Γ(2−1/γ) ≥ π/4 of the square, so that two proposals nearly always suffice.

*Privacy.* For f + (S/α)·Z where |f(x) − f(x')| ≤ S(x') and |ln S(x) − ln S(x')| ≤ β:

- Sliding. |d ln h/dz| = γ·t^(1−1/γ)/(1+t) with t = |z|^γ. Its derivative in t vanishes where
  (1−1/γ)(1+t) = t, i.e. t = γ−1, so the maximum is A(γ) = (γ−1)^(1−1/γ). A shift of f by at most
  S moves z by at most α and costs at most α·A(γ).
- Dilating. d ln(e^λ·h(e^λ z))/dλ = 1 − γ·t/(1+t) with t = |e^λ z|^γ, which lies in (1−γ, 1]. So a
  change of ln S by at most β costs at most β·B(γ), B(γ) = max(1, γ−1).

Hence α·A(γ) + β·B(γ) ≤ ε gives ε-DP: shift at the scale S(x'), then dilate. For γ = 2, A = B = 1
and α = β = ε/2 will do. `slide_rate` and `dilation_rate` return A, rounded up, and B.

**Laplace** (density e^(−|z|)/2) and **normal** noise give (ε, δ) with smooth sensitivity, with a β
that the caller calibrates.

Time depends on the private value and scale, and on the noise: a larger scale or an unlucky
rounding needs more bits.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.noise._lazy import (
    Interval,
    Rounding,
    Tape,
    Uniform,
    check_grid,
    laplace,
    map_values,
    normal,
    rational_value,
)
from sfumato.noise.exact import exact_named

#: γ = p/q is refused beyond this p: powers are computed exactly.
LARGEST_NUMERATOR = 64
#: `slide_rate` is rounded up to a multiple of 2 to the minus this.
RATE_BITS = 64
#: Beyond this many scales the tail is a power to the twelfth digit for every γ in use.
FAR_OUT = 10**12
#: Where |z|^γ is less than this, 1 + |z|^γ is 1 to the last digit.
FLAT = 1e-17
#: Cells whose width is at most this part of z/γ are integrated by Gauss's rule with five points,
#: which errs by less than 1e-13 of the whole: |h⁽¹⁰⁾| ≤ γ(γ+1)…(γ+9)·h/z¹⁰ in the tail, the poles
#: of h are at least sin(π/γ) away elsewhere, and the rule's constant is 4e-13.
NARROW = Fraction(1, 5)
#: That rule on the unit interval: places and weights.
GAUSS = (
    (0.046910077030668, 0.11846344252809454),
    (0.23076534494715845, 0.23931433524968324),
    (0.5, 0.28444444444444444),
    (0.7692346550528415, 0.23931433524968324),
    (0.953089922969332, 0.11846344252809454),
)


def perturb_cauchy(
    values: object, scale: object, *, grid_exponent: int, gamma: object = 2
) -> int | list[int]:
    """Add scale · Z, Z of density ∝ 1/(1 + |z|^γ), and round to the grid, exactly.

    Parameters
    ----------
    values
        The private number, or a sequence of them for independent noise; int, float or Fraction,
        where a float is the dyadic rational it is.
    scale
        The private scale, not negative; a zero scale adds no noise.
    grid_exponent
        The public e: the answer counts steps of 2ᵉ, as Python integers of any size.
    gamma
        The public exponent γ > 1, rational, with a numerator of at most 64.

    Notes
    -----
    Privacy: ε-DP for scale = S/α with α·slide_rate(γ) + β·dilation_rate(γ) ≤ ε, for one number and
    a β-smooth bound S on its local sensitivity; rounding to the grid costs nothing.
    """
    exponent = _check_gamma(gamma)
    grid = check_grid(grid_exponent)
    exact_scale = _check_scale(scale)
    tape = Tape()

    def perturb_one(value: Fraction) -> int:
        return Rounding(value, exact_scale, grid).of(_Cauchy(exponent, tape).enclose)

    return map_values(values, perturb_one)


def perturb_laplace(values: object, scale: object, *, grid_exponent: int) -> int | list[int]:
    """Add scale · Z, Z of density e⁻ˡᶻˡ/2, and round to the grid, exactly.

    Parameters
    ----------
    values
        The private number, or a sequence of them for independent noise; int, float or Fraction,
        where a float is the dyadic rational it is.
    scale
        The private scale, not negative; a zero scale adds no noise.
    grid_exponent
        The public e: the answer counts steps of 2ᵉ, as Python integers of any size.

    Notes
    -----
    Privacy: whatever the mechanism with real Laplace noise of this scale guarantees; rounding to
    the grid costs nothing.
    """
    grid = check_grid(grid_exponent)
    exact_scale = _check_scale(scale)
    tape = Tape()
    return map_values(
        values, lambda value: Rounding(value, exact_scale, grid).of(laplace(tape).enclose)
    )


def perturb_gaussian(values: object, scale: object, *, grid_exponent: int) -> int | list[int]:
    """Add scale · Z, Z standard normal, and round to the grid, exactly.

    Parameters
    ----------
    values
        The private number, or a sequence of them for independent noise; int, float or Fraction,
        where a float is the dyadic rational it is.
    scale
        The private standard deviation, not negative; a zero scale adds no noise.
    grid_exponent
        The public e: the answer counts steps of 2ᵉ, as Python integers of any size.

    Notes
    -----
    Privacy: whatever the mechanism with real normal noise of this scale guarantees; rounding to
    the grid costs nothing.
    """
    grid = check_grid(grid_exponent)
    exact_scale = _check_scale(scale)
    tape = Tape()
    return map_values(
        values, lambda value: Rounding(value, exact_scale, grid).of(normal(tape).enclose)
    )


def slide_rate(gamma: object = 2) -> Fraction:
    """Return an upper bound on sup |d ln h/dz| = (γ−1)^(1−1/γ), tight to 2^−63.

    Parameters
    ----------
    gamma
        The exponent γ > 1 of the generalised Cauchy density.
    """
    exponent = _check_gamma(gamma)
    base, power = exponent - 1, 1 - 1 / exponent
    # base^(a/b) · 2^bits is the b-th root of base^a · 2^(b·bits).
    radicand = base**power.numerator * Fraction(2) ** (RATE_BITS * power.denominator)
    root = _integer_root(math.ceil(radicand), power.denominator)
    exact = Fraction(root) ** power.denominator == radicand
    return Fraction(root if exact else root + 1, 2**RATE_BITS)


def dilation_rate(gamma: object = 2) -> Fraction:
    """Return sup |d ln(e^λ h(e^λ z))/dλ| = max(1, γ−1).

    Parameters
    ----------
    gamma
        The exponent γ > 1 of the generalised Cauchy density.
    """
    return max(Fraction(1), _check_gamma(gamma) - 1)


def cauchy_log_probability(
    units: int, value: object, scale: object, *, grid_exponent: int, gamma: object = 2
) -> float:
    """Return the log-probability that `perturb_cauchy` answers `units`, for audits; not private.

    Parameters
    ----------
    units
        The answer.
    value, scale, grid_exponent, gamma
        As for `perturb_cauchy`, with one value.
    """
    exponent = float(_check_gamma(gamma))
    step = Fraction(2) ** check_grid(grid_exponent)
    centre, exact_scale = rational_value(value), _check_scale(scale)
    if exact_scale == 0:
        return 0.0 if math.floor(centre / step + Fraction(1, 2)) == units else -math.inf
    ends = [
        ((units + half) * step - centre) / exact_scale for half in (Fraction(-1, 2), Fraction(1, 2))
    ]
    near, far = sorted(map(abs, ends))
    one_side = ends[0] * ends[1] > 0
    if near > FAR_OUT and one_side:
        return _log_mass_far_out(near, far, exponent)
    width = step / exact_scale
    if exponent * _log(far) < math.log(FLAT):
        # The density is that of 0 up to a part of far^γ.
        return _log(width) - math.log(_total(exponent))
    if one_side and exponent * width <= NARROW * near:
        # The width is exact; that of two ends in floating point would not be.
        density = _mean_density(float(near), float(width), exponent)
        return _log(width) + math.log(density)
    return math.log(_cauchy_mass(float(ends[0]), float(ends[1]), exponent))


class _Cauchy:
    """One real number of density ∝ 1/(1 + |z|^γ), with bits yet to be drawn."""

    def __init__(self, gamma: Fraction, tape: Tape) -> None:
        self._gamma = gamma
        self._conjugate = gamma / (gamma - 1)
        while True:
            self._u, self._v = Uniform(tape), Uniform(tape)
            if self._accept():
                break
        self._negative = tape.coin()

    def _accept(self) -> bool:
        """Decide whether (u, v) lies in the region u^γ' + v^γ ≤ 1."""
        while True:
            size = self._u.size
            u = _power(self._u.enclose(size), size, self._conjugate)
            v = _power(self._v.enclose(size), size, self._gamma)
            if u[1] + v[1] <= 1 << size:
                return True
            if u[0] + v[0] > 1 << size:
                return False
            self._u.refine(2 * size)
            self._v.refine(2 * size)

    def enclose(self, size: int) -> Interval:
        """Return integers around z · 2ˢⁱᶻᵉ that close in on each other as the size grows."""
        precision = size
        while True:
            u = _power(self._u.enclose(precision), precision, 1 / (self._gamma - 1))
            if u[0] > 0:
                break
            precision *= 2
        v = self._v.enclose(precision)
        low, high = (v[0] << size) // u[1], -((-v[1] << size) // u[0])
        return (-high, -low) if self._negative else (low, high)


def _power(interval: Interval, size: int, power: Fraction) -> Interval:
    """Enclose x^power for x in interval/2ˢⁱᶻᵉ, as integers over 2ˢⁱᶻᵉ again."""
    a, b = power.numerator, power.denominator
    low, high = (end**a for end in interval)
    if b >= a:
        low, high = low << size * (b - a), high << size * (b - a)
    else:
        low, high = low >> size * (a - b), -(-high >> size * (a - b))
    if b == 1:
        return low, high
    return _integer_root(low, b), _integer_root(high, b) + 1


def _integer_root(n: int, degree: int) -> int:
    """Return ⌊n^(1/degree)⌋ by Newton's iteration from above."""
    if n < 2 or degree == 1:
        return n
    if degree == 2:
        return math.isqrt(n)
    root = 1 << -(-n.bit_length() // degree)
    while True:
        following = ((degree - 1) * root + n // root ** (degree - 1)) // degree
        if following >= root:
            return root
        root = following


def _cauchy_mass(low: float, high: float, gamma: float) -> float:
    """Return the probability of an interval under the density ∝ 1/(1 + |z|^γ)."""
    if low < 0 < high:
        return _mass_on_one_side(0.0, -low, gamma) + _mass_on_one_side(0.0, high, gamma)
    near, far = sorted((abs(low), abs(high)))
    return _mass_on_one_side(near, far, gamma)


def _share(z: float, gamma: float) -> float:
    """Return 1/(1 + z^γ) for z ≥ 0, which is 0 where the power leaves the floats."""
    return 1.0 if z == 0 else 1 / (1 + math.exp(min(gamma * math.log(z), 700.0)))


def _mean_density(near: float, width: float, gamma: float) -> float:
    """Return the mean of the density from near to near + width, by Gauss's rule."""
    mean = math.fsum(weight * _share(near + width * place, gamma) for place, weight in GAUSS)
    return mean / _total(gamma)


def _log_mass_far_out(near: Fraction, far: Fraction, gamma: float) -> float:
    """Return the log-probability of near < z < far so far out that 1 + z^γ is z^γ."""
    width = (far - near) / near
    if width < Fraction(1, 10**9):  # 1 − (1 + w)^(1−γ) = (γ−1)·w up to a relative error of γ·w
        log_share = math.log(gamma - 1) + _log(width)
    else:
        log_share = math.log(-math.expm1((1 - gamma) * math.log1p(float(width))))
    return (1 - gamma) * _log(near) + log_share - math.log((gamma - 1) * _total(gamma))


def _log(x: Fraction) -> float:
    """Return the logarithm of a positive fraction of any size."""
    return math.log(x.numerator) - math.log(x.denominator)


def _total(gamma: float) -> float:
    """Return the integral of 1/(1 + |z|^γ)."""
    return 2 * math.pi / (gamma * math.sin(math.pi / gamma))


def _mass_on_one_side(near: float, far: float, gamma: float) -> float:
    """Return the probability of near < z < far, for 0 ≤ near, in a form that does not cancel.

    |Z|^γ/(1 + |Z|^γ) has the beta law of parameters 1/γ and 1 − 1/γ.
    """
    from scipy.special import betainc

    def centre(z: float) -> float:
        # z^γ/(1 + z^γ), without the cancellation of 1 − 1/(1 + z^γ)
        return float(betainc(1 / gamma, 1 - 1 / gamma, _share(1 / z, gamma) if z else 0.0)) / 2

    def tail(z: float) -> float:
        return float(betainc(1 - 1 / gamma, 1 / gamma, _share(z, gamma))) / 2

    if far <= 1:
        return centre(far) - centre(near)
    if near >= 1:
        return tail(near) - tail(far)
    return 0.5 - centre(near) - tail(far)


def _check_gamma(gamma: object) -> Fraction:
    """Return γ as a fraction, or refuse it."""
    exponent = exact_named(gamma, "gamma")
    if exponent <= 1 or exponent.numerator > LARGEST_NUMERATOR:
        raise ValueError(
            "gamma must be a rational number above 1 with a numerator of at most "
            f"{LARGEST_NUMERATOR}; got {gamma}"
        )
    return exponent


def _check_scale(scale: object) -> Fraction:
    """Return a private scale as a fraction, or refuse it without showing it."""
    exact_scale = rational_value(scale)
    if exact_scale < 0:
        raise ValueError("the scale of the noise must not be negative")
    return exact_scale
