"""How wide the rungs of a ladder are: how much one edge could change a count after t others.

Everything here returns what is private. I_t bounds the local sensitivity of every graph within t
edges, and no I_t of a graph exceeds I_{t+1} of a neighbour (docs/proofs/subgraph-counts.md). The
pairs of nodes enter through a, their number of common neighbours, and b, the number of nodes joined
to exactly one of them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import GraphCounts
from sfumato.graph.shapes import Shape

__all__ = ["k_triangle_growth", "ladder", "last_rung", "local_sensitivities"]

#: Rungs further out than this are said with a probability below e to the minus this.
_NEGLIGIBLE = 30
#: So many pairs are looked at exactly in one round.
_ROUND = 4096
#: A binomial of at most 15 factors below 2^47 is off by less than 30·2^−53·2^47 < 1/2 as a float.
_EXACT_CAP, _EXACT_INNER = 2**46, 16
#: No b is as large.
_NEVER = 2**62

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]


def last_rung(epsilon: Fraction, cap: int) -> int:
    """Return after how many rungs a ladder may be as wide as its cap. Public.

    Beyond it the ladder is said with a probability that is next to nothing, so that its width
    there does not matter. Cutting at a public place leaves a ladder a ladder.
    """
    if cap == 0:
        return 0
    rate = float(epsilon) / 2
    tail = math.log(2 * cap) - math.log(-math.expm1(-rate))
    return math.ceil((tail + _NEGLIGIBLE) / rate)


def ladder(
    shape: Shape, graph: GraphCounts, *, rungs: int, paper: bool = False, published: bool = False
) -> tuple[int, ...]:
    """Return the widths of the first rungs, up to the one that is as wide as the cap. Private.

    Parameters
    ----------
    shape
        What is counted.
    graph
        The private graph.
    rungs
        How many rungs at most.
    paper
        For cliques: the ladder of the paper instead of the tighter one.
    published
        For k-triangles: the printed bound, which fails for k = 3, 4 and 5.
    """
    cap = shape.global_sensitivity(graph.nodes)
    if cap == 0:
        return ()
    # After so many edges every pair may have all nodes in common: the cap is reached.
    rungs = min(rungs, 2 * graph.nodes)
    if shape.name == "clique" and shape.size > 3:
        widths = _clique(shape, graph, rungs, cap, paper=paper)
    elif shape.name == "k-triangle":
        widths = _k_triangle(shape, graph, rungs, cap, published=published)
    else:
        widths = local_sensitivities(shape, graph, rungs=rungs)
    return _until(widths, cap)


def local_sensitivities(shape: Shape, graph: GraphCounts, *, rungs: int) -> list[int]:
    """Return LS(g, t), the largest change of a count within t edges, for triangles and stars."""
    if shape.name == "star":
        return _stars(shape.size, graph, rungs)
    steps = np.arange(rungs, dtype=np.int64)
    widths = np.zeros(rungs, dtype=np.int64)
    for shared, half in zip(*(part.tolist() for part in graph.pair_frontier()), strict=True):
        # A node joined to one of the two costs one edge, any other node two.
        np.maximum(widths, shared + (steps + np.minimum(steps, half)) // 2, out=widths)
    most: list[int] = np.minimum(widths, max(graph.nodes - 2, 0)).tolist()
    return most


def _stars(size: int, graph: GraphCounts, rungs: int) -> list[int]:
    """All edges go to the node of the larger degree first: binomials are convex."""
    most = graph.nodes - 2
    widths = []
    pairs = graph.star_pairs()
    for t in range(rungs):
        found = 0
        for first, second in pairs:
            larger = min(first + t, most)
            smaller = min(second + max(t - (most - first), 0), most)
            found = max(found, comb(larger, size - 1) + comb(smaller, size - 1))
        widths.append(found)
        if larger == smaller == most and len(pairs) == 1:
            break
    return widths


def _k_triangle(
    shape: Shape, graph: GraphCounts, rungs: int, cap: int, *, published: bool
) -> list[int]:
    size, shared = shape.size, graph.most_common()
    width = graph.k_triangle_change(size)
    widths = []
    for _ in range(rungs):
        widths.append(min(width, cap))
        if width >= cap:
            break
        width += k_triangle_growth(shared, size, published=published)
        shared += 1
    return widths


def k_triangle_growth(shared: int, size: int, *, published: bool) -> int:
    """Return how much one edge can add to the change of k-triangles at any pair.

    The printed bound misses an edge between two common neighbours of the pair, which raises four
    edges at once.
    """
    printed = 3 * comb(shared, size - 1) + shared * comb(shared, size - 2)
    if published or shared < 2:
        return printed
    return max(printed, 4 * comb(shared, size - 2))


def _clique(shape: Shape, graph: GraphCounts, rungs: int, cap: int, *, paper: bool) -> list[int]:
    inner = shape.size - 2
    if paper:
        shared = graph.most_common()
        (local,) = _Pairs(graph, inner, 1, cap).widths()
        grown = (local + comb(shared + t, inner) - comb(shared, inner) for t in range(rungs))
        return [min(width, cap) for width in grown]
    return _Pairs(graph, inner, rungs, cap).widths()


class _Pairs:
    """The largest c_ij + J_t(a_ij, b_ij) over all pairs of nodes, up to the cap.

    c_ij is the number of cliques of `inner` nodes among the common neighbours of a pair, and J_t
    what t edges can add to it at most. Since c ≤ C(a, inner), most pairs cannot matter, and their
    cliques are never counted.
    """

    def __init__(self, graph: GraphCounts, inner: int, rungs: int, cap: int) -> None:
        self.graph = graph
        self.inner = inner
        self.cap = cap
        self.steps = np.arange(rungs)
        self.shared, self.half = graph.pair_frontier()
        # Binomials this small are exact as floats after rounding; others are kept as integers.
        self.exact = cap < _EXACT_CAP and inner < _EXACT_INNER
        self.best: NDArray[Any] = np.zeros(rungs, dtype=np.float64 if self.exact else object)

    def widths(self) -> list[int]:
        """Return the maximum for each t."""
        # Where a < inner there is no clique to be counted: c is 0, and the front is enough, since
        # J grows with a and with b.
        for shared, half in zip(self.shared.tolist(), self.half.tolist(), strict=True):
            if shared < self.inner:
                self._take(0, shared, half)
        self._look_at(self._front())
        wanted = self.graph.close_pairs(self._least())
        # The most promising first: they may make the others needless. What was found only grows,
        # so that nothing is wanted later that was not wanted at first.
        wanted = wanted[np.lexsort((wanted[:, 3], wanted[:, 2]))[::-1]]
        while len(wanted):
            self._look_at(wanted[:_ROUND])
            wanted = wanted[_ROUND:]
            wanted = wanted[wanted[:, 3] >= self._least()[wanted[:, 2]]]
        return [int(width) for width in self.best]

    def _look_at(self, pairs: NDArray[np.int64]) -> None:
        """Count the cliques of pairs and take them into the maximum."""
        cliques = self.graph.cliques_among(pairs, self.inner)
        largest: dict[tuple[int, int], int] = {}
        for (shared, half), count in zip(pairs[:, 2:].tolist(), cliques, strict=True):
            largest[shared, half] = max(count, largest.get((shared, half), 0))
        for (shared, half), count in largest.items():
            self._take(count, shared, half)

    def _front(self) -> NDArray[np.int64]:
        """Return the pairs of the front, which are likely to matter most."""
        least = np.full(int(self.shared.max(initial=0)) + 1, _NEVER, dtype=np.int64)
        least[self.shared] = self.half
        least[: self.inner] = _NEVER
        return self.graph.close_pairs(least)

    def _least(self) -> NDArray[np.int64]:
        """Return for each a the least b with which a pair could be above what was found."""
        least = np.full(int(self.shared.max(initial=0)) + 1, _NEVER, dtype=np.int64)
        found = self.best.astype(np.float64) * (1.0 if self.exact else 1 - 1e-9)
        before = _NEVER
        for shared in range(self.inner, len(least)):
            most = int(self.half[np.searchsorted(self.shared, shared)])
            # What matters with fewer common neighbours matters with more.
            if before > most and not self._matters(shared, most, found):
                before = _NEVER
                continue
            before = least[shared] = self._least_half(shared, min(before, most), found)
        return least

    def _matters(self, shared: int, half: int, found: Floats) -> bool:
        """Tell whether a pair of this a and b could be above what was found."""
        return bool((np.minimum(self._reach(shared, half), self.cap) > found).any())

    def _least_half(self, shared: int, high: int, found: Floats) -> int:
        """Return the least b with which a pair of so many could matter; with `high` one does."""
        step, low = 1, -1
        # It is seldom far from where it was, so the steps down grow.
        while high - step >= 0:
            if not self._matters(shared, high - step, found):
                low = high - step
                break
            high, step = high - step, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            if self._matters(shared, middle, found):
                high = middle
            else:
                low = middle
        return high

    def _moves(self, shared: int, half: int) -> tuple[NDArray[np.int64], Bits]:
        """Return how many common neighbours t edges make, and where one edge is left over."""
        beyond = np.maximum(self.steps - half, 0)
        reached = shared + np.minimum(self.steps, half) + beyond // 2
        return reached, (beyond % 2 == 1) & (reached >= 2)

    def _reach(self, shared: int, half: int) -> Floats:
        """Return C(a, inner) + J_t(a, b) for all t, in floating point."""
        reached, left_over = self._moves(shared, half)
        cliques, extra = self._binomials
        total: Floats = cliques[reached] + np.where(left_over, extra[reached], 0.0)
        return total

    @cached_property
    def _binomials(self) -> tuple[Floats, Floats]:
        """C(a, inner) and C(a − 2, inner − 2) for every a that can be reached."""
        every = np.arange(int(self.shared.max(initial=0)) + len(self.steps) + 1)
        beside = _combinations(np.maximum(every - 2, 0), self.inner - 2)
        return _combinations(every, self.inner), beside

    def _take(self, cliques: int, shared: int, half: int) -> None:
        """Take a pair into the maximum."""
        less = comb(shared, self.inner) - cliques
        if self.exact:
            # Beyond twice the cap they are not exact, but above the cap in any case.
            width = np.minimum(self._reach(shared, half) - less, self.cap)
            self.best = np.maximum(self.best, width)
            return
        reached, left_over = self._moves(shared, half)
        for t, (common, odd) in enumerate(zip(reached.tolist(), left_over.tolist(), strict=True)):
            whole = comb(common, self.inner) - less
            whole += comb(common - 2, self.inner - 2) if odd else 0
            self.best[t] = min(max(self.best[t], whole), self.cap)


def _combinations(numbers: NDArray[np.int64], size: int) -> Floats:
    """Return binomials as floats, exact while they are small (see `_EXACT_CAP`)."""
    total = np.ones(len(numbers))
    for step in range(size):
        total = total * (numbers - step) / (step + 1)
    return np.where(numbers >= size, np.round(total), 0.0)


def _until(widths: list[int], cap: int) -> tuple[int, ...]:
    """Return the widths before the first that reaches the cap."""
    end = next((t for t, width in enumerate(widths) if width >= cap), len(widths))
    return tuple(widths[:end])
