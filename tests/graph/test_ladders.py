"""Ladders against brute force: the sensitivities themselves, and what makes a ladder one."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.graph.ladders import ladder, last_rung, local_sensitivities
from sfumato.graph.shapes import Shape
from sfumato.mechanisms.ladder import LadderInput, LadderNoise
from tests.graph.graphs import all_graphs, crossed, engine, random_graphs, toggled

TRIANGLE = Shape("triangle", 3)
SHAPES = [
    TRIANGLE,
    Shape("star", 2),
    Shape("star", 3),
    Shape("clique", 3),
    Shape("clique", 4),
    Shape("clique", 5),
    Shape("k-triangle", 2),
    Shape("k-triangle", 3),
]


def widths(shape, nodes, edges, rungs=14, **options):
    """The first rungs, the cap filled in."""
    found = list(ladder(shape, engine(nodes, edges), rungs=rungs, **options))
    return found + [shape.global_sensitivity(nodes)] * (rungs - len(found))


def change(shape, nodes, edges):
    here = shape.count(engine(nodes, edges))
    return max(abs(shape.count(engine(nodes, other)) - here) for other in toggled(nodes, edges))


def test_the_worked_example():
    # Five nodes i, j, a, b, c with edges ia, aj, ib.
    edges = {(0, 2), (1, 2), (0, 3)}
    assert widths(TRIANGLE, 5, edges, 5) == [1, 2, 2, 3, 3]
    assert widths(Shape("star", 2), 5, edges, 5) == [3, 4, 5, 6, 6]
    assert widths(Shape("star", 3), 5, edges, 5) == [1, 3, 4, 6, 6]
    assert Shape("star", 2).count(engine(5, edges)) == 2


@pytest.mark.parametrize("shape", [TRIANGLE, *(Shape("star", k) for k in (2, 3, 4))], ids=str)
def test_local_sensitivities_are_exact_on_all_graphs_of_four_nodes(shape):
    at_distance = {edges: change(shape, 4, edges) for edges in all_graphs(4)}
    found = {edges: widths(shape, 4, edges, 7) for edges in at_distance}
    for t in range(7):
        for edges, largest in at_distance.items():
            assert found[edges][t] == largest, (sorted(edges), t)
        at_distance = {
            edges: max(largest, *(at_distance[other] for other in toggled(4, edges)))
            for edges, largest in at_distance.items()
        }


@settings(max_examples=40, deadline=None)
@given(random_graphs(most=8), st.sampled_from(SHAPES), st.booleans())
def test_every_ladder_is_one(given_graph, shape, paper):
    """I₀ bounds the change, and I_t of a neighbour is at most I_{t+1}."""
    nodes, edges = given_graph
    own = widths(shape, nodes, edges, paper=paper)
    assert change(shape, nodes, edges) <= own[0]
    assert own == sorted(own)
    for other in toggled(nodes, edges):
        theirs = widths(shape, nodes, other, paper=paper)
        assert all(mine <= after for mine, after in zip(theirs, own[1:], strict=False))


@settings(max_examples=40, deadline=None)
@given(random_graphs(least=4))
def test_the_tight_ladder_of_cliques_is_no_wider(given_graph):
    nodes, edges = given_graph
    for size in (4, 5):
        tight = widths(Shape("clique", size), nodes, edges)
        paper = widths(Shape("clique", size), nodes, edges, paper=True)
        assert all(a <= b for a, b in zip(tight, paper, strict=True))
        assert tight[0] == paper[0] == change(Shape("clique", size), nodes, edges)
    # For three nodes it is the local sensitivity of triangles itself.
    rungs = local_sensitivities(TRIANGLE, engine(nodes, edges), rungs=14)
    assert widths(Shape("clique", 3), nodes, edges) == rungs


@pytest.mark.parametrize(("size", "before", "after"), [(3, 4, 12), (4, 0, 4), (5, 0, 4)])
def test_the_printed_ladder_of_k_triangles_fails_and_ours_does_not(size, before, after):
    nodes, edges, joining = crossed(size)
    shape = Shape("k-triangle", size)
    more = edges | {joining}
    for published, holds in ((True, False), (False, True)):
        own = widths(shape, nodes, edges, published=published)
        theirs = widths(shape, nodes, more, published=published)
        assert (own[0], theirs[0]) == (before, after)
        assert all(a <= b for a, b in zip(theirs, own[1:], strict=False)) is holds


def test_the_printed_ladder_loses_more_than_epsilon():
    """Twelve nodes, k = 3, ε = 0.1: a loss of 1.00195 ε; with the repaired bound below ε."""
    nodes, edges, joining = crossed(3)
    shape, epsilon = Shape("k-triangle", 3), Fraction(1, 10)
    cap = shape.global_sensitivity(nodes)
    primitive = LadderNoise(epsilon=epsilon, cap=cap)
    rungs = last_rung(epsilon, cap)
    found = {}
    for published in (True, False):
        inputs = [
            LadderInput(
                shape.count(engine(nodes, own)),
                ladder(shape, engine(nodes, own), rungs=rungs, published=published),
            )
            for own in (edges, edges | {joining})
        ]
        losses = [
            primitive.log_probability(inputs[0], k) - primitive.log_probability(inputs[1], k)
            for k in range(-3000, 3000)
        ]
        found[published] = max(map(abs, losses)) / float(epsilon)
        assert primitive.change(*inputs).holds is not published
    assert found[True] == pytest.approx(1.00195, abs=1e-5)
    assert found[False] < 1


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 6])
def test_empty_and_complete_graphs(shape, nodes):
    everything = set(combinations(range(nodes), 2))
    for edges in (set(), everything):
        own = widths(shape, nodes, edges)
        assert all(0 <= width <= shape.global_sensitivity(nodes) for width in own)
        assert shape.count(engine(nodes, edges)) <= shape.largest(nodes)
    assert shape.count(engine(nodes, everything)) == shape.largest(nodes)
    if nodes >= 2:
        assert change(shape, nodes, everything) == shape.global_sensitivity(nodes)


def test_the_last_rung_is_public_and_far_out():
    assert last_rung(Fraction(1), 0) == 0
    for epsilon in (Fraction(1, 1000), Fraction(1), Fraction(50)):
        assert last_rung(epsilon, 10**6) * float(epsilon) / 2 > 40


@pytest.mark.parametrize(
    ("name", "size", "words"),
    [
        ("square", 4, "one of"),
        ("star", 1, "at least 2"),
        ("clique", 2, "3"),
        ("triangle", 4, "k out"),
    ],
)
def test_shapes_that_are_none(name, size, words):
    with pytest.raises(ValueError, match=words):
        Shape(name, size)
