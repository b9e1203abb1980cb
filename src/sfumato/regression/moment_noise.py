"""Normal noise on the second moments of rows: how wide it is, for all of them together.

What is measured is the matrix Σ x xᵀ and one or several vectors Σ r x, with |r| at most a public
bound. The matrix is given by its upper triangle, the products of two features multiplied by 99 and
the squares by 70, nearly the square root of 2 apart: noise of one width on all of them then is
noise that no rotation of the features changes. Sensitivities: docs/proofs/adassp.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.guarantee import Relation
from sfumato.regression.rows import ROW

__all__ = ["MomentNoise", "Widths", "joint"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Weights of squares and of products of two features: 99² is 2·70² + 1.
SQUARE, PRODUCT = 70, 99
#: The largest weight of a vector, so that sums stay within 64 bits.
HEAVIEST = 2**20


def joint(matrix: Fraction, vectors: Fraction, relation: Relation) -> Fraction:
    """Return how far one record moves the matrix and the vectors together, squared.

    Parameters
    ----------
    matrix
        a: the squared distance by which one record alone moves the matrix.
    vectors
        b: that by which it moves all vectors.
    relation
        What a neighbour is: a + b for a record added or removed; for one replaced the largest
        value of 2a(1 − c²) + 2b(1 + c) over the cosine c from 0 to 1 of the angle between the old
        row and the new one turned round.

    Examples
    --------
    >>> joint(Fraction(1), Fraction(1), Relation.REPLACE_ONE)
    Fraction(9, 2)
    """
    if relation is Relation.ADD_REMOVE:
        return matrix + vectors
    if vectors <= 2 * matrix:
        return 2 * matrix + 2 * vectors + vectors * vectors / (2 * matrix)
    return 4 * vectors


@dataclass(frozen=True)
class Widths:
    """Standard deviations of the noise, for rows of length 1 and answers of 1.

    Parameters
    ----------
    square, product
        That on a square on the diagonal of the matrix, and on a product beside it.
    vector
        That on an entry of a vector.
    """

    square: float
    product: float
    vector: float

    def symmetric(self, dimension: int, generator: Any) -> Floats:
        """Return a symmetric matrix of ordinary floating-point noise, for rehearsals."""
        upper = np.triu(generator.normal(0.0, self.product, (dimension, dimension)), 1)
        squares = np.diag(generator.normal(0.0, self.square, dimension))
        return np.asarray(upper + upper.T + squares)


@dataclass(frozen=True)
class MomentNoise:
    """How a matrix and vectors of one dimension are weighed, and how far one record moves them.

    Parameters
    ----------
    dimension
        How many features there are.
    relation
        What a neighbour is.
    bound
        The largest factor r of a row in a vector, in whole units.
    vectors
        How many vectors there are.
    weight
        The whole weight of the vectors.
    """

    dimension: int
    relation: Relation
    bound: int
    vectors: int
    weight: int

    @classmethod
    def balance_weight(
        cls, dimension: int, relation: Relation, *, bound: int, vectors: int, balance: float
    ) -> MomentNoise:
        """Return the weight with which all vectors move `balance` times as far as the matrix.

        Distances are squared ones; the weight is rounded to a whole number.
        """
        wanted = SQUARE * ROW / bound * math.sqrt(balance / vectors)
        weight = min(max(round(wanted), 1), HEAVIEST)
        return cls(dimension, relation, bound, vectors, weight)

    @property
    def squared_sensitivity(self) -> Fraction:
        """How far one record moves everything that is measured, squared, in weighed units."""
        matrix = Fraction(PRODUCT**2, 2) * ROW**4
        vectors = Fraction(self.vectors * self.weight**2 * ROW**2 * self.bound**2)
        return joint(matrix, vectors, self.relation)

    @property
    def triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows and columns of the upper triangle."""
        return np.triu_indices(self.dimension)

    @property
    def entries(self) -> int:
        """How many entries the upper triangle has."""
        return self.dimension * (self.dimension + 1) // 2

    @property
    def matrix_weights(self) -> Integers64:
        """The whole weights of the upper triangle of Σ x xᵀ."""
        rows, columns = self.triangle
        return np.where(rows == columns, SQUARE, PRODUCT).astype(np.int64)

    @property
    def vector_weights(self) -> Integers64:
        """The whole weights of a vector Σ r x."""
        return np.full(self.dimension, self.weight, dtype=np.int64)

    def matrix(self, said: Integers64) -> Floats:
        """Return the noisy matrix, for rows of length 1."""
        found = np.zeros((self.dimension, self.dimension))
        found[self.triangle] = said / self.matrix_weights / ROW**2
        return np.asarray(found + np.triu(found, 1).T)

    def vector(self, said: Integers64) -> Floats:
        """Return a noisy vector, for rows of length 1 and a bound of 1."""
        return np.asarray(said / (self.weight * ROW * self.bound))

    def widths(self, deviation: float) -> Widths:
        """Return the noise on what is read, from that on what is said."""
        return Widths(
            deviation / SQUARE / ROW**2,
            deviation / PRODUCT / ROW**2,
            deviation / (self.weight * ROW * self.bound),
        )
