"""What published variants ask of a graph, whose claims do not hold; no other method may ask it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sfumato.data.graph import Graph
from sfumato.graph.dk_series import degree_counts, joint_degrees
from sfumato.privacy.loss import ApproxDP
from sfumato.privacy.program import Query

__all__ = ["OccupiedDegrees", "OccupiedInput", "OccupiedJointDegrees"]


class OccupiedInput(NamedTuple):
    """The bins that are occupied, what is in them, and the scale of the noise. All private."""

    bins: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    scale: Fraction


@dataclass(frozen=True)
class OccupiedDegrees(Query):
    """How many nodes have each degree that occurs, with the public scale of the noise on them."""

    scale: Fraction

    def answer(self, data: Graph) -> OccupiedInput:
        """Return the degrees that occur and their nodes."""
        counts = degree_counts(data.counts.pairs(), data.counts.nodes)
        occupied = np.flatnonzero(counts)
        bins = tuple((int(degree),) for degree in occupied)
        return OccupiedInput(bins, tuple(counts[occupied].tolist()), self.scale)


@dataclass(frozen=True)
class OccupiedJointDegrees(Query):
    """How many edges join each two degrees that occur, with the printed scale of the noise.

    Parameters
    ----------
    loss
        What the paper says that it costs.
    """

    loss: ApproxDP

    def answer(self, data: Graph) -> OccupiedInput:
        """Return the pairs of degrees that occur and their edges."""
        joint = joint_degrees(data.counts.pairs(), data.counts.nodes)
        bins = tuple(zip(joint.low.tolist(), joint.high.tolist(), strict=True))
        return OccupiedInput(bins, tuple(joint.edges.tolist()), self._scale(data, len(bins)))

    def _scale(self, data: Graph, occupied: int) -> Fraction:
        """Return 2S/ε with the printed bound and the printed β. Private."""
        epsilon, delta = float(self.loss.epsilon), float(self.loss.delta)
        beta = epsilon / (4 * (occupied + math.log(2 / delta)))
        degrees = np.sort(data.counts.degrees())[-2:]
        start, cap = max(2 * int(degrees.sum()) - 3, 1), max(4 * data.counts.nodes - 7, 1)
        peak = max(round(1 / beta - start / 2), 0)
        places = {0, peak, peak + 1, max((cap - start) // 2 + 1, 0)}
        best = max(math.exp(-beta * s) * min(start + 2 * s, cap) for s in places)
        return Fraction(2 * best / epsilon)
