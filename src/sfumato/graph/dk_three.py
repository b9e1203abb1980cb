"""dK-3 with noise that follows the graph: wedges and triangles by the degrees of their nodes.

Experimental: one edge can change them by about six times the square of the largest degree. Only
`measure` and what it calls see the graph. Proof: docs/proofs/dk-graphs.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph, GraphPublic
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
from sfumato.graph.dk_series import Triples, triples
from sfumato.graph.joint_models import TripleModel
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.mechanisms.smooth import SmoothInput, SmoothLaplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ApproxDP
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.transcript import Transcript

__all__ = ["TripleHistogram"]

Integers = NDArray[np.int64]

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
        beta, cap = self._primitive(public).beta, dk_bounds.triple_cap(public.nodes)
        return dk_bounds.smooth_peak(dk_bounds.triple_change, degree, beta, cap, power=2)

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan."""
        small, rest = self._losses
        return (
            *self._joint.steps(public),
            scale_step("the largest degree", small),
            table_step("wedges and triangles by the degrees of their nodes (experimental)", rest),
        )

    def measure(self, data: Graph, budget: Budget) -> None:
        """Measure the joint degrees, the largest degree, and all bins of wedges and triangles."""
        small, rest = self._losses
        self._joint.measure(data, budget)
        largest = dk_bounds.largest_degree(data.counts)
        value = np.array([largest], dtype=np.int64)
        budget.take(small, LARGEST).measure(noise_of(small, (1,), 1), value, label=LARGEST)
        table = _triple_table(data, self._most(data.public))
        given = SmoothInput(table, self._bound(data.public, largest))
        budget.take(rest, TRIPLES).measure(self._primitive(data.public), given, label=TRIPLES)

    def build(self, public: GraphPublic, transcript: Transcript) -> SyntheticGraph:
        """Return graphs with about these joint degrees, rewired towards these triples."""
        base, moved = self._joint.model(public, transcript)
        most = self._most(public)
        noisy = counted(transcript[TRIPLES])
        degree = min(max(int(transcript[LARGEST][0]), 0), max(public.nodes - 1, 0))
        least = threshold(self._bound(public, degree), self._primitive(public))
        counts = np.where(noisy > least, noisy, 0).astype(np.int64)
        wedges, triangles = np.split(counts, [_wedge_bins(most)])
        target = Triples(
            _wedge_rows(most)[wedges > 0],
            wedges[wedges > 0],
            _triangle_rows(most)[triangles > 0],
            triangles[triangles > 0],
        )
        return SyntheticGraph(public, TripleModel(base, target), moved=moved)


def _wedge_bins(most: int) -> int:
    """Return how many kinds of wedges there are: a centre of 2 … most, two ends of 1 … most."""
    return (most - 1) * most * (most + 1) // 2


def _triangle_bins(most: int) -> int:
    """Return how many kinds of triangles there are: three degrees of 2 … most."""
    return (most - 1) * most * (most + 1) // 6


def _wedge_rows(most: int) -> Integers:
    """Return all kinds of wedges in order: centre, lower end, higher end."""
    low, high = np.triu_indices(most)
    centres = np.arange(2, most + 1)
    ends = np.stack([low + 1, high + 1], axis=1)
    return np.column_stack([np.repeat(centres, len(ends)), np.tile(ends, (len(centres), 1))])


def _triangle_rows(most: int) -> Integers:
    """Return all kinds of triangles in order: three rising degrees."""
    first, second, third = np.indices((most - 1,) * 3).reshape(3, -1) + 2
    rising = (first <= second) & (second <= third)
    return np.stack([first, second, third], axis=1)[rising].astype(np.int64)


def _triple_table(data: Graph, most: int) -> tuple[int, ...]:
    """Return the number of wedges and of triangles in each bin. Private."""
    found = triples(data.counts.pairs(), data.counts.nodes)
    wedge_degrees = np.minimum(found.wedge_degrees, most)
    triangle_degrees = np.minimum(found.triangle_degrees, most)
    wedges = _binned(wedge_degrees, found.wedges, _wedge_rows(most), most)
    triangles = _binned(triangle_degrees, found.triangles, _triangle_rows(most), most)
    return (*wedges.tolist(), *triangles.tolist())


def _binned(rows: Integers, counts: Integers, bins: Integers, most: int) -> Integers:
    """Return the sums of counts by bin."""
    weights = np.array([(most + 1) ** 2, most + 1, 1], dtype=np.int64)
    table = np.zeros(len(bins), dtype=np.int64)
    np.add.at(table, np.searchsorted(bins @ weights, rows @ weights), counts)
    return table
