"""Coins of randomised response: exact bits that are 1 with one probability, packed.

Sixty-four of them are in a word, so that a billion take a second or two and 125 MB. Each is decided
by certified digits of its probability, as every coin of the library (docs/proofs/noise.md).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato.noise.bits import Words
from sfumato.noise.digits import DigitTable, play
from sfumato.noise.exact import Number, positive
from sfumato.noise.expansions import logistic, rational

__all__ = ["coin_words", "flip_words"]


def flip_words(count: int, *, exponent: Number) -> Words:
    """Throw coins that are 1 with probability 1/(1 + eˣ), exactly, 64 in a word.

    Parameters
    ----------
    count
        How many; what is left of the last word is 0.
    exponent
        The x > 0, as `exact` reads it.
    """
    from sfumato.noise import _kernels

    if count < 0:
        raise ValueError(f"count must not be negative; got {count}")
    words = np.zeros(-(-count // 64), dtype=np.uint64)
    play(_kernels.coins, _table(positive(exponent, "exponent")), words)
    if count % 64:
        words[-1] &= np.uint64((1 << count % 64) - 1)
    return words


@lru_cache(maxsize=64)
def _table(x: Fraction) -> DigitTable:
    """Keep the digits of the probabilities in use."""
    return DigitTable([logistic(x)])


def coin_words(count: int, probability: Fraction) -> Words:
    """Throw coins of a rational probability, exactly, 64 in a word.

    Parameters
    ----------
    count
        How many; what is left of the last word may be anything.
    probability
        A fraction of at least 0 and less than 1.
    """
    from sfumato.noise import _kernels

    words = np.zeros(-(-count // 64), dtype=np.uint64)
    play(_kernels.coins, _rational_table(probability), words)
    return words


@lru_cache(maxsize=64)
def _rational_table(probability: Fraction) -> DigitTable:
    """Keep the digits of the probabilities in use."""
    return DigitTable([rational(probability)])
