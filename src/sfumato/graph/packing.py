"""How many subgraphs there are if no edge may count for more than so many: two linear programs.

*Packing*: give every subgraph a weight of at most 1, so that no edge carries more than a limit; the
largest total weight is at most the count, and one edge changes it by at most the limit. *Thinning*:
how many edges must be taken away, in parts, until no edge carries more than a limit; one edge
changes it by at most 1 (docs/proofs/recursive.md).

Floating point proposes, integers decide: from what a solver returns a feasible solution of the
program and one of its dual are made in whole numbers, which enclose the optimum whatever the solver
did; where that does not settle the question the program is solved in fractions.
What takes subgraphs returns what is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import GraphCounts
from sfumato.graph.shapes import Shape
from sfumato.mechanisms.exact_simplex import exact_maximum
from sfumato.privacy.rounding import exp_up, log_up

__all__ = ["BEYOND", "LimitScale", "can_thin_within", "pack"]

#: A step is reached if what must be taken away is at most its number plus this. Its denominator is
#: a large prime, so that programs whose solutions have small ones are decided without fractions.
BEYOND = Fraction(383, 1021)
#: Proposals of a solver are taken in steps of one over this.
ONE = 1 << 40
#: How often a proposal is moved inside, each time four times further.
TRIES = 18

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LimitScale:
    """A public scale of limits on the subgraphs that one edge may count for.

    Parameters
    ----------
    growth
        β: how much the logarithm of the limit grows from step to step.
    cap
        The largest limit: in no graph is an edge in more subgraphs.
    """

    growth: Fraction
    cap: int

    def limit(self, step: int, higher: Fraction = Fraction(0)) -> int:
        """Return the limit of a step, ⌈e^(β·step + higher)⌉ from 1 to the cap. Public."""
        exponent = self.growth * step + higher
        if exponent <= 0:
            return 1
        if exponent > log_up(Fraction(self.cap)):
            return self.cap
        return min(math.ceil(exp_up(exponent)), self.cap)

    def first_step(self, copies: Copies) -> int:
        """Return the first step that the graph reaches. Private; one edge changes it by 1.

        A step is reached if edges worth its number, taken away in parts, leave no edge in more
        subgraphs than its limit.
        """
        # All edges taken away leave nothing, and so does a limit that no edge exceeds.
        low, high = -1, copies.edges
        while high - low > 1:
            middle = (low + high) // 2
            reached = can_thin_within(copies, self.limit(middle), middle + BEYOND)
            low, high = (low, middle) if reached else (middle, high)
        return high


def pack(copies: Copies, limit: int, step: Fraction) -> int:
    """Return the largest packing in whole steps, to the nearest: ⌊X/step + 1/2⌋, exactly.

    Parameters
    ----------
    copies
        The subgraphs.
    limit
        What an edge may carry, at least 1.
    step
        The size of a step.
    """

    def rounded(value: Fraction) -> int:
        return math.floor(value / step + Fraction(1, 2))

    if copies.loads.max(initial=0) <= limit:
        return rounded(Fraction(len(copies.members)))
    low, high = _packing_between(copies, limit)
    if rounded(low) == rounded(high):
        return rounded(low)
    return rounded(exact_packing(copies, limit))


def can_thin_within(copies: Copies, limit: int, most: Fraction) -> bool:
    """Tell whether edges worth `most`, taken away in parts, leave no edge more than a limit.

    Parameters
    ----------
    copies
        The subgraphs.
    limit
        What an edge may carry afterwards, at least 1.
    most
        How much may be taken away.
    """
    if copies.loads.max(initial=0) <= limit:
        return most >= 0
    low, high = _thinning_between(copies, limit)
    if high <= most or low > most:
        return high <= most
    return exact_thinning(copies, limit) <= most


def exact_packing(copies: Copies, limit: int) -> Fraction:
    """Return max Σλ with 0 ≤ λ ≤ 1 and at most the limit on each edge, in fractions."""
    many = len(copies.members)
    rows: list[dict[int, int]] = [{} for _ in range(copies.edges)]
    for place, members in enumerate(copies.members.tolist()):
        for edge in members:
            rows[edge][place] = 1
    rows += [{place: 1} for place in range(many)]
    return exact_maximum([1] * many, rows, [limit] * copies.edges + [1] * many)


def exact_thinning(copies: Copies, limit: int) -> Fraction:
    """Return max Σu − limit·Σw with u ≤ Σ_edges w and Σ_copies u ≤ 1, in fractions: the dual."""
    many = len(copies.members)
    through: list[dict[int, int]] = [{} for _ in range(copies.edges)]
    rows: list[dict[int, int]] = []
    for place, members in enumerate(copies.members.tolist()):
        rows.append({place: 1, **{many + edge: -1 for edge in members}})
        for edge in members:
            through[edge][place] = 1
    objective = [1] * many + [-limit] * copies.edges
    return exact_maximum(objective, rows + through, [0] * many + [1] * copies.edges)


def _packing_between(copies: Copies, limit: int) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound on the largest packing, valid whatever a solver says."""
    weights, prices = _propose_packing(copies, limit)
    # Below: weights rounded down, and taken from edges that still carry too much.
    kept = _relieve_edges(copies, _in_steps(np.floor, weights), limit * ONE)
    # Above: any prices of edges bound it, by limit·Σprice + Σ max(0, 1 − price of the subgraph).
    price = _in_steps(np.rint, prices)
    left = np.maximum(ONE - price[copies.members].sum(axis=1), 0)
    above = limit * int(price.sum()) + int(left.sum())
    return Fraction(int(kept.sum()), ONE), Fraction(above, ONE)


