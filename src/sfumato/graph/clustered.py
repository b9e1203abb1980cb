"""Synthetic graphs with the degrees and the number of triangles of a private one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.dk_one import SortedPart
from sfumato.graph.models import ClusteredModel
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.graph.synthetic import SyntheticGraph, drawn_sizes
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import SHARE, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Program

__all__ = ["ClusteredGraph"]

#: Of what is not for the triangles, the share for the degrees; the rest counts the edges.
DEGREE_SHARE = Fraction(9, 10)


@dataclass(frozen=True, kw_only=True)
class ClusteredGraph(Method[Graph, SyntheticGraph]):
    """Release synthetic graphs that approximate the degrees and clustering of a private graph.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge.
    triangle_share
        Share of ε for the triangle count. A tenth of the rest is for the number of edges, the
        remainder for the degrees.

    Notes
    -----
    Privacy: the degrees and the number of edges are measured as `DKGraph` does, the triangles as
    `SubgraphCount` does; their losses add up (docs/proofs/clustered-graph.md). Drawing graphs and
    rewiring them is post-processing.
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "clustered-graph.md"

    triangle_share: Fraction = parameter(SHARE, Fraction(1, 2))

    def _losses(self, public: GraphPublic) -> tuple[PureDP, PureDP]:
        """Return what the degrees and the triangles may spend, for one edge."""
        limit, _ = self.record_budget(public)
        assert isinstance(limit, PureDP)
        return limit.share(1 - self.triangle_share), limit.share(self.triangle_share)

    def _degrees(self, public: GraphPublic) -> SortedPart:
        return SortedPart(self._losses(public)[0], DEGREE_SHARE)

    @property
    def _triangles(self) -> SubgraphCount:
        """The count of triangles with its share of ε."""
        return SubgraphCount(epsilon=PureDP(self.epsilon).epsilon * self.triangle_share)

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan: degrees, edges, triangles."""
        self.check(public)
        steps = (*self._degrees(public).steps(public), *self._triangles.plan(public).steps)
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=steps,
            sizes=drawn_sizes(public, steps),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for degrees, edges and triangles, and return a model of graphs with these."""
        part = self._degrees(public)
        noisy, edges = yield from part.ask(public, budget)
        counted = yield from self._triangles.program(
            public, budget.take(self._losses(public)[1], "triangles")
        )
        yield FINISH
        found = part.repair(public, noisy, edges)
        model = ClusteredModel(found.degrees, counted.possible)
        return SyntheticGraph(public, model, moved=found.moved)
