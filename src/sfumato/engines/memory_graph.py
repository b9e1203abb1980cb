"""Counting in a simple undirected graph held as a sparse matrix."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64

__all__ = ["MemoryGraph"]

BATCH = 2**16
"""Pairs whose neighbourhoods are held at once."""


class MemoryGraph:
    """A private simple undirected graph on nodes 0 … nodes−1.

    Parameters
    ----------
    edges
        Array of shape (edges, 2). Direction and repetition do not matter.
    nodes
        The number of nodes. Public where the node set is.
    """

    __slots__ = ("_adjacency", "_nodes")

    def __init__(self, edges: NDArray[Any], *, nodes: int) -> None:
        from scipy.sparse import csr_array

        ends = np.asarray(edges)
        if ends.size == 0:
            ends = np.zeros((0, 2), dtype=np.int64)
        if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
            raise ValueError("edges must be whole numbers of shape (edges, 2)")
        if len(ends) and (int(ends.min()) < 0 or int(ends.max()) >= nodes):
            raise ValueError(f"nodes are numbered 0 to {nodes - 1}; an edge names another")
        if (ends[:, 0] == ends[:, 1]).any():
            raise ValueError("a simple graph has no edge from a node to itself; leave it out")
        both = np.concatenate([ends, ends[:, ::-1]]).astype(np.int64)
        both = np.unique(both, axis=0)
        ones = np.ones(len(both), dtype=np.int64)
        self._nodes = int(nodes)
        self._adjacency = csr_array((ones, (both[:, 0], both[:, 1])), shape=(nodes, nodes))

    @property
    def nodes(self) -> int:
        """The number of nodes. Public where the node set is."""
        return self._nodes

    @property
    def edges(self) -> int:
        """The number of edges. Private."""
        return int(self._adjacency.nnz) // 2

    @property
    def adjacency(self) -> Any:
        """The symmetric 0/1 matrix in compressed sparse rows. Private."""
        return self._adjacency

    def __repr__(self) -> str:
        return f"MemoryGraph(nodes={self._nodes})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private graph is not pickled; save a release of it instead")

    def degrees(self) -> Integers64:
        """Return the degree of every node."""
        degrees: Integers64 = np.diff(self._adjacency.indptr).astype(np.int64)
        return degrees

    def common_neighbours(self, left: NDArray[Any], right: NDArray[Any]) -> Integers64:
        """Return for each pair of nodes how many neighbours they share."""
        first, second = np.asarray(left), np.asarray(right)
        if first.shape != second.shape or first.ndim != 1:
            raise ValueError("left and right must be two lists of nodes of the same length")
        shared = np.zeros(len(first), dtype=np.int64)
        for start in range(0, len(first), BATCH):
            part = slice(start, start + BATCH)
            product = self._adjacency[first[part]].multiply(self._adjacency[second[part]])
            shared[part] = np.asarray(product.sum(axis=1)).reshape(-1)
        return shared
