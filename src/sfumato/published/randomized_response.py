"""A graph collected by randomised response, and rebuilt with its true number of edges.

Wang, Wu and Hu, "Using Randomized Response for Differential Privacy Preserving Data Collection",
2016 (Wang's dissertation of 2015, section 7.6.4).

Printed: every client reports its row of the adjacency matrix by randomised response, the server
rebuilds a graph with as many edges as there are, and the graph is ε-DP.

It fails because nobody but the data knows that number. Two nodes, joined or not: the loss is
infinite at ε = 1. If both ends report, an edge is told twice and costs 2ε besides (docs/refuted.md:
graph-collection, both-ends). `GraphCollection` estimates the number from the reports, of which
there is one an edge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.local.collected_graph import CollectedGraph
from sfumato.local.graph_collection import PAIRS
from sfumato.local.pair_estimates import Guess, NodeCounts, PairEstimates
from sfumato.local.queries import JoinedPairs
from sfumato.mechanisms.pair_response import RandomizedPairs
from sfumato.noise import generator
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss, Measure
from sfumato.privacy.primitive import Change, Primitive, require_whole
from sfumato.privacy.program import FINISH, Ask, Program

__all__ = ["PrintedCollection", "collect_graph", "count_triangles"]

Positions = NDArray[np.int64]
Printed = tuple[int, NDArray[np.uint8]]


@dataclass(frozen=True, kw_only=True)
class PrintedCollection(Primitive):
    """Say every pair by randomised response, and how many are joined as it is: not private.

    Parameters
    ----------
    nodes
        The public number of nodes.
    epsilon
        The loss that was claimed for one edge.

    Notes
    -----
    Privacy: none is promised. The number of edges tells two neighbours apart for certain
    (docs/proofs/graph-collection.md).
    """

    kind: ClassVar[str] = "printed collection of pairs"

    nodes: int
    epsilon: Fraction

    @property
    def _pairs(self) -> RandomizedPairs:
        return RandomizedPairs(nodes=self.nodes, epsilon=self.epsilon)

    def cost(self, measure: Measure) -> Loss:
        """Return what was claimed."""
        return self._pairs.cost(measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is the sorted positions of pairs."""
        self._pairs.check(value)

    def sample(self, value: Positions) -> Printed:
        """Return the true number of edges, and the noisy pairs."""
        return len(value), self._pairs.sample(value)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a number of edges and the noisy pairs."""
        edges, said = output
        require_whole(edges, 0, self._pairs.size)
        self._pairs.check_output(said)

    def log_probability(self, value: Positions, output: Printed) -> float:
        """Return the log-probability of an output: −∞ with another number of edges."""
        edges, said = output
        return self._pairs.log_probability(value, said) if edges == len(value) else -math.inf

    def change(self, value: Positions, neighbour: Positions) -> Change:
        """Tell that nothing hides the number of edges."""
        same = len(value) == len(neighbour)
        return Change(0 if same else math.inf, 1, "whether there are as many edges")

    def extremes(self, value: Positions, neighbour: Positions) -> list[Printed]:
        """Return what gives the number of edges away."""
        return [(len(value), self._pairs.encode(value))]


def collect_graph(
    public: GraphPublic, pairs: RandomizedPairs, budget: Budget
) -> Program[CollectedGraph]:
    """Ask for all pairs and the number of edges; return the counts of one graph of so many edges.

    Parameters
    ----------
    public, budget
        As for every program.
    pairs
        The law of the reports.
    """
    law = PrintedCollection(nodes=pairs.nodes, epsilon=pairs.epsilon)
    edges, said = yield Ask(budget, law, JoinedPairs(), PAIRS)
    yield FINISH
    edges = int(edges)
    # The choice of pairs is no secret; a release must be the same each time it is rebuilt.
    drawn = PairEstimates(pairs, said).reconstruct(generator(edges), edges=edges)
    degrees, triangles = count_triangles(drawn, public.nodes)
    stars = degrees * (degrees - 1) / 2
    unknown = math.nan
    parts = [
        NodeCounts(values, np.full(public.nodes, unknown), Guess(float(total), unknown))
        for values, total in (
            (degrees, 2 * edges),
            (triangles, triangles.sum() / 3),
            (stars, stars.sum()),
        )
    ]
    note = "It has the true number of edges, and is not private."
    return CollectedGraph(public, Guess(float(edges), unknown), *parts, notes=(note,))


def count_triangles(
    pairs: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the degree of each node of a graph, and the triangles it is in.

    Parameters
    ----------
    pairs
        The edges, one in a row.
    nodes
        The number of nodes.
    """
    joined = np.zeros((nodes, nodes), dtype=np.float32)
    low, high = pairs.T
    joined[low, high] = joined[high, low] = 1
    triangles = ((joined @ joined) * joined).sum(axis=1, dtype=np.float64) / 2
    return joined.sum(axis=1, dtype=np.float64), triangles
