"""Private quantiles: their law against brute force, their price, and what they are good for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import noise
from sfumato.mechanisms.choose import Choose
from sfumato.mechanisms.quantile import IntervalQuantile, quantile_sensitivity
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from tests.mechanisms.opened import opened, transcript_of

ONE, HALF = Fraction(1), Fraction(1, 2)
small_data = st.lists(st.integers(-3, 12), max_size=8)
quantiles = st.sampled_from([Fraction(0), Fraction(1, 4), HALF, Fraction(19, 20), ONE])


def interval(**options):
    given = {"low": 0, "high": 9, "quantile": HALF, "epsilon": ONE}
    return IntervalQuantile(**{**given, "relation": Relation.ADD_REMOVE, **options})


def data(values):
    return np.array(values, dtype=np.int64)


def quantile_scores(values, candidates, quantile):
    """How well each candidate splits the values: −|(b−a)·#{≤ c} − a·#{> c}|."""
    part = Fraction(quantile)
    at_most = np.searchsorted(np.sort(values), candidates, side="right")
    return -np.abs(part.denominator * at_most - part.numerator * len(values))


def brute_force(values, low, high, quantile, rate):
    """The exponential mechanism over every point of the range, one by one."""
    clipped = np.clip(values, low, high) if len(values) else np.array([])
    scores = []
    for candidate in range(low, high + 1):
        at_most = int((clipped <= candidate).sum())
        above = len(clipped) - at_most
        scores.append(-abs((1 - quantile) * at_most - quantile * above) * quantile.denominator)
    weights = np.exp(float(rate) * np.array(scores, dtype=float))
    return weights / weights.sum()


@given(small_data, quantiles, st.fractions(Fraction(1, 10), 4, max_denominator=10))
def test_the_law_is_that_of_the_exponential_mechanism_over_every_point(values, quantile, epsilon):
    primitive = interval(quantile=quantile, epsilon=epsilon)
    law = [math.exp(primitive.log_probability(data(values), point)) for point in range(10)]
    np.testing.assert_allclose(law, brute_force(values, 0, 9, quantile, primitive.rate), atol=1e-12)
    assert sum(law) == pytest.approx(1)


@settings(max_examples=60)
@given(small_data, quantiles, st.integers(-3, 12))
def test_adding_a_record_never_loses_more_than_epsilon(values, quantile, record):
    primitive = interval(quantile=quantile)
    here, there = data(values), data([*values, record])
    assert primitive.change(here, there).holds
    for point in range(10):
        ratio = primitive.log_probability(here, point) - primitive.log_probability(there, point)
        assert abs(ratio) <= 1 + 1e-9


@settings(max_examples=60)
@given(small_data, quantiles, st.integers(-3, 12), st.integers(-3, 12))
def test_replacing_a_record_never_loses_more_than_epsilon(values, quantile, old, new):
    primitive = interval(quantile=quantile, relation=Relation.REPLACE_ONE)
    here, there = data([*values, old]), data([*values, new])
    assert primitive.change(here, there).holds
    for point in range(10):
        ratio = primitive.log_probability(here, point) - primitive.log_probability(there, point)
        assert abs(ratio) <= 1 + 1e-9


@pytest.mark.parametrize("quantile", [HALF, Fraction(9, 10)])
def test_the_price_is_tight_and_half_the_noise_exceeds_it(quantile):
    # All records lie at 1. A new one at the far end makes 0 a worse candidate, and nearly all
    # others better ones, by the sensitivity both.
    def loss(epsilon):
        primitive = interval(high=10**6, quantile=quantile, epsilon=epsilon)
        here, there = data([1] * 50), data([1] * 50 + [10**6])
        return primitive.log_probability(here, 0) - primitive.log_probability(there, 0)

    assert 0.999 < loss(ONE) <= 1
    assert loss(2 * ONE) > 1.99


def test_samples_follow_the_log_probability():
    # One good point among 10001, about as likely as all others together; chi-square at 1e-7 over
    # three stretches; a loss 10 % off moves the odds by e^±0.9 and is rejected.
    values, trials = data([100] * 10 + [101] * 10), 1_500
    primitive = interval(high=10_000, epsilon=Fraction(23, 25))
    with noise.seeded(31):
        draws = np.array([primitive.sample(values) for _ in range(trials)])
    observed = np.histogram(draws, [0, 100, 101, 10_001])[0]
    for factor, accepted in ((1, True), (Fraction(9, 10), False), (Fraction(11, 10), False)):
        other = interval(high=10_000, epsilon=Fraction(23, 25) * factor)
        each = [math.exp(other.log_probability(values, point)) for point in (0, 100, 5_000)]
        law = trials * np.array(each) * [100, 1, 9_900]
        assert (stats.chisquare(observed, law, sum_check=False).pvalue > 1e-7) == accepted


def test_a_point_is_uniform_within_its_stretch():
    # Kolmogorov and Smirnov at 1e-7.
    primitive = interval(high=10**6)
    with noise.seeded(32):
        draws = [primitive.sample(data([])) for _ in range(500)]
    assert stats.kstest(np.array(draws) / 10**6, "uniform").pvalue > 1e-7


