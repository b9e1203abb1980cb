"""The stochastic Kronecker graph whose expected counts are closest to given ones.

Everything here is public: it sees counts that somebody paid for, and never a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.kronecker_moments import (
    Features,
    Initiator,
    kept_share,
    power_of,
    whole_features,
)

__all__ = ["DECIMALS", "fit_initiator"]

#: Entries are told to so many decimals; the last digits of a fit are the platform's.
DECIMALS = 6
#: The steps of the grid on which a fit looks for its starts, and how many it starts from.
STEPS, STARTS = 25, 8
#: The most steps of a fit, and a step that is no longer worth taking.
ROUNDS, SETTLED = 200, 1e-9
#: How weakly a fit prefers three equal entries, which tell apart no nodes: it decides only where
#: the counts leave a choice.
PREFERENCE = 1e-3
#: Steps are held back by at least this part, far above rounding, so that they can be solved for.
LEAST_DAMPING = 1e-12

Floats = NDArray[np.float64]


def fit_initiator(observed: Features, nodes: int) -> Initiator:
    """Return the initiator whose expected counts are closest to given ones, each relatively.

    Parameters
    ----------
    observed
        The counts; those that are not positive once they are rounded are left out.
    nodes
        The number of nodes of the graph.

    Notes
    -----
    The least Σ (F − E[F])² / F² over 1 ≥ a ≥ c ≥ 0 and 0 ≤ b ≤ 1, by least squares from the best
    points of a grid. Counts that leave a choice, as one alone does, are met by the initiator whose
    entries are the most alike.
    """
    power = power_of(nodes)
    kept = kept_share(nodes, 2**power)
    target = np.asarray(observed, dtype=np.float64)
    used = np.flatnonzero((target >= 0.5) & (kept > 0))
    if len(used) == 0:
        return Initiator(0.0, 0.0, 0.0, power)
    wanted = target[used] / kept[used]

    def residuals(points: Any) -> Any:
        expected = whole_features(points, power)[used] / wanted[:, None] - 1
        alike = PREFERENCE * (points[:2] - points[1:])
        return np.concatenate([expected, alike])

    points, costs = _descended(_starts(wanted, used, power), residuals)
    a, b, c = (round(float(entry), DECIMALS) for entry in points[:, np.argmin(costs)])
    # Exchanging the two digits is the same model.
    return Initiator(max(a, c), b, min(a, c), power)


def _starts(wanted: Floats, used: NDArray[np.intp], power: int) -> Floats:
    """Return points (a, b, c) of a grid whose counts are closest by their ratio, in columns."""
    line = (np.arange(STEPS) + 0.5) / STEPS
    points = np.stack(np.meshgrid(line, line, line, indexing="ij")).reshape(3, -1)
    points = points[:, points[0] >= points[2]]
    counts = np.maximum(whole_features(points, power)[used], 1e-300)
    apart = (np.log(counts / wanted[:, None]) ** 2).sum(axis=0)
    order = np.argsort(apart, kind="stable")
    # The closest ones lie side by side: one of every few reaches other valleys too.
    return points[:, order[: STARTS**2 : STARTS]]


def _descended(points: Floats, residuals: Callable[[Any], Any]) -> tuple[Floats, Floats]:
    """Return where least squares lead from each of several points of the unit cube, and the cost.

    Levenberg and Marquardt's steps, cut at the faces; a coordinate that would leave through the
    face it is on stays there.
    """
    here = residuals(points)
    costs = (here**2).sum(axis=0)
    damping = np.full(points.shape[1], 1e-3)
    for _ in range(ROUNDS):
        slopes = _slopes(points, residuals)
        gradient = np.einsum("fis,fs->is", slopes, here)
        free = ~(((points <= 0) & (gradient > 0)) | ((points >= 1) & (gradient < 0)))
        slopes = slopes * free
        curved = np.einsum("fis,fjs->sij", slopes, slopes)
        scale = np.einsum("sii->is", curved)
        curved[:, range(3), range(3)] += (damping * scale + np.where(scale > 0, 0.0, 1.0)).T
        step = np.linalg.solve(curved, (-gradient * free).T[:, :, None])[:, :, 0].T
        tried = np.clip(points + step, 0.0, 1.0)
        there = residuals(tried)
        better = (there**2).sum(axis=0) < costs
        settled = bool((np.abs(tried - points) < SETTLED).all())
        points = np.where(better, tried, points)
        here = np.where(better, there, here)
        costs = (here**2).sum(axis=0)
        damping = np.clip(np.where(better, damping / 8, damping * 4), LEAST_DAMPING, 1e15)
        if settled:
            break
    return points, costs


def _slopes(points: Floats, residuals: Callable[[Any], Any]) -> Floats:
    """Return the derivatives of the residuals by each coordinate, exact to the last digits.

    Polynomials are followed along a tiny imaginary step, in which nothing cancels.
    """
    tiny = 1e-30
    columns = []
    for axis in range(3):
        shifted = points.astype(np.complex128)
        shifted[axis] += tiny * 1j
        columns.append(residuals(shifted).imag / tiny)
    return np.stack(columns, axis=1)
