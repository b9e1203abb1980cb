from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines import GraphCounts
from sfumato.engines.memory_graph import MemoryGraph


@settings(deadline=None)
@given(st.integers(2, 8), st.data())
def test_degrees_and_common_neighbours_agree_with_sets(nodes, data):
    pairs = list(combinations(range(nodes), 2))
    chosen = data.draw(st.lists(st.sampled_from(pairs), max_size=20))
    flipped = [pair if i % 2 else pair[::-1] for i, pair in enumerate(chosen)]
    graph = MemoryGraph(np.array(flipped, dtype=np.int64).reshape(-1, 2), nodes=nodes)
    near = {v: {w for e in chosen for w in e if v in e and w != v} for v in range(nodes)}
    assert graph.degrees().tolist() == [len(near[v]) for v in range(nodes)]
    assert graph.edges == len(set(chosen))
    left, right = np.array(pairs).T
    expected = [len(near[a] & near[b]) for a, b in pairs]
    assert graph.common_neighbours(left, right).tolist() == expected
    assert isinstance(graph, GraphCounts)


def graphs(most=8):
    """Random graphs: the number of nodes and a list of edges."""

    @st.composite
    def drawn(draw):
        nodes = draw(st.integers(2, most))
        pairs = list(combinations(range(nodes), 2))
        return nodes, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=len(pairs)))

    return drawn()


def matrix(nodes, edges):
    near = np.zeros((nodes, nodes), dtype=int)
    for left, right in edges:
        near[left, right] = near[right, left] = 1
    return near


def built(nodes, edges):
    return MemoryGraph(np.array(edges, dtype=np.int64).reshape(-1, 2), nodes=nodes)


def cliques_in(near, members, size):
    return sum(
        all(near[a, b] for a, b in combinations(chosen, 2))
        for chosen in combinations(members, size)
    )


