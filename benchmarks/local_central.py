"""What a trusted custodian would achieve at the same ε, for comparison only.

Nothing is released here: these are variances of Laplace noise, added once to exact figures by
somebody who holds them all. Local collection needs no such person, and pays with noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "central_share_variance",
    "smooth_laplace_error",
    "smooth_share_variance",
    "smooth_triangle_bound",
    "triangle_sensitivity",
]


def _positive(**figures: float) -> None:
    """Raise unless all figures are positive and finite."""
    for name, value in figures.items():
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite; got {value!r}")


def central_share_variance(k: int, epsilon: float, n: int, *, whole: bool = False) -> float:
    """Return the variance of each of k shares released with Laplace noise by a custodian.

    Parameters
    ----------
    k
        How many answers there are. Two need only one number; more are a histogram.
    epsilon
        The loss for one person's answer replaced by another.
    n
        How many people there are; public.
    whole
        Whether the noise is the geometric one on whole counts, which is slightly better.

    Notes
    -----
    One answer replaced moves one count down and another up. For two answers one count tells
    both, with sensitivity 1; a histogram has sensitivity 2. Laplace noise of scale s has the
    variance 2s², geometric noise 2a/(1−a)² with a = e^(−1/s).
    """
    _positive(epsilon=epsilon, n=n, k=k)
    if k == 1:
        return 0.0
    scale = (1 if k == 2 else 2) / epsilon
    if whole:
        decay = math.exp(-1 / scale)
        return 2 * decay / math.expm1(-1 / scale) ** 2 / n**2
    return 2 * scale**2 / n**2


def smooth_share_variance(k: int, epsilon: float, n: int, delta: float) -> float:
    """Return the variance of each share by smooth sensitivity with Laplace noise, (ε, δ)-DP.

    Parameters
    ----------
    k, epsilon, n
        As for `central_share_variance`.
    delta
        The chance of a failure.

    Notes
    -----
    Every data set has a neighbour with two counts moved, so the local sensitivity is the global
    one everywhere, and so is every smooth bound; but the noise has scale 2S/ε. For shares smooth
    sensitivity is never worth it: four times the variance, and a δ.
    """
    _positive(delta=delta)
    if delta >= 1:
        raise ValueError(f"delta must be less than 1; got {delta!r}")
    return 4 * central_share_variance(k, epsilon, n)


def smooth_laplace_error(smooth: float, epsilon: float) -> float:
    """Return the mean absolute error of Laplace noise of scale 2S/ε.

    Parameters
    ----------
    smooth
        The smooth bound S.
    epsilon
        The loss.
    """
    _positive(epsilon=epsilon)
    return 2 * smooth / epsilon


def triangle_sensitivity(nodes: int) -> int:
    """Return by how much one edge changes the triangles at all nodes, summed: 3(n − 2).

    Parameters
    ----------
    nodes
        The number of nodes n. The two ends of the edge lose or gain up to n − 2 triangles each,
        and every common neighbour one.
    """
    return 3 * max(nodes - 2, 0)


def smooth_triangle_bound(adjacency: ArrayLike, epsilon: float, delta: float) -> float:
    """Return the smooth bound on the triangles at all nodes, summed (private: for comparison).

    Parameters
    ----------
    adjacency
        The symmetric 0/1 matrix of a graph.
    epsilon, delta
        The loss; β = ε/(4(n + ln(2/δ))) for an output of n numbers.

    Notes
    -----
    At distance s the edge between i and j can have min(a + ⌊(s + min(s, b))/2⌋, n − 2) common
    neighbours, with a common ones now and b nodes joined to exactly one of both (Nissim,
    Raskhodnikova and Smith, 2007); each takes part in three nodes' counts.
    """
    _positive(epsilon=epsilon, delta=delta)
    joined = np.asarray(adjacency, dtype=np.int64)
    nodes = len(joined)
    if nodes < 3:
        return 0.0
    beta = epsilon / (4 * (nodes + math.log(2 / delta)))
    common = (joined.astype(np.float64) @ joined.astype(np.float64)).astype(np.int64)
    degrees = joined.sum(axis=1)
    lone = degrees[:, None] + degrees[None, :] - 2 * common - 2 * joined
    upper = np.triu_indices(nodes, 1)
    pairs = np.unique(np.stack([common[upper], lone[upper]], axis=1), axis=0)
    # Past 2n steps every pair has all nodes in common, and the bound only decays.
    steps = np.arange(2 * nodes + 1)
    most = np.zeros(len(steps), dtype=np.int64)
    for shared, one_sided in pairs:
        reach = shared + (steps + np.minimum(steps, one_sided)) // 2
        np.maximum(most, np.minimum(reach, nodes - 2), out=most)
    return float((np.exp(-beta * steps) * 3 * most).max())
