"""The suite of methods that measure edges, degrees and triangles."""

from itertools import combinations, pairwise

from sfumato.data.graph import GraphPublic
from tests.graph.graphs import graph
from tests.method_suite import MethodSuite

EVERYTHING = frozenset(combinations(range(7), 2))


class SummarySuite(MethodSuite):
    # Most for the degrees, which every edge changes, so that samples can tell neighbours apart.
    options = {"triangle_share": "1/10"}  # noqa: RUF012
    #: How many nodes the audited graphs have.
    audited_nodes = 4

    def data(self):
        return graph(7, EVERYTHING - {(0, 1), (2, 5)})

    def audited_public(self):
        return GraphPublic(nodes=self.audited_nodes)

    def neighbours(self):
        star = frozenset((0, node) for node in range(1, 7))
        return [
            (graph(7, []), graph(7, [(0, 1)])),
            (graph(7, star), graph(7, star | {(1, 2)})),
            (graph(7, EVERYTHING), graph(7, EVERYTHING - {(3, 5)})),
        ]

    def test_more_budget_never_means_more_noise(self):
        # The noise on triangles follows the graph and has no public margin.
        public = self.data().public
        margins = [
            [step.figures["margin"] for step in self.method(epsilon=epsilon).plan(public).steps[:2]]
            for epsilon in ("1/10", 1, 10)
        ]
        for less, more in pairwise(margins):
            assert all(a >= b for a, b in zip(less, more, strict=True))
