"""A graph in one release: how many edges, how many triangles, and the sorted degrees."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.degree_sequence import DEGREES, ask_degrees, degree_step, repair_degrees
from sfumato.graph.degrees import DegreeRelease, degree_picture
from sfumato.graph.number import EDGES, NumberRelease, ask_edges, edge_noise, edge_step
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.mechanisms.count_noise import margin
from sfumato.privacy.budget import Budget
from sfumato.privacy.canonical import canonical
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import SHARE, parameter
from sfumato.privacy.plan import Plan, Size
from sfumato.privacy.program import Program
from sfumato.privacy.release import Release
from sfumato.sections import Section

__all__ = ["GraphSummary", "SummaryRelease"]

#: Edges are many and one of them counts once: a small share of the loss tells them well.
EDGE_SHARE = Fraction(1, 20)


class SummaryRelease(Release):
    """How many edges and triangles a graph has, and the degrees of its nodes.

    Parameters
    ----------
    edges, triangles
        Noisy counts.
    degrees
        The sorted degrees.
    """

    kind = "graph summary"

    def __init__(
        self, edges: NumberRelease, triangles: NumberRelease, degrees: DegreeRelease
    ) -> None:
        self.edges = edges
        self.triangles = triangles
        self.degree_release = degrees

    @property
    def degrees(self) -> NDArray[np.float64]:
        """The degrees from the smallest, as in `DegreeRelease`."""
        return self.degree_release.degrees

    @property
    def density(self) -> float:
        """The share of the pairs of nodes that are joined; 0 without pairs."""
        return self.edges.possible / max(self.edges.largest, 1)

    @property
    def transitivity(self) -> float:
        """Three times the triangles over the paths of two edges, at most 1; 0 without paths."""
        paths = float((self.degrees * (self.degrees - 1) / 2).clip(min=0).sum())
        return min(3 * self.triangles.possible / paths, 1.0) if paths else 0.0

    def files(self) -> dict[str, bytes]:
        """Return the counts as a small JSON document, and the degrees as tables."""
        document = {
            "edges": str(self.edges.value),
            "triangles": str(self.triangles.value),
            "density": f"{self.density:.6g}",
            "transitivity": f"{self.transitivity:.6g}",
        }
        return {"summary.json": canonical(document) + b"\n", **self.degree_release.files()}

    def words(self) -> str:
        """Return the summary in a few sentences."""
        return (
            f"{self.edges.words()} {self.triangles.words()} {self.degree_release.words()} "
            f"From these, {self.density:.2%} of all pairs of nodes are joined, and of two nodes "
            f"with a common neighbour {self.transitivity:.1%}."
        )

    def summary(self) -> dict[str, Any]:
        """Return the counts, what follows from them, and the degrees, for programs."""
        return {
            "edges": self.edges.value,
            "triangles": self.triangles.value,
            "density": self.density,
            "transitivity": self.transitivity,
            "degrees": self.degree_release.summary(),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.graph.pages import summary_sections

        return summary_sections(self)

    def plot(self) -> Any:
        """Return a figure of the degrees, with the counts above it."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.5, 3.8), layout="constrained")
        axis = figure.subplots()
        degree_picture(axis, self.degree_release)
        axis.set_title(
            f"about {self.edges.possible:,} edges, {self.triangles.possible:,} triangles",
            fontsize=10,
        )
        return figure


@dataclass(frozen=True, kw_only=True)
class GraphSummary(Method[Graph, SummaryRelease]):
    """Release the number of edges, the number of triangles and the sorted degrees.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge. A twentieth of it is for the number of edges.
    triangle_share
        Share of the rest for the triangle count; the remainder is for the degrees.

    Notes
    -----
    Privacy: one edge changes the number of edges by 1; the degrees and the triangles are measured
    as `DegreeSequence` and `SubgraphCount` do; their losses add up (docs/proofs/graph-summary.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "graph-summary.md"

    triangle_share: Fraction = parameter(SHARE, Fraction(1, 2))

    def _losses(self, public: GraphPublic) -> dict[str, PureDP]:
        """Return what each part may spend, for one edge."""
        limit, _ = self.record_budget(public)
        assert isinstance(limit, PureDP)
        rest = 1 - EDGE_SHARE
        shares = {
            EDGES: EDGE_SHARE,
            DEGREES: rest * (1 - self.triangle_share),
            "triangles": rest * self.triangle_share,
        }
        return {name: PureDP(limit.epsilon * share) for name, share in shares.items()}

    @property
    def _triangles(self) -> SubgraphCount:
        """The count of triangles with its share of ε."""
        epsilon = PureDP(self.epsilon).epsilon
        return SubgraphCount(epsilon=epsilon * (1 - EDGE_SHARE) * self.triangle_share)

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan: three parts."""
        self.check(public)
        losses = self._losses(public)
        edges = edge_step(losses[EDGES])
        degrees = degree_step(public, losses[DEGREES], losses[DEGREES])
        triangles = self._triangles.plan(public).steps
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(edges, degrees, *triangles),
            sizes=(Size(public.nodes, "nodes"),),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[SummaryRelease]:
        """Ask for the three parts, each with its share."""
        losses = self._losses(public)
        counted = yield ask_edges(budget.take(losses[EDGES], EDGES))
        noisy = yield ask_degrees(public, budget.take(losses[DEGREES], DEGREES))
        triangles = yield from self._triangles.program(
            public, budget.take(losses["triangles"], "triangles")
        )
        edges = NumberRelease(
            "edges",
            int(counted[0]),
            margin=margin(edge_noise(losses[EDGES])),
            largest=public.most_edges,
        )
        return SummaryRelease(edges, triangles, repair_degrees(public, noisy, losses[DEGREES]))
