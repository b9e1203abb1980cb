"""Exact private selection: permute-and-flip, the exponential mechanism and its top-k form.

Candidate i of m has a score s_i (an integer, or a float taken as the dyadic rational it is) and a
coin that comes up heads with probability p_i = exp(−gap_i), gap_i = rate · (max s − s_i). All laws
here are exact: floats filter, and what they cannot certify is settled in integers with more bits.
Nothing here may ever round a score, a rate or a probability.

**Permute-and-flip** (McKenna and Sheldon, 2020) visits the candidates in a uniformly random order,
flips each one's coin, and returns the first that comes up heads.

*Claim.* Visit 256 candidates so; if all came up tails, flip the coins of all the others and return
one of the heads uniformly at random. This is the same law. *Proof.* The order and the coins are
independent. Given the coins, the first head in a uniformly random order is uniform among all
heads. Given that the first 256 of the order came up tails (an event that says nothing about the
order of the others, nor about their coins), the order of the others is uniform and their coins are
fresh, so that the first head among them is uniform among their heads. There is a head: the best
candidate has p = 1, and it is either among the 256, which then do not all come up tails, or among
the others. ∎ The visited coins are never flipped again; a tail is remembered.

*Coins in bulk.* A coin is [U < p_i] for a uniform U. Let k be an integer at most gap_i/ln 2, so
p_i ≤ 2^−k: heads need k leading zero bits in U, and given those the rest of U is uniform, and is
compared with 2^k·p_i. A block of 64 candidates takes the smallest k of its members and draws its
zero bits as 64 lanes of shared words, which almost always ends after some eight words with no lane
left; the few survivors are settled one by one. Which k is used changes the work, never the law.

**The exponential mechanism** returns i with probability proportional to p_i. Candidate i is
proposed with weight 2^−k_i, exactly, in integers (k_i as above, cut at a cap), and accepted with
probability 2^k_i·p_i: the product is p_i, so accepted candidates have the right law for every
choice of k_i. Without the cut acceptance is more likely than not (k_i + 1 > gap_i/ln 2, up to the
rounding of a float); all candidates beyond the cap together are proposed with probability at most
m·2^−255. Hence the expected time is proportional to m for every shape of scores.

**Top-k** repeats this without replacement, which is the law of the k largest scores after adding
Gumbel noise of scale 1/rate (Yellott, 1977). When all candidates left lie beyond the cap they are
measured again from their own best score.

Privacy: if no score changes by more than Δ between neighbours, permute-and-flip and the
exponential mechanism are 2·rate·Δ-DP (rate·Δ-DP if all scores change in the same direction); one
call of `top_k` is k times that.

Time depends on private values: on how many of the 256 visited coins come up heads (none of them
means a second pass), on the survivors, rejections and undecided comparisons, and for `top_k` on
how far apart the best scores are. Whoever can time one call learns something about the scores.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.noise.bits import bits
from sfumato.noise.exact import exact_named
from sfumato.noise.expansions import enclose_exponential
from sfumato.noise.uniform import uniform_integers

#: Candidates that permute-and-flip visits one after another before it flips all other coins.
VISITED = 256
#: Levels that a draw of the exponential mechanism tells apart below the lowest occupied one.
WINDOW = 255
#: Levels are cut here; beyond lies everything less likely than 2^−65535.
DEEPEST_LEVEL = (1 << 16) - 1
#: Draws after which sorting all candidates by level is cheaper than searching for each level.
DRAWS_WORTH_SORTING = 8


def permute_and_flip(scores: ArrayLike, *, rate: object) -> int:
    """Choose a candidate by permute-and-flip, exactly.

    Parameters
    ----------
    scores
        One finite score for each candidate, int64 or float64; a float is the dyadic rational it is.
    rate
        How fast the chance of a coin falls with the distance from the best score.

    Notes
    -----
    Privacy: 2·rate·Δ-DP for scores that change by at most Δ each, and never worse than the
    exponential mechanism at the same rate (McKenna and Sheldon, 2020).
    """
    candidates = Candidates.of(scores, rate)
    visited = shuffle(candidates.size, min(VISITED, candidates.size))
    heads = visited[candidates.flip(visited, np.zeros(visited.size, dtype=np.int64))]
    if heads.size:
        return int(heads[0])
    survivors, zeros = candidates.survivors()
    fresh = ~np.isin(survivors, visited)
    survivors, zeros = survivors[fresh], zeros[fresh]
    heads = survivors[candidates.flip(survivors, zeros)]
    return int(heads[_below(heads.size)])


def exponential(scores: ArrayLike, *, rate: object) -> int:
    """Choose candidate i with probability proportional to exp(rate · score_i), exactly.

    Parameters
    ----------
    scores
        One finite score for each candidate, int64 or float64; a float is the dyadic rational it is.
    rate
        How fast the probability grows with the score.

    Notes
    -----
    Privacy: 2·rate·Δ-DP and (2·rate·Δ)²/8-zCDP for scores that change by at most Δ each.
    """
    return int(top_k(scores, 1, rate=rate)[0])


def top_k(scores: ArrayLike, k: int, *, rate: object) -> Indices:
    """Choose k different candidates by repeated draws of `exponential` without replacement.

    Parameters
    ----------
    scores
        One finite score for each candidate, int64 or float64; a float is the dyadic rational it is.
    k
        How many candidates, in the order in which they were drawn.
    rate
        How fast the probability of a single draw grows with the score.

    Notes
    -----
    Privacy: k draws of the exponential mechanism, hence 2·k·rate·Δ-DP and k·(2·rate·Δ)²/8-zCDP.
    """
    candidates = Candidates.of(scores, rate)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= candidates.size:
        raise ValueError(
            f"k must be an integer from 1 to the number of candidates, {candidates.size}; got {k!r}"
        )
    chosen = np.empty(int(k), dtype=np.int64)
    names: Indices | None = None  # of the candidates that are left, once some were set aside
    pool = _Pool(candidates, draws=int(k))
    for draw in range(int(k)):
        if pool.out_of_sight:
            left = pool.left
            names = left if names is None else names[left]
            pool = _Pool(candidates.subset(left), draws=int(k) - draw)
            candidates = pool.candidates
        index = pool.draw()
        chosen[draw] = index if names is None else names[index]
    return chosen


class _Pool:
    """Candidates of the exponential mechanism in groups of equal level, drawn without replacement.

    Parameters
    ----------
    candidates
        The candidates.
    draws
        How many draws are to be expected.
    """

    def __init__(self, candidates: Candidates, *, draws: int) -> None:
        self.candidates = candidates
        self._levels = np.empty(candidates.size, dtype=np.uint16)
        counts = np.zeros(DEEPEST_LEVEL + 1, dtype=np.int64)
        deepest = kernels().count_levels(
            candidates.scores, candidates.top, candidates.rate_in_bits, self._levels, counts
        )
        counts = counts[: deepest + 1]
        self._occupied: list[int] = np.flatnonzero(counts).tolist()
        self._counts = {level: int(counts[level]) for level in self._occupied}
        self._left = candidates.size
        self._members: dict[int, Indices] = {}
        self._order: Indices | None = None
        if draws > DRAWS_WORTH_SORTING:
            self._order = np.argsort(self._levels, kind="stable")
            self._starts = np.cumsum(counts) - counts

    @property
    def out_of_sight(self) -> bool:
        """Whether all candidates left are beyond the cap, where levels say nothing."""
        return self._occupied[0] == DEEPEST_LEVEL

    @property
    def left(self) -> Indices:
        """The candidates not yet drawn, when they are out of sight."""
        return self._group(DEEPEST_LEVEL)[: self._counts[DEEPEST_LEVEL]].copy()

    def draw(self) -> int:
        """Propose and flip until a candidate is accepted; remove it and return it."""
        while True:
            level, place, zeros = self._propose()
            index = int(self._group(level)[place])
            waited = np.array([zeros], dtype=np.int64)
            if self.candidates.flip(np.array([index], dtype=np.int64), waited)[0]:
                self._remove(level, place)
                return index

    def _propose(self) -> tuple[int, int, int]:
        """Return a group, a place in it, and the z of the weight 2^−z it was proposed with."""
        base = self._occupied[0]
        horizon = base + WINDOW
        near = self._occupied[: bisect.bisect_right(self._occupied, horizon)]
        weights = [self._counts[level] << (horizon + 1 - level) for level in near]
        far = self._left - sum(self._counts[level] for level in near)
        drawn = _below(sum(weights) + far)
        for level, weight in zip(near, weights, strict=True):
            if drawn < weight:
                return level, drawn >> (horizon + 1 - level), level
            drawn -= weight
        for level in self._occupied[len(near) :]:
            if drawn < self._counts[level]:
                return level, drawn, horizon + 1
            drawn -= self._counts[level]
        raise AssertionError("the weights of the groups do not add up to their sum")

    def _group(self, level: int) -> Indices:
        """Return the members of a group, in an order that `_remove` may change."""
        if level not in self._members:
            if self._order is None:
                members = np.flatnonzero(self._levels == level)
            else:
                start = self._starts[level]
                members = self._order[start : start + self._counts[level]].copy()
            self._members[level] = members.astype(np.int64, copy=False)
        return self._members[level]

    def _remove(self, level: int, place: int) -> None:
        """Take one member out of its group."""
        group = self._group(level)
        self._counts[level] -= 1
        self._left -= 1
        group[place] = group[self._counts[level]]
        if self._counts[level] == 0:
            self._occupied.remove(level)


def _below(bound: int) -> int:
    """Return a uniformly random integer from 0 to bound − 1."""
    return int(uniform_integers(None, bound=bound))


# Scored candidates with their coins: what the samplers of `select` share.
#
# The coin of a candidate comes up heads with probability exp(−rate · (best score − its score)).
# Intervals of floats settle nearly every flip; the others are settled here in integers, with as
# many more random bits as that takes. A coin is never decided by an uncertain float.


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
        candidates = cls(_check_scores(scores), _check_rate(rate))
        candidates.peaks  # noqa: B018 (refuses scores that are not finite)
        return candidates

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return int(self.scores.size)

    @property
    def is_float(self) -> bool:
        """Whether scores are floats."""
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


def shuffle(size: int, count: int) -> Indices:
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


def _check_scores(scores: ArrayLike) -> NDArray[Any]:
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


def _check_rate(rate: object) -> Fraction:
    """Return the rate as a fraction, or refuse it."""
    exact_rate = exact_named(rate, "rate")
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
