"""The directions that are left once some were said: a public basis of their complement.

Everything here is a function of what was said, in integers, so that every machine finds the same.
The basis is orthonormal up to its rounding, and how far from it is part of the sensitivity
(docs/proofs/sbmf.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.bingham import GRID_BITS, BinghamDirection

__all__ = ["Complement", "whole_space"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Binary digits after the point of the basis as it is carried along, and as it meets the data.
CARRIED_BITS = 60
BASIS_BITS = 26


@dataclass(frozen=True)
class Complement:
    """A subspace with a basis, the columns of a matrix N.

    Parameters
    ----------
    columns
        N in units of 2⁻⁶⁰: Python integers, one row for each node.
    """

    columns: NDArray[np.object_]

    @property
    def dimension(self) -> int:
        """The dimension of the subspace."""
        return int(self.columns.shape[1])

    @property
    def is_whole(self) -> bool:
        """Whether nothing was said yet: the basis is that of the nodes."""
        return self.dimension == len(self.columns)

    @cached_property
    def _rounded(self) -> Integers64:
        """N in units of 2⁻²⁶, the matrix that meets the data."""
        drop = CARRIED_BITS - BASIS_BITS
        return np.asarray((self.columns + (1 << (drop - 1))) >> drop, dtype=np.int64)

    @cached_property
    def sensitivity(self) -> Fraction:
        """A bound on 2|uₐuᵦ| at u = Nz for unit vectors z: the largest row sum of |NᵀN|."""
        gram = np.abs(self._rounded.T @ self._rounded)
        return Fraction(int(gram.sum(axis=1).max()), 1 << (2 * BASIS_BITS))

    def primitive(self, epsilon: Fraction) -> BinghamDirection:
        """Return what says the next direction for a loss."""
        if self.is_whole:
            return BinghamDirection(
                dimension=self.dimension, sensitivity=Fraction(1), epsilon=epsilon, adjacency=True
            )
        return BinghamDirection(
            dimension=self.dimension,
            bits=2 * BASIS_BITS,
            sensitivity=self.sensitivity,
            epsilon=epsilon,
        )

    def form(self, adjacency: Any) -> Integers64:
        """Return NᵀAN in units of 2⁻⁵², exactly, or A itself for the whole space; it is private.

        No sum exceeds 2⁵²·(nodes) < 2⁶³, by Cauchy's inequality.
        """
        if self.is_whole:
            full = adjacency if isinstance(adjacency, np.ndarray) else adjacency.toarray()
            return np.asarray(full, dtype=np.int64)
        moved = adjacency @ self._rounded
        return np.asarray(self._rounded.T @ moved, dtype=np.int64)

    def vector(self, said: Integers64) -> Floats:
        """Return the unit vector over the nodes that a said direction stands for."""
        direction = np.asarray(said, dtype=np.float64)
        direction = direction / np.linalg.norm(direction)
        return np.asarray(np.ldexp(self.columns.astype(np.float64), -CARRIED_BITS) @ direction)

    def without(self, said: Integers64) -> Complement:
        """Return the part of the subspace that is orthogonal to a said direction.

        The reflection I − 2wwᵀ/wᵀw with w = z + sign(z₁)‖z‖e₁ takes the first basis vector to the
        direction of z, hence the others to a basis of what is orthogonal to it.
        """
        w = np.array([int(part) << (CARRIED_BITS - GRID_BITS) for part in said], dtype=object)
        length = math.isqrt(int((w * w).sum()))
        w[0] += length if w[0] >= 0 else -length
        squared = int((w * w).sum())
        moved = self.columns @ w
        return Complement(self.columns[:, 1:] - 2 * np.outer(moved, w[1:]) // squared)


def whole_space(nodes: int) -> Complement:
    """Return the space of all vectors over the nodes."""
    columns = np.zeros((nodes, nodes), dtype=object)
    np.fill_diagonal(columns, 1 << CARRIED_BITS)
    return Complement(columns)
