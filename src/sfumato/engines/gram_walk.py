"""Growing strings to the right, a level at a time, with how often each of them occurs.

Every place of the text belongs to one string of the frontier or to none any more; an occurrence is
known by the place behind it. A level costs one pass over the places that are left.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.context_walk import children_of, shortened
from sfumato.engines.counts import Integers64

__all__ = ["MemoryGrams"]


class MemoryGrams:
    """The strings of a frontier and their places in a text. Private.

    Parameters
    ----------
    text
        All sequences, each behind its start marker.
    alphabet
        The number of symbols; the end has this code.
    """

    __slots__ = ("_alphabet", "_depth", "_nodes", "_positions", "_strings", "_text")

    def __init__(self, text: NDArray[Any], alphabet: int) -> None:
        from sfumato.engines.sequence_kernels import places

        self._text = text
        self._alphabet = alphabet
        self._positions = places(text, alphabet)
        self._nodes = np.zeros(len(self._positions), dtype=np.int32)
        self._strings = 1
        self._depth = 0

    def __repr__(self) -> str:
        return f"MemoryGrams(depth={self._depth}, strings={self._strings})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences are not pickled; save a release of them instead")

    @property
    def strings(self) -> int:
        """How many strings the frontier has. As public as what was expanded."""
        return self._strings

    @property
    def depth(self) -> int:
        """How many symbols the strings of the frontier have. As public as what was expanded."""
        return self._depth

    def counts(self) -> Integers64:
        """Return how often each string of the frontier occurs, counting every place.

        The empty string occurs once before every symbol or end.
        """
        from sfumato.engines.sequence_kernels import tally

        counts = np.zeros(self._strings, dtype=np.int64)
        tally(self._nodes, counts)
        return counts

    def descend(self, expand: NDArray[np.bool_]) -> None:
        """Replace the frontier by the children of the strings that are expanded.

        Parameters
        ----------
        expand
            Which strings of the frontier are expanded. Each gets one child for every symbol, in
            order, and lastly one for the end, put behind it. What ends is never expanded.
        """
        from sfumato.engines.sequence_kernels import split_on

        chosen = np.asarray(expand, dtype=np.bool_)
        if chosen.shape != (self._strings,):
            raise ValueError(
                f"there are {self._strings} strings; got an answer of shape {chosen.shape}"
            )
        fan_out = self._alphabet + 1
        if self._depth and chosen.reshape(-1, fan_out)[:, -1].any():
            raise ValueError("a string that ends cannot be expanded")
        first, self._strings = children_of(chosen, fan_out)
        left = split_on(self._text, self._positions, self._nodes, first, self._alphabet)
        self._positions, self._nodes = (
            shortened(self._positions, left),
            shortened(self._nodes, left),
        )
        self._depth += 1
