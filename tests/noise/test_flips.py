"""Coins of randomised response: packed, exact, and nothing behind the last one."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.noise.flips import flip_words


def ones(words):
    return int(np.unpackbits(words.view(np.uint8)).sum())


@pytest.mark.parametrize("exponent", [Fraction(1, 10**6), Fraction(1, 2), 1, Fraction(11, 4), 7])
def test_the_share_of_ones_is_the_probability_and_not_another(exponent):
    """Two-sided at 5.5 standard deviations: a false alarm in 25 million runs at most."""
    count = 2**21 + 5
    with noise.seeded(f"flips {exponent}"):
        found = ones(flip_words(count, exponent=exponent))
    p = 1 / (1 + math.exp(exponent))
    deviation = math.sqrt(count * p * (1 - p))
    assert abs(found - count * p) < 5.5 * deviation
    # It tells the law from one with a tenth more or less of the odds.
    assert abs(found - count * p * 1.1) > 5.5 * deviation or p * count < 3000


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000])
def test_what_is_left_of_the_last_word_is_zero(count):
    words = flip_words(count, exponent=Fraction(1, 10**9))
    assert len(words) == -(-count // 64)
    assert not np.unpackbits(words.view(np.uint8), bitorder="little")[count:].any()


def test_coins_in_one_word_do_not_hang_together():
    """Neighbours and words apart agree as often as independent coins do (5.5 s.d.)."""
    with noise.seeded(3):
        bits = np.unpackbits(flip_words(2**20, exponent=1).view(np.uint8), bitorder="little")
    p = 1 / (1 + math.e)
    for apart in (1, 8, 64, 4096):
        both = int((bits[apart:] & bits[:-apart]).sum())
        many = len(bits) - apart
        assert abs(both - many * p * p) < 5.5 * math.sqrt(3 * many * p * p)


def test_a_huge_exponent_never_flips_and_a_bad_one_is_refused():
    assert ones(flip_words(10**6, exponent=1000)) == 0
    for bad in (0, -1):
        with pytest.raises(ValueError, match="exponent must be positive"):
            flip_words(8, exponent=bad)
    with pytest.raises(ValueError, match="count must not be negative"):
        flip_words(-1, exponent=1)
