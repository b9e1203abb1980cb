"""Uniform integers of any size, by rejection: every value is exactly as likely as every other."""

from __future__ import annotations

import operator
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.bits import bits
from sfumato.noise.sample_size import Size, count_of, shape_draws

_LARGEST_INT64_BOUND = 1 << 63

#: Words drawn at a time at most, so that memory stays bounded.
_BATCH = 1 << 16


@overload
def uniform_integers(size: None = None, *, bound: int) -> int: ...
@overload
def uniform_integers(size: int | tuple[int, ...], *, bound: int) -> NDArray[Any]: ...
def uniform_integers(size: Size = None, *, bound: int) -> Any:
    """Draw integers uniform on 0, …, bound − 1, exactly.

    Parameters
    ----------
    size
        How many, or a shape; None for a single int.
    bound
        A positive integer of any size. Up to 2⁶³ the array is int64, beyond it holds Python ints.
    """
    if isinstance(bound, bool) or not hasattr(bound, "__index__"):
        raise TypeError(f"bound must be an integer; got {bound!r}")
    bound = operator.index(bound)
    if bound < 1:
        raise ValueError(f"bound must be at least 1; got {bound}")
    count = count_of(size)
    if bound <= _LARGEST_INT64_BOUND:
        return shape_draws(_small(count, bound), size)
    return shape_draws(_large(count, bound), size)


def _small(count: int, bound: int) -> NDArray[np.int64]:
    """Draw numbers that fit a word: the top bits of a word, again where they reach the bound."""
    draws = np.zeros(count, dtype=np.int64)
    width = (bound - 1).bit_length()
    filled = count if width == 0 else 0
    while filled < count:
        wanted = ((count - filled) << width) // bound + 16  # as many as it takes on average
        words = bits().words(min(wanted, _BATCH)) >> np.uint64(64 - width)
        kept = words[words < np.uint64(bound)][: count - filled]
        draws[filled : filled + kept.size] = kept.view(np.int64)
        filled += kept.size
    return draws


def _large(count: int, bound: int) -> NDArray[np.object_]:
    """Draw numbers of several words, one after another."""
    width = (bound - 1).bit_length()
    words = -(-width // 64)
    draws = np.empty(count, dtype=np.object_)
    for index in range(count):
        draw = bound
        while draw >= bound:
            draw = _number(words) >> (64 * words - width)
        draws[index] = draw
    return draws


def _number(words: int) -> int:
    """Read a number of several words off the stream, the lowest first."""
    return int.from_bytes(bits().words(words).astype("<u8").tobytes(), "little")
