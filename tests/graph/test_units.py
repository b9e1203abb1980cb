"""Unit statistics against brute force on all graphs of four and five nodes."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from sfumato.data.graph import GraphPublic
from sfumato.graph.unit_queries import SmoothValue
from sfumato.graph.units import graph_vocabulary
from sfumato.mechanisms.expression.fixed import FixedStatistic
from sfumato.mechanisms.smooth import SmoothLaplace
from tests.graph.graphs import all_graphs, graph, toggled

FIXED = ["edges", "degree(1)", "degrees", "blocks", "group_ends"]
FOLLOWING = [
    "triangles",
    "triangles(1)",
    "wedges",
    "wedges(1)",
    "clustering(1)",
    "mean_clustering",
    "node_triangles",
    "node_clustering",
    "stars(3)",
    "cliques(4)",
    "k_triangles(2)",
]
#: Those whose bounds are the local sensitivities themselves, at every distance.
EXACT = ["triangles", "triangles(1)", "wedges", "wedges(1)", "node_triangles", "stars(3)"]
STEPS = 12


def unit(name, nodes):
    public = GraphPublic(nodes=nodes)
    groups = [node % 2 for node in range(nodes)]
    words = graph_vocabulary(public, groups=groups, approximate=True)
    head, _, rest = name.partition("(")
    return words[head]((int(rest[:-1]),) if rest else ())


@cache
def graphs(nodes):
    return {edges: graph(nodes, edges) for edges in all_graphs(nodes)}


@cache
def values(name, nodes):
    """The exact value on every graph, as a tuple of fractions."""
    statistic = unit(name, nodes).statistic
    return {
        edges: tuple(
            Fraction(x) for x in np.ravel(np.array(statistic.count.answer(found), dtype=object))
        )
        for edges, found in graphs(nodes).items()
    }


@cache
def bounds(name, nodes):
    """U(0), U(1), … on every graph, the cap filled in."""
    statistic = unit(name, nodes).statistic
    table = {}
    for edges, found in graphs(nodes).items():
        widths = [Fraction(width) for width in statistic.count.bounds(found, STEPS)]
        filled = widths + [Fraction(statistic.cap)] * (STEPS - len(widths))
        table[edges] = [min(width, Fraction(statistic.cap)) for width in filled]
    return table


def apart(first, second):
    return sum((abs(a - b) for a, b in zip(first, second, strict=True)), Fraction(0))


@cache
def local(name, nodes):
    """The largest change to a neighbour, for every graph."""
    known = values(name, nodes)
    return {
        edges: max(apart(known[edges], known[other]) for other in toggled(nodes, edges))
        for edges in known
    }


@pytest.mark.parametrize("nodes", [4, 5])
@pytest.mark.parametrize("name", FIXED)
def test_one_edge_changes_a_unit_by_no_more_than_declared_and_by_as_much(name, nodes):
    statistic = unit(name, nodes).statistic
    assert isinstance(statistic, FixedStatistic)
    assert max(local(name, nodes).values()) == statistic.sensitivity


@pytest.mark.parametrize("nodes", [4, 5])
@pytest.mark.parametrize("name", FOLLOWING)
def test_bounds_cover_every_neighbour_and_are_smooth(name, nodes):
    bound, change = bounds(name, nodes), local(name, nodes)
    for edges, widths in bound.items():
        assert change[edges] <= widths[0]
        for other in toggled(nodes, edges):
            assert all(a <= b for a, b in zip(widths[:-1], bound[other][1:], strict=True))


@pytest.mark.parametrize("nodes", [4, 5])
@pytest.mark.parametrize("name", FOLLOWING)
def test_the_cap_is_the_global_sensitivity_and_is_reached(name, nodes):
    statistic = unit(name, nodes).statistic
    assert max(local(name, nodes).values()) == statistic.cap
    assert all(widths[-1] == statistic.cap for widths in bounds(name, nodes).values())


@pytest.mark.parametrize("name", EXACT)
def test_bounds_are_the_local_sensitivities_at_every_distance(name):
    nodes = 4
    reached = dict(local(name, nodes))
    for step in range(6):
        assert reached == {edges: widths[step] for edges, widths in bounds(name, nodes).items()}
        reached = {
            edges: max([width, *(reached[other] for other in toggled(nodes, edges))])
            for edges, width in reached.items()
        }


def neighbours(edges, node):
    return {a if b == node else b for a, b in edges if node in (a, b)}


def test_values_are_what_their_names_say():
    nodes = 5
    for edges in list(all_graphs(nodes))[::7]:
        around = [neighbours(edges, node) for node in range(nodes)]
        closed = [
            sum(1 for pair in combinations(sorted(near), 2) if pair in edges) for near in around
        ]
        wedges = [math.comb(len(near), 2) for near in around]
        share = [Fraction(t, w) if w else Fraction(0) for t, w in zip(closed, wedges, strict=True)]
        inside = [sum(1 for a, b in edges if {a % 2, b % 2} == who) for who in ({0}, {0, 1}, {1})]
        wanted = {
            "edges": [len(edges)],
            "degree(1)": [len(around[1])],
            "degrees": [len(near) for near in around],
            "blocks": inside,
            "group_ends": [2 * inside[0], 2 * inside[2], inside[1], inside[1]],
            "triangles": [sum(closed) // 3],
            "triangles(1)": [closed[1]],
            "wedges": [sum(wedges)],
            "wedges(1)": [wedges[1]],
            "clustering(1)": [share[1]],
            "mean_clustering": [sum(share) / nodes],
            "node_triangles": closed,
            "node_clustering": share,
        }
        for name, value in wanted.items():
            assert values(name, nodes)[edges] == tuple(value), name


@pytest.mark.parametrize(
    ("name", "beta", "bound"),
    [
        ("node_triangles", "0.1", 9 * math.exp(-0.1)),
        ("wedges", "0.1", 6 * math.exp(-0.1)),
        ("node_clustering", "0.1", 4 * math.exp(-0.1)),
        ("clustering(1)", "0.1", math.exp(-0.1)),
        ("node_triangles", "0.5", 6),
        ("wedges", "0.5", 5),
        ("node_clustering", "0.5", 10 / 3),
        ("clustering(1)", "0.5", 2 / 3),
    ],
)
def test_the_worked_example(name, beta, bound):
    data = graph(5, {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)})
    statistic = unit(name, 5).statistic
    found = SmoothValue(statistic.count, Fraction(beta), statistic.cap, several=True).answer(data)
    assert float(found.bound) == pytest.approx(bound, rel=1e-12)


def test_where_no_edge_can_matter_nothing_is_hidden():
    for nodes in (1, 2):
        for name in ("triangles", "triangles(0)", "clustering(0)", "mean_clustering"):
            statistic = unit(name, nodes).statistic
            primitive = statistic.primitive(Fraction(1), Fraction(1, 100))
            given = statistic.given(graph(nodes, set()), primitive)
            assert statistic.read(primitive, primitive.sample(given)) == 0


def test_vectors_without_a_ladder_are_measured_with_a_delta():
    statistic = unit("node_triangles", 5).statistic
    assert statistic.needs_delta
    primitive = statistic.primitive(Fraction(1), Fraction(1, 100))
    assert isinstance(primitive, SmoothLaplace) and primitive.dimension == 5
    with pytest.raises(ValueError, match="pass delta="):
        graph_vocabulary(GraphPublic(nodes=5))["node_triangles"](())
