"""The summary of a graph: the suite, every graph, and what follows from its parts."""

from itertools import combinations

import numpy as np
import pytest

from sfumato.graph.summary import GraphSummary
from tests.graph.graphs import graph
from tests.graph.summary_suite import SummarySuite


class TestGraphSummary(SummarySuite):
    name = "graph.GraphSummary"
    audited_nodes = 5

    def fact(self, release):
        return np.array([release.edges.value, release.triangles.value, *release.degrees], object)


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("epsilon", ["1e-6", 1, 5000])
def test_every_graph_is_accepted(nodes, epsilon):
    for edges in ([], list(combinations(range(nodes), 2))):
        release = GraphSummary(epsilon=epsilon).release(graph(nodes, edges))
        assert 0 <= release.density <= 1 and 0 <= release.transitivity <= 1
        assert release.words() and release.plot().axes and release.agrees(release.files())


def test_with_a_huge_epsilon_the_truth_comes_out():
    release = GraphSummary(epsilon=100_000).release(graph(5, [(0, 1), (1, 2), (0, 2), (2, 3)]))
    assert (release.edges.value, release.triangles.value) == (4, 1)
    assert release.degrees.tolist() == [0, 1, 2, 2, 3]
    assert release.density == 0.4
    assert release.transitivity == 3 / 5


@pytest.mark.parametrize("share", [0, 1, "x", -1])
def test_the_share_of_the_triangles_is_checked(share):
    with pytest.raises(ValueError, match="triangle_share must be"):
        GraphSummary(epsilon=1, triangle_share=share)
