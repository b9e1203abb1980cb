"""dK-3 with noise that follows the graph: wedges and triangles by the degrees of their nodes.

Experimental: one edge can change them by about six times the square of the largest degree. Proof:
docs/proofs/dk-graphs.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.data.graph import GraphPublic
from sfumato.graph import dk_bounds
from sfumato.graph.dk_joint import (
    JointHistogram,
    counted,
    parts_of,
    require_bins,
    scale_step,
    table_step,
    threshold,
)
from sfumato.graph.dk_parts import noise_of
from sfumato.graph.dk_series import Triples, triangle_kinds, wedge_kinds
from sfumato.graph.joint_models import TripleModel
from sfumato.graph.queries import LargestDegree, TripleTable
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.mechanisms.smooth import SmoothLaplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program

__all__ = ["TripleHistogram"]

#: The labels in transcripts, and of the slices.
LARGEST = "largest degree"
TRIPLES = "triples"


@dataclass(frozen=True)
class TripleHistogram:
    """Joint degrees, and how many wedges and triangles there are by the degrees of their nodes.

    Parameters
    ----------
    loss
        What may be spent, for one edge; one half is for the joint degrees.
    cap
        Nodes of more edges are counted as having so many.
    """

    loss: ApproxDP
    cap: int

    @property
    def _joint(self) -> JointHistogram:
        return JointHistogram(self.loss.share(Fraction(1, 2)), self.cap)

    @property
    def _losses(self) -> tuple[ApproxDP, ApproxDP]:
        """What the largest degree and the triples may spend."""
        small, rest = parts_of(self.loss.share(Fraction(1, 2)), 1)
        return small, rest

    def check(self, public: GraphPublic) -> None:
        """Refuse more bins than are measured, and a loss too small for any smooth bound."""
        self._joint.check(public)
        most = self._most(public)
        require_bins(_wedge_bins(most) + _triangle_bins(most), self.cap, 46)
        self._bound(public, 0)

    def _most(self, public: GraphPublic) -> int:
        """Return the largest degree that is told apart; a wedge has a centre of 2 at least."""
        return max(self._joint.most(public), 2)

    def _primitive(self, public: GraphPublic) -> SmoothLaplace:
        most = self._most(public)
        return SmoothLaplace(
            epsilon=self._losses[1].epsilon,
            delta=self._losses[1].delta,
            dimension=_wedge_bins(most) + _triangle_bins(most),
            grid_exponent=0,
        )

    def _bound(self, public: GraphPublic, degree: int) -> Fraction:
        """Return the smooth bound of a graph of this largest degree."""
        return dk_bounds.triple_bound(public.nodes, degree, self._primitive(public).beta)

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan."""
        small, rest = self._losses
        return (
            *self._joint.steps(public),
            scale_step("the largest degree", small),
            table_step("wedges and triangles by the degrees of their nodes (experimental)", rest),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for joint degrees, the largest degree, and all bins of wedges and triangles.

        Graphs have about these joint degrees, and are rewired towards these triples.
        """
        small, rest = self._losses
        joint = yield from self._joint.ask(public, budget)
        largest = yield Ask(
            budget.take(small, LARGEST), noise_of(small, (1,), 1), LargestDegree(), LARGEST
        )
        primitive, most = self._primitive(public), self._most(public)
        query = TripleTable(most, primitive.beta)
        noisy = counted((yield Ask(budget.take(rest, TRIPLES), primitive, query, TRIPLES)))
        yield FINISH
        base, moved = self._joint.model(public, joint)
        degree = min(max(int(largest[0]), 0), max(public.nodes - 1, 0))
        least = threshold(self._bound(public, degree), primitive)
        counts = np.where(noisy > least, noisy, 0).astype(np.int64)
        wedges, triangles = np.split(counts, [_wedge_bins(most)])
        target = Triples(
            wedge_kinds(most)[wedges > 0],
            wedges[wedges > 0],
            triangle_kinds(most)[triangles > 0],
            triangles[triangles > 0],
        )
        return SyntheticGraph(public, TripleModel(base, target), moved=moved)


def _wedge_bins(most: int) -> int:
    """Return how many kinds of wedges there are: a centre of 2 … most, two ends of 1 … most."""
    return (most - 1) * most * (most + 1) // 2


def _triangle_bins(most: int) -> int:
    """Return how many kinds of triangles there are: three degrees of 2 … most."""
    return (most - 1) * most * (most + 1) // 6
