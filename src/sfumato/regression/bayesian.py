"""Bayesian linear regression from sufficient statistics: public post-processing.

Rows x, answers y ~ N(xᵀβ, 1/λ), weights β ~ N(0, I/λ₀). The statistics may carry noise, so that
the matrix Σ x xᵀ need not be one; it is repaired before anything is solved. What the noise alone
does to the weights is told by `sfumato.regression.robust_estimator`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Posterior",
    "Statistics",
    "fit_with_fixed_precisions",
    "gibbs",
    "noise_ridge",
    "repair_matrix",
]

Floats = NDArray[np.float64]

#: How many times the size that pure noise has as a matrix is added to the diagonal.
RIDGE = 3.0
#: Shape and rate of the Gamma law of both precisions (Nieminen, 2017).
SHAPE = RATE = 2.0


@dataclass(frozen=True)
class Statistics:
    """Sums over records, with noise or without.

    Parameters
    ----------
    xx, xy, yy
        Σ x xᵀ, Σ y x and Σ y².
    records
        How many records there are, about.
    scales
        The scales of the Laplace noise on an entry of each; 0 where there is none.
    """

    xx: Floats
    xy: Floats
    yy: float
    records: float
    scales: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return len(self.xy)

    @classmethod
    def of(cls, rows: Floats, answers: Floats) -> Statistics:
        """Return the statistics of public rows, without noise."""
        return cls(rows.T @ rows, rows.T @ answers, float(answers @ answers), len(answers))

    def __add__(self, other: Statistics) -> Statistics:
        """Return the statistics of two disjoint sets of records; the noises add up."""
        scales = tuple(math.hypot(a, b) for a, b in zip(self.scales, other.scales, strict=True))
        return Statistics(
            self.xx + other.xx,
            self.xy + other.xy,
            self.yy + other.yy,
            self.records + other.records,
            (scales[0], scales[1], scales[2]),
        )


@dataclass(frozen=True)
class Posterior:
    """A normal law of the weights.

    Parameters
    ----------
    mean, covariance
        Its two moments.
    deviation
        The standard deviation of an answer around xᵀβ.
    """

    mean: Floats
    covariance: Floats
    deviation: float


def repair_matrix(matrix: Floats, floor: float = 0.0) -> Floats:
    """Return the nearest symmetric matrix with no eigenvalue below a floor, in Frobenius norm."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values.min(initial=floor) >= floor:
        return np.asarray((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def noise_ridge(statistics: Statistics, times: float = RIDGE) -> Statistics:
    """Return statistics whose matrix outweighs its noise, and whose square fits the others.

    The symmetric noise matrix has spectral norm about 2√(2p)·b for Laplace noise of scale b; a few
    times that is added to the diagonal of the repaired matrix.
    """
    p = statistics.dimension
    ridge = times * 2 * math.sqrt(2 * p) * statistics.scales[0]
    matrix = repair_matrix(statistics.xx) + ridge * np.eye(p)
    fitted = float(statistics.xy @ np.linalg.lstsq(matrix, statistics.xy, rcond=None)[0])
    square = max(statistics.yy, fitted)
    return Statistics(matrix, statistics.xy, square, statistics.records, statistics.scales)


def fit_with_fixed_precisions(
    statistics: Statistics, *, noise: float = 1.0, prior: float = 1.0
) -> Posterior:
    """Return the posterior with both precisions given.

    Parameters
    ----------
    statistics
        The statistics; their matrix is repaired where it must be.
    noise, prior
        λ and λ₀, above 0.
    """
    if not (noise > 0 and prior > 0):
        raise ValueError(f"precisions must be positive; got {noise!r} and {prior!r}")
    # In the eigenbasis nothing is singular, however large the noise in the matrix is.
    curvatures, directions = np.linalg.eigh(repair_matrix(statistics.xx))
    spread = 1 / (prior + noise * np.maximum(curvatures, 0.0))
    covariance = (directions * spread) @ directions.T
    mean: Floats = np.asarray(covariance @ (noise * statistics.xy), dtype=np.float64)
    return Posterior(mean, (covariance + covariance.T) / 2, 1 / math.sqrt(noise))


def gibbs(
    statistics: Statistics,
    generator: np.random.Generator,
    *,
    sweeps: int = 300,
    warm_up: int = 50,
) -> Posterior:
    """Return the posterior with Gamma priors on both precisions, by exact Gibbs sampling.

    All three conditional laws are known; the conditional means are averaged, not the draws. The
    statistics must belong together (`noise_ridge`): fitted to raw noisy ones, λ grows until the
    noise is explained.

    Parameters
    ----------
    statistics
        Statistics whose joint matrix has no negative eigenvalue.
    generator
        Where the draws come from.
    sweeps, warm_up
        How many draws are made, and how many of them at first do not count.
    """
    p = statistics.dimension
    values, vectors = np.linalg.eigh(statistics.xx)
    values = np.maximum(values, 0.0)
    linear = vectors.T @ statistics.xy
    noise = prior = 1.0
    mean, square, variance = np.zeros(p), np.zeros((p, p)), 0.0
    for sweep in range(sweeps):
        precisions = prior + noise * values
        centre = noise * linear / precisions
        weights = centre + generator.standard_normal(p) / np.sqrt(precisions)
        rest = float(values @ weights**2 - 2 * linear @ weights + statistics.yy)
        rate = RATE + max(rest, 0.0) / 2
        noise = generator.gamma(SHAPE + max(statistics.records, 0.0) / 2) / rate
        prior = generator.gamma(SHAPE + p / 2) / (RATE + float(weights @ weights) / 2)
        if sweep >= warm_up:
            mean += centre
            square += np.outer(centre, centre) + np.diag(1 / precisions)
            variance += 1 / noise
    kept = sweeps - warm_up
    mean, square = mean / kept, square / kept
    covariance = vectors @ (square - np.outer(mean, mean)) @ vectors.T
    return Posterior(vectors @ mean, (covariance + covariance.T) / 2, math.sqrt(variance / kept))
