"""How far apart the counts of two graphs are."""

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.dk_series import JointDegrees, Triples

Integers = NDArray[np.int64]


def degree_distance(first: Integers, second: Integers, *, power: int = 1) -> int:
    """Return Σ |difference|^power between two counts of nodes by degree."""
    size = max(len(first), len(second))
    apart = np.zeros(size, dtype=np.int64)
    apart[: len(first)] += first
    apart[: len(second)] -= second
    return _powers(apart, power)


def joint_distance(first: JointDegrees, second: JointDegrees, *, power: int = 1) -> int:
    """Return Σ |difference|^power between two counts of edges by the degrees of their ends."""
    one = np.stack([first.low, first.high], axis=1)
    two = np.stack([second.low, second.high], axis=1)
    return _row_distance(one, first.edges, two, second.edges, power)


def triple_distance(first: Triples, second: Triples, *, power: int = 1) -> int:
    """Return Σ |difference|^power over all kinds of wedges and of triangles.

    With power 2 it is the distance that rewiring towards given triples makes small.
    """
    return _row_distance(
        first.wedge_degrees, first.wedges, second.wedge_degrees, second.wedges, power
    ) + _row_distance(
        first.triangle_degrees, first.triangles, second.triangle_degrees, second.triangles, power
    )


def _row_distance(
    first: Integers, counts: Integers, second: Integers, others: Integers, power: int
) -> int:
    """Return the distance between two lists of counted rows."""
    rows, where = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    apart = np.zeros(len(rows), dtype=np.int64)
    np.add.at(apart, where.ravel(), np.concatenate([counts, -others]))
    return _powers(apart, power)


def _powers(apart: Integers, power: int) -> int:
    """Return Σ |difference|^power exactly."""
    return sum(abs(value) ** power for value in apart[apart != 0].tolist())
