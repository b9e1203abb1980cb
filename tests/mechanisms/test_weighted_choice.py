import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato import noise
from sfumato.mechanisms import weighted_choice as module
from sfumato.mechanisms.weighted_choice import (
    _coin,
    _exponential_bounds,
    group_log_probabilities,
    weighted_choice,
)


def integers(*values):
    return np.array(values, dtype=np.int64)


def test_choices_follow_weights_times_exponentials():
    # Chi-square at 1e-7; a rate 10 % off moves the odds of the first two by e^±0.5 and is rejected.
    scores, weights = integers(0, -7, -10, -70), integers(1, 134, 500, 2**60)
    rate, trials = Fraction(7, 10), 2_000
    with noise.seeded(2):
        draws = [weighted_choice(scores, weights, rate=rate) for _ in range(trials)]
    observed = np.bincount(draws, minlength=4)
    for factor, accepted in ((1, True), (Fraction(9, 10), False), (Fraction(11, 10), False)):
        law = np.exp(group_log_probabilities(scores, weights, rate * factor))
        assert law.sum() == pytest.approx(1)
        p_value = stats.chisquare(observed, law * trials, sum_check=False).pvalue
        assert (p_value > 1e-7) == accepted


def test_a_group_of_many_is_as_likely_as_its_members_together():
    scores = integers(-2, -2, -2, 0, -5, -5)
    single = np.exp(group_log_probabilities(scores, np.ones(6, dtype=np.int64), Fraction(1)))
    grouped = np.exp(group_log_probabilities(integers(-2, 0, -5), integers(3, 1, 2), Fraction(1)))
    assert grouped == pytest.approx([single[:3].sum(), single[3], single[4:].sum()])


def test_hopeless_groups_neither_win_nor_hang():
    # Each coin of such a group has probability e^(−10^12); the loop must come back at once.
    scores = np.full(1000, -(10**12), dtype=np.int64)
    scores[7] = 0
    with noise.seeded(1):
        chosen = {
            weighted_choice(scores, np.ones(1000, dtype=np.int64), rate=Fraction(1))
            for _ in range(20)
        }
        assert chosen == {7}
        assert not _coin(Fraction(1), Fraction(-(10**12)))


def test_millions_of_equal_groups_do_not_overflow():
    # One group in 2^23 is so much better that it wins but for a chance of 1e-10.
    scores, weights = np.zeros(2**23, dtype=np.int64), np.ones(2**23, dtype=np.int64)
    scores[2**22] = 40
    with noise.seeded(6):
        assert weighted_choice(scores, weights, rate=Fraction(1)) == 2**22


@given(st.fractions(-60, 5, max_denominator=1000), st.sampled_from([5, 20, 40, 80]))
def test_exponential_bounds_enclose_and_close_in(exponent, digits):
    low, high = _exponential_bounds(exponent, digits)
    assert low < high
    assert high - low <= low * Fraction(100, 10**digits) * 10
    tight = _exponential_bounds(exponent, 120)
    assert low <= tight[0] < tight[1] <= high


@pytest.mark.parametrize(("first_bits", "first_digits"), [(96, 40), (1, 2)])
def test_a_coin_has_its_probability(monkeypatch, first_bits, first_digits):
    # Two-sided binomial test at 1e-7; 10 % off is rejected. After one bit, most coins need more.
    monkeypatch.setattr(module, "_COIN_BITS", first_bits)
    monkeypatch.setattr(module, "_COIN_DIGITS", first_digits)
    factor, exponent, trials = Fraction(5, 2), Fraction(-3, 2), 6_000
    truth = 2.5 * math.exp(-1.5)
    with noise.seeded(9):
        heads = sum(_coin(factor, exponent) for _ in range(trials))
    assert stats.binomtest(heads, trials, truth).pvalue > 1e-7
    assert stats.binomtest(heads, trials, truth * 0.9).pvalue < 1e-7
    assert stats.binomtest(heads, trials, truth * 1.1).pvalue < 1e-7


def test_a_coin_that_always_falls_on_heads_needs_no_end_of_digits():
    with noise.seeded(4):
        assert all(_coin(Fraction(1), Fraction(0)) for _ in range(100))


def test_a_proposal_below_the_truth_is_an_error_and_not_a_bias():
    with pytest.raises(ArithmeticError, match="no choice was made"):
        _coin(Fraction(3), Fraction(0))


@pytest.mark.parametrize(
    ("scores", "weights"),
    [(integers(), integers()), (integers(1), integers(1, 2)), (integers(1), integers(0))],
)
def test_bad_groups_are_refused(scores, weights):
    with pytest.raises(ValueError, match="group"):
        weighted_choice(scores, weights, rate=Fraction(1))
