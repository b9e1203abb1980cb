"""Scored candidates with their coins: what the samplers of `select` share.

The coin of a candidate comes up heads with probability exp(−rate · (best score − its score)).
Intervals of floats settle nearly every flip; the others are settled here in integers, with as many
more random bits as that takes. A coin is never decided by an uncertain float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.noise.bits import bits
from sfumato.noise.exact import named
from sfumato.noise.expansions import enclose_exponential

Indices: TypeAlias = NDArray[np.int64]

_SURVIVORS_AT_ONCE = 1 << 14
_LOG2_E_BELOW = Fraction(14426950408889634, 10**16)  # log2(e) = 1.44269504088896340735…
_ROUNDING = Fraction(1, 2**50)


@dataclass(frozen=True)
class Candidates:
    """Checked scores with the rate, as exact numbers and as outward-rounded floats."""

    scores: NDArray[Any]
    rate: Fraction

    @classmethod
    def of(cls, scores: ArrayLike, rate: object) -> Candidates:
        """Check what the caller gave, before any bit is drawn."""
        candidates = cls(_checked_scores(scores), _checked_rate(rate))
        candidates.peaks  # noqa: B018 (refuses scores that are not finite)
        return candidates

    @property
    def size(self) -> int:
        return int(self.scores.size)

    @property
    def is_float(self) -> bool:
        return bool(self.scores.dtype == np.float64)

    @cached_property
    def peaks(self) -> NDArray[Any]:
        """The largest score of each block of 64."""
        compiled = kernels()
        keys = np.empty(-(-self.size // compiled.LANES), dtype=np.int64)
        if not self.is_float:
            compiled.peaks_of_integers(self.scores, keys)
            return keys
        if not compiled.peaks_of_floats(self.scores.view(np.int64), keys):
            raise ValueError("scores must be finite; at least one is NaN or infinite")
        magnitude = np.int64(np.iinfo(np.int64).max)
        patterns: NDArray[np.int64] = keys ^ ((keys >> np.int64(63)) & magnitude)
        return patterns.view(np.float64)

    @cached_property
    def top(self) -> Any:
        """The best score."""
        return self.peaks.max()

    @property
    def rate_in_bits(self) -> float:
        """A float so far below rate/ln 2 that its product with a distance stays below the gap."""
        return _rate_in_bits(self.rate)

    def subset(self, indices: Indices) -> Candidates:
        """Return some of the candidates."""
        return Candidates(self.scores[indices], self.rate)

    def gap(self, index: int) -> Fraction:
        """Return rate · (best score − score), exactly."""
        number = float if self.is_float else int
        distance = Fraction(number(self.top)) - Fraction(number(self.scores[index]))
        return self.rate * distance

    def flip(self, indices: Indices, zeros: Indices) -> NDArray[np.bool_]:
        """Flip coins: is a uniform number that begins with so many zero bits below exp(−gap)?"""
        words = bits().words(indices.size)
        outcomes = self._filter(indices, zeros, words)
        for j in np.flatnonzero(outcomes == kernels().UNDECIDED):
            gap = self.gap(int(indices[j]))
            outcomes[j] = _settle_exactly(gap, int(zeros[j]), int(words[j]))
        heads: NDArray[np.bool_] = outcomes == kernels().HEAD
        return heads

    def survivors(self) -> tuple[Indices, Indices]:
        """Return candidates whose coin may come up heads, and the zero bits each has drawn."""
        survivors = kernels().survivors
        indices = np.empty(min(_SURVIVORS_AT_ONCE, self.size + 64), dtype=np.int64)
        zeros = np.empty_like(indices)
        found: list[tuple[Indices, Indices]] = []
        block = 0
        with bits() as source:
            while block < self.peaks.size:
                words = source.unread(kernels().WORDS_FOR_A_BLOCK)
                block, used, count = survivors(
                    self.scores,
                    self.top,
                    self.rate_in_bits,
                    self.peaks,
                    block,
                    words,
                    indices,
                    zeros,
                )
                source.consume(used)
                found.append((indices[:count].copy(), zeros[:count].copy()))
        return (
            np.concatenate([part for part, _ in found]),
            np.concatenate([part for _, part in found]),
        )

    def _filter(
        self, indices: Indices, zeros: Indices, words: NDArray[np.uint64]
    ) -> NDArray[np.uint8]:
        """Settle the comparisons that intervals of floats can certify."""
        outcomes = np.empty(indices.size, dtype=np.uint8)
        low, high = _rate_bounds(self.rate)
        kernels().settle(self.scores, self.top, low, high, indices, zeros, words, outcomes)
        return outcomes


def shuffled(size: int, count: int) -> Indices:
    """Return the first `count` of the numbers below `size` in a uniformly random order."""
    chosen, places, values = (np.empty(count, dtype=np.int64) for _ in range(3))
    room = 4 * count
    with bits() as source:
        while True:
            words = source.unread(room)
            used = kernels().draw_distinct(size, words, places, values, chosen)
            if used >= 0:
                source.consume(used)
                return chosen
            room = 2 * words.size


def _settle_exactly(gap: Fraction, zeros: int, word: int) -> int:
    """Settle a coin in integers, drawing more bits of its uniform number until they suffice."""
    compiled = kernels()
    if gap == 0:
        return int(compiled.HEAD)
    prefix, size = word, zeros + 64
    while True:
        low, high = enclose_exponential(gap, size + 8)
        if (prefix + 1) << 8 <= low:
            return int(compiled.HEAD)
        if prefix << 8 >= high:
            return int(compiled.TAIL)
        prefix = (prefix << 64) | int(bits().words(1)[0])
        size += 64


@cache
def kernels() -> ModuleType:
    """Import the compiled loops when they are first needed: the compiler is heavy."""
    from sfumato.noise import _select_kernels

    return _select_kernels


def _checked_scores(scores: ArrayLike) -> NDArray[Any]:
    """Return scores as a contiguous array of int64 or float64, or refuse them."""
    array = np.asarray(scores)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            "scores must be a one-dimensional array with at least one score; "
            f"got shape {array.shape}"
        )
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        if int(array.max()) > np.iinfo(np.int64).max:
            raise ValueError("integer scores must fit into int64; at least one does not")
    elif array.dtype.kind not in "iu" and array.dtype not in (np.float16, np.float32, np.float64):
        raise ValueError(f"scores must be integers or float64; got an array of {array.dtype}")
    kind = np.float64 if array.dtype.kind == "f" else np.int64
    return np.ascontiguousarray(array, dtype=kind)


def _checked_rate(rate: object) -> Fraction:
    """Return the rate as a fraction, or refuse it."""
    exact_rate = named(rate, "rate")
    if exact_rate < 0:
        raise ValueError(f"rate must not be negative; got {rate}")
    return exact_rate


@lru_cache
def _rate_bounds(rate: Fraction) -> tuple[float, float]:
    """Return floats around the rate."""
    return _float_below(rate), _float_above(rate)


@lru_cache
def _rate_in_bits(rate: Fraction) -> float:
    """Return a float below rate/ln 2 by more than two roundings."""
    return _float_below(rate * _LOG2_E_BELOW * (1 - _ROUNDING))


def _float_below(x: Fraction) -> float:
    """Return a float that is at most x ≥ 0, and close."""
    try:
        nearest = float(x)
    except OverflowError:
        return float(np.finfo(np.float64).max)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, 0.0)


def _float_above(x: Fraction) -> float:
    """Return a float that is at least x ≥ 0, and close, or infinity."""
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)
