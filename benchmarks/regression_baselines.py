"""What the robust regression was compared with when it was published: on public numbers only.

Plain functions for benchmarks, on rows and answers that are not private: they draw ordinary
floating-point noise, which is no release. Their private forms are `RobustLinearRegression` with
`engine="fixed"` (perturbed statistics) and `FunctionalRegression`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.regression.functional import minimiser

__all__ = ["functional", "output_perturbation", "perturbed_statistics"]

Floats = NDArray[np.float64]


def _symmetric(scale: float, dimension: int, generator: np.random.Generator) -> Floats:
    upper = np.triu(generator.laplace(0.0, scale, (dimension, dimension)))
    return np.asarray(upper + np.triu(upper, 1).T)


def perturbed_statistics(
    x: Floats, y: Floats, epsilon: float, generator: np.random.Generator, *, bound: float = 20.0
) -> Floats:
    """Return the weights of PLR: statistics without clipping, half of ε each, precisions of 1.

    The published code takes answers to be within ±20 and does not see to it; here they are cut.

    Parameters
    ----------
    x, y
        Rows with entries within ±1, and answers.
    epsilon
        The loss.
    generator
        Where noise comes from.
    bound
        Where answers are cut.
    """
    p = x.shape[1]
    answers = np.clip(y, -bound, bound)
    matrix = x.T @ x + _symmetric(2 * p * (p + 1) / epsilon, p, generator)
    linear = x.T @ answers + generator.laplace(0.0, 4 * p * bound / epsilon, p)
    return np.asarray(np.linalg.solve(np.eye(p) + matrix, linear))


def output_perturbation(
    x: Floats, y: Floats, epsilon: float, generator: np.random.Generator, *, bound: float
) -> Floats:
    """Return the weights of OPLR (Wu and others, 2015), repaired: ridge weights plus K-norm noise.

    The published code cuts neither rows nor answers, and draws directions from a cube; here rows
    are at most 1 long, answers are cut and scaled to ±1, and directions are even.

    Parameters
    ----------
    x, y
        Rows and answers.
    epsilon
        The loss.
    generator
        Where noise comes from.
    bound
        Where answers are cut.
    """
    n, p = x.shape
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    rows, answers = x / np.maximum(lengths, 1.0), np.clip(y / bound, -1, 1)
    ridge = math.sqrt(p / (n * epsilon))
    weights = _within(rows.T @ rows / n, rows.T @ answers / n, ridge)
    direction = generator.standard_normal(p)
    # (12R + 8)/(λnε) with weights of a length of at most R = 1.
    radius = generator.gamma(p, 20 / (ridge * n * epsilon))
    return np.asarray((weights + radius * direction / np.linalg.norm(direction)) * bound)


def _within(matrix: Floats, linear: Floats, ridge: float) -> Floats:
    """Return the ridge weights of a length of at most 1."""
    values, vectors = np.linalg.eigh(matrix)
    turned = vectors.T @ linear
    low, high = ridge, ridge + float(np.linalg.norm(linear)) + 1e-12
    if np.linalg.norm(turned / (values + low)) > 1:
        for _ in range(60):
            middle = (low + high) / 2
            if np.linalg.norm(turned / (values + middle)) > 1:
                low = middle
            else:
                high = middle
        low = high
    return np.asarray(vectors @ (turned / (values + low)))


def functional(x: Floats, y: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """Return the weights of FMLR (Zhang and others, 2012) with the published constants.

    Parameters
    ----------
    x, y
        Rows with entries within ±1, and answers within ±1.
    epsilon
        The loss.
    generator
        Where noise comes from.
    """
    p = x.shape[1] + 1
    rows = np.column_stack([x, np.ones(len(x))])
    scale = (2 * p**2 + 4 * p) / epsilon
    noise = generator.laplace(0.0, scale, (p, p))
    matrix = rows.T @ rows + (noise + noise.T) / 2 + 5 * math.sqrt(2) * scale * np.eye(p)
    linear = -2 * (rows.T @ y) + generator.laplace(0.0, scale, p)
    return minimiser(matrix, linear, np.zeros(p), ridge=False)
