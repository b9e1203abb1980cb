"""The bound is honest: it is rarely above the truth, and close to it with enough samples."""

import math

import numpy as np
import pytest
from scipy import stats

from sfumato import noise
from sfumato.audit import Pair, audit, canonical_pairs
from sfumato.audit.events import best_threshold, loss_shown, lower, upper
from sfumato.audit.features import Encoder, flatten
from sfumato.privacy.loss import ApproxDP, PureDP

ZERO_ONE = Pair("zero and one", 0, 1)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (500, 1000)])
def test_clopper_pearson_covers(successes, trials):
    low, high = lower(successes, trials, 0.01), upper(successes, trials, 0.01)
    assert low <= successes / trials <= high
    if successes:
        assert stats.binom.sf(successes - 1, trials, low) == pytest.approx(0.01, rel=1e-6)
    if successes < trials:
        assert stats.binom.cdf(successes, trials, high) == pytest.approx(0.01, rel=1e-6)


def test_the_bound_is_above_the_truth_no_more_often_than_its_confidence_says():
    # 200 audits at 90 %: more than 45 above the truth would have a probability below 1e-6.
    wrong = 0
    for seed in range(200):
        result = audit(
            lambda data: data + noise.discrete_laplace(None, scale=1),
            ZERO_ONE,
            trials=200,
            claimed=PureDP(1),
            confidence=0.9,
            seed=seed,
        )
        wrong += result.refuted
    assert wrong <= 45


def test_the_curve_falls_with_delta_and_a_promised_delta_is_taken_into_account():
    result = audit(
        lambda data: data + noise.discrete_gaussian(None, variance=1),
        ZERO_ONE,
        trials=4000,
        claimed=ApproxDP(1, "1/10"),
        seed=1,
    )
    epsilons = [epsilon for _, epsilon in result.curve]
    assert epsilons == sorted(epsilons, reverse=True)
    # σ = 1 is (1, 0.127)-DP at best (Balle and Wang, 2018): a promise of δ = 0.1 is wrong, barely.
    assert 0.5 < result.bound < 1.6


def test_words_and_shapes_are_seen():
    result = audit(
        lambda data: "yes" if data or noise.bernoulli(None, probability="1/10") else "no",
        ZERO_ONE,
        trials=1000,
        claimed=PureDP(1),
        seed=1,
    )
    # 1 against 1/10 shows nearly ln 10; "no" is impossible on one side and shows more.
    assert result.bound > 2
    assert "REFUTED" in str(result)


def test_a_constant_shows_nothing():
    result = audit(lambda data: 7, ZERO_ONE, trials=200, claimed=PureDP(1), seed=1)
    assert result.bound <= 0 and "not refuted at 99.9 %" in str(result)


def test_flattening_keeps_everything_and_refuses_objects():
    numbers, words = flatten({"a": np.arange(3), "b": [True, "x", None]})
    assert numbers == [0.0, 1.0, 2.0, 1.0]
    assert "says x" in words and "says None" in words
    long, _ = flatten(np.arange(1000))
    assert len(long) == 404
    with pytest.raises(TypeError, match="got object"):
        flatten(object())


def test_frames_and_graphs_are_seen():
    import polars as pl

    numbers, words = flatten(pl.DataFrame({"a": [1, 2], "b": ["x", None]}))
    assert numbers == [1.0, 2.0] and "says x" in words

    class Graph:
        nodes = (2, 1)
        edges = ((2, 1),)

    _, words = flatten(Graph())
    assert "says ('1', '2')" in words


def test_the_encoder_gives_rows_of_one_width():
    seen = [flatten([1, 2]), flatten([1, 2, 3])]
    encoder = Encoder(seen)
    assert encoder.rows([flatten([5])]).shape == encoder.rows(seen)[:1].shape


def test_the_best_threshold_is_found_on_a_plain_example():
    here, there = np.array([0.0] * 50 + [1.0] * 50), np.array([0.0] * 99 + [1.0])
    threshold, shown = best_threshold(here, there, risk=0.01, delta=0.0)
    assert threshold == 1.0
    assert shown == pytest.approx(loss_shown(lower(50, 100, 0.01), upper(1, 100, 0.01), 0.0))
    assert math.isfinite(shown)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="at least 100"):
        audit(lambda data: 0, ZERO_ONE, trials=5, claimed=PureDP(1))
    with pytest.raises(ValueError, match="confidence"):
        audit(lambda data: 0, ZERO_ONE, trials=100, claimed=PureDP(1), confidence=1)
    with pytest.raises(ValueError, match="say what is claimed"):
        audit(lambda data: 0, ZERO_ONE, trials=100)
    with pytest.raises(ValueError, match="no canonical neighbours"):
        canonical_pairs(type("P", (), {"kind": "soup"})())
    assert audit(lambda data: data, (0, 0), trials=100, claimed=PureDP(1)).bound <= 0


def test_floating_point_noise_reaches_different_numbers_on_neighbours():
    from tests.audit.mutants import float_noise

    with noise.seeded(1):
        here = {float_noise(0.0) for _ in range(2000)}
        there = {float_noise(1.0) for _ in range(2000)}
    # Mironov's attack: a float that one neighbour can say and the other cannot. The fine grid near
    # zero is out of reach from one.
    finer = [x for x in here if 0 < abs(x) < 0.25 and (x - 1.0) + 1.0 != x]
    assert finer and not there & set(finer)


def test_our_real_noise_reaches_the_same_numbers_on_neighbours():
    from fractions import Fraction

    from sfumato.mechanisms.real import RealLaplace
    from sfumato.noise.grid import to_units

    real = RealLaplace(shape=(1,), sensitivity=Fraction(1), epsilon=Fraction(1))
    step = 2.0**real.exponent
    with noise.seeded(1):
        for value in (0.0, 1.0, 0.1, 1 / 3):
            units = to_units(np.array([value]), exponent=real.exponent)
            said = [real.read(real.primitive().sample(units))[0] for _ in range(200)]
            # Every output is a multiple of the public step, whatever the value is.
            assert all(float(x / step).is_integer() for x in said)
