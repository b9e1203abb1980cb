"""How much one edge can change joint degrees and triples by degree, after s others.

What takes a graph returns what is private. The bounds cover the change to every neighbour in the L1
norm, and no bound of a graph after s steps exceeds that of a neighbour after s + 1
(docs/proofs/dk-graphs.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.engines.counts import GraphCounts
from sfumato.privacy.rounding import exp_up

__all__ = [
    "joint_bound",
    "joint_cap",
    "joint_change",
    "largest_degree",
    "smooth_peak",
    "triple_bound",
    "triple_cap",
    "triple_change",
    "widest_pair",
]

#: How much of β is kept back for the rounding of the bound itself.
SLACK = Fraction(1, 10**30)
#: No smooth bound is below this part of its cap; noise of that scale is nothing.
FLOOR = Fraction(1, 2**256)
#: Terms of e^(−FAR) and less are below that.
FAR = 178


def widest_pair(graph: GraphCounts) -> int:
    """Return the most edges that two nodes have together, one between them left out. Private.

    One edge changes it by at most 1: it counts once at a pair with one of its ends, and not at all
    at the pair of its ends.
    """
    return max((sum(pair) for pair in graph.star_pairs()), default=0)


def largest_degree(graph: GraphCounts) -> int:
    """Return the largest degree. Private. One edge changes it by at most 1."""
    return int(graph.degrees().max(initial=0))


def joint_change(wide: int) -> int:
    """Return how far an edge can move the joint degrees if its ends have so many others."""
    return 2 * wide + 1


def joint_cap(nodes: int) -> int:
    """Return how far an edge can move the joint degrees of any graph: 4n − 7."""
    return max(4 * nodes - 7, 1)


def joint_bound(nodes: int, wide: int, beta: Fraction) -> Fraction:
    """Return the smooth bound of the joint degrees; private if the widest pair is.

    Parameters
    ----------
    nodes
        The number of nodes.
    wide
        How many edges the widest pair has.
    beta
        The smoothness.
    """
    return smooth_peak(joint_change, wide, beta, joint_cap(nodes), power=1)


def triple_change(degree: int) -> int:
    """Return how far an edge can move the triples by degree if no node has more others."""
    return 2 * degree * (3 * degree - 2) if degree else 0


def triple_cap(nodes: int) -> int:
    """Return how far an edge can move the triples by degree of any graph: 2(n − 2)²."""
    return max(2 * (nodes - 2) ** 2, 1)


def triple_bound(nodes: int, degree: int, beta: Fraction) -> Fraction:
    """Return the smooth bound of the triples by degree; private if the largest degree is."""
    return smooth_peak(triple_change, degree, beta, triple_cap(nodes), power=2)


def smooth_peak(
    change: Callable[[int], int], start: int, beta: Fraction, cap: int, *, power: int
) -> Fraction:
    """Return S = max_s e^(−β·s)·min(change(start + s), cap), rounded up and still β-smooth.

    Parameters
    ----------
    change
        Rises with its argument, and its logarithm is concave; a polynomial of this power.
    start
        What the graph has; private, and then so is the result.
    beta
        The smoothness of the result.
    cap
        The global sensitivity.
    power
        1 or 2: the terms rise until s is about power/β − start, and fall from there.

    Notes
    -----
    The terms up to where the cap is reached have one peak, and those behind it fall; so a few
    places are enough. The maximum is that of `smooth_maximum`, which looks at all of them.
    """
    rate = beta - SLACK
    if rate <= 0:
        raise ValueError("beta must be greater than 1e-30")
    reached = _first(lambda s: change(start + s) >= cap)
    peak = math.floor(power / rate) - start
    places = {0, reached - 1, reached, *range(peak - 2, peak + 4)}
    terms = [
        min(change(start + s), cap) * (exp_up(-rate * s) if s else Fraction(1))
        for s in places
        if 0 <= s <= reached and rate * s <= FAR
    ]
    return max(cap * FLOOR, *map(Fraction, terms))


def _first(holds: Callable[[int], bool]) -> int:
    """Return the first number at which something holds that holds from there on."""
    high = 1
    while not holds(high):
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
