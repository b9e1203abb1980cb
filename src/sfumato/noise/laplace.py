"""Geometric and two-sided geometric (discrete Laplace) noise, exact for every rational scale.

With q = e^(−1/s), the two-sided geometric law P(x) ∝ q^|x| is that of (1 − Z)·S·(1 + G): Z is 1
with probability (1 − q)/(1 + q) = tanh(1/2s), S is a fair sign, and G is geometric,
P(g) = (1 − q)·q^g. The binary digits of G are independent, digit i being 1 with probability
1/(1 + e^(2ⁱ/s)). The lowest K digits are drawn; the rest of G is 2ᴷ times a geometric of ratio
e^(−2ᴷ/s), nearly always 0, drawn coin by coin. Every coin is exact, hence so is the noise; proof:
docs/proofs/noise.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.bernoulli import throw
from sfumato.noise.digits import DigitTable, play
from sfumato.noise.exact import Number, positive
from sfumato.noise.expansions import exponential, logistic, rational, twice_logistic
from sfumato.noise.sample_size import Size, count_of, shape_draws

#: int64, or Python ints when the scale is beyond LARGEST_INT64_SCALE.
Integers: TypeAlias = NDArray[Any]

#: Scales up to here keep the chance that a draw overflows 64 bits below e⁻²⁰⁰⁰; it then raises.
LARGEST_INT64_SCALE = 2**52

#: Digits are drawn up to 2ᴷ ≥ this times the scale: fewer digits, and tails slow the rest down.
TAIL_SCALES = 5


@overload
def discrete_laplace(size: None = None, *, scale: Number) -> int: ...
@overload
def discrete_laplace(size: int | tuple[int, ...], *, scale: Number) -> Integers: ...
def discrete_laplace(size: Size = None, *, scale: Number) -> int | Integers:
    """Draw integers with P(x) ∝ exp(−|x|/scale), exactly.

    Parameters
    ----------
    size
        How many, or a shape; None for a single int.
    scale
        Any positive number, as `exact` reads it. Up to 2⁵² the array is int64, beyond it holds
        Python ints.

    Notes
    -----
    Privacy: added to an integer vector of L1 sensitivity Δ, it gives (Δ/scale)-DP.
    """
    return _draw(size, scale, signed=True)


@overload
def geometric(size: None = None, *, scale: Number) -> int: ...
@overload
def geometric(size: int | tuple[int, ...], *, scale: Number) -> Integers: ...
def geometric(size: Size = None, *, scale: Number) -> int | Integers:
    """Draw integers g ≥ 0 with P(g) = (1 − q)·q^g, q = exp(−1/scale), exactly.

    Parameters
    ----------
    size
        How many, or a shape; None for a single int.
    scale
        Any positive number, as `exact` reads it. Up to 2⁵² the array is int64, beyond it holds
        Python ints.
    """
    return _draw(size, scale, signed=False)


def digit_planes(scale: Fraction) -> int:
    """Return K, the number of binary digits of the geometric that are drawn side by side.

    Parameters
    ----------
    scale
        The scale s of the geometric.
    """
    # The smallest K with 2ᴷ ≥ TAIL_SCALES·s.
    return (-(-TAIL_SCALES * scale.numerator // scale.denominator) - 1).bit_length()


def _draw(size: Size, scale: Number, *, signed: bool) -> int | Integers:
    """Check the arguments before any bit is drawn."""
    s = positive(scale, "scale")
    count = count_of(size)
    draws = (_small if s <= LARGEST_INT64_SCALE else _large)(count, s, signed)
    return cast("int | Integers", shape_draws(draws, size))


def _small(count: int, scale: Fraction, signed: bool) -> Integers:
    """Fill full blocks, then one last, narrower block."""
    from sfumato.noise import _kernels

    draws = np.empty(count, dtype=np.int64)
    table = _table(scale)
    full = count - count % (64 * _kernels.WIDTH)
    play(_kernels.geometric, table, draws[:full], signed, _kernels.WIDTH)
    play(_kernels.geometric, table, draws[full:], signed, -(-(count - full) // 64))
    return draws


def _large(count: int, scale: Fraction, signed: bool) -> Integers:
    """Draw the high digits of G as a geometric of a smaller scale, and the low ones as coins."""
    low_digits = math.ceil(scale / LARGEST_INT64_SCALE).bit_length()
    draws = _small(count, scale / 2**low_digits, signed=False).astype(object) << low_digits
    for index in range(low_digits):
        coins = throw(count, DigitTable([logistic(2**index / scale)]))
        draws += coins.astype(object) << index
    if signed:
        nonzero = throw(count, DigitTable([twice_logistic(1 / scale)]))
        negative = throw(count, DigitTable([rational(Fraction(1, 2))]))
        draws = np.where(nonzero, np.where(negative, -1 - draws, 1 + draws), 0)
    return draws


@lru_cache(maxsize=256)
def _table(scale: Fraction) -> DigitTable:
    """Return the digits of all probabilities, in the order that the kernel expects."""
    planes = digit_planes(scale)
    return DigitTable(
        [
            twice_logistic(1 / scale),
            exponential(2**planes / scale),
            *(logistic(2**index / scale) for index in range(planes)),
        ]
    )
