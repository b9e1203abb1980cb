"""The shape of a suffix tree while it grows, level by level.

The shape follows from what the splits said and from the size of the alphabet. It never holds a
count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.sequence.suffix_model import SuffixModel

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


# The shape of a tree of n-grams while it grows to the right, and its use as a suffix model.
#
# The shape follows from the noisy counts alone.


class GramTree:
    """Strings that grow to the right, level by level, where their noisy counts are large.

    Parameters
    ----------
    alphabet
        The number of symbols; a string that is expanded gets one child for every symbol, and
        lastly one for the end, which is never expanded.
    threshold
        A string is expanded if its noisy count reaches this.
    most_cells
        A level has at most so many strings; a tree stops growing there.
    """

    def __init__(self, alphabet: int, threshold: float, most_cells: int = MOST_CELLS) -> None:
        self.alphabet = alphabet
        self.fan_out = alphabet + 1
        self.threshold = threshold
        self._most = most_cells
        #: For every length, which of its strings are expanded; the empty one always is.
        self.levels: list[Bits] = [np.ones(1, dtype=bool)]
        self._parents: list[tuple[int, ...]] = [()]
        self._known: dict[tuple[int, ...], NDArray[np.float64]] = {}

    @property
    def frontier(self) -> int:
        """How many strings the level that is counted next has."""
        return len(self._parents) * self.fan_out

    def add(self, counts: NDArray[np.int64]) -> None:
        """Take the noisy counts of a level, and expand its strings whose counts are large.

        Where the next level would be too large, none is expanded.
        """
        families = counts.reshape(-1, self.fan_out).astype(np.float64)
        for context, family in zip(self._parents, families, strict=True):
            self._known[context] = np.maximum(family, 0.0)
        large = families >= self.threshold
        large[:, -1] = False
        if int(large.sum()) * self.fan_out > self._most:
            large[:] = False
        self._parents = [
            (*self._parents[row], column) for row, column in np.argwhere(large).tolist()
        ]
        self.levels.append(np.asarray(large.ravel()))

    def model(self) -> SuffixModel:
        """Return the model whose contexts are the expanded strings.

        A suffix of a context that was not expanded itself says what the next shorter one says.
        """
        numbers: dict[tuple[int, ...], int] = {(): 0}
        for context in sorted(self._known, key=len):
            for place in range(len(context) - 1, -1, -1):
                numbers.setdefault(context[place:], len(numbers))
        order = sorted(numbers, key=lambda context: (len(context), numbers[context]))
        place_of = {context: place for place, context in enumerate(order)}
        children = np.full((len(order), self.fan_out), -1, dtype=np.int32)
        histograms = np.zeros((len(order), self.fan_out))
        for context, place in place_of.items():
            if context:
                children[place_of[context[1:]], context[0]] = place
            if context in self._known:
                histograms[place] = self._known[context]
        return SuffixModel(children, histograms)
