"""The few choices of which every client of local collection is made, one random word at a time.

A client that randomises its own answer uses nothing but these: a coin whose probability is a whole
number out of 2⁶⁴, a uniform number, and one of several pieces of 2⁶⁴. They take words in a fixed
order, so that another program (the JavaScript client) draws the same report from the same words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.bits import Words, bits
from sfumato.noise.expansions import WORD

__all__ = ["Choices", "WordChoices", "feed", "fence"]

#: Words that are read at a time for a single report.
_WORDS_AT_ONCE = 16


class Choices(Protocol):
    """Who chooses: random words, or an auditor who tries everything."""

    def coin(self, threshold: int) -> bool:
        """Return True with probability threshold/2⁶⁴."""

    def uniform(self, bound: int) -> int:
        """Return one of 0, …, bound − 1, all alike."""

    def piece(self, ends: Sequence[int]) -> int:
        """Return i with probability (ends[i] − ends[i−1])/2⁶⁴; the last end is 2⁶⁴."""


class WordChoices:
    """Choices made by random words.

    Parameters
    ----------
    word
        Returns the next random word of 64 bits; by default from the source of this thread.
    """

    def __init__(self, word: Callable[[], int] | None = None) -> None:
        self._read: list[int] = []
        self._word = word or self._next

    def _next(self) -> int:
        """Return the next word of this thread's source."""
        if not self._read:
            self._read = bits().words(_WORDS_AT_ONCE).tolist()[::-1]
        return self._read.pop()

    def coin(self, threshold: int) -> bool:
        """Return True where a word is below the threshold."""
        return self._word() < threshold

    def uniform(self, bound: int) -> int:
        """Return the remainder of the first word that is below the fence of the bound.

        Parameters
        ----------
        bound
            From 1 to 2⁶⁴.
        """
        word = self._word()
        while word > fence(bound):
            word = self._word()
        return word % bound

    def piece(self, ends: Sequence[int]) -> int:
        """Return how many ends are at most a word."""
        return bisect_right(ends, self._word())


def fence(bound: int) -> int:
    """Return the largest word that is used for a uniform number: all remainders are alike below it.

    Parameters
    ----------
    bound
        From 1 to 2⁶⁴.
    """
    return WORD - WORD % bound - 1


def feed(kernel: Callable[..., tuple[int, int]], many: int, *arguments: Any) -> None:
    """Let a kernel make many reports, giving it more random words as it asks for them.

    Parameters
    ----------
    kernel
        Called as kernel(tape, done, *arguments); returns the words it used, and how many reports
        are done. It stops before a report for which the tape is too short.
    many
        How many reports there are.
    arguments
        What else the kernel takes.
    """
    done, minimum = 0, 1
    with bits() as source:
        while done < many:
            tape: Words | NDArray[np.uint64] = source.unread(minimum)
            used, done = kernel(tape, done, *arguments)
            source.consume(used)
            minimum = tape.size - used + 1
