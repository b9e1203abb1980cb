"""Sums over rows that are clipped to a box, and the noise on them.

Every entry of a row is clipped to ± a public threshold in whole units; the upper triangle of
Σ z zᵀ, the products Σ u z and the square Σ u² are whole numbers, weighed by whole numbers and
measured by one primitive (docs/proofs/robust-regression.md). A box is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.noise.exact import exact
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Number
from sfumato.regression.bayesian import Statistics
from sfumato.regression.queries import RowSums
from sfumato.regression.rows import ANSWER, ROW, RowRule

__all__ = ["Box", "published_split"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Whole weights are so large that rounding them hardly matters, and no larger than the limit.
FINE, LARGEST_WEIGHT = 32, 2**20


def published_split(shares: Parts) -> Parts:
    """Return in which proportion published noise scales make the statistics share the loss.

    The published bounds are twice the true ones for the matrix, and for the products twice what a
    record adds, so that these two get half the weight that their shares say.
    """
    return Parts(shares.matrix / 2, shares.products / 2, shares.square)


@dataclass(frozen=True)
class Box:
    """Which statistics are measured, and how they are weighed. Public.

    Parameters
    ----------
    dimension
        p, how many features there are.
    filled
        How many entries of a row may differ from 0.
    entry
        The threshold of an entry, in units of 1/`ROW`.
    weights
        The whole weights of an entry of the matrix, of a product and of the square.
    """

    dimension: int
    filled: int
    entry: int
    weights: tuple[int, int, int]

    @classmethod
    def of(cls, dimension: int, filled: int, entry: int, split: Parts) -> Box:
        """Return the box in which the parts share the loss as a split says.

        Parameters
        ----------
        dimension, filled, entry
            As in the box.
        split
            Shares of the three statistics; only their proportions count.
        """
        if not 1 <= entry <= ROW or not 1 <= filled <= dimension:
            raise ValueError(
                f"a threshold must be from 1 to {ROW} units and rows filled by 1 to {dimension} "
                f"entries; got {entry} and {filled}"
            )
        one = cls(dimension, filled, entry, (1, 1, 1)).parts(filled)
        rates = [
            split.matrix / one.matrix,
            split.products / one.products,
            split.square / one.square,
        ]
        if min(rates) <= 0:
            raise ValueError("every statistic needs a share of the loss above 0")
        unit = min(FINE / min(rates), LARGEST_WEIGHT / max(rates))
        first, second, third = (max(1, round(rate * unit)) for rate in rates)
        return cls(dimension, filled, entry, (first, second, third))

    def parts(self, entries: int) -> Parts:
        """Return A, D and C for rows of which so many entries are not 0."""
        matrix, products, square = self.weights
        return Parts(
            Fraction(matrix * entries * (entries + 1) // 2 * self.entry**2),
            Fraction(products * entries * self.entry * ANSWER),
            Fraction(square * ANSWER**2),
        )

    def sensitivity(self, relation: Relation) -> Fraction:
        """Return a bound on how far one record moves the weighed statistics in L1."""
        dense = joint(self.parts(self.dimension), relation)
        return min(dense, sparse(self.parts(self.filled), relation))

    def noise(self, epsilon: Fraction, relation: Relation) -> GeometricNoise:
        """Return the noise on the weighed statistics."""
        size = self.dimension * (self.dimension + 1) // 2 + self.dimension + 1
        return GeometricNoise(
            shape=(size,), sensitivity=self.sensitivity(relation), epsilon=epsilon
        )

    @property
    def _each(self) -> Integers64:
        """The weight of every number that is measured, in order."""
        triangle = self.dimension * (self.dimension + 1) // 2
        return np.repeat(np.array(self.weights, dtype=np.int64), [triangle, self.dimension, 1])

    def query(self, rule: RowRule) -> RowSums:
        """Return which sums are asked for, of rows clipped to the box."""
        return RowSums(
            rule=rule,
            parts=("matrix", "products", "square"),
            weights=self._each,
            entry=self.entry,
        )

    def read(self, noisy: Integers64, noise: GeometricNoise, records: float) -> Statistics:
        """Return noisy statistics of rows in thresholds and answers of 1.

        Parameters
        ----------
        noisy
            What the primitive said.
        noise
            The noise on it.
        records
            How many records there are, about.
        """
        p = self.dimension
        # Very wide noise is said in whole numbers of any size.
        found = np.asarray(noisy, dtype=np.float64) / self._each
        triangle = p * (p + 1) // 2
        xx = np.zeros((p, p))
        xx[np.triu_indices(p)] = found[:triangle] / self.entry**2
        xx = xx + np.triu(xx, 1).T
        xy = found[triangle:-1] / (self.entry * ANSWER)
        return Statistics(xx, xy, float(found[-1]) / ANSWER**2, records, self.scales(noise))

    def scales(self, noise: GeometricNoise) -> tuple[float, float, float]:
        """Return the Laplace scales of the noise, for rows in thresholds and answers of 1."""
        matrix, products, square = self.weights
        scale = float(noise.scale)
        return (
            scale / matrix / self.entry**2,
            scale / products / (self.entry * ANSWER),
            scale / square / ANSWER**2,
        )


# How far one record moves the sufficient statistics of clipped rows: exact public arithmetic.
#
# A record is a row z of p numbers within ±1 and an answer u within ±1; its statistics are the
# upper triangle of z zᵀ, the products u z, and u². They are weighed so that together they may move
# by
#
# A = a·p(p+1)/2 from the matrix, D = b·p from the products, C = c from the square,
#
# where a, b, c are the weights of one entry. The three never move by their most at once: what they
# can do together is proved on docs/proofs/robust-regression.md. Everything here is a function of
# public numbers.


@dataclass(frozen=True)
class Parts:
    """What a record adds to the weighed statistics at most, part by part.

    Parameters
    ----------
    matrix
        A, from the upper triangle of z zᵀ.
    products
        D, from u z.
    square
        C, from u².
    """

    matrix: Fraction
    products: Fraction
    square: Fraction

    @classmethod
    def of(cls, matrix: Number, products: Number, square: Number) -> Parts:
        """Return parts of any exact numbers."""
        found = cls(exact(matrix), exact(products), exact(square))
        if min(found.matrix, found.products, found.square) < 0:
            raise ValueError("what a record adds to a statistic cannot be negative")
        return found

    @property
    def total(self) -> Fraction:
        """What all parts add up to."""
        return self.matrix + self.products + self.square

    def times(self, factor: Fraction) -> Parts:
        """Return the parts of statistics that weigh so many times more."""
        return Parts(self.matrix * factor, self.products * factor, self.square * factor)


def joint(parts: Parts, relation: Relation) -> Fraction:
    """Return the most by which one record moves all weighed statistics in L1, attained.

    Added or removed it is A + C + D. Replaced it is the largest of A(1 − e²) + C(1 − f²) +
    D(1 − ef) over e and f from −1 to 1.

    Parameters
    ----------
    parts
        A, D and C.
    relation
        What a neighbour is.
    """
    if relation is Relation.ADD_REMOVE:
        return parts.total
    matrix, products, square = parts.matrix, parts.products, parts.square
    if products**2 <= 4 * matrix * square:
        return parts.total
    larger = max(matrix, square)
    if products <= 2 * larger:
        return larger + products + products**2 / (4 * larger)
    return 2 * products


def sparse(parts: Parts, relation: Relation) -> Fraction:
    """Return a bound for rows of which only some entries are not 0, wherever these are.

    Parameters
    ----------
    parts
        A, D and C, with the most entries that are not 0 in place of p.
    relation
        What a neighbour is.
    """
    if relation is Relation.ADD_REMOVE:
        return parts.total
    # Two rows may have their entries in different places; the square is one number either way.
    return 2 * parts.matrix + 2 * parts.products + parts.square


def joint_many(
    matrix: Number, responses: Sequence[tuple[Number, Number]], relation: Relation
) -> Fraction:
    """Return the joint bound where one matrix serves several answers of each record, attained.

    Replaced it is the largest over t from 0 to 1 of A(1 − t²) + Σ g(t), where an answer with D and
    C has g(t) = C + D + D²t²/4C as long as D·t ≤ 2C, and D(1 + t) beyond.

    Parameters
    ----------
    matrix
        A.
    responses
        D and C of every answer.
    relation
        What a neighbour is.
    """
    square = exact(matrix)
    pairs = [(exact(products), exact(own)) for products, own in responses]
    if square < 0 or any(min(pair) < 0 for pair in pairs):
        raise ValueError("what a record adds to a statistic cannot be negative")
    if relation is Relation.ADD_REMOVE:
        return square + sum((d + c for d, c in pairs), Fraction(0))
    # On each piece between two of the places 2C/D the sum is a parabola: a·t² + b·t + k.
    turning = sorted((2 * c / d, d, c) for d, c in pairs if d > 0)
    curve = -square + sum((d * d / (4 * c) for _, d, c in turning if c > 0), Fraction(0))
    slope = sum((d for place, d, _ in turning if place == 0), Fraction(0))
    constant = square + sum((c + d for d, c in pairs), Fraction(0))
    largest, left = constant, Fraction(0)
    for place, d, c in [*turning, (Fraction(1), Fraction(0), Fraction(0))]:
        right = min(place, Fraction(1))
        peak = slope / (-2 * curve) if curve < 0 else right
        for t in (right, min(max(peak, left), right)):
            largest = max(largest, curve * t * t + slope * t + constant)
        if place >= 1:
            break
        if place > 0:
            curve, slope, constant = curve - d * d / (4 * c), slope + d, constant - c
        left = right
    return largest
