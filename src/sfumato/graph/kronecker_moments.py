"""Stochastic Kronecker graphs: the matrix they grow from, and the counts they expect.

Nodes are words of `power` binary digits. Two nodes are joined with the product, over the digits, of
the entry of a symmetric 2 × 2 matrix that their two digits choose; every pair on its own. A graph
on fewer nodes than there are words takes that many of them at random.

Everything here is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FEATURES",
    "Features",
    "Initiator",
    "expected_features",
    "kept_share",
    "power_of",
    "whole_features",
]

Floats = NDArray[np.float64]


class Features(NamedTuple):
    """Counts of small subgraphs, each chosen by its nodes and edges (not induced).

    Parameters
    ----------
    edges, hairpins, tripins, triangles
        Edges, paths of two edges, stars of three edges, and triangles.
    """

    edges: float
    hairpins: float
    tripins: float
    triangles: float


#: What is counted, and the number of nodes of each.
FEATURES = {"edges": 2, "hairpins": 3, "tripins": 4, "triangles": 3}


@dataclass(frozen=True)
class Initiator:
    """The matrix [[a, b], [b, c]] and its Kronecker power.

    Parameters
    ----------
    a, b, c
        Its entries, from 0 to 1, a ≥ c.
    power
        How many binary digits a node has (r in the literature): there are 2^power nodes.
    """

    a: float
    b: float
    c: float
    power: int

    def __post_init__(self) -> None:
        if not (0 <= self.c <= self.a <= 1 and 0 <= self.b <= 1):
            raise ValueError(
                "the entries of an initiator lie between 0 and 1, a not below c; got "
                f"a = {self.a}, b = {self.b}, c = {self.c}"
            )
        if type(self.power) is not int or not 0 <= self.power <= 24:
            raise ValueError(
                f"the power of an initiator is a whole number to 24; got {self.power!r}"
            )

    @property
    def nodes(self) -> int:
        """The number of nodes of the whole graph."""
        return 1 << self.power

    def scaled(self, factor: float) -> Initiator:
        """Return the initiator whose pairs are joined with `factor` ≤ 1 times the probability."""
        each = factor ** (1 / self.power) if self.power else 1.0
        return Initiator(self.a * each, self.b * each, self.c * each, self.power)


def power_of(nodes: int) -> int:
    """Return the smallest power whose graph has at least so many nodes."""
    return max(nodes - 1, 0).bit_length()


def expected_features(initiator: Initiator, nodes: int | None = None) -> Features:
    """Return the expected counts of a graph.

    Parameters
    ----------
    initiator
        The initiator.
    nodes
        How many of the nodes the graph takes, at random; by default all.
    """
    a, b, c, power = initiator.a, initiator.b, initiator.c, initiator.power
    whole = whole_features(np.array([[a], [b], [c]]), power)[:, 0]
    kept = kept_share(initiator.nodes if nodes is None else nodes, initiator.nodes)
    # What is impossible comes out as the rounding of a difference.
    return Features(*(max(float(x), 0.0) for x in whole * kept))


def whole_features(entries: Any, r: int) -> Any:
    """Return the four expected counts of all 2^r nodes, one row each, for columns (a, b, c).

    Gleich & Owen, "Moment-based estimation of stochastic Kronecker graph parameters" (2012): sums
    over all tuples of nodes are powers of sums over tuples of digits, and tuples in which nodes
    are equal are taken out by inclusion and exclusion.
    """
    a, b, c = entries
    p, q = a + b, b + c
    a2, b2, c2 = a * a, b * b, c * c
    a3, b3, c3 = a2 * a, b2 * b, c2 * c
    edges = ((p + q) ** r - (a + c) ** r) / 2
    hairpins = (
        (p**2 + q**2) ** r - 2 * (a * p + c * q) ** r - (a2 + 2 * b2 + c2) ** r + 2 * (a2 + c2) ** r
    ) / 2
    tripins = (
        (p**3 + q**3) ** r
        - 3 * (a * p**2 + c * q**2) ** r
        - 3 * (a3 + c3 + b * (a2 + c2) + b2 * (a + c) + 2 * b3) ** r
        + 2 * (a3 + 2 * b3 + c3) ** r
        + 3 * (a3 + c3 + b2 * (a + c)) ** r
        + 6 * (a3 + c3 + b * (a2 + c2)) ** r
        - 6 * (a3 + c3) ** r
    ) / 6
    triangles = (
        (a3 + 3 * b2 * (a + c) + c3) ** r
        - 3 * (a * (a2 + b2) + c * (b2 + c2)) ** r
        + 2 * (a3 + c3) ** r
    ) / 6
    return np.stack([edges, hairpins, tripins, triangles])


def kept_share(nodes: int, whole: int) -> Floats:
    """Return which share of subgraphs has all of its nodes among `nodes` random ones."""
    return np.array([comb(nodes, size) / max(comb(whole, size), 1) for size in FEATURES.values()])
