"""How much one edge can change a statistic of a graph after s others.

Everything here returns what is private. U(0) is at least the change between any two neighbours,
in the L1 norm, and no U(s) of a graph exceeds U(s + 1) of a neighbour (docs/proofs/expressions.md).
Lists end where the cap is reached, or after as many steps as were asked for; behind their end the
bound is the cap.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import GraphCounts
from sfumato.graph.ladders import local_sensitivities
from sfumato.graph.shapes import Shape

__all__ = [
    "clustering_at_bounds",
    "clustering_change",
    "clustering_values",
    "clusterings_bounds",
    "triangles_at_bounds",
    "triangles_each_bounds",
    "wedges_at_bounds",
]

TRIANGLE = Shape("triangle", 3)


def triangles_at_bounds(graph: GraphCounts, node: int, steps: int) -> list[int]:
    """Return the bounds for the triangles at a node.

    An edge at the node makes or breaks as many triangles as its ends have common neighbours; an
    edge elsewhere at most one, and for that the node needs two neighbours.
    """
    degrees = graph.degrees()
    others = np.delete(np.arange(graph.nodes), node)
    shared = graph.common_neighbours(np.full(len(others), node), others)
    joined = np.isin(others, _neighbours(graph, node)).astype(np.int64)
    half = degrees[node] + degrees[others] - 2 * shared - 2 * joined
    most = graph.nodes - 2
    widths = []
    pairs = _front(shared, half)
    for s in range(steps):
        reached = max(min(a + (s + min(s, b)) // 2, most) for a, b in pairs)
        two = int(min(int(degrees[node]) + s, graph.nodes - 1) >= 2)
        widths.append(max(reached, two))
        if widths[-1] >= most:
            break
    return widths


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


def triangles_each_bounds(graph: GraphCounts, steps: int) -> list[int]:
    """Return the bounds for the vector of triangles at every node: each has three corners."""
    return [3 * width for width in local_sensitivities(TRIANGLE, graph, rungs=steps)]


def wedges_at_bounds(graph: GraphCounts, node: int, steps: int) -> list[int]:
    """Return the bounds for the pairs of neighbours of a node: a further one meets all others."""
    degree, most = int(graph.degrees()[node]), graph.nodes - 2
    return [min(degree + s, most) for s in range(min(steps, most - min(degree, most) + 1))]


def clustering_at_bounds(graph: GraphCounts, node: int, steps: int) -> list[Fraction]:
    """Return the bounds for the clustering coefficient of a node: 2/(d − s), and 1 from there."""
    degree = int(graph.degrees()[node])
    return [Fraction(2, degree - s) for s in range(min(steps, max(degree - 2, 0)))]


def clusterings_bounds(graph: GraphCounts, steps: int) -> list[Fraction]:
    """Return the bounds for the vector of all clustering coefficients, in the L1 norm."""
    return [clustering_change(width) for width in local_sensitivities(TRIANGLE, graph, rungs=steps)]


def clustering_change(shared: int) -> Fraction:
    """Return how far an edge with so many common neighbours can move all coefficients together.

    Each common neighbour moves by at most 1, each end by at most 2 over its degree with the edge,
    which is more than the common neighbours; without any, an end of degree 2 does not move.
    """
    return Fraction(4, 3) if shared == 0 else shared + Fraction(4, shared + 1)


def clustering_values(graph: GraphCounts) -> list[Fraction]:
    """Return the clustering coefficient of every node; 0 for fewer than two neighbours. Private."""
    degrees, triangles = graph.degrees().tolist(), graph.triangles_at().tolist()
    return [
        Fraction(2 * inside, degree * (degree - 1)) if degree > 1 else Fraction(0)
        for degree, inside in zip(degrees, triangles, strict=True)
    ]
