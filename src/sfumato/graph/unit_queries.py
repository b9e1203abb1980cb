"""What formulas ask of a graph: units, and how much one edge can change them after s others.

What takes a graph returns what is private. U(0) is at least the change between any two neighbours,
in the L1 norm, and no U(s) of a graph exceeds U(s + 1) of a neighbour (docs/proofs/expressions.md).
Lists end where the cap is reached, or after as many steps as were asked for; behind their end the
bound is the cap.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.engines.counts import GraphCounts
from sfumato.graph.ladders import ladder, local_sensitivities
from sfumato.graph.shapes import Shape
from sfumato.mechanisms.ladder import LadderInput
from sfumato.mechanisms.smooth import SmoothInput
from sfumato.mechanisms.smooth_calibration import smooth_maximum
from sfumato.privacy.program import Query

__all__ = [
    "BoundedQuery",
    "ClusteringAt",
    "Degree",
    "GroupEnds",
    "LadderValue",
    "MeanClustering",
    "NodeClustering",
    "NodeTriangles",
    "ShapeCount",
    "SmoothValue",
    "TrianglesAt",
    "WedgesAt",
    "clustering_change",
]

Widths = Sequence[int] | Sequence[Fraction]

TRIANGLE = Shape("triangle", 3)


def _front(shared: NDArray[Any], half: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the pairs (a, b) that no other exceeds in both."""
    front: list[tuple[int, int]] = []
    for place in np.lexsort((half, shared))[::-1]:
        if not front or int(half[place]) > front[-1][1]:
            front.append((int(shared[place]), int(half[place])))
    return front


def _neighbours(graph: GraphCounts, node: int) -> NDArray[Any]:
    pairs = graph.pairs()
    return np.concatenate([pairs[pairs[:, 0] == node, 1], pairs[pairs[:, 1] == node, 0]])


def clustering_change(shared: int) -> Fraction:
    """Return how far an edge with so many common neighbours can move all coefficients together.

    Each common neighbour moves by at most 1, each end by at most 2 over its degree with the edge,
    which is more than the common neighbours; without any, an end of degree 2 does not move.
    """
    return Fraction(4, 3) if shared == 0 else shared + Fraction(4, shared + 1)


@dataclass(frozen=True)
class Degree(Query):
    """The degree of one node."""

    node: int

    def answer(self, data: Graph) -> int:
        """Return the degree."""
        return int(data.counts.degrees()[self.node])


@dataclass(frozen=True, eq=False)
class GroupEnds(Query):
    """For each group the ends of edges inside it, then for each the edges that leave it.

    Parameters
    ----------
    groups
        The public group of every node, 0, 1, 2, …
    many
        How many groups there are.
    """

    groups: NDArray[np.int64]
    many: int

    def answer(self, data: Graph) -> NDArray[np.int64]:
        """Return both lists, one after the other."""
        ends = self.groups[data.counts.pairs()]
        inside = ends[:, 0] == ends[:, 1]
        leaving = np.bincount(ends[~inside].ravel(), minlength=self.many)
        return np.append(2 * np.bincount(ends[inside, 0], minlength=self.many), leaving)


class BoundedQuery(Query):
    """A number, or a list of numbers, of which U(0), U(1), … are known."""

    @abstractmethod
    def bounds(self, data: Graph, steps: int) -> Widths:
        """Return U(0), U(1), …, so many of them at most. Private."""


@dataclass(frozen=True)
class ShapeCount(BoundedQuery):
    """How many subgraphs of a shape there are."""

    shape: Shape

    def answer(self, data: Graph) -> int:
        """Return the count."""
        return self.shape.count(data.counts)

    def bounds(self, data: Graph, steps: int) -> Widths:
        """Return the widths of its ladder."""
        return ladder(self.shape, data.counts, rungs=steps)


