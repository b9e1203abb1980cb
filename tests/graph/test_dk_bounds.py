"""What one edge can change in a dK series, by brute force on all graphs of up to five nodes."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from sfumato.graph.dk_bounds import (
    joint_cap,
    joint_change,
    largest_degree,
    smooth_peak,
    triple_cap,
    triple_change,
    widest_pair,
)
from sfumato.graph.dk_series import degree_counts, joint_degrees, triples
from sfumato.mechanisms.smooth_calibration import smooth_maximum
from tests.graph.graphs import all_graphs, engine, toggled


def pairs(edges):
    return np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)


def series(order, nodes, edges):
    """The dK series as a counter."""
    if order == 1:
        return Counter(dict(enumerate(degree_counts(pairs(edges), nodes).tolist())))
    if order == 2:
        joint = joint_degrees(pairs(edges), nodes)
        return Counter({(a, b): c for a, b, c in zip(*map(np.ndarray.tolist, joint), strict=True)})
    found = triples(pairs(edges), nodes)
    table = Counter({("w", *row): c for row, c in zip(*_lists(found[:2]), strict=True)})
    table.update({("t", *row): c for row, c in zip(*_lists(found[2:]), strict=True)})
    return table


def _lists(arrays):
    return [arrays[0].tolist(), arrays[1].tolist()]


@cache
def every(order, nodes):
    return {edges: series(order, nodes, edges) for edges in all_graphs(nodes)}


@cache
def starts(order, nodes):
    """What the bound of each graph starts from: the widest pair, or the largest degree."""
    measure = widest_pair if order == 2 else largest_degree
    return {edges: measure(engine(nodes, edges)) for edges in all_graphs(nodes)}


def apart(first, second):
    return sum(abs(first[key] - second[key]) for key in first.keys() | second.keys())


def local(order, nodes, edges):
    known = every(order, nodes)
    return max(apart(known[edges], known[other]) for other in toggled(nodes, edges))


CHANGE = {2: joint_change, 3: triple_change}
CAP = {2: joint_cap, 3: triple_cap}


@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_one_edge_moves_the_degree_histogram_by_four(nodes):
    largest = max(local(1, nodes, edges) for edges in all_graphs(nodes))
    assert largest == 4 if nodes > 3 else largest <= 4


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_bounds_cover_every_neighbour(order, nodes):
    for edges in all_graphs(nodes):
        change = CHANGE[order](starts(order, nodes)[edges])
        assert local(order, nodes, edges) <= min(change, CAP[order](nodes))


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_complete_graphs_attain_the_cap(order, nodes):
    everything = frozenset(combinations(range(nodes), 2))
    assert local(order, nodes, everything) == CAP[order](nodes)
    assert CAP[order](nodes) == (4 * nodes - 7 if order == 2 else 2 * (nodes - 2) ** 2)


@pytest.mark.parametrize("order", [2, 3])
def test_bounds_are_smooth_because_one_edge_moves_their_start_by_one(order):
    for edges, start in starts(order, 5).items():
        for other in toggled(5, edges):
            assert abs(start - starts(order, 5)[other]) <= 1
    rising = [CHANGE[order](start) for start in range(50)]
    assert rising == sorted(rising)


def test_the_widest_pair_leaves_out_the_edge_between_the_two():
    for edges, found in starts(2, 5).items():
        degrees = Counter(node for edge in edges for node in edge)
        assert found == max(
            degrees[i] + degrees[j] - 2 * ((i, j) in edges) for i, j in combinations(range(5), 2)
        )


def test_the_printed_bound_of_joint_degrees_is_too_small():
    """2(d₁ + d₂) − 3 leaves out what an added edge does: two nodes that are not joined."""
    short = []
    for edges in all_graphs(4):
        first, second = np.sort(engine(4, edges).degrees())[-2:]
        printed = min(2 * (first + second) - 3, 4 * 4 - 7)
        short.append(local(2, 4, edges) > max(printed, 1))
    assert any(short)


def test_the_printed_cap_of_triples_is_too_small_from_seven_nodes_on():
    everything = frozenset(combinations(range(7), 2))
    full, less = (series(3, 7, edges) for edges in (everything, everything - {(0, 1)}))
    assert apart(full, less) == triple_cap(7) == 50 > 1.5 * 5**2 + 2 * 5


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("beta", ["1/2", "1/10", "1/97", "1/1000"])
@pytest.mark.parametrize("start", [0, 1, 7, 60])
def test_the_peak_is_the_largest_of_all_terms(power, beta, start):
    change, cap = (joint_change, joint_cap(70)) if power == 1 else (triple_change, triple_cap(70))
    beta = Fraction(beta)
    slow = smooth_maximum(lambda s: change(start + s), beta, cap)
    assert smooth_peak(change, start, beta, cap, power=power) == slow


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_on_the_smallest_graphs_bounds_are_positive(nodes):
    for change, cap, power in ((joint_change, joint_cap, 1), (triple_change, triple_cap, 2)):
        assert smooth_peak(change, 0, Fraction(1, 10), cap(nodes), power=power) > 0


def test_a_smooth_bound_needs_a_positive_beta():
    with pytest.raises(ValueError, match="beta must be greater"):
        smooth_peak(joint_change, 0, Fraction(1, 10**40), 5, power=1)
