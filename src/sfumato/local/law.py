"""What an estimator must know of a design: how often its reports support each answer.

Two kinds of law serve all designs. In a *pure* law a report supports any number of answers: the
true one with probability p, each other one with probability q. In a *matrix* law a report is one
of the answers, and column v of the matrix says how likely each is where v is true. Nothing here
sees a true answer: laws are public, and what is done with them is post-processing of reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["AnyLaw", "Floats", "MatrixLaw", "PureLaw", "law_of"]

Floats = NDArray[np.float64]


class AnyLaw(Protocol):
    """What estimation asks of a law; arrays have one entry for each answer."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the shares."""

    def shares(self, reported: Floats) -> Floats:
        """Return the unbiased shares for the shares of reports that support each answer."""

    def reported_shares(self, shares: Floats) -> Floats:
        """Return which share of reports is expected to support each answer."""

    def spread(self, shares: Floats, *, population: bool) -> Floats:
        """Return n times the variance of each unbiased share, at given shares."""

    def spread_along(self, gradient: Floats, shares: Floats, *, population: bool) -> float:
        """Return n times the variance of Σ gradient·share, at given shares."""

    def spread_beside(self, shares: Floats) -> Floats:
        """Return n times the variance of each share in a sample where nobody holds the answer.

        The other answers are held in proportion to given shares, all of them less than 1.
        """

    def spread_sure(self) -> Floats:
        """Return n times the variance of each share in a sample where all hold the answer."""

    def weight(self) -> Floats:
        """Return by how much one report for another moves n times each share at most."""


def _apart(gap: float) -> None:
    """Raise where reports tell nothing."""
    if gap == 0:
        raise ValueError(
            "reports of this design do not depend on the answer, so nothing can be estimated from "
            "them; use a larger epsilon"
        )


