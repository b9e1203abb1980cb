"""Rewiring: what it keeps, how evenly it mixes, and how close it comes to what is wanted."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.graph.dk_series import (
    degrees_of,
    joint_degrees,
    triangle_count,
    triples,
)
from sfumato.graph.joint_degrees import joint_graph
from sfumato.graph.rewiring import Stubs, rewire, surplus, toward_triangles, toward_triples
from sfumato.graph.stub_matching import match_graph
from tests.graph.distances import joint_distance, triple_distance
from tests.graph.dk_graphs import SHAPES, as_pairs, is_simple, public
from tests.graph.graphs import random_graphs

KEEP = ("degrees", "joint")


@settings(deadline=None, max_examples=50)
@given(random_graphs(least=2, most=9), st.integers(0, 2**32), st.sampled_from(KEEP))
def test_rewiring_keeps_what_it_says(graph, seed, keep):
    nodes, edges = graph
    pairs = as_pairs(edges)
    generator = np.random.default_rng(seed)
    changed = [
        rewire(pairs, nodes, generator, steps=50, keep=keep),
        toward_triangles(pairs, nodes, 9, generator, steps=200, keep=keep),
        toward_triangles(pairs, nodes, 0, generator, steps=200, keep=keep),
    ]
    for other in changed:
        assert is_simple(other, nodes)
        assert (degrees_of(other, nodes) == degrees_of(pairs, nodes)).all()
        if keep == "joint":
            assert joint_distance(joint_degrees(other, nodes), joint_degrees(pairs, nodes)) == 0


@pytest.mark.parametrize(("nodes", "edges"), SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_is_rewired(nodes, edges):
    pairs = as_pairs(edges)
    target = triples(pairs, nodes)
    for keep in KEEP:
        other = rewire(pairs, nodes, np.random.default_rng(1), steps=100, keep=keep)
        assert is_simple(other, nodes)
        assert (degrees_of(other, nodes) == degrees_of(pairs, nodes)).all()
    other = toward_triples(other, nodes, target, np.random.default_rng(1), steps=100)
    assert is_simple(other, nodes)
    assert joint_distance(joint_degrees(other, nodes), joint_degrees(pairs, nodes)) == 0


def test_random_rewiring_reaches_all_graphs_of_the_degrees_evenly():
    # 70 graphs have six nodes of degree 2. Exchanges are their own reverse, so all are as likely;
    # chi-square with 69 degrees of freedom exceeds 153 with probability 1e-8.
    pairs = as_pairs({(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)})
    generator = np.random.default_rng(6)
    draws = 7000
    seen = Counter(rewire(pairs, 6, generator, steps=60).tobytes() for _ in range(draws))
    assert len(seen) == 70
    expected = draws / 70
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 153


def test_one_seed_gives_one_graph():
    pairs = match_graph([4] * 30, np.random.default_rng(1))
    target = triples(pairs, 30)
    for change in (
        lambda g: rewire(pairs, 30, g, steps=500),
        lambda g: rewire(pairs, 30, g, steps=500, keep="joint"),
        lambda g: toward_triangles(pairs, 30, 20, g, steps=500),
        lambda g: toward_triples(
            rewire(pairs, 30, g, steps=500, keep="joint"), 30, target, g, steps=500
        ),
    ):
        one, two, other = (change(np.random.default_rng(seed)) for seed in (7, 7, 8))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)


def test_cliques_are_found_from_their_degrees_alone():
    edges = {
        (5 * block + a, 5 * block + b) for block in range(6) for a, b in combinations(range(5), 2)
    }
    start = match_graph(degrees_of(as_pairs(edges), 30), np.random.default_rng(2))
    other = toward_triangles(start, 30, 60, np.random.default_rng(2), steps=300_000)
    assert triangle_count(other, 30) >= 54


def test_triangles_of_public_degrees_are_met():
    pairs, nodes = public("ca-GrQc")
    start = match_graph(degrees_of(pairs, nodes), np.random.default_rng(1))
    assert triangle_count(start, nodes) < 2000
    other = toward_triangles(start, nodes, 48_260, np.random.default_rng(1), steps=5_000_000)
    assert is_simple(other, nodes)
    assert (degrees_of(other, nodes) == degrees_of(pairs, nodes)).all()
    assert triangle_count(other, nodes) == 48_260
    fewer = toward_triangles(other, nodes, 20_000, np.random.default_rng(2), steps=1_000_000)
    assert triangle_count(fewer, nodes) == 20_000


def test_triples_of_a_public_graph_are_approached():
    pairs, nodes = public("polbooks")
    joint, target = joint_degrees(pairs, nodes), triples(pairs, nodes)
    start = joint_graph(joint, nodes, np.random.default_rng(1))
    other = toward_triples(start, nodes, target, np.random.default_rng(1), steps=300_000)
    assert joint_distance(joint_degrees(other, nodes), joint) == 0
    before = triple_distance(triples(start, nodes), target, power=2)
    after = triple_distance(triples(other, nodes), target, power=2)
    assert after < before / 20


@settings(deadline=None, max_examples=60)
@given(random_graphs(least=4, most=9), random_graphs(least=4, most=9), st.integers(0, 2**32))
def test_distance_is_kept_up_to_date_exactly(graph, other, seed):
    from sfumato.graph.triple_kernels import refine_triples

    nodes, edges = graph
    pairs = as_pairs(edges)
    if not len(pairs):
        return
    target = triples(as_pairs(other[1]), other[0])
    stubs = Stubs.of(pairs, nodes)
    kinds, kind = np.unique(stubs.degrees, return_inverse=True)
    keys, counts = surplus(triples(pairs, nodes), target, kinds)
    first, last = stubs.stands_in("joint")
    arrays = (stubs.owner, stubs.mate, stubs.starts, stubs.ends, stubs.table, first, last)
    grown = refine_triples(
        *arrays,
        keys,
        counts,
        kind.astype(np.int64),
        len(kinds),
        200,
        1.0,
        np.random.default_rng(seed),
    )
    before = triple_distance(triples(pairs, nodes), target, power=2)
    after = triple_distance(triples(stubs.pairs(), nodes), target, power=2)
    assert after - before == grown


@settings(deadline=None, max_examples=60)
@given(random_graphs(least=4, most=9), st.integers(0, 12), st.integers(0, 2**32))
def test_triangle_count_is_kept_up_to_date_exactly(graph, target, seed):
    from sfumato.graph.rewiring_kernels import steer_triangles

    nodes, edges = graph
    pairs = as_pairs(edges)
    if not len(pairs):
        return
    stubs = Stubs.of(pairs, nodes)
    arrays = (stubs.owner, stubs.mate, stubs.starts, stubs.ends, stubs.table)
    triangles, _ = steer_triangles(
        *arrays,
        *stubs.stands_in("degrees"),
        triangle_count(pairs, nodes),
        target,
        200,
        1.0,
        np.random.default_rng(seed),
    )
    assert triangles == triangle_count(stubs.pairs(), nodes)


def test_what_cannot_be_asked_is_refused():
    pairs = as_pairs({(0, 1), (2, 3)})
    with pytest.raises(ValueError, match="steps"):
        rewire(pairs, 4, np.random.default_rng(1), steps=-1)
    with pytest.raises(ValueError, match="keep"):
        rewire(pairs, 4, np.random.default_rng(1), steps=1, keep="edges")
    with pytest.raises(ValueError, match="keep"):
        toward_triangles(pairs, 4, 1, np.random.default_rng(1), steps=1, keep="edges")
