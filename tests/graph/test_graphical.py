"""Repair of degrees, and graphs that have given ones."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.graph.degree_repair import excess, graphical, is_graphical
from sfumato.graph.dk_series import degrees_of
from sfumato.graph.stub_matching import match_graph, realise_graph
from tests.graph.dk_graphs import SHAPES, as_pairs, is_simple, public
from tests.graph.graphs import all_graphs, random_graphs

far_off = st.one_of(
    st.integers(-(10**12), 10**12), st.floats(-1e12, 1e12), st.floats(-3, 12), st.integers(-1, 9)
)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_repair_is_the_closest_graphical_sequence_of_all(nodes):
    possible = {tuple(degrees_of(as_pairs(edges), nodes).tolist()) for edges in all_graphs(nodes)}
    targets = np.array(sorted(possible))
    for given_degrees in product(range(nodes), repeat=nodes):
        assert is_graphical(given_degrees) == (given_degrees in possible)
        repaired = graphical(given_degrees)
        assert tuple(repaired.degrees.tolist()) in possible
        closest = np.abs(targets - np.array(given_degrees)).sum(axis=1).min()
        assert repaired.moved == closest, given_degrees


@settings(deadline=None, max_examples=120)
@given(st.lists(far_off, max_size=40))
def test_anything_is_repaired(values):
    repaired = graphical(np.array(values, dtype=np.float64))
    assert is_graphical(repaired.degrees)
    assert len(repaired.degrees) == len(values)
    assert repaired.moved == pytest.approx(np.abs(repaired.degrees - np.array(values)).sum())


@settings(deadline=None, max_examples=60)
@given(random_graphs(least=2, most=9))
def test_the_degrees_of_a_graph_stay_as_they_are(graph):
    nodes, edges = graph
    degrees = degrees_of(as_pairs(edges), nodes)
    for values in (degrees, degrees + 0.4, degrees - 0.4):
        repaired = graphical(values)
        assert repaired.degrees.tolist() == degrees.tolist()
    assert graphical(degrees).moved == 0


def test_an_odd_sum_is_mended_where_rounding_was_closest():
    assert graphical([1.0, 2.45, 2.0, 2.0]).degrees.tolist() == [1, 3, 2, 2]
    assert graphical([1.0, 2.0, 1.55, 2.0]).degrees.tolist() == [1, 2, 1, 2]


def test_repair_of_a_hundred_thousand_impossible_degrees_takes_no_time():
    nodes = 100_000
    repaired = graphical(np.where(np.arange(nodes) < 50_000, 1e9, -1e9))
    assert is_graphical(repaired.degrees)
    # Only among themselves can the first half be joined.
    assert repaired.degrees.sum() == 50_000 * 49_999


def test_what_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="finite"):
        graphical([1.0, np.nan])
    with pytest.raises(ValueError, match="finite"):
        graphical([1.0, np.inf])
    with pytest.raises(ValueError, match="one row"):
        graphical([[1, 1]])
    with pytest.raises(ValueError, match="no simple graph"):
        match_graph([3, 3, 1, 1], np.random.default_rng(1))


def test_excess_is_the_most_broken_inequality():
    assert excess(np.array([4, 4, 4, 1, 1])) == 4
    assert excess(np.array([3, 3, 2, 1, 1])) == 0


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 30), max_size=25), st.integers(0, 2**32))
def test_graphs_have_exactly_the_degrees_asked_for(values, seed):
    degrees = graphical(np.array(values, dtype=np.int64)).degrees
    for pairs in (match_graph(degrees, np.random.default_rng(seed)), realise_graph(degrees)):
        assert is_simple(pairs, len(degrees))
        assert degrees_of(pairs, len(degrees)).tolist() == degrees.tolist()


@pytest.mark.parametrize(("nodes", "edges"), SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_is_matched(nodes, edges):
    degrees = degrees_of(as_pairs(edges), nodes)
    pairs = match_graph(degrees, np.random.default_rng(3))
    assert is_simple(pairs, nodes)
    assert degrees_of(pairs, nodes).tolist() == degrees.tolist()


def test_every_graph_with_given_degrees_comes_up():
    # Two triangles or one ring: 10 and 60 graphs of six nodes of degree 2.
    generator = np.random.default_rng(20)
    seen = {match_graph([2] * 6, generator).tobytes() for _ in range(2000)}
    assert len(seen) == 70


@pytest.mark.parametrize("name", ["polbooks", "as20000102"])
def test_public_degrees_are_matched_alike_for_one_seed(name):
    pairs, nodes = public(name)
    degrees = degrees_of(pairs, nodes)
    assert graphical(degrees).moved == 0
    drawn = [match_graph(degrees, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert is_simple(drawn[0], nodes)
    assert (degrees_of(drawn[0], nodes) == degrees).all()
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


def test_graphs_built_by_rule_take_time_in_proportion_to_their_edges():
    """Half a million equal degrees: looking for the last equal one took time ∝ their square."""
    pairs = realise_graph(np.full(500_000, 4))
    assert (degrees_of(pairs, 500_000) == 4).all()
