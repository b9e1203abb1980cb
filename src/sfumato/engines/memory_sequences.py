"""Counting strings of symbols in sequences.

All sequences lie in one array, each with a start marker before it and, unless it was cut open, an
end marker behind it. Strings are counted through keys that are exact at any length: where a key
would outgrow 64 bits it is replaced by its rank among the keys that occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64

__all__ = ["MemorySequences"]

Keys = NDArray[np.uint64]


class MemorySequences:
    """Private sequences over symbols 0 … alphabet−1.

    Parameters
    ----------
    sequences
        The sequences, each a list of symbols; empty ones count too.
    alphabet
        The number of symbols. Public.
    longest
        If given, a sequence keeps its first `longest` symbols, the end counted as one; one that
        is cut has no end. Public.

    Notes
    -----
    The end of a sequence is the symbol `alphabet`, its start the symbol `alphabet` + 1.
    """

    __slots__ = ("_alphabet", "_rows", "_text")

    def __init__(
        self, sequences: Sequence[Sequence[int]], *, alphabet: int, longest: int | None = None
    ) -> None:
        if alphabet < 1:
            raise ValueError(f"an alphabet has at least one symbol; got {alphabet}")
        if longest is not None and longest < 1:
            raise ValueError(f"longest must be at least 1; got {longest}")
        self._alphabet = alphabet
        self._rows = len(sequences)
        pieces = [self._marked(number, s, longest) for number, s in enumerate(sequences)]
        self._text = np.concatenate([np.zeros(0, dtype=np.int64), *pieces])
        self._text.flags.writeable = False

    def _marked(self, number: int, sequence: Sequence[int], longest: int | None) -> Integers64:
        """Return one sequence between its markers, cut to the longest length."""
        symbols = np.asarray(sequence, dtype=np.int64).reshape(-1)
        if len(symbols) and (symbols.min() < 0 or symbols.max() >= self._alphabet):
            raise ValueError(
                f"sequence {number + 1} holds a symbol outside 0 to {self._alphabet - 1}"
            )
        closed = np.concatenate([symbols, [self._alphabet]])[:longest]
        return np.concatenate([[self._alphabet + 1], closed])

    @property
    def rows(self) -> int:
        """The number of sequences. Private under add/remove."""
        return self._rows

    @property
    def alphabet(self) -> int:
        """The number of symbols. Public."""
        return self._alphabet

    def __repr__(self) -> str:
        return f"MemorySequences(alphabet={self._alphabet})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences are not pickled; save a release of them instead")

    def ngrams(self, grams: Sequence[Sequence[int]]) -> Integers64:
        """Return how often each string occurs, counting every position.

        The empty string occurs once before every symbol or end.
        """
        counts = np.zeros(len(grams), dtype=np.int64)
        for length, numbers in self._by_length(grams).items():
            asked = np.array([grams[i] for i in numbers], dtype=np.int64).reshape(-1, length)
            if length == 0:
                counts[numbers] = int((self._text <= self._alphabet).sum())
                continue
            text, queries = self._keys(asked)
            text = np.sort(text)
            high = np.searchsorted(text, queries, side="right")
            counts[numbers] = high - np.searchsorted(text, queries, side="left")
        return counts

    def followers(self, contexts: Sequence[Sequence[int]]) -> Integers64:
        """Return for each context how often each symbol, and lastly the end, comes next."""
        counts = np.zeros((len(contexts), self._alphabet + 1), dtype=np.int64)
        for length, numbers in self._by_length(contexts).items():
            following = self._text[length:]
            if length == 0:
                counts[numbers] = np.bincount(following, minlength=self._alphabet + 2)[:-1]
                continue
            asked = np.array([contexts[i] for i in numbers], dtype=np.int64)
            text, queries = self._keys(asked)
            text = text[: len(following)]
            # A context followed by a start marker ran over the end of its sequence.
            proper = following <= self._alphabet
            text, following = text[proper], following[proper]
            order = np.argsort(text, kind="stable")
            text, following = text[order], following[order]
            for number, low, high in zip(
                numbers,
                np.searchsorted(text, queries, side="left"),
                np.searchsorted(text, queries, side="right"),
                strict=True,
            ):
                counts[number] = np.bincount(following[low:high], minlength=self._alphabet + 1)
        return counts

    def _by_length(self, strings: Sequence[Sequence[int]]) -> dict[int, list[int]]:
        """Return the numbers of the strings of each length, after checking their symbols.

        A start inside a string or an end before its last symbol is refused: such a string lies
        over two sequences, and its count would depend on the order they are kept in.
        """
        lengths: dict[int, list[int]] = {}
        for number, string in enumerate(strings):
            if self._alphabet + 1 in string[1:] or self._alphabet in string[:-1]:
                raise ValueError(
                    f"string {number} must have the start only first and the end only last"
                )
            if any(not 0 <= symbol <= self._alphabet + 1 for symbol in string):
                raise ValueError(
                    f"symbols are 0 to {self._alphabet - 1}, {self._alphabet} for the end and "
                    f"{self._alphabet + 1} for the start; string {number} holds another"
                )
            lengths.setdefault(len(string), []).append(number)
        return lengths

    def _keys(self, strings: Integers64) -> tuple[Keys, Keys]:
        """Return a key for the string at every position of the text, and for each asked string.

        Positions where a string runs over the boundary between two sequences have keys too, but
        there a start marker follows another symbol, as in no string that may be asked for.
        """
        count, length = strings.shape
        positions = max(0, len(self._text) - length + 1)
        radix = self._alphabet + 2
        keys = np.zeros(positions + count, dtype=np.uint64)
        bound = 1
        for j in range(length):
            if bound * radix >= 2**64:
                distinct, ranks = np.unique(keys, return_inverse=True)
                keys, bound = ranks.astype(np.uint64), len(distinct)
            keys *= np.uint64(radix)
            keys[:positions] += self._text[j : j + positions].astype(np.uint64)
            keys[positions:] += strings[:, j].astype(np.uint64)
            bound *= radix
        return keys[:positions], keys[positions:]
