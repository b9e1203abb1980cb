"""Coins: exact Bernoulli draws with rational probabilities and with probabilities e⁻ˣ.

A coin is heads when a random number, written bit by bit, is below its probability. It is decided
by the first bit that differs from the probability's certified digits, never by a rounded number.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.bits import Words, bits
from sfumato.noise.digits import DigitTable, play
from sfumato.noise.exact import Number, exact_named
from sfumato.noise.expansions import Expansion, exponential, rational
from sfumato.noise.sample_size import Size, count_of, shape_draws, shape_of

Coins: TypeAlias = NDArray[np.bool_]

#: Relative half-width of the interval that filters coins. The float exponential of the kernel is
#: right to 2⁻⁴⁰ (see `_kernels.filter_coins`); tests widen this to send every coin to the integers.
FILTER_MARGIN = 2.0**-36

#: Coins of different probabilities thrown at a time, so that the numbers stay in the cache.
_BATCH = 1 << 15


@overload
def bernoulli(size: None = None, *, probability: Number) -> bool: ...
@overload
def bernoulli(size: int | tuple[int, ...], *, probability: Number) -> Coins: ...
def bernoulli(size: Size = None, *, probability: Number) -> bool | Coins:
    """Throw coins that are True with a rational probability, exactly.

    Parameters
    ----------
    size
        How many, or a shape; None for a single bool.
    probability
        Between 0 and 1, as `exact` reads it.
    """
    p = exact_named(probability, "probability")
    if not 0 <= p <= 1:
        raise ValueError(f"probability must lie between 0 and 1; got {probability}")
    if p == 1:
        return _certain(size)
    return cast("bool | Coins", shape_draws(throw(count_of(size), _rational_table(p)), size))


@overload
def bernoulli_exp(size: None = None, *, exponent: Number) -> bool: ...
@overload
def bernoulli_exp(size: int | tuple[int, ...], *, exponent: Number) -> Coins: ...
def bernoulli_exp(size: Size = None, *, exponent: Number) -> bool | Coins:
    """Throw coins that are True with probability e⁻ˣ, exactly.

    Parameters
    ----------
    size
        How many, or a shape; None for a single bool.
    exponent
        The x ≥ 0 of e⁻ˣ, as `exact` reads it.
    """
    x = exact_named(exponent, "exponent")
    if x < 0:
        raise ValueError(f"exponent must not be negative; got {exponent}")
    if x == 0:
        return _certain(size)
    return cast("bool | Coins", shape_draws(throw(count_of(size), _exponential_table(x)), size))


def bernoulli_exp_array(numerators: NDArray[Any], *, denominator: int) -> Coins:
    """Throw one coin for each entry, True with probability e^(−numerator/denominator), exactly.

    An outward-rounded floating-point interval settles nearly all coins; integers decide the rest.

    Parameters
    ----------
    numerators
        Non-negative integers: an integer array of any shape, or an object array of Python ints.
    denominator
        A positive integer of any size.
    """
    if denominator <= 0:
        raise ValueError(f"denominator must be positive; got {denominator}")
    flat = numerators.reshape(-1)
    integers = numerators.dtype.kind in "iu" or (
        numerators.dtype.kind == "O" and all(isinstance(n, int) for n in flat)
    )
    if not integers:
        raise TypeError(f"numerators must be integers; got an array of {numerators.dtype}")
    if flat.size and flat.min() < 0:
        raise ValueError("numerators must not be negative")
    heads = np.empty(flat.size, dtype=np.bool_)
    for start in range(0, flat.size, _BATCH):
        batch = flat[start : start + _BATCH]
        heads[start : start + _BATCH] = _different_coins(batch, denominator)
    return heads.reshape(numerators.shape)


def _different_coins(numerators: NDArray[Any], denominator: int) -> Coins:
    """Throw the coins of one batch."""

    def exponent(index: int) -> Fraction:
        return Fraction(int(numerators[index]), denominator)

    return throw_filtered_coins(
        _ratios(numerators, denominator), bits().words(numerators.size), exponent
    )


def throw_filtered_coins(
    exponents: NDArray[np.float64], words: Words, exact_exponent: Callable[[int], Fraction]
) -> Coins:
    """Throw coins of probability e⁻ˣ whose exponents are known as floats and, if need be, exactly.

    Parameters
    ----------
    exponents
        The exponents x, right to 2⁻⁴² (absolutely) wherever x < 40, and at least 40 elsewhere.
    words
        A random word for each coin.
    exact_exponent
        A function from the index of a coin to its exact exponent.
    """
    from sfumato.noise import _kernels

    outcome = np.empty(exponents.size, dtype=np.uint8)
    open_coins = _kernels.filter_coins(exponents, words, FILTER_MARGIN, outcome)
    if open_coins:
        for index in np.flatnonzero(outcome == _kernels.UNDECIDED):
            outcome[index] = decide(int(words[index]), exact_exponent(int(index)))
    return outcome.view(np.bool_)


def decide(word: int, exponent: Fraction) -> bool:
    """Decide one coin of probability e⁻ˣ in integers, going on from a random word already drawn.

    Parameters
    ----------
    word
        The first 64 bits of the coin's random number.
    exponent
        The x ≥ 0 of e⁻ˣ.
    """
    if exponent == 0:
        return True
    return below(word, exponential(exponent))


def below(word: int, expansion: Expansion) -> bool:
    """Tell whether a random number whose first 64 bits are given is below an expansion.

    Parameters
    ----------
    word
        The first 64 bits; more are drawn while they equal the digits.
    expansion
        The number to compare with.
    """
    number, length = word, 64
    while (digits := expansion.prefix(length)) == number:
        number = number << 64 | int(bits().words(1)[0])
        length += 64
    return number < digits


def throw(count: int, table: DigitTable) -> Coins:
    """Throw coins of one probability, sixty-four at a time.

    Parameters
    ----------
    count
        How many.
    table
        The digits of the probability, in its only row.
    """
    from sfumato.noise import _kernels

    words = np.zeros(-(-count // 64), dtype=np.uint64)
    play(_kernels.coins, table, words)
    return np.unpackbits(words.view(np.uint8), count=count, bitorder="little").view(np.bool_)


def _ratios(numerators: NDArray[Any], denominator: int) -> NDArray[np.float64]:
    """Divide to within three roundings; what is 40 or more need only stay so."""
    if numerators.dtype.kind != "O" and denominator.bit_length() < 1000:
        return numerators.astype(np.float64) / float(denominator)
    # Python divides integers of any size with one rounding, but refuses what overflows a float.
    limit = 64 * denominator
    ratios = [64.0 if n >= limit else int(n) / denominator for n in numerators.tolist()]
    return np.array(ratios, dtype=np.float64)


def _certain(size: Size) -> bool | Coins:
    """Return coins that are always True; they need no random bits."""
    return True if size is None else np.ones(shape_of(size), dtype=np.bool_)


@lru_cache(maxsize=64)
def _rational_table(p: Fraction) -> DigitTable:
    """Keep the digits of the probabilities in use."""
    return DigitTable([rational(p)])


@lru_cache(maxsize=64)
def _exponential_table(x: Fraction) -> DigitTable:
    """Keep the digits of the probabilities in use."""
    return DigitTable([exponential(x)])
