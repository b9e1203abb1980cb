"""Kronecker graphs: moments by enumeration, the law of the sampler, the fit, and the method."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.graph import GraphPublic
from sfumato.graph.kronecker_graph import (
    Features,
    Initiator,
    KroneckerGraph,
    KroneckerModel,
    _hold_drawable,
    expected_features,
    fit_initiator,
    kronecker_pairs,
    power_of,
    summary_features,
)
from sfumato.graph.summary import GraphSummary
from sfumato.graph.synthetic import GraphModel
from tests.graph.graphs import engine, graph
from tests.graph.summary_suite import SummarySuite


class TestKroneckerGraph(SummarySuite):
    name = "graph.KroneckerGraph"
    random_neighbours = 20

    def fact(self, release):
        model = release.model.initiator
        return np.array([model.a, model.b, model.c, release.graph.edges])


def probabilities(initiator):
    """The matrix P, written out, without its diagonal."""
    entries = np.array([[initiator.a, initiator.b], [initiator.b, initiator.c]])
    matrix = np.ones((1, 1))
    for _ in range(initiator.power):
        matrix = np.kron(matrix, entries)
    return matrix * (1 - np.eye(len(matrix)))


def counted(matrix):
    """The expected counts of independent edges, summed over all nodes."""
    one, two, three = (np.sum(matrix**k, axis=1) for k in (1, 2, 3))
    return Features(
        one.sum() / 2,
        (one**2 - two).sum() / 2,
        (one**3 - 3 * one * two + 2 * three).sum() / 6,
        np.trace(matrix @ matrix @ matrix) / 6,
    )


@pytest.mark.parametrize("power", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(
    "entries", [(0.9, 0.5, 0.2), (0.3, 0.7, 0.1), (1.0, 1.0, 1.0), (1.0, 0.0, 0.4)]
)
def test_expected_counts_are_the_sums_over_all_nodes(entries, power):
    initiator = Initiator(*entries, power)
    told = expected_features(initiator)
    assert told == pytest.approx(counted(probabilities(initiator)), rel=1e-10, abs=1e-10)


def test_the_worked_numbers_come_out():
    told = expected_features(Initiator(0.9, 0.5, 0.2, 3))
    assert told == pytest.approx((3.965, 3.993, 1.281957, 0.250394), abs=5e-7)


def test_expected_counts_on_some_of_the_nodes_are_averages_over_all_choices():
    initiator, nodes = Initiator(0.9, 0.6, 0.3, 3), 5
    matrix = probabilities(initiator)
    every = [counted(matrix[np.ix_(some, some)]) for some in combinations(range(8), nodes)]
    assert expected_features(initiator, nodes) == pytest.approx(np.mean(every, axis=0))


def test_every_pair_is_joined_with_its_probability_and_on_its_own():
    initiator, draws = Initiator(0.95, 0.6, 0.3, 3), 2000
    wanted = probabilities(initiator)[np.triu_indices(8, 1)]
    generator = noise.generator(1)
    seen = np.zeros((draws, 28))
    keys = {pair: at for at, pair in enumerate(zip(*np.triu_indices(8, 1), strict=True))}
    for draw in range(draws):
        for pair in kronecker_pairs(initiator, generator).tolist():
            seen[draw, keys[tuple(pair)]] += 1
    assert seen.max() == 1
    # 28 means and 378 products of independent pairs; z = 6.2 is passed less than once in 10^6.
    spread = np.sqrt(wanted * (1 - wanted) / draws)
    assert np.all(np.abs(seen.mean(axis=0) - wanted) <= 6.2 * spread)
    centred = (seen - wanted) / np.sqrt(wanted * (1 - wanted))
    products = (centred.T @ centred / np.sqrt(draws))[np.triu_indices(28, 1)]
    assert np.abs(products).max() < 6.5


def test_full_and_empty_classes_are_drawn():
    generator = noise.generator(2)
    everything = kronecker_pairs(Initiator(1.0, 1.0, 1.0, 5), generator)
    assert everything.tolist() == [list(pair) for pair in combinations(range(32), 2)]
    assert len(kronecker_pairs(Initiator(1.0, 0.0, 1.0, 5), generator)) == 0
    assert kronecker_pairs(Initiator(0.5, 0.5, 0.5, 0), generator).shape == (0, 2)
    # Nearly full: the pairs that are left out are drawn.
    nearly = kronecker_pairs(Initiator(0.999, 0.999, 0.999, 6), generator)
    assert 0.97 * comb(64, 2) < len(nearly) < comb(64, 2)


def test_a_large_graph_has_the_expected_counts():
    model = KroneckerModel(3000, Initiator(0.98, 0.55, 0.3, 12))
    pairs = model.draw(noise.generator(3))
    assert (pairs[:, 0] < pairs[:, 1]).all() and pairs.max() < 3000
    assert (np.diff(pairs[:, 0] * 3000 + pairs[:, 1]) > 0).all()
    edges = model.expected.edges
    # The choice of the nodes moves it far more than the edges do.
    assert len(pairs) == pytest.approx(edges, rel=0.25)


def test_the_fit_finds_the_initiator_again():
    for entries in ((0.95, 0.55, 0.3), (0.8, 0.7, 0.1), (0.99, 0.4, 0.35)):
        for nodes in (1024, 700):
            wanted = expected_features(Initiator(*entries, 10), nodes)
            made = fit_initiator(wanted, nodes)
            assert made.power == 10
            assert (made.a, made.b, made.c) == pytest.approx(entries, abs=2e-3)


def test_counts_that_are_not_positive_are_left_out_of_the_fit():
    nodes = 300
    nothing = fit_initiator(Features(0.0, -3.0, 0.0, -1.0), nodes)
    assert expected_features(nothing).edges == 0
    # Edges alone tell no nodes apart: nearly the same probability for every pair.
    alone = fit_initiator(Features(2000.0, -1.0, 0.0, -5.0), nodes)
    assert expected_features(alone, nodes).edges == pytest.approx(2000, rel=1e-3)
    assert alone.a - alone.c < 0.01
    whole = expected_features(Initiator(0.9, 0.6, 0.4, 9), nodes)
    without = fit_initiator(whole._replace(triangles=-7.0), nodes)
    assert expected_features(without, nodes)[:3] == pytest.approx(whole[:3], rel=1e-3)


def test_whatever_the_counts_say_there_is_a_fit():
    generator = noise.generator(8)
    for _ in range(25):
        nodes = int(2 ** generator.uniform(0, 24))
        sizes = 10 ** generator.uniform(-2, [14, 20, 27, 20])
        signs = np.where(generator.random(4) < 0.8, 1, -1)
        made = fit_initiator(Features(*(sizes * signs).tolist()), nodes)
        assert made.nodes >= nodes and np.isfinite(expected_features(made, nodes)).all()


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("epsilon", ["1e-6", 1, 5000])
def test_every_graph_is_accepted(nodes, epsilon):
    everything = list(combinations(range(nodes), 2))
    for edges, size in (([], "declared"), (everything, "declared"), (everything, "power")):
        release = KroneckerGraph(epsilon=epsilon, size=size).release(graph(nodes, edges))
        assert release.graph.nodes == (nodes if size == "declared" else 2 ** power_of(nodes))
        assert release.words() and release.agrees(release.files())


def test_with_a_huge_epsilon_the_counts_of_the_graph_are_fitted():
    pairs = kronecker_pairs(Initiator(0.95, 0.6, 0.3, 8), noise.generator(5), 200)
    given = graph(200, [tuple(pair) for pair in pairs.tolist()])
    release = KroneckerGraph(epsilon=100_000).release(given)
    truth = summary_features(GraphSummary(epsilon=100_000).release(given))
    degrees = given.counts.degrees().tolist()
    assert truth == (
        len(pairs),
        sum(comb(degree, 2) for degree in degrees),
        pytest.approx(sum(comb(degree, 3) for degree in degrees)),
        given.counts.triangles(),
    )
    assert release.model.expected == pytest.approx(truth, rel=0.15)


def test_graphs_that_nobody_could_draw_are_held_to_a_size():
    absurd = Initiator(1.0, 0.9, 0.8, 20)
    for guess, most in ((None, 2**24), (10**7, 4 * 10**7)):
        held = _hold_drawable(absurd, GraphPublic(nodes=10**6, rows_about=guess))
        assert expected_features(held).edges == pytest.approx(most, rel=1e-3)
    fine = Initiator(0.9, 0.5, 0.3, 10)
    assert _hold_drawable(fine, GraphPublic(nodes=1000)) == fine


def test_the_model_goes_through_plain_files():
    model = KroneckerModel(5, Initiator(0.9, 0.5, 0.25, 3))
    assert isinstance(model, GraphModel)
    again = KroneckerModel.from_document(model.document())
    assert again == model
    same = [made.draw(noise.generator(4)).tolist() for made in (model, again)]
    assert same[0] == same[1]
    assert "0.900" in model.words()


def test_graphs_drawn_from_a_release_differ_and_keep_its_counts():
    pairs = kronecker_pairs(Initiator(0.95, 0.6, 0.3, 7), noise.generator(6))
    release = KroneckerGraph(epsilon=50).release(graph(128, [tuple(p) for p in pairs.tolist()]))
    drawn = [release.sample(generator=noise.generator(seed)) for seed in range(40)]
    assert drawn[0] != drawn[1]
    edges = np.array([one.edges for one in drawn])
    expected = release.model.expected.edges
    # Forty draws, each off by no more than the root of the expected number.
    assert abs(edges.mean() - expected) < 6 * np.sqrt(expected / 40)
    triangles = np.mean([engine(128, one.pairs.tolist()).triangles() for one in drawn])
    assert triangles == pytest.approx(release.model.expected.triangles, rel=0.2)


@pytest.mark.parametrize(
    "entries", [(1.1, 0.5, 0.2), (0.5, -0.1, 0.2), (0.2, 0.5, 0.6), (float("nan"), 0.5, 0.2)]
)
def test_an_initiator_that_is_none_is_refused(entries):
    with pytest.raises(ValueError, match="between 0 and 1, with a at least c"):
        Initiator(*entries, 3)


def test_a_power_or_a_size_that_is_none_is_refused():
    with pytest.raises(ValueError, match="whole number of at most 24"):
        Initiator(0.5, 0.5, 0.5, 25)
    with pytest.raises(ValueError, match="has 8 nodes; got 9"):
        KroneckerModel(9, Initiator(0.5, 0.5, 0.5, 3))
    with pytest.raises(ValueError, match="size must be"):
        KroneckerGraph(epsilon=1, size="huge")
