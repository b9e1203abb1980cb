"""What follows any string, one string at a time: a suffix array sorted only as far as it is asked.

The places of a string lie together, those of its extensions together within them. To ask about a
string sorts its own places by what follows them, once, and costs nothing elsewhere; so searches
that go from strings to their extensions, best first, read each place once a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64

__all__ = ["MemorySuffixes"]

String = tuple[int, ...]


class MemorySuffixes:
    """The places of a text, sorted where it was asked for. Private.

    Parameters
    ----------
    text
        All sequences, each behind its start marker.
    alphabet
        The number of symbols; the end has this code.
    """

    __slots__ = ("_alphabet", "_bounds", "_positions", "_text")

    def __init__(self, text: NDArray[Any], alphabet: int) -> None:
        from sfumato.engines.sequence_kernels import places

        self._text = text
        self._alphabet = alphabet
        self._positions = places(text, alphabet)
        self._bounds: dict[String, Integers64] = {}

    def __repr__(self) -> str:
        return f"MemorySuffixes(alphabet={self._alphabet})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences are not pickled; save a release of them instead")

    def followers(self, string: Sequence[int]) -> Integers64:
        """Return how often each symbol, and lastly the end, comes right behind a string.

        Parameters
        ----------
        string
            Symbols only, no start and no end; the empty string is before every symbol and end.
        """
        symbols = tuple(int(symbol) for symbol in string)
        if any(not 0 <= symbol < self._alphabet for symbol in symbols):
            raise ValueError(f"symbols are 0 to {self._alphabet - 1}; the string holds another")
        low, high = 0, len(self._positions)
        for length in range(len(symbols) + 1):
            bounds = self._opened(symbols[:length], low, high)
            if length < len(symbols):
                low, high = (int(b) for b in bounds[symbols[length] : symbols[length] + 2])
        return np.diff(bounds[:-1])

    def _opened(self, string: String, low: int, high: int) -> Integers64:
        """Return where the places of each extension of a string lie, sorted if they were not."""
        from sfumato.engines.sequence_kernels import sort_range

        if string not in self._bounds:
            part = self._positions[low:high]
            self._bounds[string] = low + sort_range(self._text, part, len(string), self._alphabet)
        return self._bounds[string]
