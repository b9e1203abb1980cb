"""What published variants ask of a graph, whose claims do not hold; no other method may ask it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sfumato.data.graph import Graph
from sfumato.graph.dk_series import degree_counts, joint_degrees
from sfumato.graph.eigen import in_steps
from sfumato.graph.lnpp_published import GapNoise, GapVector
from sfumato.graph.spectral_queries import leading_spectrum
from sfumato.privacy.loss import ApproxDP
from sfumato.privacy.program import Query

__all__ = ["OccupiedDegrees", "OccupiedInput", "OccupiedJointDegrees", "PrintedEigenvector"]


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


@dataclass(frozen=True)
class PrintedEigenvector(Query):
    """An eigenvector with the scale of noise that its private gap gives.

    Parameters
    ----------
    k, rank
        How many eigenpairs the program asks for, and which of them this is, from 0.
    noise
        The printed noise.
    """

    k: int
    rank: int
    noise: GapNoise

    def answer(self, data: Graph) -> GapVector:
        """Return the vector in whole steps, and the scale."""
        spectrum = leading_spectrum(data.counts, self.k)
        steps = in_steps(spectrum.vectors[:, self.rank], self.noise.radius)
        return GapVector(steps, self.noise.printed_scale(spectrum.gap(self.rank)))
