"""What a graph told by randomised response is like: unbiased counts, and how far off they are.

Public: everything here is made of what was said. Sums over pairs of rows follow from the number of
noisy neighbours that two nodes share, a whole number, so that one matrix product of zeros and ones
serves them all (docs/proofs/graph-collection.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.pair_response import RandomizedPairs, pairs_at

__all__ = ["MOST_DENSE", "Guess", "NodeCounts", "PairEstimates"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The most nodes whose matrix is written out: single precision of 16,000 rows takes 1 GB.
MOST_DENSE = 16_000
#: Rows that are multiplied at a time.
BLOCK = 256


@dataclass(frozen=True)
class Guess:
    """An unbiased number and the standard deviation of its noise."""

    value: float
    deviation: float


@dataclass(frozen=True)
class NodeCounts:
    """What is counted at each node, and in the whole graph.

    Parameters
    ----------
    values, deviations
        For each node an unbiased number, and about how far it is off: one standard deviation.
    total
        The same for the whole graph, in which a triangle counts once.
    """

    values: Floats
    deviations: Floats
    total: Guess


class PairEstimates:
    """Unbiased estimates from randomised response on all pairs of nodes.

    Parameters
    ----------
    said
        The primitive: how many nodes, and how often a pair is turned over.
    output
        What it said.

    Notes
    -----
    With q = 1/(1 + e^ε) and p = 1 − q, the entry (Y − q)/(p − q) of a pair is unbiased with the
    variance σ² = e^ε/(e^ε − 1)², whether the pair is joined or not; pairs are independent, so
    products of entries of different pairs are unbiased, too.
    """

    def __init__(self, said: RandomizedPairs, output: NDArray[np.uint8]) -> None:
        self.nodes = said.nodes
        self._positions = said.positions(output)
        self._size = said.size
        contrast, flip = said.contrast, said.flip
        self._truth = 1 - flip
        #: The entries of pairs that are said to be joined, and of the others.
        self.high, self.low = (1 - flip) / contrast, -flip / contrast
        #: The standard deviation σ of an entry.
        self.deviation = math.sqrt(flip * (1 - flip)) / contrast

    @cached_property
    def pairs(self) -> Integers:
        """The pairs that are said to be joined, low < high."""
        return pairs_at(self._positions, self.nodes)

    @cached_property
    def _said_degrees(self) -> Floats:
        """How many pairs of each node are said to be joined."""
        return np.bincount(self.pairs.ravel(), minlength=self.nodes).astype(np.float64)

    @property
    def edges(self) -> Guess:
        """The number of edges; it may be negative, or too large."""
        ones = len(self._positions)
        value = ones * self.high + (self._size - ones) * self.low
        return Guess(value, self.deviation * math.sqrt(self._size))

    @property
    def possible_edges(self) -> int:
        """The number of edges, moved into the range that is possible and rounded."""
        return round(min(max(self.edges.value, 0.0), float(self._size)))

    @property
    def degrees(self) -> NodeCounts:
        """The degrees of the nodes, and their sum as twice the number of edges."""
        others = max(self.nodes - 1, 0)
        values = self._said_degrees * (self.high - self.low) + others * self.low
        off = np.full(self.nodes, self.deviation * math.sqrt(others))
        edges = self.edges
        return NodeCounts(values, off, Guess(2 * edges.value, 2 * edges.deviation))

    def adjacency(self) -> Floats:
        """Return the unbiased matrix, with zeros on its diagonal."""
        self._require_dense()
        matrix = np.full((self.nodes, self.nodes), self.low)
        low, high = self.pairs.T
        matrix[low, high] = matrix[high, low] = self.high
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def triangles(self) -> NodeCounts:
        """Return how many triangles each node is in, and how many there are."""
        self._require_dense()
        n, degrees = self.nodes, self.degrees.values
        values, common = self._triples()
        # The variance of each entry, of products of two, of products of three.
        one, two, three = (self.deviation ** (2 * power) for power in (1, 2, 3))
        edges = self.edges.value
        chance = three * comb(max(n - 1, 0), 2)
        each = one * (common + self._star_values(2)) + chance
        each += two * ((edges - degrees) + degrees * max(n - 2, 0))
        whole = one * common.sum() / 2 + two * edges * max(n - 2, 0) + three * comb(n, 3)
        return NodeCounts(
            values,
            np.sqrt(np.maximum(each, chance)),
            Guess(float(values.sum()) / 3, math.sqrt(max(whole, three * comb(n, 3)))),
        )

    def _triples(self) -> tuple[Floats, Floats]:
        """Return the triangles at each node, and Σ over others of squared common neighbours."""
        n, high, low = self.nodes, self.high, self.low
        said = np.zeros((n, n), dtype=np.float32)
        ends = self.pairs.T
        said[ends[0], ends[1]] = said[ends[1], ends[0]] = 1
        ones, squares = self._said_degrees, high**2 - low**2
        step = high - low
        triangles, common = np.zeros(n), np.zeros(n)
        for first in range(0, n, BLOCK):
            # What two nodes have in common is the same for both: half of the product will do.
            last = min(first + BLOCK, n)
            joined = said[first:last, first:].astype(np.float64)
            # Whole numbers below 2²⁴, which single precision adds exactly.
            both = (said[first:last] @ said[:, first:]).astype(np.float64)
            either = ones[first:last, None] + ones[None, first:] - 2 * joined
            # Σ over the n − 2 other nodes of products of two entries, and of their squares.
            shared = step**2 * both + step * low * either + (n - 2) * low**2
            squared = squares**2 * both + squares * low**2 * either + (n - 2) * low**4
            closed = (low + step * joined) * shared / 2
            found = shared**2 - squared + shared
            for part, sums in ((closed, triangles), (found, common)):
                np.fill_diagonal(part, 0.0)
                sums[first:last] += part.sum(axis=1)
                sums[last:] += part[:, last - first :].sum(axis=0)
        return triangles, common

    def stars(self, k: int = 2) -> NodeCounts:
        """Return how many stars of k edges each node is the middle of, and how many there are.

        Parameters
        ----------
        k
            The edges of a star, 2 or more.
        """
        if k < 2:
            raise ValueError(f"k must be at least 2 for a star; got {k}")
        values = self._star_values(k)
        others = max(self.nodes - 1, 0)
        degrees = np.clip(np.rint(self.degrees.values), 0, others)
        each = np.zeros(self.nodes)
        for noisy in range(1, k + 1):
            each += self.deviation ** (2 * noisy) * _star_noise(degrees, others, k, noisy)
        # One noisy pair moves the stars of both its ends together.
        together = 2 * self.deviation**2 * self._common_stars(degrees, k)
        least = self.deviation ** (2 * k) * comb(others, k)
        whole = max(float(each.sum()) + together, self.nodes * least)
        return NodeCounts(
            values,
            np.sqrt(np.maximum(each, least)),
            Guess(float(values.sum()), math.sqrt(whole)),
        )

    def _common_stars(self, degrees: Floats, k: int) -> float:
        """Return Σ over pairs of the product of how many stars the pair completes at its ends."""
        without, joined = _choose(degrees, k - 1), _choose(degrees - 1, k - 1)
        low, high = self.pairs.T
        more = joined[low] * joined[high] - without[low] * without[high]
        apart = _pair_products(joined) - _pair_products(without)
        seen = self.low * apart + (self.high - self.low) * float(more.sum())
        return max(_pair_products(without) + seen, 0.0)

    def _star_values(self, k: int) -> Floats:
        """Return the unbiased stars of each node: sums of products of k entries of its row."""
        ones, others = self._said_degrees, max(self.nodes - 1, 0)
        parts = [
            _choose(ones, many) * _choose(others - ones, k - many)
            * self.high**many * self.low ** (k - many)
            for many in range(k + 1)
        ]  # fmt: skip
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    def reconstruct(self, generator: np.random.Generator, *, edges: int | None = None) -> Integers:
        """Return a simple graph with about as many edges: a share p of them from those said.

        Parameters
        ----------
        generator
            Where the choice of pairs comes from.
        edges
            How many edges it has; by default `possible_edges`.
        """
        wanted = self.possible_edges if edges is None else edges
        said = len(self._positions)
        kept = min(round(wanted * self._truth), said)
        # What one side cannot give, the other does.
        kept = max(kept, wanted - (self._size - said))
        chosen = generator.choice(self._positions, size=kept, replace=False)
        fresh = _outside(self._positions, self._size, wanted - kept, generator)
        return pairs_at(np.sort(np.concatenate([chosen, fresh])), self.nodes)

    def _require_dense(self) -> None:
        if self.nodes > MOST_DENSE:
            raise ValueError(
                f"the dense matrix of a graph is available for at most {MOST_DENSE:,} nodes; got "
                f"{self.nodes:,}"
            )


def _choose(many: Floats, k: int) -> Floats:
    """Return binomial coefficients of whole numbers, 0 where there are too few."""
    found = np.ones_like(many)
    for less in range(k):
        found = found * np.maximum(many - less, 0) / (less + 1)
    return found


def _star_noise(degrees: Floats, others: int, k: int, noisy: int) -> Floats:
    """Return Σ over sets of noisy pairs of the squared number of stars that they complete."""
    found = np.zeros_like(degrees)
    for joined in range(noisy + 1):
        sets = _choose(degrees, joined) * _choose(others - degrees, noisy - joined)
        found += sets * _choose(degrees - joined, k - noisy) ** 2
    return found


def _pair_products(values: Floats) -> float:
    """Return Σ over i < j of the products of two values."""
    return float(values.sum() ** 2 - (values**2).sum()) / 2


def _outside(taken: Integers, size: int, many: int, generator: np.random.Generator) -> Integers:
    """Return so many different positions that are not taken, sorted."""
    # The r-th free position is r and the number of those taken before it.
    ranks = np.sort(generator.choice(size - len(taken), size=many, replace=False))
    before = taken - np.arange(len(taken))
    return np.asarray(ranks + np.searchsorted(before, ranks, side="right"), dtype=np.int64)
