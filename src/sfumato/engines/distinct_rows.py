"""The distinct rows of a table of codes, with how often each occurs.

A row is packed into one or a few 64-bit words whose order is the lexicographic order of the row, so
that sorting words sorts rows. Rows come in chunks, so a table on disk is never in memory at once.
How many distinct rows there are is private; it decides only how long counting takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64

__all__ = ["Packing", "distinct_rows"]


class Packing:
    """How rows of codes are written as 64-bit words, in lexicographic order.

    Parameters
    ----------
    sizes
        The domain size of each column.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._words: list[list[int]] = [[]]
        self._sizes = [int(size) for size in sizes]
        room = 2**64
        for column, size in enumerate(self._sizes):
            if size > room:
                self._words.append([])
                room = 2**64
            self._words[-1].append(column)
            room //= size

    def pack(self, columns: Sequence[NDArray[Any]]) -> list[NDArray[np.uint64]]:
        """Return the words of some rows, given column by column."""
        words = []
        for members in self._words:
            word = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
            for column in members:
                word *= np.uint64(self._sizes[column])
                word += columns[column]
            words.append(word)
        return words

    def unpack(self, words: Sequence[NDArray[np.uint64]]) -> list[NDArray[np.uint32]]:
        """Return the rows of some words, column by column."""
        columns: list[NDArray[np.uint32]] = [np.zeros(0, dtype=np.uint32) for _ in self._sizes]
        for members, word in zip(self._words, words, strict=True):
            rest = word.copy()
            for column in reversed(members):
                size = np.uint64(self._sizes[column])
                columns[column] = (rest % size).astype(np.uint32)
                rest //= size
        return columns


def distinct_rows(
    chunks: Iterable[Sequence[NDArray[Any]]], sizes: Sequence[int], most: int | None = None
) -> tuple[list[NDArray[np.uint32]], Integers64] | None:
    """Return the distinct rows in lexicographic order, column by column, and their counts.

    Parameters
    ----------
    chunks
        The rows, chunk after chunk, each column by column.
    sizes
        The domain size of each column; there is at least one.
    most
        Give up and return `None` as soon as there are more distinct rows than this.
    """
    packing = Packing(sizes)
    words = packing.pack([np.zeros(0, dtype=np.uint32) for _ in sizes])
    weights = np.zeros(0, dtype=np.int64)
    for chunk in chunks:
        new = packing.pack(chunk)
        words, weights = _merge_rows(
            [np.concatenate(pair) for pair in zip(words, new, strict=True)],
            np.concatenate([weights, np.ones(len(new[0]), dtype=np.int64)]),
        )
        if most is not None and len(weights) > most:
            return None
    return packing.unpack(words), weights


def _merge_rows(
    words: list[NDArray[np.uint64]], weights: Integers64
) -> tuple[list[NDArray[np.uint64]], Integers64]:
    """Return the distinct rows in order with their weights added up."""
    if not len(weights):
        return words, weights
    order = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words[::-1])
    words, weights = [word[order] for word in words], weights[order]
    first = np.ones(len(weights), dtype=np.bool_)
    first[1:] = False
    for word in words:
        first[1:] |= word[1:] != word[:-1]
    return [word[first] for word in words], np.add.reduceat(weights, np.flatnonzero(first))