@dataclass(frozen=True)
class PureLaw:
    """Reports that support the true answer with probability p and each other one with q.

    Parameters
    ----------
    k
        How many answers there are.
    p, q
        The two probabilities, exact.
    true_pair
        How likely a report supports both the true answer and a given other one; `None` if that
        differs from pair to pair or is not known.
    other_pair
        How likely it supports two given answers that are both not the true one.

    Notes
    -----
    With q exact and p − q taken before rounding there is no cancellation however small ε is.
    Everything takes time linear in k.
    """

    k: int
    p: Fraction
    q: Fraction
    true_pair: Fraction | None = None
    other_pair: Fraction | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the shares."""
        return (self.k,)

    @property
    def gap(self) -> float:
        """How much likelier the true answer is supported than another, p − q."""
        return float(self.p - self.q)

    @property
    def exclusive(self) -> bool:
        """Whether every report supports exactly one answer."""
        return self.p + (self.k - 1) * self.q == 1 and self.true_pair == self.other_pair == 0

    def shares(self, reported: Floats) -> Floats:
        """Return (λ − q)/(p − q)."""
        if self.k == 1:
            return np.ones(1)
        _apart(self.gap)
        return (reported - float(self.q)) / self.gap

    def reported_shares(self, shares: Floats) -> Floats:
        """Return λ = q + (p − q)·π."""
        return float(self.q) + self.gap * shares

    def spread(self, shares: Floats, *, population: bool) -> Floats:
        """Return [π·p(1−p) + (1−π)·q(1−q)]/(p−q)² for the sample, λ(1−λ)/(p−q)² for all."""
        if self.k == 1:
            return np.zeros(1)
        _apart(self.gap)
        if population:
            supported = self.reported_shares(shares)
            return supported * (1 - supported) / self.gap**2
        base = float(self.q * (1 - self.q))
        slope = float(self.p * (1 - self.p) - self.q * (1 - self.q))
        return (base + slope * shares) / self.gap**2

    def spread_beside(self, shares: Floats) -> Floats:
        """Return q(1−q)/(p−q)², whatever the others hold."""
        return self.spread(np.zeros(self.k), population=False)

    def spread_sure(self) -> Floats:
        """Return p(1−p)/(p−q)²."""
        return self.spread(np.ones(self.k), population=False)

    def weight(self) -> Floats:
        """Return 1/(p−q)."""
        _apart(self.gap)
        return np.full(self.k, 1 / self.gap)

    def spread_along(self, gradient: Floats, shares: Floats, *, population: bool) -> float:
        """Return n times the variance of Σ gradient·share, from the law of pairs of supports."""
        if self.k == 1:
            return 0.0
        if self.true_pair is None or self.other_pair is None:
            raise ValueError(
                "how often reports of this design support two answers at once depends on the "
                "answers, so the variance of a measure of several shares is not available; use "
                "RandomizedResponse, UnaryEncoding or SubsetSelection, or a joint table"
            )
        _apart(self.gap)
        p, q = float(self.p), float(self.q)
        with_true, without = float(self.true_pair), float(self.other_pair)
        # The influence of a report is Σ h over the answers it supports. A constant in the
        # gradient changes nothing where supports are exclusive, and cancels badly: take it off.
        centred = gradient - gradient.mean() if self.exclusive else gradient
        h = centred / self.gap
        total, squares = float(h.sum()), float(h @ h)
        rest, rest_squares = total - h, squares - h * h
        means = p * h + q * rest
        seconds = p * h * h + q * rest_squares
        seconds = seconds + 2 * with_true * h * rest + without * (rest * rest - rest_squares)
        if population:
            return float(shares @ seconds - (shares @ means) ** 2)
        return float(shares @ (seconds - means * means))


@dataclass(frozen=True)
class MatrixLaw:
    """Reports that are answers themselves, with probabilities in the columns of a matrix.

    Parameters
    ----------
    matrix
        Entry (u, v) is the probability of reporting u where v is true; columns sum to 1.
    """

    matrix: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", check_matrix(self.matrix))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the shares."""
        return (self.matrix.shape[1],)

    @property
    def inverse(self) -> Floats:
        """The inverse of the matrix, or its left inverse by least squares if it is not square."""
        rows, columns = self.matrix.shape
        singular = np.linalg.svd(self.matrix, compute_uv=False)
        _apart(0.0 if rows < columns or singular[-1] < 1e-14 * singular[0] else 1.0)
        if rows == columns:
            return np.asarray(np.linalg.inv(self.matrix))
        return np.asarray(np.linalg.pinv(self.matrix))

    def shares(self, reported: Floats) -> Floats:
        """Return P⁻¹λ."""
        return self.inverse @ reported

    def reported_shares(self, shares: Floats) -> Floats:
        """Return λ = Pπ."""
        return self.matrix @ shares

    def spread(self, shares: Floats, *, population: bool) -> Floats:
        """Return the diagonal of P⁻¹·diag(λ)·P⁻ᵀ less diag(π), or less ππᵀ for the population."""
        whole = self.inverse**2 @ self.reported_shares(shares)
        return np.asarray(whole - (shares**2 if population else shares))

    def spread_beside(self, shares: Floats) -> Floats:
        """Return the same for a sample whose other shares are given, without each answer."""
        return beside(shares, self.spread(shares, population=False), self.spread_sure())

    def spread_sure(self) -> Floats:
        """Return the diagonal of (P⁻¹)²·P, squared entry by entry, less 1."""
        return np.asarray(np.einsum("vu,uv->v", self.inverse**2, self.matrix) - 1)

    def weight(self) -> Floats:
        """Return how far the entries of each row of P⁻¹ are apart."""
        return np.asarray(np.ptp(self.inverse, axis=1))

    def spread_along(self, gradient: Floats, shares: Floats, *, population: bool) -> float:
        """Return Σ λh² − (Σ πg)², or less Σ πg² for the sample, with h = P⁻ᵀg."""
        rows, columns = self.matrix.shape
        # With a square matrix the shares always sum to 1, and a constant changes nothing.
        centred = gradient - gradient.mean() if rows == columns else gradient
        h = centred @ self.inverse
        whole = float(self.reported_shares(shares) @ h**2)
        if population:
            return whole - float(shares @ centred) ** 2
        return whole - float(shares @ centred**2)


def beside(shares: Floats, spread: Floats, sure: Floats) -> Floats:
    """Return what is left of a variance, which is a mean over the answers, without each one.

    Parameters
    ----------
    shares
        The shares of all answers, each less than 1.
    spread
        n times the variance of each share at these shares, in a sample.
    sure
        The same where all hold the answer.
    """
    return np.asarray(np.maximum((spread - shares * sure) / (1 - shares), 0.0))


def check_matrix(matrix: ArrayLike) -> Floats:
    """Return a matrix of probabilities whose columns sum to 1, or raise `ValueError`.

    Parameters
    ----------
    matrix
        Rows are reports and columns true answers.
    """
    found = np.asarray(matrix, dtype=np.float64)
    if found.ndim != 2 or found.size == 0 or not np.isfinite(found).all():
        raise ValueError(
            "a design matrix must have finite entries, with reports as rows and answers as columns"
        )
    if (found < 0).any():
        raise ValueError(f"a design matrix must not have negative entries; got {found.min():.4g}")
    sums = found.sum(axis=0)
    worst = int(np.argmax(abs(sums - 1)))
    if abs(sums[worst] - 1) > 1e-12:
        raise ValueError(
            f"each column of a design matrix must sum to 1; column {worst} sums to "
            f"{sums[worst]:.15g}"
        )
    return found


def law_of(design: Any) -> PureLaw | MatrixLaw:
    """Return the law of a design's reports.

    Parameters
    ----------
    design
        A design.
    """
    pairs = design.pairs
    if pairs is None and design.matrix is not None:
        return MatrixLaw(design.matrix)
    return PureLaw(design.k, design.p, design.q, *(pairs or (None, None)))
