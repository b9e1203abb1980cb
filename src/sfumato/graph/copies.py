"""The subgraphs of a shape, one by one, each as the edges it is made of. Private.

Only small graphs are taken apart like this; how many subgraphs there may be is bounded by what is
public before anything is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import GraphCounts
from sfumato.graph.shapes import Shape

__all__ = ["Copies", "copies_of"]


class Copies(NamedTuple):
    """Subgraphs with the edges they are made of. Private.

    Parameters
    ----------
    edges
        How many edges the graph has.
    members
        For each subgraph the numbers of its edges.
    """

    edges: int
    members: NDArray[np.int64]

    @property
    def loads(self) -> NDArray[np.int64]:
        """In how many subgraphs each edge is."""
        return np.bincount(self.members.ravel(), minlength=self.edges)


def copies_of(shape: Shape, graph: GraphCounts) -> Copies:
    """Return all subgraphs of a shape. Private."""
    pairs = [(int(low), int(high)) for low, high in graph.pairs()]
    number = {pair: place for place, pair in enumerate(pairs)}
    neighbours: list[set[int]] = [set() for _ in range(graph.nodes)]
    for low, high in pairs:
        neighbours[low].add(high)
        neighbours[high].add(low)
    found = [
        [number[min(pair), max(pair)] for pair in joined]
        for joined in _edge_sets(shape, pairs, neighbours)
    ]
    width = len(found[0]) if found else 1
    return Copies(len(pairs), np.array(found, dtype=np.int64).reshape(-1, width))


def _edge_sets(
    shape: Shape, pairs: list[tuple[int, int]], neighbours: list[set[int]]
) -> Iterator[list[tuple[int, int]]]:
    """Yield the edges of each subgraph."""
    if shape.name == "star":
        for centre, near in enumerate(neighbours):
            for ends in combinations(sorted(near), shape.size):
                yield [(centre, end) for end in ends]
    elif shape.name == "k-triangle":
        for low, high in pairs:
            for thirds in combinations(sorted(neighbours[low] & neighbours[high]), shape.size):
                sides = [(end, third) for third in thirds for end in (low, high)]
                yield [(low, high), *sides]
    else:
        for clique in _cliques(shape.size, neighbours):
            yield list(combinations(clique, 2))


def _cliques(size: int, neighbours: list[set[int]]) -> Iterator[tuple[int, ...]]:
    """Yield sets of nodes that are all joined to one another, each in rising order."""

    def longer(clique: tuple[int, ...], common: set[int]) -> Iterator[tuple[int, ...]]:
        if len(clique) == size:
            yield clique
            return
        if len(clique) + len(common) < size:
            return
        for node in sorted(common):
            above = {other for other in common if other > node}
            yield from longer((*clique, node), above & neighbours[node])

    yield from longer((), set(range(len(neighbours))))
