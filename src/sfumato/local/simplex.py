"""Shares that are none below zero and sum to one: the closest ones, and the likeliest ones.

Post-processing of estimates that are already private; it costs nothing. The closest point of a
convex set that holds the truth is never further from the truth than the estimate was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.local.law import AnyLaw, Floats, MatrixLaw, PureLaw
from sfumato.mechanisms.projection import project_simplex

__all__ = ["climb_likelihood", "expectation_step", "likeliest", "on_simplex"]


def on_simplex(shares: ArrayLike, *, floor: float = 0.0) -> Floats:
    """Return the closest shares that are at least `floor` and sum to 1.

    Parameters
    ----------
    shares
        The estimates, of any shape.
    floor
        What each share is at least; at most one over the number of shares is used.
    """
    found = np.asarray(shares, dtype=np.float64)
    least = min(floor, 1 / found.size)
    room = max(0.0, 1 - least * found.size)
    return project_simplex(found - least, room) + least


def likeliest(law: AnyLaw, counts: ArrayLike, *, gap: float = 1e-6, steps: int = 100_000) -> Floats:
    """Return the shares under which the reports are likeliest.

    Parameters
    ----------
    law
        The law of the reports; each report must support exactly one answer.
    counts
        How many reports gave each answer.
    gap
        How far the logarithm of the likelihood may be from its largest value.
    steps
        How many steps are taken at most.

    Notes
    -----
    Expectation maximisation, π ← π ∘ Pᵀ(λ̂/Pπ) from equal shares, climbs to the maximum; in
    randomised response that maximum is known at once and no step is taken. Otherwise steps are
    extrapolated (Varadhan and Roland, 2008) and stop when the maximum is certified to within `gap`:
    the likelihood is concave, so n·(max Pᵀ(λ̂/Pπ) − 1) bounds what is missing.
    """
    found = np.asarray(counts, dtype=np.float64)
    if found.sum() == 0:
        return np.full(law.shape, 1 / np.prod(law.shape))
    if isinstance(law, PureLaw) and law.exclusive:
        return _pour(law, found)
    if isinstance(law, MatrixLaw):
        return climb_likelihood(law.matrix, found, gap, steps)
    raise ValueError(
        "a report of this design supports several answers, so the likeliest shares cannot be "
        "computed from counts; use estimator='project', or likeliest_of_reports with the reports"
    )


def _pour(law: PureLaw, counts: Floats) -> Floats:
    """Return the maximum for randomised response: λ_v is c_v/μ, but never below q.

    Σ c_v·log(q + (p−q)π_v) is concave; where π_v > 0 its derivatives are equal, so λ_v ∝ c_v. The
    answers with the largest counts are the ones that are positive; μ follows from the sum.
    """
    if law.k == 1:
        return np.ones(1)
    least = float(law.q)
    order = np.argsort(-counts, kind="stable")
    sums = np.cumsum(counts[order])
    positive = np.arange(1, law.k + 1)
    # With m positive shares, Σ_{v≤m} c_v/μ = 1 − (k − m)·q.
    scale = (1 - (law.k - positive) * least) / sums
    kept = np.flatnonzero(counts[order] * scale > least)
    chosen = scale[kept[-1]] if kept.size else scale[-1]
    shares = np.maximum(counts * chosen - least, 0.0)
    return np.asarray(shares / shares.sum()) if shares.sum() > 0 else np.full(law.k, 1 / law.k)


def expectation_step(matrix: Floats, shares: Floats, reported: Floats) -> tuple[Floats, float]:
    """Return the shares after one step of expectation maximisation, and max Pᵀ(λ̂/Pπ).

    Parameters
    ----------
    matrix
        The probabilities P of reports (rows) given answers (columns).
    shares
        The shares π before the step.
    reported
        The shares λ̂ of reports.
    """
    seen = reported > 0
    expected = matrix[seen] @ shares
    pull = matrix[seen].T @ (reported[seen] / np.maximum(expected, np.finfo(float).tiny))
    moved = shares * pull
    return moved / moved.sum(), float(pull.max())


def climb_likelihood(
    likelihoods: Floats, counts: Floats, gap: float = 1e-6, steps: int = 100_000
) -> Floats:
    """Return the likeliest shares by extrapolated expectation maximisation.

    Parameters
    ----------
    likelihoods
        How likely each report (row) is for each answer (column); each row up to a factor.
    counts
        How often each report came.
    gap, steps
        As for `likeliest`.
    """
    matrix = likelihoods
    total = counts.sum()
    reported = counts / total
    shares = np.full(matrix.shape[1], 1 / matrix.shape[1])
    best = _likelihood(matrix, shares, reported)
    for _ in range(steps):
        first, pull = expectation_step(matrix, shares, reported)
        if total * (pull - 1) <= gap:
            return shares
        second, _ = expectation_step(matrix, first, reported)
        leap = _leap(shares, first, second)
        reached = _likelihood(matrix, leap, reported)
        if reached < best:
            leap, reached = second, _likelihood(matrix, second, reported)
        shares, best = leap, reached
    return shares


def _leap(start: Floats, first: Floats, second: Floats) -> Floats:
    """Return a point further along the way of two steps, inside the simplex."""
    forward, bend = first - start, second - 2 * first + start
    size = float(np.sqrt((forward @ forward) / max(float(bend @ bend), np.finfo(float).tiny)))
    while size > 1:
        leap = start + 2 * size * forward + size**2 * bend
        if (leap > 0).all():
            return np.asarray(leap / leap.sum())
        size = size / 2 if size > 2 else 0.0
    return second


def _likelihood(matrix: Floats, shares: Floats, reported: Floats) -> float:
    """Return Σ λ̂·log Pπ."""
    seen = reported > 0
    expected = matrix[seen] @ shares
    return float(reported[seen] @ np.log(np.maximum(expected, np.finfo(float).tiny)))
