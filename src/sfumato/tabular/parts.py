"""A partition of the records of a table that looks like chance and depends on nothing but them.

Equal records cannot be told apart, so a table is what it holds of each: of a record that occurs n
times there is a first, a second, … an nth copy. Each copy goes to a part that a fixed public
function of its codes and its number names. One record more, of whatever kind, is one copy more, in
one part; every other part is what it was (docs/proofs/objective-perturbation.md). The rows' order
in the table plays no role. Nothing here may draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers64 = NDArray[np.int64]
Words = NDArray[np.uint64]

#: Copies that are assigned at a time.
BLOCK = 2**22

# The constants of SplitMix64 (Steele, Lea and Flood, 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def parts_of(codes: NDArray[Any], counts: Integers64, parts: int) -> Integers64:
    """Return how many copies of each distinct record go to each part, shape (records, parts).

    Parameters
    ----------
    codes
        The codes of the distinct records, shape (records, columns).
    counts
        How often each occurs.
    parts
        How many parts there are.
    """
    names = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        names = _mixed(names + _STEP + column.astype(np.uint64))
    shares = np.zeros((len(codes), parts), dtype=np.int64)
    done = np.zeros_like(counts)
    while (left := counts - done).any():
        take = _within(left, BLOCK)
        owners = np.repeat(np.arange(len(codes)), take)
        starts = np.repeat(done - (np.cumsum(take) - take), take)
        numbers = (starts + np.arange(len(owners))).astype(np.uint64)
        chosen = _mixed(names[owners] + (numbers + np.uint64(1)) * _STEP) % np.uint64(parts)
        place = owners * parts + chosen.astype(np.int64)
        shares += np.bincount(place, minlength=shares.size).reshape(shares.shape)
        done = done + take
    return shares


def _within(left: Integers64, most: int) -> Integers64:
    """Return how many copies of each record to take next, at most so many in all."""
    before = np.cumsum(left) - left
    return np.asarray(np.clip(most - before, 0, left))


def _mixed(words: Words) -> Words:
    """Return words whose every bit depends on every bit given."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return np.asarray(words ^ (words >> np.uint64(31)))
