"""The subgraphs that are counted: their number, and how much one edge can change it at all."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from sfumato.engines.counts import GraphCounts

__all__ = ["SHAPES", "Shape"]

#: No shape is counted whose number one edge could change by more than 2 to this.
LARGEST_BITS = 1000

SHAPES = ("triangle", "star", "clique", "k-triangle")


@dataclass(frozen=True)
class Shape:
    """A subgraph.

    Parameters
    ----------
    name
        `"triangle"`; `"star"`: a node with k of its neighbours; `"clique"`: k nodes all joined to
        one another; `"k-triangle"`: k triangles on one edge.
    size
        The k.
    """

    name: str
    size: int

    def __post_init__(self) -> None:
        if self.name not in SHAPES:
            raise ValueError(f"shape must be one of {', '.join(SHAPES)}; got {self.name!r}")
        least = {"triangle": 3, "star": 2, "clique": 3, "k-triangle": 2}[self.name]
        if type(self.size) is not int or self.size < least:
            raise ValueError(
                f"k of a {self.name} must be a whole number of at least {least}; got {self.size!r}"
            )
        if self.name == "triangle" and self.size != 3:
            raise ValueError(f"a triangle has three nodes; leave k out; got {self.size}")

    @property
    def words(self) -> str:
        """What is counted, in words."""
        return {
            "triangle": "triangles",
            "star": f"{self.size}-stars",
            "clique": f"{self.size}-cliques",
            "k-triangle": f"{self.size}-triangles",
        }[self.name]

    def count(self, graph: GraphCounts) -> int:
        """Return how many there are. Private."""
        if self.name == "triangle":
            return graph.triangles()
        if self.name == "clique":
            return graph.cliques(self.size)
        if self.name == "k-triangle":
            return graph.k_triangles(self.size)
        many = np.bincount(graph.degrees())
        return sum(int(times) * comb(degree, self.size) for degree, times in enumerate(many))

    def global_sensitivity(self, nodes: int) -> int:
        """Return by how much one edge can change the count on so many nodes, at most. Public."""
        others = max(nodes - 2, 0)
        if self.name == "triangle":
            return others
        if self.name == "star":
            # Written with the nodes there are: with fewer than two there is no edge at all.
            return 2 * comb(others, self.size - 1) if nodes >= 2 else 0
        if self.name == "clique":
            return comb(others, self.size - 2) if nodes >= 2 else 0
        return (2 * self.size + 1) * comb(others, self.size)

    def require_countable(self, nodes: int) -> None:
        """Refuse shapes so large that what they can change leaves floating point. Public.

        Pairs of nodes are compared in floats before the few that matter are counted; how large
        those get is decided here, by what is public, and never by the graph.
        """
        if self.name in ("clique", "k-triangle"):
            cap = self.global_sensitivity(nodes)
            if cap.bit_length() > LARGEST_BITS:
                raise ValueError(
                    f"one edge can change the number of {self.words} on {nodes} nodes by more than "
                    f"2**{LARGEST_BITS}; choose a smaller k"
                )

    def largest(self, nodes: int) -> int:
        """Return the count of the complete graph. Public."""
        if self.name == "star":
            return nodes * comb(max(nodes - 1, 0), self.size)
        if self.name == "k-triangle":
            return comb(nodes, 2) * comb(max(nodes - 2, 0), self.size)
        return comb(nodes, self.size)