def test_a_huge_range_is_no_burden():
    generator = np.random.default_rng(0)
    values = generator.normal(0, 1000, size=100_000).astype(np.int64)
    primitive = interval(low=-(2**52), high=2**52, quantile=Fraction(3, 4))
    with noise.seeded(8):
        chosen = primitive.sample(values)
    assert abs((values <= chosen).mean() - 0.75) < 0.01


def test_no_records_give_a_uniform_point():
    law = [interval().log_probability(data([]), point) for point in range(10)]
    assert law == pytest.approx([math.log(0.1)] * 10)


def test_points_outside_the_range_are_impossible():
    assert interval().log_probability(data([1]), 10) == -math.inf


@given(small_data, quantiles)
def test_scores_equal_their_definition(values, quantile):
    candidates = [5, -1, 3, 100]
    whole = quantile.denominator
    expected = [
        -abs((1 - quantile) * sum(v <= c for v in values) - quantile * sum(v > c for v in values))
        * whole
        for c in candidates
    ]
    assert quantile_scores(data(values), candidates, quantile).tolist() == expected


@given(small_data, quantiles, st.integers(-3, 12), st.integers(-3, 12))
def test_scores_keep_their_sensitivity(values, quantile, old, new):
    candidates = np.arange(-4, 14)

    def scores(*extra):
        return quantile_scores(data([*values, *extra]), candidates, quantile)

    added = np.abs(scores(old) - scores()).max()
    replaced = np.abs(scores(old) - scores(new)).max()
    assert added <= quantile_sensitivity(quantile, Relation.ADD_REMOVE)
    assert replaced <= quantile_sensitivity(quantile, Relation.REPLACE_ONE)


def test_sensitivities_are_attained():
    candidates = np.arange(5)
    for quantile in (Fraction(1, 20), HALF, Fraction(19, 20)):
        base = quantile_scores(data([0] * 50 + [4] * 50), candidates, quantile)
        moves = [
            np.abs(quantile_scores(data([0] * 50 + [4] * 50 + [x]), candidates, quantile) - base)
            for x in (0, 4)
        ]
        assert np.max(moves) == quantile_sensitivity(quantile, Relation.ADD_REMOVE)


def test_the_95th_percentile_of_lengths_is_found_among_a_million_candidates():
    # P(length ≤ 28) = 0.9477 and P(length ≤ 29) = 0.9529: both are as near as whole numbers come.
    lengths = np.random.default_rng(1).geometric(0.1, size=100_000)
    candidates = np.arange(1, 2**20 + 1)
    with noise.seeded(3):
        for _ in range(2):
            budget = opened(PureDP("0.1"))
            primitive = Choose(
                candidates=candidates.size,
                sensitivity=Fraction(quantile_sensitivity("0.95", Relation.ADD_REMOVE)),
                epsilon=Fraction(1, 10),
            )
            scores = quantile_scores(lengths, candidates, "0.95")
            chosen = budget.measure(primitive, scores, label="length")
            assert candidates[chosen] in (28, 29)
            assert budget.remaining == PureDP(0)


@pytest.mark.parametrize("relation", list(Relation))
def test_the_median_of_real_numbers_is_found_on_a_grid(relation):
    values = np.random.default_rng(5).normal(3.25, 1, size=2_000)
    budget = opened(PureDP(1), relation)
    with noise.seeded(4):
        primitive = interval(low=-1_024_000, high=1_024_000, relation=relation)
        median = budget.measure(primitive, data(np.rint(values * 1024)), label="median") / 1024
    assert median == pytest.approx(3.25, abs=0.2)
    (entry,) = transcript_of(budget).entries
    assert entry.signature["low"] == -1_024_000
    assert entry.signature["relation"] == relation
    assert entry.outputs == (round(median * 1024),)


def test_cost_in_each_measure():
    assert interval().cost(PureDP) == PureDP(1)
    assert interval().cost(ApproxDP) == ApproxDP(1, 0)
    assert interval().cost(ZCDP) == ZCDP("1/8")


def test_change_counts_records():
    assert interval().change(data([1, 2]), data([2, 1])).measured == 0
    assert not interval().change(data([1, 2]), data([1, 3])).holds
    replace = interval(relation=Relation.REPLACE_ONE)
    assert replace.change(data([1, 2]), data([1, 3])).holds
    assert not replace.change(data([1, 2]), data([1])).holds
    assert not replace.change(data([1, 2]), data([3, 4])).holds


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: interval(quantile=Fraction(3, 2)), "quantile"),
        (lambda: quantile_sensitivity("0.1234567", Relation.ADD_REMOVE), "denominator"),
        (lambda: interval(low=5, high=4), "low must not exceed high"),
        (lambda: interval(high=2**60), "within"),
        (lambda: interval(epsilon=Fraction(0)), "epsilon"),
        (lambda: interval().check([1, 2]), "int64"),
        (lambda: interval().check(np.zeros((2, 2), dtype=np.int64)), "one-dimensional"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_budget_refuses_a_quantile_priced_for_another_relation():
    with pytest.raises(ValueError, match="priced for add_remove, and its slice for replace_one"):
        opened(PureDP(1), Relation.REPLACE_ONE).measure(interval(), data([1]), label="x")
