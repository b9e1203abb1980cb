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

import numpy as np
from numpy.typing import ArrayLike

from sfumato.noise._candidates import Candidates, Indices, kernels, shuffled
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
    visited = shuffled(candidates.size, min(VISITED, candidates.size))
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
