"""What published variants ask of graphs and tables; no other method may ask it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.data.table import Table
from sfumato.graph.dk_series import degree_counts, joint_degrees
from sfumato.graph.eigen import in_steps
from sfumato.graph.spectral_queries import leading_spectrum
from sfumato.privacy.loss import ApproxDP
from sfumato.privacy.program import Query
from sfumato.regression.bayesian import Statistics
from sfumato.regression.design import UNIT, Design
from sfumato.regression.robust_statistics import Parts

__all__ = [
    "GapVector",
    "OccupiedDegrees",
    "OccupiedInput",
    "OccupiedJointDegrees",
    "PrintedEigenvector",
    "PublishedInput",
    "PublishedSums",
    "normalised",
    "printed_scale",
    "published_scales",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The print divides by the gap, which may be 0; a smaller one counts as this.
LEAST_GAP = 2.0**-10


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


class GapVector(NamedTuple):
    """A private eigenvector in whole steps, and the private scale that its gap gives."""

    steps: Integers
    scale: Fraction


def printed_scale(dimension: int, radius: int, epsilon: Fraction, gap: float) -> Fraction:
    """Return √n/(gap·ε) in steps, for a gap of at least `LEAST_GAP`. Private."""
    steps = math.sqrt(dimension) * radius / max(gap, LEAST_GAP)
    return max(Fraction(math.ceil(steps)), Fraction(1)) / epsilon


@dataclass(frozen=True)
class PrintedEigenvector(Query):
    """An eigenvector with the scale of noise that its private gap gives.

    Parameters
    ----------
    k, rank
        How many eigenpairs the program asks for, and which of them this is, from 0.
    radius
        How many steps are in length 1.
    epsilon
        The loss that was claimed.
    """

    k: int
    rank: int
    radius: int
    epsilon: Fraction

    def answer(self, data: Graph) -> GapVector:
        """Return the vector in whole steps, and the scale."""
        spectrum = leading_spectrum(data.counts, self.k)
        steps = in_steps(spectrum.vectors[:, self.rank], self.radius)
        gap = spectrum.gap(self.rank)
        return GapVector(steps, printed_scale(len(steps), self.radius, self.epsilon, gap))


def normalised(rows: Floats) -> Floats:
    """Return rows less their means, brought to a length of 1; a row of zeros stays one."""
    if not len(rows):
        return rows
    centred = rows - rows.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(lengths > 0, lengths, 1.0))


def published_scales(
    dimension: int, rows: float, answers: float, shares: Parts, epsilon: float
) -> tuple[float, float, float]:
    """Return the published scales of noise for thresholds of rows and answers."""
    p = dimension
    return (
        p * (p + 1) * rows**2 / (float(shares.matrix) * epsilon),
        2 * p * rows * answers / (float(shares.products) * epsilon),
        answers**2 / (float(shares.square) * epsilon),
    )


class PublishedInput(NamedTuple):
    """Exact statistics, the scale of the noise on each, and what leaves as it is. All private."""

    statistics: tuple[float, ...]
    scales: tuple[float, ...]
    told: tuple[float, ...]


@dataclass(frozen=True)
class PublishedSums(Query):
    """Statistics of rows that are centred and clipped by what is private about all of them.

    Parameters
    ----------
    design
        How records become features.
    epsilon
        What it is said to cost.
    shares
        Shares of ε of the three statistics.
    rows, answers
        Thresholds in private standard deviations.
    """

    design: Design
    epsilon: Fraction
    shares: Parts
    rows: float
    answers: float

    def answer(self, data: Table) -> PublishedInput:
        """Return the statistics, with means and thresholds."""
        blocks = list(self.design.blocks(data))
        p = self.design.dimension
        x = np.concatenate([part / UNIT for part, _ in blocks] or [np.zeros((0, p))])
        y = np.concatenate([part / UNIT for _, part in blocks] or [np.zeros(0)])
        means = x.mean(axis=0) if len(x) else np.zeros(p)
        middle = float(y.mean()) if len(y) else 0.0
        lengths = np.linalg.norm(x - means, axis=1)
        usual = float(lengths.mean()) if len(x) else 0.0
        rows, answers = normalised(x), y - middle
        bound = self.rows * float(rows.std(ddof=1)) if rows.size > 1 else 0.0
        other = self.answers * float(answers.std(ddof=1)) if len(y) > 1 else 0.0
        true = Statistics.of(np.clip(rows, -bound, bound), np.clip(answers, -other, other))
        scales = published_scales(p, bound, other, self.shares, float(self.epsilon))
        upper = true.xx[np.triu_indices(p)]
        flat = (*upper.tolist(), *true.xy.tolist(), true.yy)
        every = np.repeat(scales, [upper.size, p, 1])
        told = (*means.tolist(), middle, usual, float(len(y)))
        return PublishedInput(flat, tuple(every.tolist()), told)