def _thinning_between(copies: Copies, limit: int) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound on what must be taken away."""
    taken, prices, shares = _propose_thinning(copies, limit)
    # No subgraph's share exceeds 1, so that no price above 1 is needed.
    price = _in_steps(np.rint, prices)
    share = np.minimum(_in_steps(np.floor, shares), price[copies.members].sum(axis=1))
    share = _relieve_edges(copies, share, ONE)
    below = int(share.sum()) - limit * int(price.sum())
    part = _in_steps(np.rint, taken)
    for more in (0, *(4**power for power in range(TRIES))):
        moved = np.minimum(part + more, ONE)
        left = np.maximum(ONE - moved[copies.members].sum(axis=1), 0)
        if _carried_weight(copies, left).max(initial=0) <= limit * ONE:
            return Fraction(below, ONE), Fraction(int(moved.sum()), ONE)
    # Taking every edge away leaves nothing to be carried.
    return Fraction(below, ONE), Fraction(copies.edges)


def _in_steps(rounding: Callable[[Floats], Floats], proposed: Floats) -> Integers:
    """Return what a solver proposes from 0 to 1, in whole steps; what is no number counts as 0."""
    return rounding(np.clip(np.nan_to_num(proposed, nan=0.0), 0, 1) * ONE).astype(np.int64)


def _carried_weight(copies: Copies, weights: Integers) -> Integers:
    """Return what each edge carries, in whole numbers."""
    total = np.zeros(copies.edges, dtype=np.int64)
    for column in copies.members.T:
        np.add.at(total, column, weights)
    return total


def _relieve_edges(copies: Copies, weights: Integers, limit: int) -> Integers:
    """Return weights lowered until no edge carries more than the limit."""
    kept = weights.copy()
    for edge in np.flatnonzero(_carried_weight(copies, kept) > limit):
        through = np.flatnonzero((copies.members == edge).any(axis=1))
        excess = int(kept[through].sum()) - limit
        for copy in through:
            if excess <= 0:
                break
            less = min(int(kept[copy]), excess)
            kept[copy] -= less
            excess -= less
    return kept


def _incidence(copies: Copies) -> tuple[Integers, Integers]:
    many, width = copies.members.shape
    return copies.members.ravel(), np.repeat(np.arange(many), width)


def _propose_packing(copies: Copies, limit: int) -> tuple[Floats, Floats]:
    """Return weights of subgraphs and prices of edges that a solver proposes."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    many = len(copies.members)
    edges, owners = _incidence(copies)
    matrix = csr_array((np.ones(len(edges)), (edges, owners)), shape=(copies.edges, many))
    found = linprog(
        -np.ones(many),
        A_ub=matrix,
        b_ub=np.full(copies.edges, float(limit)),
        bounds=(0, 1),
        method="highs-ipm",
    )
    if found.x is None or found.ineqlin.marginals is None:
        return np.zeros(many), np.zeros(copies.edges)
    return found.x, -found.ineqlin.marginals


