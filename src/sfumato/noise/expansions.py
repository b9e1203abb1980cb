"""Binary expansions of probabilities, certified digit by digit.

A coin of probability p is thrown by comparing random bits with the binary digits of p. For a
rational p the digits are long division. For e⁻ˣ and its kin they come from integer interval
arithmetic: every bound is rounded outward, and a digit is given out only when the whole interval
agrees on it. No floating point is used here, and no digit is ever a guess. Since eˣ is irrational
for every rational x ≠ 0 (Lindemann), a finer interval always settles the next digit.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]

#: Extra bits that the first attempt at certifying digits carries; doubled until they suffice.
GUARD_BITS = 32

#: An argument is halved until it is at most 2 to the minus this, where the series is short.
REDUCED_BITS = 8


class Expansion:
    """The binary digits of a number in [0, 1).

    Parameters
    ----------
    enclose
        For a number of bits b, two integers around the number times 2ᵇ; the gap between them must
        stay bounded as b grows.
    length
        After how many digits the expansion ends, None when it does not.
    """

    __slots__ = ("_enclose", "_known", "length")

    def __init__(self, enclose: Callable[[int], Interval], *, length: int | None = None) -> None:
        self._enclose = enclose
        self._known = (0, 0)  # a count and so many digits, replaced together: threads share it
        self.length = length

    def enclose(self, bits: int) -> Interval:
        """Return integers (low, high) with low ≤ number · 2ᵇⁱᵗˢ ≤ high.

        Parameters
        ----------
        bits
            How fine the enclosure is.
        """
        return self._enclose(bits)

    def prefix(self, count: int) -> int:
        """Return the first `count` binary digits after the point, as one integer.

        Parameters
        ----------
        count
            How many digits; there is no limit.
        """
        known, digits = self._known
        if count > known:
            known, digits = self._known = (count, self._certify(count))
        return digits >> (known - count)

    def _certify(self, count: int) -> int:
        """Refine the enclosure until both of its ends share the first `count` digits."""
        guard = GUARD_BITS
        while True:
            low, high = self._enclose(count + guard)
            if low >> guard == high >> guard:
                return low >> guard
            guard *= 2


def rational(p: Fraction) -> Expansion:
    """Return the expansion of a fraction.

    Parameters
    ----------
    p
        A fraction in [0, 1).
    """
    if not 0 <= p < 1:
        raise ValueError(f"the digits after the point are those of a number in [0, 1); got {p}")
    numerator, denominator = p.numerator, p.denominator

    def enclose(bits: int) -> Interval:
        return (numerator << bits) // denominator, _divide_up(numerator << bits, denominator)

    dyadic = denominator & (denominator - 1) == 0
    return Expansion(enclose, length=denominator.bit_length() - 1 if dyadic else None)


def exponential(x: Fraction) -> Expansion:
    """Return the expansion of e⁻ˣ.

    Parameters
    ----------
    x
        A positive fraction.
    """
    _check_argument(x)
    return Expansion(lambda bits: enclose_exponential(x, bits))


def logistic(x: Fraction) -> Expansion:
    """Return the expansion of 1/(1 + eˣ), the chance that a binary digit of a geometric is one.

    Parameters
    ----------
    x
        A positive fraction.
    """
    _check_argument(x)

    def enclose(bits: int) -> Interval:
        low, high = enclose_exponential(x, bits)
        one = 1 << bits
        # y/(1 + y) grows with y = e⁻ˣ, so the ends of the interval go to its ends.
        return (low << bits) // (one + low), _divide_up(high << bits, one + high)

    return Expansion(enclose)


def twice_logistic(x: Fraction) -> Expansion:
    """Return the expansion of 2/(1 + eˣ) = 1 − tanh(x/2), the chance that a Laplace is not zero.

    Parameters
    ----------
    x
        A positive fraction.
    """
    half = logistic(x)
    return Expansion(lambda bits: half.enclose(bits + 1))


def enclose_exponential(x: Fraction, bits: int) -> Interval:
    """Return integers (low, high) with low ≤ e⁻ˣ · 2ᵇⁱᵗˢ ≤ high, a few units apart.

    Parameters
    ----------
    x
        A positive fraction.
    bits
        How fine the enclosure is.
    """
    if x >= bits:  # e⁻ˣ < 2⁻ˣ ≤ 2⁻ᵇⁱᵗˢ
        return 0, 1
    # e⁻ˣ = (e^(−x/2ᵏ))^(2ᵏ): halve the argument k times, sum the series, square k times.
    halvings = (x.numerator // x.denominator).bit_length() + REDUCED_BITS
    working = bits + 2 * halvings + 16
    shifted = x.numerator << working
    divisor = x.denominator << halvings
    low, high = _alternating_series(shifted // divisor, -(-shifted // divisor), working)
    for _ in range(halvings):
        low = (low * low) >> working
        high = _shift_up(high * high, working)
    drop = working - bits
    return low >> drop, _shift_up(high, drop)


def _alternating_series(low: int, high: int, working: int) -> Interval:
    """Enclose e⁻ʸ in fixed point, for y between low and high and far below 1."""
    term_low = term_high = sum_low = sum_high = 1 << working
    order = 0
    while term_high > 1:
        order += 1
        term_low = ((term_low * low) >> working) // order
        term_high = _divide_up(_shift_up(term_high * high, working), order)
        if order % 2:
            sum_low, sum_high = sum_low - term_high, sum_high - term_low
        else:
            sum_low, sum_high = sum_low + term_low, sum_high + term_high
    # The terms alternate and shrink, so what is left out is smaller than the last one.
    return sum_low - term_high, sum_high + term_high


def _divide_up(numerator: int, denominator: int) -> int:
    """Divide and round up."""
    return -(-numerator // denominator)


def _shift_up(number: int, bits: int) -> int:
    """Divide by a power of two and round up."""
    return -(-number >> bits)


def _check_argument(x: Fraction) -> None:
    """Refuse an exponent whose exponential is not a number in (0, 1)."""
    if x <= 0:
        raise ValueError(f"the exponent x of exp(-x) must be positive; got {x}")


# Probabilities as public whole numbers out of 2⁶⁴, certified to lie on the private side.
#
# A client that randomises its own answer compares a random word of 64 bits with such a number, in
# Python and in a browser alike. Where e^ε is in a probability it is rounded once, here, in
# integers and towards more noise; the realised probability is then exactly the number out of 2⁶⁴,
# and every law is computed from it and not from e^ε.


#: How many words of 64 bits there are.
WORD = 1 << 64


@lru_cache(maxsize=256)
def lies(inside: int, outside: int, exponent: Fraction, *, bits: int = 64) -> int:
    """Return ⌈2ᵇ·o/(i·eˣ + o)⌉: the weight out of 2ᵇ of `o` outcomes that are eˣ less likely.

    If i outcomes share the rest of the 2ᵇ, none of them is more than eˣ as likely as one of the o.

    Parameters
    ----------
    inside, outside
        How many outcomes there are of the likelier and of the less likely kind, i ≥ 1 and o ≥ 0.
    exponent
        The x > 0 of eˣ.
    bits
        The b of 2ᵇ.
    """
    if outside == 0:
        return 0
    guard = GUARD_BITS
    while True:
        # o/(i·eˣ + o) = o·y/(i + o·y) grows with y = e⁻ˣ and is irrational: both ends of an
        # enclosure of y come to lie strictly between the same two whole numbers.
        size = bits + outside.bit_length() + guard
        low, high = (
            ((outside * y) << bits) // ((inside << size) + outside * y)
            for y in enclose_exponential(exponent, size)
        )
        if low == high:
            return low + 1
        guard *= 2
