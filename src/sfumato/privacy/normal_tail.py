"""The upper tail of the normal law, enclosed between fractions.

Every conversion of Gaussian differential privacy passes through here. Bounds are certified: nothing
here may round to nearest or trust a float. With φ the density and R(x) = (1 − Φ(x))/φ(x) the Mills
ratio, two enclosures of R are used:

- R(x) = √(π/2)·e^(x²/2) − Σ x^(2n+1)/(1·3·…·(2n+1)), for x up to `FAR`, in enough digits for the
  difference;
- the convergents of R(x) = 1/(x + 1/(x + 2/(x + 3/(x + …)))), which lie on either side of it by
  turns (Laplace), beyond.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from sfumato.privacy.rounding import exp_up, log_down, log_up, round_down, round_up

__all__ = ["exceeding", "log_tail", "mills"]

Enclosure = tuple[Fraction, Fraction]

#: Beyond this the continued fraction is used.
FAR = 16
#: How many digits an enclosure is good for.
DIGITS = 45
#: How many steps of the continued fraction are taken: far more than needed from `FAR` on.
STEPS = 120
#: An argument is first rounded to this many digits, outward.
ARGUMENT_DIGITS = 60


def mills(x: Fraction) -> Enclosure:
    """Return a lower and an upper bound on (1 − Φ(x))/φ(x), which falls as x grows."""
    above = round_up(x, ARGUMENT_DIGITS)
    below = round_down(x, ARGUMENT_DIGITS)
    return _mills(above)[0], _mills(below)[1]


def log_tail(x: Fraction) -> Enclosure:
    """Return bounds on ln(1 − Φ(x))."""
    low, high = mills(x)
    pi_low, pi_high = _pi()
    square = x * x / 2
    return (
        log_down(low) - square - log_up(2 * pi_high) / 2,
        log_up(high) - square - log_down(2 * pi_low) / 2,
    )


def exceeding(epsilon: Fraction, mu: Fraction) -> Fraction:
    """Return an upper bound on the δ at which μ-GDP implies (ε, δ)-DP.

    δ = Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2) (Dong, Roth and Su, 2022, Corollary 2.13). With
    a = ε/μ − μ/2 and b = ε/μ + μ/2 one has e^ε·φ(b) = φ(a), so that it is φ(a)·(R(a) − R(b)).
    """
    centre, half = epsilon / mu, mu / 2
    a, b = centre - half, centre + half
    if a < -FAR:
        return Fraction(1)
    difference = mills(a)[1] - mills(b)[0]
    square = a * a / 2
    # A lower bound on √(2π): its square is no more than 2π.
    root = _sqrt_two_pi()[0]
    return min(exp_up(-round_down(square, ARGUMENT_DIGITS)) * difference / root, Fraction(1))


@lru_cache(maxsize=1024)
def _mills(x: Fraction) -> Enclosure:
    if x > FAR:
        return _by_continued_fraction(x)
    series = _series(abs(x))
    root = _half_pi_exponential(abs(x))
    if x < 0:
        return root[0] + series[0], root[1] + series[1]
    return root[0] - series[1], root[1] - series[0]


def _by_continued_fraction(x: Fraction) -> Enclosure:
    """Return two neighbouring convergents, with room for the rounding of their digits."""
    context = Context(prec=DIGITS + 20, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
    place = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    found = []
    for steps in (STEPS, STEPS + 1):
        # All terms are positive, so that relative errors stay what they are.
        value = place
        for number in range(steps, 0, -1):
            value = context.add(place, context.divide(Decimal(number), value))
        found.append(1 / Fraction(value))
    slack = Fraction(1, 10 ** (DIGITS + 10))
    return min(found) * (1 - slack), max(found) * (1 + slack)


def _bits(x: Fraction) -> int:
    """Return how many binary digits the difference of the series needs: e^(x²/2) and more."""
    return int(x * x * 3 / 4) + 4 * DIGITS + 32


def _series(x: Fraction) -> Enclosure:
    """Return bounds on Σ x^(2n+1)/(1·3·…·(2n+1)) for x from 0 to `FAR`."""
    bits = _bits(x)
    one = 1 << bits
    square_low = (x.numerator**2 << bits) // x.denominator**2
    low = (x.numerator << bits) // x.denominator
    high = low + 1
    total_low, total_high, number = 0, 0, 0
    while True:
        total_low, total_high = total_low + low, total_high + high
        number += 1
        divisor = 2 * number + 1
        low = (low * square_low // one) // divisor
        high = _divide_up(_divide_up(high * (square_low + 1), one), divisor)
        # From here on each term is less than half of the one before.
        if divisor > 2 * (square_low // one + 1) and high <= 2:
            break
    return Fraction(total_low, one), Fraction(total_high + 2 * high, one)


def _divide_up(number: int, divisor: int) -> int:
    """Return a quotient of positive numbers, rounded up."""
    return (number + divisor - 1) // divisor


def _half_pi_exponential(x: Fraction) -> Enclosure:
    """Return bounds on √(π/2)·e^(x²/2)."""
    digits = _bits(x) * 3 // 10 + 2
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
    square = x * x / 2
    # Correctly rounded, of an argument that is rounded itself: both within 10^(1 − digits).
    power = Fraction(context.exp(_decimal(square, context)))
    slack = Fraction(4 * FAR * FAR, 10 ** (digits - 1))
    low, high = _root(Fraction(1, 2), digits)
    return power * (1 - slack) * low, power * (1 + slack) * high


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


@lru_cache(maxsize=8)
def _root(times: Fraction, digits: int) -> Enclosure:
    """Return bounds on √(times·π)."""
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
    low, high = (times * end for end in _pi(digits))
    slack = Fraction(4, 10 ** (digits - 1))
    return (
        Fraction(context.sqrt(_decimal(low, context))) * (1 - slack),
        Fraction(context.sqrt(_decimal(high, context))) * (1 + slack),
    )


def _sqrt_two_pi() -> Enclosure:
    return _root(Fraction(2), DIGITS)


@lru_cache(maxsize=64)
def _pi(digits: int = DIGITS) -> Enclosure:
    """Return bounds on π by Machin's formula, 16·arctan(1/5) − 4·arctan(1/239)."""
    scale = 10 ** (digits + 10)
    fifth, other = _arctan_inverse(5, scale), _arctan_inverse(239, scale)
    low = 16 * fifth[0] - 4 * other[1]
    high = 16 * fifth[1] - 4 * other[0]
    return Fraction(low, scale), Fraction(high, scale)


def _arctan_inverse(number: int, scale: int) -> tuple[int, int]:
    """Return bounds on arctan(1/number)·scale, from the alternating series."""
    low = high = 0
    power, term = scale // number, 0
    while power:
        part = power // (2 * term + 1)
        if term % 2:
            low, high = low - part - 2, high - part
        else:
            low, high = low + part, high + part + 2
        power //= number * number
        term += 1
    # What is left out is less than one unit, and each power was rounded down by less than two.
    return low - 2, high + 2
