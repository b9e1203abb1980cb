"""The shape of a tree of n-grams while it grows to the right, and its use as a suffix model.

The shape follows from the noisy counts alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.sequence.context_tree import MOST_CELLS
from sfumato.sequence.suffix_model import SuffixModel

__all__ = ["GramTree"]

Bits = NDArray[np.bool_]


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
