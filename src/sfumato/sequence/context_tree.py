"""The shape of a suffix tree while it grows, level by level.

The shape follows from what the splits said and from the size of the alphabet. It never holds a
count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_CELLS", "ContextTree"]

#: The histograms of all nodes together have at most so many cells; a tree stops growing there.
MOST_CELLS = 2**25

Bits = NDArray[np.bool_]


class ContextTree:
    """A tree of contexts, of which those of the last level may still be split.

    Parameters
    ----------
    alphabet
        The number of symbols. A context that is split gets one child for every symbol, and lastly
        one for the start, which is never split.
    most_cells
        How many cells the histograms of all nodes may have together.
    """

    def __init__(self, alphabet: int, most_cells: int = MOST_CELLS) -> None:
        self.alphabet = alphabet
        self.fan_out = alphabet + 1
        self.parents: NDArray[np.intp] = np.zeros(1, dtype=np.intp)
        #: For every level, which of its nodes are split; the last level is still open.
        self.levels: list[Bits] = []
        self._most_nodes = most_cells // self.fan_out
        self._nodes = 1
        self._open = np.ones(1, dtype=bool)

    @property
    def frontier(self) -> int:
        """How many nodes the open level has."""
        return len(self._open)

    @property
    def askable(self) -> Bits:
        """Which nodes of the open level may be split: those that do not begin with the start."""
        return self._open

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self._nodes

    def descend(self, split: Bits) -> Bits:
        """Split some of the askable nodes, and return which of the whole level that are.

        Where their children would be too many, none is split and the tree is finished.
        """
        whole = np.zeros(self.frontier, dtype=bool)
        more = int(split.sum()) * self.fan_out
        if self._nodes + more <= self._most_nodes:
            whole[self._open] = split
        split = whole[self._open]
        self.levels.append(whole)
        chosen = np.flatnonzero(split)
        self._nodes += len(chosen) * self.fan_out
        self.parents = np.repeat(chosen, self.alphabet)
        self._open = np.tile(np.arange(self.fan_out) < self.alphabet, len(chosen))
        return whole

    def finish(self) -> None:
        """Close the open level: none of its nodes is split."""
        if self.frontier:
            self.descend(np.zeros(int(self._open.sum()), dtype=bool))

    def children(self) -> NDArray[np.int32]:
        """Return the number of every child of every node, -1 for none, nodes level by level."""
        split = np.concatenate(self.levels)
        children = np.full((len(split), self.fan_out), -1, dtype=np.int32)
        below = np.arange(1, 1 + int(split.sum()) * self.fan_out, dtype=np.int32)
        children[split] = below.reshape(-1, self.fan_out)
        return children

    def leaves(self) -> Bits:
        """Return which nodes are leaves, nodes level by level."""
        return ~np.concatenate(self.levels)

    def summed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of all nodes, from those of the leaves: inner nodes sum their children.

        Parameters
        ----------
        values
            One row for each leaf, level by level.
        """
        nodes = np.zeros((len(self.leaves()), *values.shape[1:]))
        nodes[self.leaves()] = values
        ends = np.cumsum([len(level) for level in self.levels])
        for depth in range(len(self.levels) - 1, 0, -1):
            level = nodes[ends[depth - 1] : ends[depth]]
            above = nodes[ends[depth - 1] - len(self.levels[depth - 1]) : ends[depth - 1]]
            families = level.reshape(-1, self.fan_out, *values.shape[1:])
            above[self.levels[depth - 1]] = families.sum(axis=1)
        return nodes
