"""Growing contexts to the left, a level at a time, with what follows each of them.

Every place of the text belongs to one context of the frontier or to none any more. A level costs
one pass over the places that are left, and nothing of a level is kept for the next but them.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64

__all__ = ["MemoryContexts", "children_of"]


def children_of(chosen: NDArray[Any], most: int) -> tuple[NDArray[np.int32], int]:
    """Return the number of each node's first child, -1 where it has none, and how many there are.

    Parameters
    ----------
    chosen
        Which nodes of the frontier get children.
    most
        How many children each of them gets.
    """
    first = np.full(len(chosen), -1, dtype=np.int32)
    split = np.flatnonzero(chosen)
    if len(split) * most >= 2**31:
        raise ValueError(
            f"{len(split)} nodes with {most} children each are more than 2**31 - 1; split fewer"
        )
    first[split] = np.arange(len(split)) * most
    return first, len(split) * most


class MemoryContexts:
    """The contexts of a frontier and their places in a text. Private.

    Parameters
    ----------
    text
        All sequences, each behind its start marker.
    alphabet
        The number of symbols; the end has this code.
    """

    __slots__ = ("_alphabet", "_contexts", "_depth", "_nodes", "_positions", "_text")

    def __init__(self, text: NDArray[Any], alphabet: int) -> None:
        from sfumato.engines.sequence_kernels import places

        self._text = text
        self._alphabet = alphabet
        self._positions = places(text, alphabet)
        self._nodes = np.zeros(len(self._positions), dtype=np.int32)
        self._contexts = 1
        self._depth = 0

    def __repr__(self) -> str:
        return f"MemoryContexts(depth={self._depth}, contexts={self._contexts})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences are not pickled; save a release of them instead")

    @property
    def contexts(self) -> int:
        """How many contexts the frontier has. As public as the splits."""
        return self._contexts

    def histograms(self) -> Integers64:
        """Return for each context how often each symbol, and lastly the end, comes next."""
        from sfumato.engines.sequence_kernels import tally_next

        counts = np.zeros((self._contexts, self._alphabet + 1), dtype=np.int64)
        tally_next(self._text, self._positions, self._nodes, counts)
        return counts

    def descend(self, split: NDArray[np.bool_]) -> None:
        """Replace the frontier by the children of the contexts that are split.

        Parameters
        ----------
        split
            Which contexts of the frontier are split. Each gets one child for every symbol, in
            order, and lastly one for the start, put before it. What begins with the start is
            never split.
        """
        from sfumato.engines.sequence_kernels import split_back

        chosen = np.asarray(split, dtype=np.bool_)
        if chosen.shape != (self._contexts,):
            raise ValueError(
                f"there are {self._contexts} contexts; got an answer of shape {chosen.shape}"
            )
        fan_out = self._alphabet + 1
        if self._depth and chosen.reshape(-1, fan_out)[:, -1].any():
            raise ValueError("a context that begins with the start cannot be split")
        first, self._contexts = children_of(chosen, fan_out)
        left = split_back(
            self._text, self._positions, self._nodes, first, self._depth, self._alphabet
        )
        self._positions, self._nodes = (
            shortened(self._positions, left),
            shortened(self._nodes, left),
        )
        self._depth += 1


def shortened(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return the front of an array, as one of its own where most of it would lie idle."""
    return array[:length].copy() if 2 * length < len(array) else array[:length]
