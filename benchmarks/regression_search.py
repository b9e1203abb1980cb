"""The published search for thresholds, draw by draw: it uses made-up data only.

A grid from 0.1 to 2.0 standard deviations, 20 made-up sets and 20 draws of noise for each, fixed
precisions of 1, and Spearman's correlation (Nieminen, 2017). It is here to reproduce the published
thresholds; the grid ends where the best ones lie, and `sfumato.regression.robust_thresholds`
searches a wider one, sooner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.published.queries import normalised
from sfumato.regression.robust_statistics import Parts
from sfumato.regression.robust_thresholds import PUBLISHED_SHARES

__all__ = ["published_search"]

Floats = NDArray[np.float64]

GRID = np.arange(0.1, 2.1, 0.1)


def published_search(
    records: int,
    dimension: int,
    epsilon: float,
    source: Any,
    *,
    shares: Parts = PUBLISHED_SHARES,
    many: int = 20,
) -> tuple[float, float]:
    """Return the thresholds of rows and answers with the best mean rank correlation.

    Parameters
    ----------
    records, dimension, epsilon
        The size of the made-up data, and the loss.
    source
        Where draws come from; NumPy's `RandomState(42)` gives those that were published.
    shares
        The shares of ε of the statistics.
    many
        How many sets are made, and how many draws of noise for each.
    """
    p, size = dimension, len(GRID)
    scores = np.zeros((size, size))
    for _ in range(many):
        x = normalised(source.normal(0.0, 1.0, (records, p)))
        spread = x.std(ddof=1)
        weights = source.normal(0.0, 1.0, p)
        y = source.normal(x @ weights, 1.0)
        y = y - y.mean()
        bounds = GRID * y.std(ddof=1)
        rows = [np.clip(x, -w * spread, w * spread) for w in GRID]
        answers = np.clip(y, -bounds[:, None], bounds[:, None])
        ranks = _ranks(y[None])[0]
        for _ in range(many):
            upper = np.zeros((p, p))
            scale = p * (p + 1) / (float(shares.matrix) * epsilon)
            upper[np.triu_indices(p)] = source.laplace(0.0, scale, p * (p + 1) // 2)
            matrix = upper + np.triu(upper, 1).T
            products = source.laplace(0.0, 2 * p / (float(shares.products) * epsilon), p)
            for i, clipped in enumerate(rows):
                bound = GRID[i] * spread
                left = np.eye(p) + clipped.T @ clipped + matrix * bound**2
                right = clipped.T @ answers.T + np.outer(products, bound * bounds)
                scores[i] += _ranks((x @ np.linalg.solve(left, right)).T) @ ranks
    first, second = np.unravel_index(int(np.argmax(scores)), scores.shape)
    return round(float(GRID[first]), 1), round(float(GRID[second]), 1)


def _ranks(values: Floats) -> Floats:
    """Return centred ranks of each row; numbers drawn from a density have no ties."""
    return np.asarray(values.argsort(axis=1).argsort(axis=1) - (values.shape[1] - 1) / 2)
