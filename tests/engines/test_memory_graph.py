from itertools import combinations

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
