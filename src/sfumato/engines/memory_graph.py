"""Counting in a simple undirected graph held as rows of sorted neighbours.

Everything here is exact and private, but for the number of nodes where the node set is public.
"""

from __future__ import annotations

from functools import cached_property
from math import comb
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64
from sfumato.engines.recall import Recalling

__all__ = ["MemoryGraph"]

#: Pairs whose float weight is this close to the largest are weighed again in integers.
SLACK = 1e-7


class _Rows(NamedTuple):
    """Rows of neighbours: node v has neighbours[starts[v] : starts[v + 1]], sorted."""

    starts: Integers64
    neighbours: NDArray[np.int32]


class MemoryGraph(Recalling):
    """A private simple undirected graph on nodes 0 … nodes−1.

    Parameters
    ----------
    edges
        Array of shape (edges, 2). Direction and repetition do not matter.
    nodes
        The number of nodes. Public where the node set is.
    """

    def __init__(self, edges: NDArray[Any], *, nodes: int) -> None:
        from sfumato.engines.graph_kernels import adjacency_rows

        ends = np.asarray(edges)
        if ends.size == 0:
            ends = np.zeros((0, 2), dtype=np.int64)
        if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
            raise ValueError("edges must be whole numbers of shape (edges, 2)")
        if not 0 <= nodes < 2**31:
            raise ValueError(f"a graph has 0 to 2**31 − 1 nodes; got {nodes}")
        if len(ends) and (int(ends.min()) < 0 or int(ends.max()) >= nodes):
            raise ValueError(f"nodes are numbered 0 to {nodes - 1}; an edge names another")
        if (ends[:, 0] == ends[:, 1]).any():
            raise ValueError("a simple graph has no edge from a node to itself; leave it out")
        low, high = ends.min(axis=1).astype(np.int64), ends.max(axis=1).astype(np.int64)
        # Sorted and compared by hand, which is several times faster than hashing them.
        keys = np.sort(low * nodes + high)
        keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
        Recalling.__init__(self)
        self._nodes = int(nodes)
        self._rows = _Rows(*adjacency_rows(keys // max(nodes, 1), keys % max(nodes, 1), nodes))
        for array in self._rows:
            array.flags.writeable = False

    @property
    def nodes(self) -> int:
        """The number of nodes. Public where the node set is."""
        return self._nodes

    @property
    def edges(self) -> int:
        """The number of edges. Private."""
        return len(self._rows.neighbours) // 2

    @property
    def adjacency(self) -> Any:
        """The symmetric 0/1 matrix in compressed sparse rows. Private."""
        from scipy.sparse import csr_array

        starts, neighbours = self._rows
        ones = np.ones(len(neighbours), dtype=np.int64)
        return csr_array((ones, neighbours, starts), shape=(self._nodes, self._nodes))

    def pairs(self) -> Integers64:
        """Return the edges, the smaller node first, in lexicographic order."""
        starts, neighbours = self._rows
        left = np.repeat(np.arange(self._nodes), np.diff(starts))
        upper = left < neighbours
        return np.stack([left[upper], neighbours[upper].astype(np.int64)], axis=1)

    def __repr__(self) -> str:
        return f"MemoryGraph(nodes={self._nodes})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private graph cannot be pickled; save a release of it instead")

    def degrees(self) -> Integers64:
        """Return the degree of every node."""
        degrees: Integers64 = np.diff(self._rows.starts)
        return degrees

    def neighbours(self, node: int) -> NDArray[np.int32]:
        """Return the neighbours of a node, in order."""
        starts, neighbours = self._rows
        return neighbours[starts[node] : starts[node + 1]]

    def common_neighbours(self, left: NDArray[Any], right: NDArray[Any]) -> Integers64:
        """Return for each pair of nodes how many neighbours they share."""
        from sfumato.engines.clique_kernels import cliques_among

        first, second = np.asarray(left), np.asarray(right)
        if first.shape != second.shape or first.ndim != 1:
            raise ValueError("left and right must be two lists of nodes of the same length")
        pairs = np.stack([first, second], axis=1).astype(np.int64)
        shared: Integers64 = cliques_among(*self._sorted, self._rank[pairs], 1)[:, 0]
        return shared

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The nodes by falling degree."""
        return np.argsort(-self.degrees(), kind="stable")

    @cached_property
    def _rank(self) -> Integers64:
        """The place of each node in that order."""
        rank = np.empty(self._nodes, dtype=np.int64)
        rank[self._order] = np.arange(self._nodes)
        return rank

    @cached_property
    def _sorted(self) -> _Rows:
        """The rows with nodes numbered by falling degree."""
        from sfumato.engines.graph_kernels import renumber

        return _Rows(*renumber(*self._rows, self._order, self._rank))

    @cached_property
    def _triangles_by_place(self) -> Integers64:
        """For each place of the sorted rows, at the larger end, the triangles of its edge."""
        from sfumato.engines.graph_kernels import triangles_by_edge

        counts: Integers64 = triangles_by_edge(*self._sorted)
        return counts

    @cached_property
    def _forward(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The places of the sorted rows at the larger end of their edge, and that end."""
        starts, neighbours = self._sorted
        owner = np.repeat(np.arange(self._nodes), np.diff(starts))
        places = np.flatnonzero(neighbours < owner)
        return places, owner[places]

    def edge_triangles(self) -> Integers64:
        """Return in how many triangles each edge is, in no particular order."""
        return self._triangles_by_place[self._forward[0]]

    def triangles(self) -> int:
        """Return the number of triangles."""
        return int(self._triangles_by_place.sum()) // 3

    def triangles_at(self) -> Integers64:
        """Return in how many triangles each node is."""
        places, owner = self._forward
        counts = self._triangles_by_place[places]
        doubled = np.zeros(self._nodes, dtype=np.int64)
        np.add.at(doubled, owner, counts)
        np.add.at(doubled, self._sorted.neighbours[places], counts)
        result = np.empty(self._nodes, dtype=np.int64)
        result[self._order] = doubled // 2
        return result

    def pair_frontier(self) -> tuple[Integers64, Integers64]:
        """Return the pairs (a, b) that no pair of nodes exceeds in both, by rising a.

        a is the number of common neighbours of two nodes, b that of nodes joined to exactly one of
        them (the two themselves left out). Of a graph with fewer than two nodes there are none.
        """
        return self._frontier

    @cached_property
    def _frontier(self) -> tuple[Integers64, Integers64]:
        from sfumato.engines.graph_kernels import frontier

        best = frontier(*self._sorted)
        following = np.append(best[1:], -1)
        shared = np.flatnonzero(best > following)
        front = shared.astype(np.int64), best[shared]
        for array in front:
            array.flags.writeable = False
        return front

    def close_pairs(self, least: Integers64) -> Integers64:
        """Return all pairs of a ≥ 1 common neighbours with b at least least[a].

        Parameters
        ----------
        least
            For each number a of common neighbours, from 0, the least b (as in `pair_frontier`) of
            the pairs that are wanted; none with larger a are.

        Returns
        -------
        pairs
            Two nodes, a and b in every row.
        """
        from sfumato.engines.graph_kernels import close_pairs

        pairs: Integers64 = close_pairs(*self._sorted, np.asarray(least, dtype=np.int64))
        pairs[:, :2] = self._order[pairs[:, :2]]
        return pairs

    def most_common(self) -> int:
        """Return the largest number of common neighbours of any two nodes."""
        return int(self.pair_frontier()[0].max(initial=0))

    def star_pairs(self) -> list[tuple[int, int]]:
        """Return the degrees of the pairs that can matter most to counts of stars.

        Degrees are those without the edge between the two, the larger first. Every pair of nodes
        is at most one of them in both degrees.
        """
        if self._nodes < 2:
            return []
        degrees = self.degrees()[self._order]
        largest, second = int(degrees[0]), int(degrees[1])
        tops = int((degrees == largest).sum())
        apart = [self._first_apart(top) for top in range(tops)]
        best = max((int(degrees[node]) for node in apart if node is not None), default=-1)
        pairs = [(largest, best)] if best >= 0 else []
        if best == second:
            return pairs
        # The node of the largest degree is joined to all of the second largest.
        pairs.append((largest - 1, second - 1))
        if tops == 1 and self._two_apart(int((degrees == second).sum())):
            pairs.append((second, second))
        return pairs

    def _first_apart(self, node: int) -> int | None:
        """Return the first node by degree that is not joined to a node, if there is one."""
        starts, neighbours = self._sorted
        joined = neighbours[starts[node] : starts[node + 1]]
        # The neighbours and the node itself, in order; the first gap is the answer.
        taken = np.insert(joined, np.searchsorted(joined, node), node)
        gaps = np.flatnonzero(taken != np.arange(len(taken)))
        if len(gaps):
            return int(gaps[0])
        return len(taken) if len(taken) < self._nodes else None

    def _two_apart(self, many: int) -> bool:
        """Tell whether two of the nodes 1 … many by degree are not joined."""
        starts, neighbours = self._sorted
        for node in range(1, many + 1):
            joined = neighbours[starts[node] : starts[node + 1]]
            inside = int(np.searchsorted(joined, many + 1) - np.searchsorted(joined, 1))
            if inside < many - 1:
                return True
        return False

    def cliques(self, size: int) -> int:
        """Return the number of sets of so many nodes that are all joined to one another."""
        from sfumato.engines.clique_kernels import CARRY, cliques_of

        if size < 1:
            raise ValueError(f"a clique has at least one node; got {size}")
        if size == 1:
            return self._nodes
        total = np.zeros(2, dtype=np.int64)
        cliques_of(*self._sorted, size, total)
        return int(total[0]) + CARRY * int(total[1])

    def cliques_among(self, pairs: Integers64, size: int) -> list[int]:
        """Return for each pair the number of cliques among its common neighbours."""
        from sfumato.engines.clique_kernels import CARRY, cliques_among

        counts = cliques_among(*self._sorted, self._rank[pairs[:, :2]], size)
        return [int(low) + CARRY * int(high) for low, high in counts]

    def k_triangles(self, size: int) -> int:
        """Return the number of ways to put `size` triangles on one edge."""
        many = np.bincount(self.edge_triangles())
        return sum(int(times) * comb(shared, size) for shared, times in enumerate(many))

    def k_triangle_change(self, size: int) -> int:
        """Return by how much one edge, added or removed, can change that number at most."""
        from sfumato.engines.graph_kernels import EXACT, both_ends, weightiest_pairs

        shared = both_ends(*self._sorted, self._triangles_by_place)
        most = int(max(shared.max(initial=0), self.most_common()))
        weights = [np.array([float(comb(a, k)) for a in range(most + 1)]) for k in (size, size - 1)]
        joined = np.concatenate([[0.0], weights[1][:-1]])
        largest, pairs = weightiest_pairs(*self._sorted, shared, *weights, joined, SLACK)
        if largest < EXACT:
            return int(largest)
        return max((self._k_triangle_change(int(i), int(j), size) for i, j in pairs))

    def _k_triangle_change(self, left: int, right: int, size: int) -> int:
        """Return the change for one pair, in integers; nodes are numbered by degree."""
        starts, neighbours = self._sorted
        rows = [neighbours[starts[node] : starts[node + 1]] for node in (left, right)]
        joined = int(right in rows[0])
        both = np.intersect1d(rows[0], rows[1])
        total = comb(len(both), size)
        for end in (left, right):
            ends = np.stack([np.full(len(both), end), both.astype(np.int64)], axis=1)
            shared = self.common_neighbours(*self._order[ends].T)
            total += sum(comb(int(a) - joined, size - 1) for a in shared)
        return total
