from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import noise
from sfumato.mechanisms.bounds import (
    binary_counts,
    bounds_from_counts,
    measure_bounds,
    signed_powers,
)
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import PureDP
from tests.mechanisms.opened import opened, transcript_of

ONE = Fraction(1)


@given(st.floats(allow_nan=False))
def test_every_number_lies_in_exactly_one_bin(value):
    counts = binary_counts([value], least=-3, most=5)
    assert counts.sum() == 1
    edges = signed_powers(-3, 5)
    place = int(np.flatnonzero(counts)[0])
    low, high = edges[place], edges[place + 1]
    assert low <= np.clip(value, edges[0], edges[-1]) <= high


def test_a_bin_is_closed_towards_zero():
    assert binary_counts([1.0, -1.0, 0.0, -0.0], least=0, most=1).tolist() == [1, 0, 2, 1]


def test_edges_far_from_zero_do_not_overflow():
    edges = signed_powers(-1074, 1023)
    assert np.all(np.isfinite(edges))
    assert np.all(np.diff(edges) > 0)


def test_bounds_enclose_nearly_all_data_and_are_not_absurd():
    values = np.random.default_rng(3).normal(100, 20, size=5_000)
    budget = opened(PureDP("0.5"))
    with noise.seeded(12):
        noisy = measure_bounds(budget, values, epsilon=Fraction(1, 2), label="range")
    assert bounds_from_counts(noisy, scale=Fraction(2)) == (32.0, 256.0)
    (entry,) = transcript_of(budget).entries
    assert entry.signature["sensitivity"] == "1"


def test_negative_and_positive_data_give_both_ends():
    values = np.concatenate([np.full(500, -5.0), np.full(500, 0.3)])
    with noise.seeded(12):
        noisy = measure_bounds(opened(PureDP(1)), values, epsilon=ONE, label="range")
    assert bounds_from_counts(noisy, scale=ONE) == (-8.0, 0.5)


def test_replacing_a_record_costs_twice_the_sensitivity():
    budget = opened(PureDP(1), Relation.REPLACE_ONE)
    measure_bounds(budget, [1.0], epsilon=ONE, label="range")
    assert transcript_of(budget).entries[0].signature["sensitivity"] == "2"


def test_empty_bins_stand_out_no_more_often_than_stated():
    # 400 runs on no data with a false alarm of 1 %: more than 25 alarms have probability < 1e-9.
    bins = 2 * (64 + 32 + 1)
    with noise.seeded(6):
        counts = noise.discrete_laplace((400, bins), scale=2)
    threshold_reached = 0
    for row in counts:
        low, high = bounds_from_counts(row, scale=Fraction(2), false_alarm=0.01)
        best = int(np.argmax(row))
        edges = signed_powers(-32, 64)
        threshold_reached += (low, high) != (edges[best], edges[best + 1]) or row[
            best
        ] >= 2 * np.log(bins / 0.01)
    assert threshold_reached <= 25


def test_without_a_bin_that_stands_out_the_highest_is_taken():
    assert bounds_from_counts([0, 1, 3, 0], scale=ONE, least=0, most=1) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: signed_powers(3, 2), "least <= most"),
        (lambda: signed_powers(0, 1024), "1023"),
        (lambda: bounds_from_counts([1], scale=ONE, least=0, most=1), "4 noisy counts"),
        (
            lambda: bounds_from_counts([0] * 4, scale=ONE, least=0, most=1, false_alarm=0),
            "false_alarm",
        ),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
