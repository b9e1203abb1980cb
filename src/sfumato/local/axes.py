"""The law of several reports of one person, one for each question, randomised independently.

A table of k₁ × … × k_s counts is inverted axis by axis; the Kronecker product of the matrices is
never formed. The cells are in C order: the last question runs fastest. Post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sfumato.local.law import Floats, MatrixLaw, PureLaw, beside

__all__ = ["AxisLaws", "FlatLaw"]


@dataclass(frozen=True)
class AxisLaws:
    """Reports on several questions, each with its own law and its own coins.

    Parameters
    ----------
    laws
        The law of each question's reports; each report is one answer.
    """

    laws: tuple[PureLaw | MatrixLaw, ...]

    def __post_init__(self) -> None:
        for law in self.laws:
            if isinstance(law, PureLaw) and not law.exclusive:
                raise ValueError(
                    "a table of several questions needs reports that are themselves answers; use "
                    "design='RandomizedResponse' or how='joint'"
                )
            if isinstance(law, MatrixLaw) and law.matrix.shape[0] != law.matrix.shape[1]:
                raise ValueError("a table of several questions needs square design matrices")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table."""
        return tuple(law.shape[0] for law in self.laws)

    def shares(self, reported: Floats) -> Floats:
        """Return (P₁⁻¹ ⊗ … ⊗ P_s⁻¹)λ."""
        table = reported.reshape(self.shape)
        for axis, law in enumerate(self.laws):
            table = _apply_inverse(law, table, axis)
        return table

    def reported_shares(self, shares: Floats) -> Floats:
        """Return (P₁ ⊗ … ⊗ P_s)π."""
        table = shares.reshape(self.shape)
        for axis, law in enumerate(self.laws):
            if isinstance(law, PureLaw):
                whole = table.sum(axis=axis, keepdims=True)
                table = law.gap * table + float(law.q) * whole
            else:
                table = _along(law.matrix, table, axis)
        return table

    def spread(self, shares: Floats, *, population: bool) -> Floats:
        """Return n times the variance of each cell: ⊗(P⁻¹)² on λ, less π² or less π."""
        table = self.reported_shares(shares)
        for axis, law in enumerate(self.laws):
            table = _apply_squared_inverse(law, table, axis)
        return table - (shares**2 if population else shares)

    def spread_beside(self, shares: Floats) -> Floats:
        """Return n times the variance of each cell where nobody is in it."""
        return beside(shares, self.spread(shares, population=False), self.spread_sure())

    def spread_sure(self) -> Floats:
        """Return n times the variance of each cell where all are in it."""
        whole = np.ones(())
        for law in self.laws:
            whole = np.multiply.outer(whole, law.spread_sure() + 1)
        return whole - 1

    def weight(self) -> Floats:
        """Return by how much one report for another moves n times each cell at most."""
        low, high = np.ones(()), np.ones(())
        for law in self.laws:
            ends = [np.multiply.outer(one, end) for one in (low, high) for end in _entries(law)]
            low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
        return high - low

    def spread_along(self, gradient: Floats, shares: Floats, *, population: bool) -> float:
        """Return Σ λh² − (Σ πg)², or less Σ πg² for the sample, with h = ⊗P⁻ᵀ g."""
        centred = gradient.reshape(self.shape) - gradient.mean()
        h = centred
        for axis, law in enumerate(self.laws):
            h = _apply_transposed_inverse(law, h, axis)
        whole = float((self.reported_shares(shares) * h**2).sum())
        if population:
            return whole - float((shares * centred).sum()) ** 2
        return whole - float((shares * centred**2).sum())


@dataclass(frozen=True)
class FlatLaw:
    """The law of one report on several questions at once, as a table.

    Parameters
    ----------
    law
        The law over all combinations of answers, the last question running fastest.
    shape
        How many answers each question has.
    """

    law: PureLaw | MatrixLaw
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.law.shape != (prod(self.shape),):
            raise ValueError(
                f"{' × '.join(map(str, self.shape))} combinations are {prod(self.shape)}; the "
                f"design has {self.law.shape[0]} answers"
            )

    def shares(self, reported: Floats) -> Floats:
        """Return the unbiased shares as a table."""
        return self.law.shares(reported.ravel()).reshape(self.shape)

    def reported_shares(self, shares: Floats) -> Floats:
        """Return the expected shares of reports as a table."""
        return self.law.reported_shares(shares.ravel()).reshape(self.shape)

    def spread(self, shares: Floats, *, population: bool) -> Floats:
        """Return n times the variance of each cell."""
        return self.law.spread(shares.ravel(), population=population).reshape(self.shape)

    def spread_beside(self, shares: Floats) -> Floats:
        """Return n times the variance of each cell where nobody is in it."""
        return self.law.spread_beside(shares.ravel()).reshape(self.shape)

    def spread_sure(self) -> Floats:
        """Return n times the variance of each cell where all are in it."""
        return self.law.spread_sure().reshape(self.shape)

    def weight(self) -> Floats:
        """Return by how much one report for another moves n times each cell at most."""
        return self.law.weight().reshape(self.shape)

    def spread_along(self, gradient: Floats, shares: Floats, *, population: bool) -> float:
        """Return n times the variance of Σ gradient·share."""
        return self.law.spread_along(gradient.ravel(), shares.ravel(), population=population)


def _along(matrix: Floats, table: Floats, axis: int) -> Floats:
    """Return a matrix applied along one axis of a table."""
    return np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)


def _entries(law: PureLaw | MatrixLaw) -> tuple[Floats, Floats]:
    """Return the least and the largest entry of each row of P⁻¹."""
    if isinstance(law, MatrixLaw):
        return law.inverse.min(axis=1), law.inverse.max(axis=1)
    if law.k == 1:
        return np.ones(1), np.ones(1)
    q = float(law.q)
    return np.full(law.k, -q / law.gap), np.full(law.k, float(1 - law.q) / law.gap)


def _apply_inverse(law: PureLaw | MatrixLaw, table: Floats, axis: int) -> Floats:
    """Return P⁻¹ along one axis; for randomised response (T − q·ΣT)/(p − q)."""
    if isinstance(law, MatrixLaw):
        return _along(law.inverse, table, axis)
    if law.k == 1:
        return table
    if law.gap == 0:
        law.shares(np.zeros(law.k))
    whole = table.sum(axis=axis, keepdims=True)
    return np.asarray((table - float(law.q) * whole) / law.gap)


def _apply_transposed_inverse(law: PureLaw | MatrixLaw, table: Floats, axis: int) -> Floats:
    """Return P⁻ᵀ along one axis; randomised response has a symmetric matrix."""
    if isinstance(law, MatrixLaw):
        return _along(law.inverse.T, table, axis)
    return _apply_inverse(law, table, axis)


def _apply_squared_inverse(law: PureLaw | MatrixLaw, table: Floats, axis: int) -> Floats:
    """Return the matrix of the squared entries of P⁻¹ along one axis."""
    if isinstance(law, MatrixLaw):
        return _along(law.inverse**2, table, axis)
    if law.k == 1:
        return table
    beside = (float(law.q) / law.gap) ** 2
    ahead = (float(1 - law.q) / law.gap) ** 2
    return np.asarray((ahead - beside) * table + beside * table.sum(axis=axis, keepdims=True))