@settings(deadline=None, max_examples=150)
@given(graphs())
def test_counts_of_subgraphs_agree_with_enumeration(given_graph):
    nodes, edges = given_graph
    graph, near = built(nodes, edges), matrix(nodes, edges)
    square = near @ near
    assert graph.pairs().tolist() == sorted(map(list, edges))
    assert graph.triangles() == cliques_in(near, range(nodes), 3)
    assert graph.triangles_at().tolist() == (np.diag(square @ near) // 2).tolist()
    expected = sorted(square[a, b] for a, b in edges)
    assert sorted(graph.edge_triangles().tolist()) == expected
    for size in range(1, 7):
        assert graph.cliques(size) == cliques_in(near, range(nodes), size)
    for size in (2, 3, 4):
        assert graph.k_triangles(size) == sum(comb(int(square[a, b]), size) for a, b in edges)


@settings(deadline=None, max_examples=150)
@given(graphs(9))
def test_pairs_agree_with_all_pairs(given_graph):
    nodes, edges = given_graph
    graph, near = built(nodes, edges), matrix(nodes, edges)
    degrees, square = near.sum(axis=0), near @ near
    found = {
        (int(square[i, j]), int(degrees[i] + degrees[j] - 2 * square[i, j] - 2 * near[i, j]))
        for i, j in combinations(range(nodes), 2)
    }
    front = {
        (a, b)
        for a, b in found
        if not any((c >= a and d >= b) and (c, d) != (a, b) for c, d in found)
    }
    shared, half = graph.pair_frontier()
    assert set(zip(shared.tolist(), half.tolist(), strict=True)) == front
    assert graph.most_common() == max(a for a, _ in found)
    for least in ([0] * 9, [0, 3, 2, 1, 0], [9, 9, 0, 0, 0, 0, 0, 0, 0], [0, 5, 4, 9, 0, 1, 0]):
        close = {
            (*sorted((i, j)), a, b) for i, j, a, b in graph.close_pairs(np.array(least)).tolist()
        }
        expected_close = set()
        for i, j in combinations(range(nodes), 2):
            a = int(square[i, j])
            b = int(degrees[i] + degrees[j] - 2 * a - 2 * near[i, j])
            if 1 <= a < len(least) and b >= least[a]:
                expected_close.add((i, j, a, b))
        assert close == expected_close
    pairs = np.array(list(combinations(range(nodes), 2)))
    for size in (1, 2, 3):
        expected = [
            cliques_in(near, np.flatnonzero(near[i] & near[j]), size) for i, j in pairs.tolist()
        ]
        assert graph.cliques_among(pairs, size) == expected


@settings(deadline=None, max_examples=300)
@given(graphs(9))
def test_star_pairs_cover_all_pairs(given_graph):
    nodes, edges = given_graph
    graph, near = built(nodes, edges), matrix(nodes, edges)
    degrees = near.sum(axis=0)
    all_pairs = {
        tuple(sorted((int(degrees[i] - near[i, j]), int(degrees[j] - near[i, j])), reverse=True))
        for i, j in combinations(range(nodes), 2)
    }
    chosen = set(graph.star_pairs())
    assert chosen <= all_pairs
    assert all(any(a <= c and b <= d for c, d in chosen) for a, b in all_pairs)


@settings(deadline=None, max_examples=60)
@given(graphs(7), st.integers(2, 4))
def test_the_change_of_k_triangles_agrees_with_toggling(given_graph, size):
    nodes, edges = given_graph
    here = built(nodes, edges)
    changes = [
        abs(built(nodes, list(set(edges) ^ {pair})).k_triangles(size) - here.k_triangles(size))
        for pair in combinations(range(nodes), 2)
    ]
    assert here.k_triangle_change(size) == max(changes)


def test_counts_beyond_64_bits_are_exact():
    # Two nodes, joined to each other and to 68 others.
    spokes = [(end, other) for end in (0, 1) for other in range(2, 70)]
    graph = built(70, [(0, 1), *spokes])
    assert graph.k_triangles(30) == comb(68, 30) > 2**63
    assert graph.k_triangle_change(30) == comb(68, 30)
    whole = built(40, list(combinations(range(40), 2)))
    assert whole.cliques(4) == comb(40, 4)
    assert whole.k_triangle_change(3) == 7 * comb(38, 3)


def test_a_graph_without_edges():
    graph = MemoryGraph(np.zeros((0, 2), dtype=np.int64), nodes=3)
    assert graph.degrees().tolist() == [0, 0, 0]
    assert graph.common_neighbours(np.array([0]), np.array([1])).tolist() == [0]
    assert graph.common_neighbours(np.zeros(0, int), np.zeros(0, int)).tolist() == []


@pytest.mark.parametrize(
    ("edges", "reason"), [([[0, 3]], "0 to 2"), ([[1, 1]], "to itself"), ([[0.5, 1]], "whole")]
)
def test_what_is_no_simple_graph_is_refused(edges, reason):
    with pytest.raises(ValueError, match=reason):
        MemoryGraph(np.array(edges), nodes=3)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_that_are_passed_over_do_not_matter(seed):
    # Large enough that most pairs are never looked at; all of them are in the dense matrix.
    nodes = 240
    weights = (1 + np.arange(nodes)) ** -0.8
    generator = np.random.default_rng(seed)
    edges = generator.choice(nodes, (1500, 2), p=weights / weights.sum())
    edges = edges[edges[:, 0] != edges[:, 1]]
    graph = MemoryGraph(generator.permutation(nodes)[edges], nodes=nodes)
    dense = graph.adjacency.toarray()
    shared, degrees = dense @ dense, dense.sum(axis=0)
    half = degrees[:, None] + degrees[None, :] - 2 * shared - 2 * dense
    left, right = np.triu_indices(nodes, 1)
    a, b = shared[left, right], half[left, right]
    most = [int(b[a >= least].max(initial=-1)) for least in range(int(a.max()) + 2)]
    front = [
        (least, most[least]) for least in range(len(most) - 1) if most[least] > most[least + 1]
    ]
    assert list(zip(*(part.tolist() for part in graph.pair_frontier()), strict=True)) == front
    wanted = np.maximum(np.array(most[:-1]) - 20, 0)
    close = {
        tuple(row)
        for row in np.stack([left, right, a, b], axis=1)[(a > 0) & (b >= wanted[a])].tolist()
    }
    found = graph.close_pairs(wanted)
    found[:, :2].sort(axis=1)
    assert {tuple(row) for row in found.tolist()} == close
    for size in (2, 3):
        # Adding an edge puts C(a, k) k-triangles on it and more on the edges to common neighbours.
        of_edge = np.array([comb(int(n), size - 1) for n in range(int(shared.max()) + 1)])
        largest = 0
        for joined in (0, 1):
            gains = dense * of_edge[np.maximum(shared - joined, 0)]
            sums = (gains @ dense) + (dense @ gains)
            own = np.array([comb(int(n), size) for n in range(int(shared.max()) + 1)])[shared]
            largest = max(
                largest, int((sums + own)[(dense == joined) & ~np.eye(nodes, dtype=bool)].max())
            )
        assert graph.k_triangle_change(size) == largest


def test_many_pairs_of_equal_weight_take_no_room():
    # Every two of the leaves are as heavy as any other two: there are a billion of them.
    leaves = np.arange(1, 50_001)
    star = MemoryGraph(np.stack([np.zeros_like(leaves), leaves], axis=1), nodes=50_001)
    assert star.k_triangle_change(2) == 0
    assert star.k_triangle_change(1) == 2 + 1