def _propose_thinning(copies: Copies, limit: int) -> tuple[Floats, Floats, Floats]:
    """Return parts of edges to take away, prices of edges and shares of subgraphs."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    many = len(copies.members)
    edges, owners = _incidence(copies)
    ones = np.ones(len(edges))
    # Variables: parts of edges, then what is left of subgraphs. First: left ≥ 1 − parts.
    every = np.arange(many)
    entries = np.concatenate([-ones, -np.ones(many), ones])
    rows = np.concatenate([owners, every, many + edges])
    columns = np.concatenate([edges, copies.edges + every, copies.edges + owners])
    matrix = coo_array(
        (entries, (rows, columns)),
        shape=(many + copies.edges, copies.edges + many),
    ).tocsr()
    limits = np.concatenate([-np.ones(many), np.full(copies.edges, float(limit))])
    cost = np.concatenate([np.ones(copies.edges), np.zeros(many)])
    found = linprog(cost, A_ub=matrix, b_ub=limits, bounds=(0, None), method="highs-ipm")
    if found.x is None or found.ineqlin.marginals is None:
        return np.ones(copies.edges), np.zeros(copies.edges), np.zeros(many)
    prices = -found.ineqlin.marginals
    return found.x[: copies.edges], prices[many:], prices[:many]


# The subgraphs of a shape, one by one, each as the edges it is made of. Private.
#
# Only small graphs are taken apart like this; how many subgraphs there may be is bounded by what
# is public before anything is looked at.


class Copies(NamedTuple):
    """Subgraphs with the edges they are made of. Private.

    Parameters
    ----------
    edges
        How many edges the graph has.
    members
        For each subgraph the numbers of its edges.
    """

    edges: int
    members: NDArray[np.int64]

    @property
    def loads(self) -> NDArray[np.int64]:
        """In how many subgraphs each edge is."""
        return np.bincount(self.members.ravel(), minlength=self.edges)


def copies_of(shape: Shape, graph: GraphCounts) -> Copies:
    """Return all subgraphs of a shape. Private."""
    pairs = [(int(low), int(high)) for low, high in graph.pairs()]
    number = {pair: place for place, pair in enumerate(pairs)}
    neighbours: list[set[int]] = [set() for _ in range(graph.nodes)]
    for low, high in pairs:
        neighbours[low].add(high)
        neighbours[high].add(low)
    found = [
        [number[min(pair), max(pair)] for pair in joined]
        for joined in _edge_sets(shape, pairs, neighbours)
    ]
    width = len(found[0]) if found else 1
    return Copies(len(pairs), np.array(found, dtype=np.int64).reshape(-1, width))


def _edge_sets(
    shape: Shape, pairs: list[tuple[int, int]], neighbours: list[set[int]]
) -> Iterator[list[tuple[int, int]]]:
    """Yield the edges of each subgraph."""
    if shape.name == "star":
        for centre, near in enumerate(neighbours):
            for ends in combinations(sorted(near), shape.size):
                yield [(centre, end) for end in ends]
    elif shape.name == "k-triangle":
        for low, high in pairs:
            for thirds in combinations(sorted(neighbours[low] & neighbours[high]), shape.size):
                sides = [(end, third) for third in thirds for end in (low, high)]
                yield [(low, high), *sides]
    else:
        for clique in _cliques(shape.size, neighbours):
            yield list(combinations(clique, 2))


def _cliques(size: int, neighbours: list[set[int]]) -> Iterator[tuple[int, ...]]:
    """Yield sets of nodes that are all joined to one another, each in rising order."""

    def longer(clique: tuple[int, ...], common: set[int]) -> Iterator[tuple[int, ...]]:
        if len(clique) == size:
            yield clique
            return
        if len(clique) + len(common) < size:
            return
        for node in sorted(common):
            above = {other for other in common if other > node}
            yield from longer((*clique, node), above & neighbours[node])

    yield from longer((), set(range(len(neighbours))))
