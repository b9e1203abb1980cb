"""Real random numbers of which only as many bits exist as somebody has asked for.

A uniform number is a list of random bits that grows on demand; exponential and normal numbers are
an integer plus such a fraction. Together with a rule for rounding to a grid this gives samples of
continuous laws, scaled by any rational number and rounded as a whole, with no error at all: bits
are added until the rounding is settled. Nothing here may ever round a random number that somebody
still compares, and nothing here uses floating point.

The samplers are those of von Neumann (1951) and Karney (*Sampling exactly from the normal
distribution*, 2016): they only compare uniform numbers with each other, so that a handful of bits
usually decides, and the fraction they accept keeps uniformly random bits behind those compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from sfumato.noise.bits import bits

Interval: TypeAlias = tuple[int, int]
#: For a number of bits b, two integers around x · 2ᵇ that close in on each other as b grows.
Enclosure: TypeAlias = Callable[[int], Interval]

#: Bits that a uniform number grows by.
WIDTH = 64
_WORDS_AT_ONCE = 64


class Tape:
    """Random bits for one sample, read from the source of this thread a few words at a time."""

    __slots__ = ("_words",)

    def __init__(self) -> None:
        self._words: list[int] = []

    def word(self) -> int:
        """Return `WIDTH` random bits as one integer."""
        if not self._words:
            self._words = bits().words(_WORDS_AT_ONCE).tolist()
        return self._words.pop() >> (64 - WIDTH)

    def coin(self) -> bool:
        """Flip a fair coin."""
        return bool(self.word() & 1)


class Uniform:
    """A uniform number in [0, 1], known to lie between numerator/2ˢⁱᶻᵉ and (numerator + 1)/2ˢⁱᶻᵉ.

    Parameters
    ----------
    tape
        Where its bits come from.
    """

    __slots__ = ("_tape", "numerator", "size")

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.numerator = tape.word()
        self.size = WIDTH

    def refine(self, size: int) -> None:
        """Draw more bits until at least `size` are known."""
        while self.size < size:
            self.numerator = (self.numerator << WIDTH) | self._tape.word()
            self.size += WIDTH

    def is_below(self, other: Uniform) -> bool:
        """Compare with an independent uniform number; equal numbers have probability zero."""
        while True:
            size = min(self.size, other.size)
            mine, theirs = (
                self.numerator >> (self.size - size),
                other.numerator >> (other.size - size),
            )
            if mine != theirs:
                return mine < theirs
            self.refine(size + WIDTH)
            other.refine(size + WIDTH)

    def is_below_half(self) -> bool:
        """Compare with 1/2, which the first bit does."""
        return self.numerator >> (self.size - 1) == 0

    def enclose(self, size: int) -> Interval:
        """Return integers around the number times 2ˢⁱᶻᵉ, one apart."""
        self.refine(size)
        low = self.numerator >> (self.size - size)
        return low, low + 1


class Real:
    """A real number: a sign, an integer and a uniform fraction with bits yet to be drawn.

    Parameters
    ----------
    integer
        The integer part of the magnitude.
    fraction
        The fraction of the magnitude.
    negative
        Whether the number is negative.
    """

    __slots__ = ("fraction", "integer", "negative")

    def __init__(self, integer: int, fraction: Uniform, *, negative: bool = False) -> None:
        self.integer = integer
        self.fraction = fraction
        self.negative = negative

    def enclose(self, size: int) -> Interval:
        """Return integers around the number times 2ˢⁱᶻᵉ, one apart."""
        low, high = self.fraction.enclose(size)
        low, high = (self.integer << size) + low, (self.integer << size) + high
        return (-high, -low) if self.negative else (low, high)


def exponential(tape: Tape) -> Real:
    """Draw from the density e⁻ˣ on x ≥ 0.

    The fraction x is kept with probability e⁻ˣ, and each rejection, of probability 1/e, adds one to
    the integer (von Neumann, 1951).

    Parameters
    ----------
    tape
        Where the bits come from.
    """
    integer = 0
    while True:
        fraction = Uniform(tape)
        if _survives(fraction, tape):
            return Real(integer, fraction)
        integer += 1


def laplace(tape: Tape) -> Real:
    """Draw from the density e⁻ˡˣˡ/2.

    Parameters
    ----------
    tape
        Where the bits come from.
    """
    magnitude = exponential(tape)
    return Real(magnitude.integer, magnitude.fraction, negative=tape.coin())


def normal(tape: Tape) -> Real:
    """Draw from the standard normal law.

    The integer k has weight e^(−k²/2): k is geometric with ratio e^(−1/2), kept with probability
    e^(−k(k−1)/2). The fraction x is kept with probability e^(−kx)·e^(−x²/2), and the product of
    all is e^(−(k+x)²/2).

    Parameters
    ----------
    tape
        Where the bits come from.
    """
    while True:
        integer = 0
        while _survives_half(tape):
            integer += 1
        if not all(_survives_half(tape) for _ in range(integer * (integer - 1))):
            continue
        fraction = Uniform(tape)
        if _survives_square(fraction, tape) and all(
            _survives(fraction, tape) for _ in range(integer)
        ):
            return Real(integer, fraction, negative=tape.coin())


def _survives(x: Uniform, tape: Tape) -> bool:
    """Return True with probability e⁻ˣ.

    The length n of a falling run x > u₁ > … > uₙ has P(n ≥ j) = xʲ/j!, so P(n even) = Σ(−x)ʲ/j!.
    """
    even = True
    last = x
    while True:
        following = Uniform(tape)
        if not following.is_below(last):
            return even
        last, even = following, not even


def _survives_half(tape: Tape) -> bool:
    """Return True with probability e^(−1/2): the falling run starts at 1/2."""
    first = Uniform(tape)
    return True if not first.is_below_half() else not _survives(first, tape)


def _survives_square(x: Uniform, tape: Tape) -> bool:
    """Return True with probability e^(−x²/2): each step of the run also needs a coin of x/2."""
    even = True
    last = x
    while True:
        following = Uniform(tape)
        if not (following.is_below(last) and tape.coin() and Uniform(tape).is_below(x)):
            return even
        last, even = following, not even


class Rounding:
    """Rounding of centre + scale · x to the grid of multiples of 2ᵉ, ties upward, in integers.

    Parameters
    ----------
    centre, scale
        Rational numbers; the scale is not negative.
    exponent
        The public exponent e of the grid.
    """

    __slots__ = ("_centre", "_scale", "_unit", "bits")

    def __init__(self, centre: Fraction, scale: Fraction, exponent: int) -> None:
        step = Fraction(2) ** exponent
        in_steps, scale_in_steps = centre / step, scale / step
        self._unit = math.lcm(in_steps.denominator, scale_in_steps.denominator)
        self._centre = in_steps.numerator * (self._unit // in_steps.denominator)
        self._scale = scale_in_steps.numerator * (self._unit // scale_in_steps.denominator)
        #: Bits after the point that x needs before a rounding can be expected to settle.
        self.bits = max(0, self._scale.bit_length() - self._unit.bit_length()) + WIDTH

    def settle(self, interval: Interval, size: int) -> int | None:
        """Return the grid point in steps if all x of interval/2ˢⁱᶻᵉ are rounded to it, else None.

        x ↦ ⌊(centre + scale·x)/2ᵉ + 1/2⌋ does not decrease, so agreement at both ends suffices.
        """
        low, high = (self._round(end, size) for end in interval)
        return low if low == high else None

    def of(self, enclose: Enclosure) -> int:
        """Refine x until its rounding is settled, and return the grid point in steps."""
        size = self.bits
        while True:
            units = self.settle(enclose(size), size)
            if units is not None:
                return units
            size *= 2

    def _round(self, end: int, size: int) -> int:
        """Round one end of an interval."""
        unit = self._unit << size
        return (2 * ((self._centre << size) + self._scale * end) + unit) // (2 * unit)


def rational_values(values: object) -> list[Fraction]:
    """Return private numbers as fractions; a float is the dyadic rational it is.

    Errors never show a value, since values are private.

    Parameters
    ----------
    values
        A sequence or array of int, float or Fraction.
    """
    if not isinstance(values, Iterable):
        raise ValueError(f"a sequence of numbers is needed; got {type(values).__name__}")
    return [rational_value(value) for value in values]


def rational_value(value: object) -> Fraction:
    """Return one private number as a fraction; a float is the dyadic rational it is.

    Parameters
    ----------
    value
        An int, float or Fraction, or a NumPy scalar of one of the first two kinds.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return Fraction(int(value))
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        return Fraction(float(value))
    raise ValueError(
        "a private value must be an int, a Fraction or a finite float; "
        f"got a {type(value).__name__} that is not"
    )


def check_grid(exponent: object) -> int:
    """Return the exponent of a grid, or refuse it.

    Parameters
    ----------
    exponent
        The exponent e of the grid of multiples of 2ᵉ.
    """
    if (
        isinstance(exponent, bool)
        or not isinstance(exponent, (int, np.integer))
        or not -1074 <= exponent <= 1023
    ):
        raise ValueError(
            f"the exponent of a grid must be an integer from -1074 to 1023; got {exponent!r}"
        )
    return int(exponent)


def map_values(values: object, perturb_one: Callable[[Fraction], int]) -> int | list[int]:
    """Apply a perturbation to one number or to each of a sequence.

    Parameters
    ----------
    values
        A number or a sequence of numbers.
    perturb_one
        What to do with one.
    """
    if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str):
        return [perturb_one(value) for value in rational_values(values)]
    return perturb_one(rational_value(values))
