"""How far one record moves the sufficient statistics of clipped rows: exact public arithmetic.

A record is a row z of p numbers within ±1 and an answer u within ±1; its statistics are the upper
triangle of z zᵀ, the products u z, and u². They are weighed so that together they may move by

    A = a·p(p+1)/2 from the matrix, D = b·p from the products, C = c from the square,

where a, b, c are the weights of one entry. The three never move by their most at once: what they
can do together is proved on docs/proofs/robust-regression.md. Everything here is a function of
public numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.noise.exact import exact
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Number

__all__ = ["Parts", "joint", "joint_many", "sparse"]


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