@dataclass(frozen=True)
class TrianglesAt(BoundedQuery):
    """In how many triangles a node is."""

    node: int

    def answer(self, data: Graph) -> int:
        """Return the count."""
        return int(data.counts.triangles_at()[self.node])

    def bounds(self, data: Graph, steps: int) -> Widths:
        """Return U(s).

        An edge at the node makes or breaks as many triangles as its ends have common neighbours; an
        edge elsewhere at most one, and for that the node needs two neighbours.
        """
        graph, node, degrees = data.counts, self.node, data.counts.degrees()
        others = np.delete(np.arange(graph.nodes), node)
        shared = graph.common_neighbours(np.full(len(others), node), others)
        joined = np.isin(others, _neighbours(graph, node)).astype(np.int64)
        half = degrees[node] + degrees[others] - 2 * shared - 2 * joined
        most = graph.nodes - 2
        widths: list[int] = []
        pairs = _front(shared, half)
        for s in range(steps):
            reached = max(min(a + (s + min(s, b)) // 2, most) for a, b in pairs)
            two = int(min(int(degrees[node]) + s, graph.nodes - 1) >= 2)
            widths.append(max(reached, two))
            if widths[-1] >= most:
                break
        return widths


@dataclass(frozen=True)
class WedgesAt(BoundedQuery):
    """How many pairs of neighbours a node has."""

    node: int

    def answer(self, data: Graph) -> int:
        """Return the count."""
        return comb(int(data.counts.degrees()[self.node]), 2)

    def bounds(self, data: Graph, steps: int) -> Widths:
        """Return U(s): a further neighbour meets all others."""
        degree, most = int(data.counts.degrees()[self.node]), data.counts.nodes - 2
        return [min(degree + s, most) for s in range(min(steps, most - min(degree, most) + 1))]


@dataclass(frozen=True)
class NodeTriangles(BoundedQuery):
    """In how many triangles each node is."""

    def answer(self, data: Graph) -> list[int]:
        """Return a count for every node."""
        found: list[int] = data.counts.triangles_at().tolist()
        return found

    def bounds(self, data: Graph, steps: int) -> Widths:
        """Return U(s): each triangle has three corners."""
        return [3 * width for width in local_sensitivities(TRIANGLE, data.counts, rungs=steps)]


@dataclass(frozen=True)
class NodeClustering(BoundedQuery):
    """The clustering coefficients of all nodes; 0 for fewer than two neighbours."""

    def answer(self, data: Graph) -> list[Fraction]:
        """Return a coefficient for every node."""
        degrees, triangles = data.counts.degrees().tolist(), data.counts.triangles_at().tolist()
        return [
            Fraction(2 * inside, degree * (degree - 1)) if degree > 1 else Fraction(0)
            for degree, inside in zip(degrees, triangles, strict=True)
        ]

    def bounds(self, data: Graph, steps: int) -> list[Fraction]:
        """Return U(s), in the L1 norm."""
        widths = local_sensitivities(TRIANGLE, data.counts, rungs=steps)
        return [clustering_change(width) for width in widths]


@dataclass(frozen=True)
class ClusteringAt(BoundedQuery):
    """The clustering coefficient of a node."""

    node: int

    def answer(self, data: Graph) -> Fraction:
        """Return the coefficient."""
        return NodeClustering().answer(data)[self.node]

    def bounds(self, data: Graph, steps: int) -> Widths:
        """Return U(s): 2/(d − s), and 1 from there."""
        degree = int(data.counts.degrees()[self.node])
        return [Fraction(2, degree - s) for s in range(min(steps, max(degree - 2, 0)))]


@dataclass(frozen=True)
class MeanClustering(BoundedQuery):
    """The mean of the clustering coefficients of all nodes, of which there is one at least."""

    def answer(self, data: Graph) -> Fraction:
        """Return the mean; coefficients of one denominator add up first: there are few of them."""
        totals: dict[int, int] = {}
        for value in NodeClustering().answer(data):
            totals[value.denominator] = totals.get(value.denominator, 0) + value.numerator
        total = sum((Fraction(top, bottom) for bottom, top in totals.items()), Fraction(0))
        return total / data.counts.nodes

    def bounds(self, data: Graph, steps: int) -> Widths:
        """Return U(s): that of all coefficients together, divided by the number of nodes."""
        return [bound / data.counts.nodes for bound in NodeClustering().bounds(data, steps)]


@dataclass(frozen=True)
class LadderValue(Query):
    """A number in steps of a grid, with its ladder.

    Parameters
    ----------
    statistic
        The number.
    grid
        Steps are 2 to this power.
    rungs
        How many rungs at most; without any the number is the same for all graphs, and left out.
    """

    statistic: BoundedQuery
    grid: int
    rungs: int

    def answer(self, data: Graph) -> LadderInput:
        """Return the number, rounded, and the widths of the rungs, rounded up."""
        if self.rungs == 0:
            return LadderInput(0, ())
        step = Fraction(2) ** self.grid
        # Two steps for each node reach the cap of any of these statistics.
        widths = self.statistic.bounds(data, min(self.rungs, 2 * data.counts.nodes + 1))
        value = math.floor(Fraction(self.statistic.answer(data)) / step + Fraction(1, 2))
        return LadderInput(value, tuple(math.ceil(Fraction(width) / step) for width in widths))


@dataclass(frozen=True)
class SmoothValue(Query):
    """A number or numbers, with a smooth bound.

    Parameters
    ----------
    statistic
        The number, or a list of them.
    beta
        The smoothness of the bound.
    cap
        The global sensitivity, in the L1 norm.
    several
        Whether the primitive takes a list, even of one number.
    """

    statistic: BoundedQuery
    beta: Fraction
    cap: int | Fraction
    several: bool

    def answer(self, data: Graph) -> SmoothInput:
        """Return the exact numbers, and S = max_s e^(−βs)·U(s)."""
        # Beyond this distance even the cap is worth less than the first term can be.
        horizon = min(math.ceil(180 / self.beta), 2 * data.counts.nodes + 1)
        widths = self.statistic.bounds(data, horizon)
        bound = smooth_maximum(
            lambda s: widths[s] if s < len(widths) else self.cap,
            self.beta,
            self.cap,
            horizon=horizon,
        )
        exact = self.statistic.answer(data)
        if self.several:
            exact = tuple(exact) if isinstance(exact, list) else (exact,)
        return SmoothInput(exact, bound)
