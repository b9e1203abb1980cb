"""The most frequent strings of a model, exactly, by best-first search.

A string is at most as frequent as its beginning, so that the most frequent string that was not yet
given is always in the heap. It looks at the public model only.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice

import numpy as np

from sfumato.sequence.suffix_model import SuffixModel

__all__ = ["most_frequent"]

#: A search for strings of one length gives up beyond this many beginnings.
MOST_BEGINNINGS = 2_000_000

String = tuple[int, ...]


def most_frequent(
    model: SuffixModel, count: int, length: int | None = None
) -> list[tuple[String, float]]:
    """Return the most frequent strings of symbols and their counts, most frequent first.

    Parameters
    ----------
    model
        The model; an extension of a string is never more frequent than the string.
    count
        How many strings. Strings that never occur are left out, so that there may be fewer.
    length
        If given, only strings of that many symbols.
    """
    if count < 1:
        raise ValueError(f"the number of strings must be at least 1; got {count}")
    if length is not None and length < 1:
        raise ValueError(f"a string has at least one symbol; got length = {length}")
    return list(islice(_strings(model, length), count))


def _strings(model: SuffixModel, length: int | None) -> Iterator[tuple[String, float]]:
    """Yield strings from the most frequent on; equally frequent ones in the order of symbols."""
    heap: list[tuple[float, String]] = [
        (-float(model.symbols[symbol]), (symbol,)) for symbol in range(model.alphabet)
    ]
    heapq.heapify(heap)
    beginnings = 0
    while heap:
        negated, string = heapq.heappop(heap)
        if negated >= 0:
            return
        if length is None or len(string) == length:
            yield string, -negated
            if length is not None:
                continue
        beginnings += 1
        if beginnings > MOST_BEGINNINGS:
            raise ValueError(
                f"more than {MOST_BEGINNINGS:,} beginnings of strings are as frequent as the "
                f"answer; ask for fewer or shorter strings"
            )
        chances = model.after(string)[:-1]
        for symbol in np.flatnonzero(chances > 0).tolist():
            heapq.heappush(heap, (negated * float(chances[symbol]), (*string, symbol)))
