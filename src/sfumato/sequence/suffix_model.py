"""The prediction suffix tree: what comes next, told by the longest known context.

A node stands for a context, the symbols just before; its children put one symbol, or the start of
the sequence, in front of it. Every node has a histogram of what follows: the symbols, and lastly
the end. Everything here is public: it is made from what was released, and it never sees data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SuffixModel"]

Floats = NDArray[np.float64]
Context = tuple[int, ...]


class SuffixModel:
    """A variable-order Markov model of sequences.

    Parameters
    ----------
    children
        For each node and each symbol, lastly the start, the number of the child that puts it in
        front; -1 where there is none. Node 0 is the empty context, and parents come before their
        children.
    histograms
        For each node how often each symbol, lastly the end, follows it; not negative.
    symbols
        How often each symbol occurs; by default what the root's histogram says.

    Notes
    -----
    A histogram without mass says what the nearest shorter context says; a tree without any mass
    takes all symbols and the end for equally likely.
    """

    def __init__(
        self,
        children: NDArray[np.int32],
        histograms: Floats,
        symbols: Floats | None = None,
    ) -> None:
        self.children = children
        self.histograms = histograms
        self.probabilities = _probabilities(children, histograms)
        self.symbols = np.array(histograms[0, :-1] if symbols is None else symbols)
        for array in (self.children, self.histograms, self.probabilities, self.symbols):
            array.setflags(write=False)

    @property
    def alphabet(self) -> int:
        """The number of symbols."""
        return int(self.histograms.shape[1]) - 1

    @property
    def nodes(self) -> int:
        """The number of contexts."""
        return len(self.histograms)

    @property
    def depth(self) -> int:
        """The length of the longest context."""
        depth, level = 0, self.children[:1]
        while (level >= 0).any():
            level = self.children[level[level >= 0]]
            depth += 1
        return depth

    @property
    def sequences(self) -> float:
        """How many sequences there are, as far as the histograms tell.

        That is how often something follows the start; without such a context, how often a sequence
        ends.
        """
        start = self.children[0, self.alphabet]
        return float(self.histograms[0, -1] if start < 0 else self.histograms[start].sum())

    def node(self, context: Sequence[int]) -> int:
        """Return the node of the longest suffix of a context.

        Parameters
        ----------
        context
            What came so far, oldest first; the start, if it is known, first of all, as `alphabet`.
        """
        place = 0
        for symbol in reversed(context):
            child = int(self.children[place, symbol])
            if child < 0:
                break
            place = child
        return place

    def after(self, context: Sequence[int]) -> Floats:
        """Return the probability of each symbol, and lastly the end, after a context."""
        return np.asarray(self.probabilities[self.node(context)])

    def count(self, string: Sequence[int]) -> float:
        """Return how often a string of symbols occurs: the first one's count, then chances."""
        if not string:
            raise ValueError("a string must have at least one symbol")
        answer = float(self.symbols[string[0]])
        for place in range(1, len(string)):
            answer *= float(self.after(string[:place])[string[place]])
        return answer

    def contexts(self) -> Iterator[Context]:
        """Return the context of every node in the order of the nodes, the start as `alphabet`."""
        known: list[Context] = [()] * self.nodes
        for node in range(self.nodes):
            context = known[node]
            for symbol in np.flatnonzero(self.children[node] >= 0).tolist():
                known[self.children[node, symbol]] = (symbol, *context)
            yield context


def _probabilities(children: NDArray[Any], histograms: Floats) -> Floats:
    """Return histograms as probabilities, each without mass taken from its parent."""
    totals = histograms.sum(axis=1)
    uniform = np.full(histograms.shape[1], 1 / histograms.shape[1])
    known = totals > 0
    probabilities = histograms / np.where(known, totals, 1.0)[:, None]
    if not known[0]:
        probabilities[0] = uniform
    parents = np.zeros(len(histograms), dtype=np.int64)
    above, symbol = np.nonzero(children >= 0)
    parents[children[above, symbol]] = above
    # Parents come first, so that what is taken over has been settled.
    for node in np.flatnonzero(~known[1:]) + 1:
        probabilities[node] = probabilities[parents[node]]
    return probabilities
