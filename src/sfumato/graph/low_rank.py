"""The pairs of nodes that a low-rank matrix joins most strongly, without writing it out.

Public: the matrix is made of released eigenpairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.pair_response import pair_positions, pairs_at

__all__ = ["strongest_pairs"]

Floats = NDArray[np.float64]

#: Entries of the matrix that are looked at together.
ENTRIES = 1 << 22


def strongest_pairs(vectors: Floats, weights: Floats, many: int) -> NDArray[np.int64]:
    """Return the pairs of the largest entries above the diagonal of V·diag(w)·Vᵀ, in order.

    Parameters
    ----------
    vectors, weights
        A row of coordinates for each node, and the weight of each coordinate.
    many
        How many pairs; of equal entries the first ones are taken.
    """
    nodes = len(vectors)
    if many == 0 or nodes < 2:
        return np.zeros((0, 2), dtype=np.int64)
    scaled = vectors * weights
    best, places, least = np.zeros(0), np.zeros(0, dtype=np.int64), -np.inf
    row = 0
    while row < nodes - 1:
        rows = max(1, min(ENTRIES // nodes, nodes - 1 - row))
        block = scaled[row : row + rows] @ vectors[row:].T
        # On and below the diagonal there are no pairs.
        block[:, :rows][np.tril_indices(rows)] = -np.inf
        # Entries like the least of those kept come later, and are not taken.
        low, high = np.nonzero(block > least)
        found = pair_positions(np.stack([row + low, row + high], axis=1), nodes)
        best, places = _largest(
            np.concatenate([best, block[low, high]]), np.concatenate([places, found]), many
        )
        least = best.min() if len(best) == many else -np.inf
        row += rows
    return pairs_at(np.sort(places), nodes)


def _largest(
    values: Floats, places: NDArray[np.int64], many: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the largest values and their places, in the order they stood in."""
    if len(values) <= many:
        return values, places
    least = np.partition(values, len(values) - many)[len(values) - many]
    above = values > least
    level = np.flatnonzero(values == least)[: many - int(above.sum())]
    above[level] = True
    return values[above], places[above]
