"""The proposal of a Bingham draw: found with floats, proved in integers.

The angular central Gaussian law that serves a form κ·xᵀSx best has the eigenvectors of S and the
inverse variances 1 + 2Lᵢ/b, with Lᵢ the distances of the eigenvalues of κS to the largest and b the
root of Σ 1/(b + 2Lᵢ) = 1 (Kent, Ganeiber and Mardia, 2018). Floats find them; what they found is
then taken as exact numbers, and the bound that the sampler needs is proved for those numbers in
integers (docs/proofs/sbmf.md). A poor proposal costs time and never the law.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.bingham_law import saddle_point
from sfumato.noise.bingham import Envelope, Form

__all__ = ["MOST_DIMENSIONS", "find_envelope"]

Floats = NDArray[np.float64]
Integers = NDArray[np.object_]

#: Binary digits after the point of the eigenvectors and of the stretches.
VECTOR_BITS = 42
STRETCH_BITS = 60
#: Integers are multiplied in pieces of so many bits, so that floats add them without rounding.
LIMB = 22
#: Up to so many products of pieces are summed exactly by floats: 2·LIMB + 9 bits are 53.
MOST_DIMENSIONS = 2**9
#: The first margin of the bound over what floats say, relative to the size of the form.
MARGIN = 2.0**-36


def find_envelope(form: Form) -> Envelope:
    """Return a proposal for a form, with a bound that is proved.

    Parameters
    ----------
    form
        The private form.
    """
    scale = float(form.factor)
    values, found = _eigenpairs(form.units.astype(np.float64) * scale)
    gaps = values[-1] - values
    # b is twice the root of Σ 1/(2(s + Lᵢ)) = 1.
    shape = 2 * saddle_point(gaps)
    vectors = np.rint(np.ldexp(found, VECTOR_BITS)).astype(np.int64)
    stretches = np.rint(np.ldexp(1 / np.sqrt(1 + 2 * gaps / shape), STRETCH_BITS))
    exact_stretches = np.maximum(stretches, 1.0).astype(np.int64).astype(object)
    exact_shape = Fraction(shape)
    certificate = _Certificate(form, vectors, exact_stretches, exact_shape)
    margin = MARGIN * (1 + float(np.abs(values).max()))
    while True:
        top = Fraction(float(values[-1]) + shape / 2 + margin)
        if certificate.proves(top):
            break
        margin *= 4
    exponent = VECTOR_BITS + STRETCH_BITS
    return Envelope(vectors.astype(object), exact_stretches, exponent, exact_shape, top)


def _eigenpairs(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues, from the smallest, and eigenvectors as floats find them.

    If one algorithm does not settle another does; what they return is proved afterwards.
    """
    from scipy.linalg import LinAlgError, eigh

    for driver in ("evd", "evr", "ev"):
        try:
            values, vectors = eigh(matrix, driver=driver)
        except LinAlgError:
            continue
        return values, vectors
    raise ArithmeticError("no eigensolver settled")


class _Certificate:
    """What the proof of a bound μ needs, computed once.

    With M = V·diag(d), κS + (b/2)(MMᵀ)⁻¹ ≤ μ holds if Mᵀ(μ − κS)M ≥ b/2, and that, rows and columns
    divided by d, if W = μVᵀV − κVᵀSV − diag(b/2d²) is diagonally dominant. M is nonsingular then.
    """

    def __init__(
        self, form: Form, vectors: NDArray[np.int64], stretches: Integers, shape: Fraction
    ) -> None:
        right = _pieces(vectors)
        left = [piece.T for piece in right]
        moved = _product(_pieces(form.units.astype(np.int64)), right)
        self._gram = _join_pieces(_product(left, right))
        self._turned = _join_pieces(_product(left, moved))
        self._factor = form.factor
        # b/(2d²) in the units of VᵀV, rounded up; d is in units of 2^−STRETCH_BITS.
        unit = shape.numerator << (2 * VECTOR_BITS + 2 * STRETCH_BITS - 1)
        self._needs = np.array(
            [-(-unit // (shape.denominator * int(d) * int(d))) for d in stretches], dtype=object
        )

    def proves(self, top: Fraction) -> bool:
        """Tell whether W is diagonally dominant with this μ."""
        common = lcm(top.denominator, self._factor.denominator)
        weighed = self._gram * int(top * common) - self._turned * int(self._factor * common)
        diagonal = weighed.diagonal() - self._needs * common
        others = np.abs(weighed).sum(axis=1) - np.abs(weighed.diagonal())
        return bool((diagonal >= others).all())


def _pieces(matrix: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut integers into pieces of 22 bits, the lowest first; the highest carries the sign."""
    return _carry([matrix])


def _carry(pieces: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return the same integers with every piece but the last between 0 and 2²² − 1."""
    clean = []
    carry = np.zeros_like(pieces[0])
    rest = list(pieces)
    while rest or (np.abs(carry) >= 2**LIMB).any():
        whole = (rest.pop(0) if rest else 0) + carry
        clean.append(whole & (2**LIMB - 1))
        carry = whole >> LIMB
    return [*clean, carry]


def _product(
    left: list[NDArray[np.int64]], right: list[NDArray[np.int64]]
) -> list[NDArray[np.int64]]:
    """Multiply two matrices in pieces: each product of pieces is a sum below 2⁵³, so exact."""
    sums = [
        np.zeros((left[0].shape[0], right[0].shape[1]), dtype=np.int64)
        for _ in range(len(left) + len(right) - 1)
    ]
    floats = [piece.astype(np.float64) for piece in right]
    for i, first in enumerate(left):
        row = first.astype(np.float64)
        for j, second in enumerate(floats):
            sums[i + j] += (row @ second).astype(np.int64)
    return _carry(sums)


def _join_pieces(pieces: list[NDArray[np.int64]]) -> Integers:
    """Return the integers that pieces stand for."""
    total = pieces[-1].astype(object)
    for piece in pieces[-2::-1]:
        total = total * (1 << LIMB) + piece.astype(object)
    return total
