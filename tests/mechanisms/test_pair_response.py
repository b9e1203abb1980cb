"""Randomised response on pairs: its law by enumeration, its two forms, and what it refuses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato import noise
from sfumato.mechanisms import pair_response
from sfumato.mechanisms.pair_response import RandomizedPairs, ones_in, pair_positions, pairs_at
from sfumato.privacy.loss import ZCDP, PureDP
from sfumato.privacy.primitive import price_of
from sfumato.privacy.transcript import Entry, Transcript

EPSILONS = [Fraction(1), Fraction(3)]  # bits, and gaps


def positions(*places):
    return np.array(sorted(places), dtype=np.int64)


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 8, 31])
def test_positions_number_the_pairs_in_order(nodes):
    pairs = np.array(list(itertools.combinations(range(nodes), 2)), dtype=np.int64).reshape(-1, 2)
    places = pair_positions(pairs, nodes)
    np.testing.assert_array_equal(places, np.arange(len(pairs)))
    np.testing.assert_array_equal(pairs_at(places, nodes), pairs)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_both_forms_say_any_graph_and_are_read_back(data):
    nodes = data.draw(st.integers(0, 40))
    size = math.comb(nodes, 2)
    chosen = data.draw(st.sets(st.integers(0, size - 1), max_size=60)) if size else set()
    joined = positions(*chosen)
    for epsilon in EPSILONS:
        primitive = RandomizedPairs(nodes=nodes, epsilon=epsilon)
        primitive.check(joined)
        said = primitive.encode(joined)
        assert said.dtype == np.uint8
        np.testing.assert_array_equal(primitive.positions(said), joined)
        entry = Entry("pairs", (), primitive.signature(), {}, (said,))
        back = Transcript.from_files(Transcript((entry,)).to_files())["pairs"]
        np.testing.assert_array_equal(back, said)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_probabilities_of_all_graphs_add_up_and_samples_follow_them(epsilon):
    """Chi-square over all 64 graphs of four nodes, false alarm below 1e-6."""
    primitive = RandomizedPairs(nodes=4, epsilon=epsilon)
    truth = positions(0, 3, 4)
    graphs = [
        positions(*chosen) for many in range(7) for chosen in itertools.combinations(range(6), many)
    ]
    laws = [math.exp(primitive.log_probability(truth, primitive.encode(g))) for g in graphs]
    assert math.fsum(laws) == pytest.approx(1, abs=1e-12)
    place = {tuple(graph.tolist()): number for number, graph in enumerate(graphs)}
    found = np.zeros(len(graphs))
    with noise.seeded(f"pairs {epsilon}"):
        for _ in range(4000):
            found[place[tuple(primitive.positions(primitive.sample(truth)).tolist())]] += 1
    rare = np.array(laws) * 4000 < 5
    observed = np.append(found[~rare], found[rare].sum())
    expected = np.append(np.array(laws)[~rare], np.array(laws)[rare].sum()) * 4000
    assert chisquare(observed, expected).pvalue > 1e-6
    # Half of the flips would not pass.
    wrong = np.roll(expected[:-1], 1)
    assert chisquare(observed, np.append(wrong, expected[-1])).pvalue < 1e-6


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), *EPSILONS, Fraction(1000)])
def test_one_pair_changes_every_probability_by_exactly_epsilon(epsilon):
    primitive = RandomizedPairs(nodes=5, epsilon=epsilon)
    here, there = positions(1, 2, 7), positions(1, 2, 5, 7)
    with noise.seeded(1):
        outputs = [primitive.sample(here) for _ in range(5)]
    for output in [*outputs, *primitive.extremes(here, there)]:
        loss = primitive.log_probability(here, output) - primitive.log_probability(there, output)
        assert abs(loss) == pytest.approx(float(epsilon), rel=1e-9)
    change = primitive.change(here, there)
    assert change.holds and change.measured == 1
    assert not primitive.change(here, positions(2, 5, 7)).holds


def test_gaps_are_written_chunk_by_chunk(monkeypatch):
    primitive = RandomizedPairs(nodes=60, epsilon=500)
    truth = positions(0, 1, 63, 64, 500, 1200, 1769)
    whole = primitive.sample(truth)
    monkeypatch.setattr(pair_response, "CHUNK", 64)
    np.testing.assert_array_equal(primitive.sample(truth), whole)
    np.testing.assert_array_equal(primitive.positions(whole), truth)
    bits = RandomizedPairs(nodes=60, epsilon=1)
    np.testing.assert_array_equal(bits.positions(bits.encode(truth)), truth)


@pytest.mark.parametrize("epsilon", [1, 5])
def test_many_pairs_are_flipped_as_often_as_they_should_be(epsilon):
    """Two-sided at 5.5 standard deviations, true edges and others apart."""
    primitive = RandomizedPairs(nodes=1500, epsilon=epsilon)
    truth = np.arange(0, primitive.size, 7, dtype=np.int64)
    with noise.seeded(epsilon):
        said = primitive.sample(truth)
    found = primitive.positions(said)
    assert len(found) == (ones_in(said) if not primitive.gaps else len(found))
    kept = len(np.intersect1d(found, truth, assume_unique=True))
    p = primitive.flip
    for turned, many in (
        (len(truth) - kept, len(truth)),
        (len(found) - kept, primitive.size - len(truth)),
    ):
        assert abs(turned - p * many) < 5.5 * math.sqrt(many * p * (1 - p))
    # Compact: about what the noisy graph weighs.
    assert said.nbytes <= (primitive.size / 8 + 1 if epsilon == 1 else 1.2 * len(found))


def test_figures_do_not_overflow():
    sure = RandomizedPairs(nodes=3, epsilon=10**5)
    assert (sure.flip, sure.contrast) == (0.0, 1.0)
    vague = RandomizedPairs(nodes=3, epsilon=Fraction(1, 10**12))
    assert vague.contrast == pytest.approx(5e-13) and vague.flip == pytest.approx(0.5)
    assert vague.cost(PureDP) == PureDP(Fraction(1, 10**12))
    price = RandomizedPairs(nodes=3, epsilon=2)
    assert price.cost(ZCDP) == ZCDP(2) == price_of(price.signature(), ZCDP)
    assert price.concentrated_loss(positions(), positions(1)) == 2


@pytest.mark.parametrize(
    "bad",
    [
        [1, 2],
        np.array([1.0]),
        np.array([2, 1]),
        np.array([1, 1]),
        np.array([-1, 2]),
        np.array([3, 10]),
        np.array([[1]]),
    ],
)
def test_inputs_that_are_no_sorted_positions_are_refused(bad):
    with pytest.raises(ValueError, match="positions"):
        RandomizedPairs(nodes=5, epsilon=1).check(bad)


def test_damaged_outputs_are_refused():
    bits, gaps = (RandomizedPairs(nodes=5, epsilon=epsilon) for epsilon in EPSILONS)
    for damaged in (np.zeros(3, np.uint8), np.array([0, 4], np.uint8), np.zeros(2)):
        with pytest.raises(ValueError, match=r"bytes|damaged"):
            bits.positions(damaged)
    # The last but one says the gap 1 in two bytes: a graph is said in one way only.
    for damaged in ([0] * 11, [10], [128], [129, 0], [255] * 9 + [1]):
        with pytest.raises(ValueError, match="damaged"):
            gaps.positions(np.array(damaged, dtype=np.uint8))


def test_graphs_that_are_too_large_are_refused_by_public_figures():
    RandomizedPairs(nodes=90_000, epsilon=1).require_feasible()
    RandomizedPairs(nodes=500_000, epsilon=10).require_feasible()
    for nodes, epsilon in ((100_000, 1), (500_000, 4), (600_000, 50)):
        with pytest.raises(ValueError, match="randomised response"):
            RandomizedPairs(nodes=nodes, epsilon=epsilon).require_feasible()
    with pytest.raises(ValueError, match="epsilon must be positive"):
        RandomizedPairs(nodes=3, epsilon=0)
