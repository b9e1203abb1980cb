"""Groups of nodes from their coordinates: k-means on directions, the same for the same input.

Public: the coordinates are those of released eigenvectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato import noise

__all__ = ["grouped", "k_means"]

Floats = NDArray[np.float64]

#: Starts that are tried, and the most rounds of each.
STARTS, ROUNDS = 10, 100


def grouped(rows: Floats, groups: int) -> NDArray[np.int64]:
    """Return a group for each row, by the direction of the row; groups are numbered by size.

    Parameters
    ----------
    rows
        A row of coordinates for each node. Rows of zeros have no direction and stay zeros.
    groups
        How many groups; some stay empty where there are fewer different rows.

    Notes
    -----
    Rows are scaled to length 1, so that nodes of many and of few edges in one group come together
    (Ng, Jordan and Weiss, 2001).
    """
    if rows.size == 0:
        # Without coordinates all nodes are alike.
        return np.zeros(len(rows), dtype=np.int64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    labels = k_means(rows / np.where(lengths > 0, lengths, 1.0), groups)
    # The largest group first; of groups of one size the one of the first node.
    present, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    rank = np.zeros(groups, dtype=np.int64)
    rank[present[np.lexsort((first, -sizes))]] = np.arange(len(present))
    return rank[labels]


def k_means(points: Floats, groups: int) -> NDArray[np.int64]:
    """Return the grouping of least squared distances to the means, of several tries."""
    generator = noise.generator(0)
    best: tuple[float, NDArray[np.int64]] | None = None
    for _ in range(STARTS):
        cost, labels = _settle(points, _spread(points, groups, generator))
        if best is None or cost < best[0] * (1 - 1e-12):
            best = (cost, labels)
    assert best is not None
    return best[1]


def _spread(points: Floats, groups: int, generator: np.random.Generator) -> Floats:
    """Return first means: points, each drawn by its squared distance to those before it."""
    means = [points[int(generator.integers(len(points)))]]
    nearest = ((points - means[0]) ** 2).sum(axis=1)
    for _ in range(1, groups):
        ends = np.cumsum(nearest)
        if ends[-1] <= 0:
            break
        drawn = generator.random() * ends[-1]
        means.append(points[min(int(np.searchsorted(ends, drawn, side="right")), len(points) - 1)])
        nearest = np.minimum(nearest, ((points - means[-1]) ** 2).sum(axis=1))
    return np.array(means)


def _settle(points: Floats, means: Floats) -> tuple[float, NDArray[np.int64]]:
    """Move points to the nearest mean and means to the middle of their points, until none moves."""
    labels = np.full(len(points), -1, dtype=np.int64)
    for _ in range(ROUNDS):
        distances = _squared_distances(points, means)
        fresh = distances.argmin(axis=1).astype(np.int64)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
        sizes = np.bincount(labels, minlength=len(means))
        sums = np.stack(
            [np.bincount(labels, column, minlength=len(means)) for column in points.T], axis=1
        )
        # A group that lost all its points keeps its mean.
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], means)
    distances = _squared_distances(points, means)
    return float(distances.min(axis=1).sum()), labels


def _squared_distances(points: Floats, means: Floats) -> Floats:
    squares = (points**2).sum(axis=1)[:, None] + (means**2).sum(axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * points @ means.T, 0.0), dtype=np.float64)
