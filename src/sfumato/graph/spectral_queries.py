"""What programs may ask of the adjacency matrix of a graph: its entries and its eigenpairs.

Each is a frozen public value. What it returns is exact and private, and goes to a primitive only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph
from sfumato.engines.counts import GraphCounts
from sfumato.graph.eigen import CertifiedSpectrum, certified_spectrum, in_steps
from sfumato.mechanisms.bingham_basis import Complement
from sfumato.mechanisms.pair_response import pair_positions
from sfumato.mechanisms.real import units_of
from sfumato.privacy.program import Query

__all__ = [
    "AdjacencyForm",
    "AdjacencyMatrix",
    "EigenvalueGap",
    "Eigenvector",
    "JoinedPairs",
    "LargestEigenvalues",
    "PairIndicators",
    "leading_spectrum",
]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class JoinedPairs(Query):
    """Which pairs of nodes are joined, by their places among all pairs in lexicographic order."""

    def answer(self, data: Graph) -> Integers:
        """Return the places of the edges."""
        return pair_positions(data.counts.pairs(), data.counts.nodes)


@dataclass(frozen=True)
class PairIndicators(Query):
    """For every pair of nodes in lexicographic order, 1 if it is joined, else 0."""

    def answer(self, data: Graph) -> Integers:
        """Return an entry for every pair."""
        joined = np.zeros(comb(data.counts.nodes, 2), dtype=np.int64)
        joined[pair_positions(data.counts.pairs(), data.counts.nodes)] = 1
        return joined


@dataclass(frozen=True)
class AdjacencyMatrix(Query):
    """The symmetric matrix A of 0 and 1."""

    def answer(self, data: Graph) -> Integers:
        """Return the whole matrix."""
        return np.asarray(data.counts.adjacency.toarray(), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AdjacencyForm(Query):
    """The quadratic form of the adjacency matrix on a public subspace: NᵀAN for its basis N."""

    space: Complement

    def answer(self, data: Graph) -> Integers:
        """Return the form, exactly, in units of the basis."""
        return self.space.form(data.counts.adjacency)


def leading_spectrum(graph: GraphCounts, k: int) -> CertifiedSpectrum:
    """Return all eigenvalues and k leading eigenvectors. Private; kept while the graph lives."""
    kept = graph.recall(CertifiedSpectrum, dict[int, CertifiedSpectrum])
    if k not in kept:
        whole = certified_spectrum(graph)
        kept[k] = CertifiedSpectrum(whole.values, whole.vectors[:, :k].copy())
    return kept[k]


@dataclass(frozen=True)
class LargestEigenvalues(Query):
    """The largest eigenvalues of the adjacency matrix.

    Parameters
    ----------
    k
        How many.
    exponent
        They are rounded to multiples of 2 to this power.
    """

    k: int
    exponent: int

    def answer(self, data: Graph) -> Integers:
        """Return them from the largest, in steps of the grid."""
        return units_of(leading_spectrum(data.counts, self.k).values[: self.k], self.exponent)


@dataclass(frozen=True)
class EigenvalueGap(Query):
    """How far an eigenvalue is from those next to it, as an array of one number.

    Parameters
    ----------
    k
        How many eigenpairs the program asks for.
    rank
        Which of them, from 0.
    exponent
        The gap is rounded to multiples of 2 to this power.
    """

    k: int
    rank: int
    exponent: int

    def answer(self, data: Graph) -> Integers:
        """Return the gap in steps of the grid."""
        gap = leading_spectrum(data.counts, self.k).gap(self.rank)
        return units_of(np.array([gap]), self.exponent)


@dataclass(frozen=True)
class Eigenvector(Query):
    """An eigenvector of the adjacency matrix, in whole steps.

    Parameters
    ----------
    k, rank
        As for `EigenvalueGap`.
    radius
        How many steps are in length 1.
    """

    k: int
    rank: int
    radius: int

    def answer(self, data: Graph) -> Integers:
        """Return the vector, no longer than the radius."""
        return in_steps(leading_spectrum(data.counts, self.k).vectors[:, self.rank], self.radius)
