"""What programs may ask of a graph: the vocabulary of its queries.

Each is a frozen public value. What it returns is exact and private, and goes to a primitive only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.graph import dk_bounds
from sfumato.graph.dk_series import joint_degrees, triangle_kinds, triples, wedge_kinds
from sfumato.graph.ladders import ladder, local_sensitivities
from sfumato.graph.packing import LimitScale, copies_of, pack
from sfumato.graph.shapes import Shape
from sfumato.mechanisms.ladder import LadderInput
from sfumato.mechanisms.laplace import LARGEST_INPUT
from sfumato.mechanisms.smooth import SmoothInput
from sfumato.mechanisms.smooth_calibration import smooth_maximum
from sfumato.privacy.program import Query

__all__ = [
    "BlockCounts",
    "DegreeCounts",
    "EdgeCount",
    "JointDegreeTable",
    "LargestDegree",
    "LimitStep",
    "LocalSensitivity",
    "NodeDegrees",
    "NoisyLSInput",
    "PackedSubgraphs",
    "SmoothSubgraphs",
    "SortedDegrees",
    "SubgraphLadder",
    "Subgraphs",
    "TripleTable",
    "WidestPair",
]

Integers = NDArray[np.int64]


def _one(number: int) -> Integers:
    """Return a number as an array of one."""
    return np.array([number], dtype=np.int64)


@dataclass(frozen=True)
class EdgeCount(Query):
    """How many edges there are, as an array of one number."""

    def answer(self, data: Graph) -> Integers:
        """Return the number of edges."""
        return _one(data.counts.edges)


@dataclass(frozen=True)
class SortedDegrees(Query):
    """The degrees of all nodes from the smallest; which node has which is left out."""

    def answer(self, data: Graph) -> Integers:
        """Return the sorted degrees."""
        return np.sort(data.counts.degrees()).astype(np.int64)


@dataclass(frozen=True)
class NodeDegrees(Query):
    """The degree of every node."""

    def answer(self, data: Graph) -> Integers:
        """Return the degrees in the order of the nodes."""
        return data.counts.degrees().astype(np.int64)


@dataclass(frozen=True)
class DegreeCounts(Query):
    """How many nodes have degree 0, 1, 2, …; the last bin holds all higher degrees too."""

    bins: int

    def answer(self, data: Graph) -> Integers:
        """Return the count of every bin."""
        degrees = np.minimum(data.counts.degrees(), self.bins - 1)
        return np.bincount(degrees, minlength=self.bins).astype(np.int64)


@dataclass(frozen=True)
class LargestDegree(Query):
    """The largest degree, as an array of one number; one edge changes it by at most 1."""

    def answer(self, data: Graph) -> Integers:
        """Return the largest degree."""
        return _one(dk_bounds.largest_degree(data.counts))


@dataclass(frozen=True)
class WidestPair(Query):
    """The most edges that two nodes have together, one between them left out."""

    def answer(self, data: Graph) -> Integers:
        """Return it as an array of one number; one edge changes it by at most 1."""
        return _one(dk_bounds.widest_pair(data.counts))


@dataclass(frozen=True, eq=False)
class BlockCounts(Query):
    """How many edges there are inside and between public groups of nodes.

    Parameters
    ----------
    groups
        The group of every node, 0, 1, 2, …
    many
        How many groups there are.
    """

    groups: Integers
    many: int

    def answer(self, data: Graph) -> Integers:
        """Return the counts for groups a ≤ b in lexicographic order; an edge is in one of them."""
        ends = np.sort(self.groups[data.counts.pairs()], axis=1)
        places = ends[:, 0] * self.many - ends[:, 0] * (ends[:, 0] + 1) // 2 + ends[:, 1]
        return np.bincount(places, minlength=comb(self.many + 1, 2)).astype(np.int64)


@dataclass(frozen=True)
class JointDegreeTable(Query):
    """How many edges join nodes of each two degrees, with a smooth bound on their change.

    Parameters
    ----------
    most
        Nodes of more edges are counted as having so many.
    beta
        The smoothness of the bound.
    """

    most: int
    beta: Fraction

    def answer(self, data: Graph) -> SmoothInput:
        """Return the counts for degrees 1 ≤ a ≤ b in lexicographic order, and their bound."""
        graph = data.counts
        joint = joint_degrees(graph.pairs(), graph.nodes)
        table = np.zeros((self.most, self.most), dtype=np.int64)
        ends = np.minimum(np.stack([joint.low, joint.high]), self.most) - 1
        np.add.at(table, (ends[0], ends[1]), joint.edges)
        bound = dk_bounds.joint_bound(graph.nodes, dk_bounds.widest_pair(graph), self.beta)
        return SmoothInput(tuple(table[np.triu_indices(self.most)].tolist()), bound)


@dataclass(frozen=True)
class TripleTable(Query):
    """How many wedges and triangles there are by the degrees of their nodes, with a smooth bound.

    Parameters
    ----------
    most
        Nodes of more edges are counted as having so many.
    beta
        The smoothness of the bound.
    """

    most: int
    beta: Fraction

    def answer(self, data: Graph) -> SmoothInput:
        """Return the counts of `wedge_kinds`, then those of `triangle_kinds`, and their bound."""
        graph, most = data.counts, self.most
        found = triples(graph.pairs(), graph.nodes)
        wedges = _sum_by_kind(found.wedge_degrees, found.wedges, wedge_kinds(most), most)
        triangles = _sum_by_kind(
            found.triangle_degrees, found.triangles, triangle_kinds(most), most
        )
        bound = dk_bounds.triple_bound(graph.nodes, dk_bounds.largest_degree(graph), self.beta)
        return SmoothInput((*wedges.tolist(), *triangles.tolist()), bound)


def _sum_by_kind(rows: Integers, counts: Integers, kinds: Integers, most: int) -> Integers:
    """Return the sums of counts by kind, degrees cut at the most that are told apart."""
    weights = np.array([(most + 1) ** 2, most + 1, 1], dtype=np.int64)
    table = np.zeros(len(kinds), dtype=np.int64)
    places = np.searchsorted(kinds @ weights, np.minimum(rows, most) @ weights)
    np.add.at(table, places, counts)
    return table


@dataclass(frozen=True)
class Subgraphs(Query):
    """How many subgraphs of a shape there are, as an array of one number."""

    shape: Shape

    def answer(self, data: Graph) -> Integers:
        """Return the count, cut to what integer noise takes."""
        return _one(min(self.shape.count(data.counts), LARGEST_INPUT))


@dataclass(frozen=True)
class SubgraphLadder(Query):
    """How many subgraphs of a shape there are, with the ladder of the graph.

    Parameters
    ----------
    shape
        What is counted.
    rungs, paper, published
        As for `ladder`.
    """

    shape: Shape
    rungs: int
    paper: bool
    published: bool

    def answer(self, data: Graph) -> LadderInput:
        """Return the count and the widths of the rungs."""
        widths = ladder(
            self.shape, data.counts, rungs=self.rungs, paper=self.paper, published=self.published
        )
        return LadderInput(self.shape.count(data.counts), widths)


@dataclass(frozen=True)
class SmoothSubgraphs(Query):
    """How many subgraphs of a shape there are, with a smooth bound on what one edge changes.

    Parameters
    ----------
    shape
        Triangles or stars.
    beta
        The smoothness of the bound.
    """

    shape: Shape
    beta: Fraction

    def answer(self, data: Graph) -> SmoothInput:
        """Return the count and S = max_t e^(−βt)·LS(g, t)."""
        graph = data.counts
        cap = self.shape.global_sensitivity(graph.nodes)
        # Beyond this distance even the cap is worth less than the first term can be.
        horizon = math.ceil(180 / self.beta)
        widths = local_sensitivities(self.shape, graph, rungs=min(horizon, 2 * graph.nodes) + 1)
        bound = smooth_maximum(
            lambda t: widths[min(t, len(widths) - 1)], self.beta, cap, horizon=horizon
        )
        return SmoothInput(self.shape.count(graph), bound)


class NoisyLSInput(NamedTuple):
    """A private count with what its noise depends on.

    Parameters
    ----------
    value
        The count.
    change
        Its local sensitivity.
    reach
        The number that bounds how much one edge changes that: common neighbours, or a degree.
    """

    value: int
    change: int
    reach: int


@dataclass(frozen=True)
class LocalSensitivity(Query):
    """How many subgraphs of a shape there are, their local sensitivity, and what bounds that."""

    shape: Shape

    def answer(self, data: Graph) -> NoisyLSInput:
        """Return the three numbers."""
        graph, shape = data.counts, self.shape
        widths = ladder(shape, graph, rungs=1, paper=True)
        # The first rung is the local sensitivity; a ladder that has none starts at the cap.
        change = widths[0] if widths else shape.global_sensitivity(graph.nodes)
        stars = shape.name == "star"
        reach = int(graph.degrees().max(initial=0)) if stars else graph.most_common()
        return NoisyLSInput(shape.count(graph), change, reach)


@dataclass(frozen=True)
class LimitStep(Query):
    """The first step of a public scale of limits that a graph reaches, as an array of one number.

    Parameters
    ----------
    shape
        What is counted.
    scale
        The limits on the subgraphs that one edge may count for.
    """

    shape: Shape
    scale: LimitScale

    def answer(self, data: Graph) -> Integers:
        """Return the step; one edge changes it by 1."""
        return _one(self.scale.first_step(copies_of(self.shape, data.counts)))


@dataclass(frozen=True)
class PackedSubgraphs(Query):
    """The largest packing of subgraphs in which no edge counts for more than a limit.

    Parameters
    ----------
    shape
        What is counted.
    limit
        What an edge may count for.
    step
        The count is returned in whole steps of this size.
    """

    shape: Shape
    limit: int
    step: Fraction

    def answer(self, data: Graph) -> Integers:
        """Return the packing as an array of one number; one edge changes it by limit/step."""
        return _one(pack(copies_of(self.shape, data.counts), self.limit, self.step))
