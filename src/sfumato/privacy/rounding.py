"""Exponentials and logarithms of rationals, rounded in a known direction.

Every number that bounds privacy passes through here when it cannot be a fraction: an upper bound is
never below the true value and a lower bound never above it. Nothing here may round to nearest.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_DIGITS = 40
#: Beyond this an exponential is not computed: its digits would fill the memory.
_LARGEST = 10**6
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)


def _decimal(value: Fraction, context: Context) -> Decimal:
    """Return `value` as a decimal, rounded in the context's direction."""
    # Decimal(int) is exact; only the division rounds.
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp_up(value: Fraction) -> Fraction:
    """Return an upper bound on e**value: within a relative 1e-38, looser below e**-1000000."""
    if value > _LARGEST:
        raise OverflowError("an exponential of more than a million is not computed")
    value = max(value, Fraction(-_LARGEST))
    # Decimal.exp is correctly rounded (half even), so one step outward bounds it.
    return Fraction(_UP.next_plus(_UP.exp(_decimal(value, _UP))))


def exp_down(value: Fraction) -> Fraction:
    """Return a lower bound on e**value: within a relative 1e-38, and 0 below e**-1000000."""
    if value < -_LARGEST:
        return Fraction(0)
    value = min(value, Fraction(_LARGEST))
    return Fraction(_DOWN.next_minus(_DOWN.exp(_decimal(value, _DOWN))))


def log_up(value: Fraction) -> Fraction:
    """Return an upper bound on ln(value) for a positive value."""
    rounded = _decimal(value, _UP)
    # The value is at most what it was rounded up to, so at one the logarithm is at most zero.
    return Fraction(0) if rounded == 1 else Fraction(_UP.next_plus(_UP.ln(rounded)))


def log_down(value: Fraction) -> Fraction:
    """Return a lower bound on ln(value) for a positive value."""
    rounded = _decimal(value, _DOWN)
    return Fraction(0) if rounded == 1 else Fraction(_DOWN.next_minus(_DOWN.ln(rounded)))


def sqrt_up(value: Fraction) -> Fraction:
    """Return an upper bound on the square root of a non-negative value."""
    return Fraction(_UP.next_plus(_UP.sqrt(_decimal(value, _UP)))) if value else Fraction(0)


def sqrt_down(value: Fraction) -> Fraction:
    """Return a lower bound on the square root of a non-negative value."""
    return Fraction(_DOWN.next_minus(_DOWN.sqrt(_decimal(value, _DOWN)))) if value else Fraction(0)


def round_up(value: Fraction, digits: int = 12) -> Fraction:
    """Return a short decimal at or above `value`, with `digits` significant digits."""
    context = Context(prec=digits, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
    return Fraction(_decimal(value, context))


def round_down(value: Fraction, digits: int = 12) -> Fraction:
    """Return a short decimal at or below `value`, with `digits` significant digits."""
    context = Context(prec=digits, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
    return Fraction(_decimal(value, context))
