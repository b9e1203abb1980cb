import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import noise
from sfumato.mechanisms import partition
from sfumato.mechanisms.partition import DyadicPartition, _Exact, _Weighed, bucket_starts

COUNTS = st.lists(st.integers(0, 9), min_size=8, max_size=8)


def partitions(level):
    """Return all aligned partitions of 2^level cells, as logarithms of lengths."""
    if level == 0:
        return [(0,)]
    below = partitions(level - 1)
    return [(level,), *(left + right for left in below for right in below)]


def cost(counts, lengths):
    starts = bucket_starts(np.array(lengths))
    parts = [
        counts[start : start + 2**length] for start, length in zip(starts, lengths, strict=True)
    ]
    return sum(min(sum(abs(x - c) for x in part) for c in part) for part in parts)


def law(primitive, counts):
    """Return the probability of every partition, straight from the definition."""
    rate = float(primitive.rate)
    weights = {}
    for lengths in partitions(primitive.cells.bit_length() - 1):
        stops = sum(length > 0 for length in lengths)
        base = 0.25 ** (len(lengths) - 1) * 0.75**stops
        weights[lengths] = base * math.exp(-rate * cost(counts, lengths))
    total = sum(weights.values())
    return {lengths: weight / total for lengths, weight in weights.items()}


@settings(max_examples=15, deadline=None)
@given(COUNTS, st.sampled_from(["1/50", "1", "7"]))
def test_probabilities_are_those_of_the_definition(counts, epsilon):
    primitive = DyadicPartition(cells=8, sensitivity=1, epsilon=epsilon)
    value = np.array(counts)
    for lengths, probability in law(primitive, counts).items():
        said = primitive.log_probability(value, np.array(lengths, dtype=np.int8))
        assert said == pytest.approx(math.log(probability), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(COUNTS, st.integers(0, 7), st.sampled_from([1, -1]))
def test_no_partition_tells_neighbours_apart_by_more_than_epsilon(counts, place, move):
    primitive = DyadicPartition(cells=8, sensitivity=1, epsilon=3)
    value = np.array(counts)
    other = value.copy()
    other[place] += move
    assert primitive.change(value, other).holds
    for lengths in partitions(3):
        output = np.array(lengths, dtype=np.int8)
        loss = primitive.log_probability(value, output) - primitive.log_probability(other, output)
        assert abs(loss) <= 3 * (1 + 1e-9)


def test_the_bound_on_the_loss_is_nearly_attained():
    # Here the rest of the weights does not move: half of the bound, from the weight alone.
    primitive = DyadicPartition(cells=2, sensitivity=1, epsilon=1)
    whole, parts = np.array([1], dtype=np.int8), np.array([0, 0], dtype=np.int8)
    here, there = np.array([40, 0]), np.array([41, 0])
    loss = primitive.log_probability(here, whole) - primitive.log_probability(there, whole)
    assert loss == pytest.approx(0.5, abs=1e-6)
    # And here nearly all the weight moves: saying the one that does not has the other half.
    primitive = DyadicPartition(cells=2, sensitivity=1, epsilon="1/100")
    here, there = np.array([0, 0]), np.array([1, 0])
    loss = primitive.log_probability(there, parts) - primitive.log_probability(here, parts)
    assert loss == pytest.approx(0.75 * 0.005, rel=1e-2)


@pytest.mark.parametrize("widen", [0.0, 2.0], ids=["intervals", "digits"])
def test_draws_follow_the_law(monkeypatch, widen):
    # With intervals that decide nothing, every coin is thrown by certified digits.
    monkeypatch.setattr(partition, "WIDEN", widen)
    counts = [0, 0, 0, 0, 5, 1, 0, 2]
    primitive = DyadicPartition(cells=8, sensitivity=1, epsilon=1)
    draws = 800
    with noise.seeded(7):
        seen = Counter(tuple(primitive.sample(np.array(counts)).tolist()) for _ in range(draws))
    expected = law(primitive, counts)
    assert set(seen) <= set(expected)
    often = [lengths for lengths, p in expected.items() if p * draws > 5]
    rest = 1 - sum(expected[lengths] for lengths in often)
    observed = [seen[lengths] for lengths in often]
    observed.append(draws - sum(observed))
    wanted = [*(expected[lengths] * draws for lengths in often), rest * draws]
    # False alarm once in 10^6.
    assert stats.chisquare(observed, wanted).pvalue > 1e-6


def test_digits_and_intervals_decide_the_same_words_alike(monkeypatch):
    value = np.random.default_rng(1).integers(0, 30, 64)
    primitive = DyadicPartition(cells=64, sensitivity=1, epsilon="1/3")
    outcomes = []
    for widen in (0.0, 2.0):
        monkeypatch.setattr(partition, "WIDEN", widen)
        with noise.seeded(3):
            outcomes.append([primitive.sample(value).tolist() for _ in range(5)])
    assert outcomes[0] == outcomes[1]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["1/1000", "1/3", "40"]))
def test_the_bounds_on_the_errors_of_weights_hold(seed, rate):
    generator = np.random.default_rng(seed)
    value = generator.integers(0, int(10 ** generator.uniform(0, 6)) + 1, 64)
    weighed = _Weighed(value, Fraction(rate))
    exact = _Exact(weighed.costs, Fraction(rate), 60)
    for node in range(1, 64):
        low, high = exact._total(node)
        middle = float(((low + high) / 2).ln())
        assert abs(weighed.logs[node] - middle) <= weighed.errors[node] + 1e-15 * abs(middle)
        share = exact.bucket_share(node) if weighed.costs[node] else (Decimal(3) / 4,) * 2
        assert 0 <= share[1] - share[0] <= share[0] * Decimal("1e-50")


@pytest.mark.parametrize("epsilon", ["1e-6", "1e3"])
@pytest.mark.parametrize("widen", [0.0, 2.0])
@pytest.mark.parametrize(
    "value", [np.zeros(16, int), np.arange(16) % 2 * 2**62, np.arange(16) ** 9]
)
def test_every_input_is_accepted(monkeypatch, epsilon, value, widen):
    monkeypatch.setattr(partition, "WIDEN", widen)
    primitive = DyadicPartition(cells=16, sensitivity=2, epsilon=epsilon)
    output = primitive.sample(value.astype(np.int64))
    assert math.isfinite(primitive.log_probability(value.astype(np.int64), output))
    assert int((1 << output.astype(int)).sum()) == 16


def test_a_single_cell_has_one_partition():
    primitive = DyadicPartition(cells=1, sensitivity=1, epsilon=1)
    assert primitive.sample(np.array([5])).tolist() == [0]
    assert primitive.log_probability(np.array([5]), np.array([0])) == 0


def test_what_is_no_aligned_partition_is_impossible():
    primitive = DyadicPartition(cells=4, sensitivity=1, epsilon=1)
    value = np.zeros(4, dtype=np.int64)
    for lengths in ([], [3], [1], [0, 1, 0], [-1, 2], [2, 0], [1.0, 1.0]):
        assert primitive.log_probability(value, np.array(lengths)) == -math.inf


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="power of two"):
        DyadicPartition(cells=12, sensitivity=1, epsilon=1)
    with pytest.raises(ValueError, match="positive"):
        DyadicPartition(cells=8, sensitivity=0, epsilon=1)
    with pytest.raises(ValueError, match="shape"):
        DyadicPartition(cells=8, sensitivity=1, epsilon=1).check(np.zeros(4, dtype=np.int64))
