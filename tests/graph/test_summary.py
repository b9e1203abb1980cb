"""The summary of a graph: the suite, every graph, and what follows from its parts."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from sfumato.data.graph import GraphPublic
from sfumato.graph.summary import GraphSummary
from tests.graph.graphs import graph
from tests.method_suite import MethodSuite

EVERYTHING = frozenset(combinations(range(7), 2))


class TestGraphSummary(MethodSuite):
    name = "graph.GraphSummary"
    # Most for the degrees, which every edge changes, so that samples can tell neighbours apart.
    options = {"triangle_share": "1/10"}  # noqa: RUF012

    def data(self):
        return graph(7, EVERYTHING - {(0, 1), (2, 5)})

    def audited_public(self):
        return GraphPublic(nodes=5)

    def neighbours(self):
        star = frozenset((0, node) for node in range(1, 7))
        return [
            (graph(7, []), graph(7, [(0, 1)])),
            (graph(7, star), graph(7, star | {(1, 2)})),
            (graph(7, EVERYTHING), graph(7, EVERYTHING - {(3, 5)})),
        ]

    def fact(self, release):
        return np.array([release.edges.value, release.triangles.value, *release.degrees], object)

    def test_more_budget_never_means_more_noise(self):
        # The noise on triangles follows the graph and has no public margin.
        margins = [
            [step.figures["margin"] for step in self.method(epsilon=epsilon).plan(public).steps[:2]]
            for public in [self.data().public]
            for epsilon in ("1/10", 1, 10)
        ]
        for less, more in pairwise(margins):
            assert all(a >= b for a, b in zip(less, more, strict=True))


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
