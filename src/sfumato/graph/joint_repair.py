"""Repair of noisy joint degrees, so that a simple graph can have them.

Post-processing: nothing here may see a private value.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.graph.dk_series import JointDegrees
from sfumato.graph.joint_table import JointTable

__all__ = ["RepairedJoint", "repaired_joint"]

Integers = NDArray[np.int64]


class RepairedJoint(NamedTuple):
    """Joint degrees that a graph can have, and Σ |change| by which they differ from those given."""

    joint: JointDegrees
    moved: float


def repaired_joint(
    low: ArrayLike, high: ArrayLike, weights: ArrayLike, nodes: int
) -> RepairedJoint:
    """Return joint degrees that a simple graph on so many nodes can have, close to those given.

    Degrees outside 1 … nodes − 1 and negative weights are dropped; more ends of edges than the
    nodes can hold are scaled down; weights are rounded so that their sum is kept. Then every degree
    gets a whole number of nodes, and ends of edges are moved between degrees until they fit.

    Parameters
    ----------
    low, high, weights
        The number of edges between nodes of degree `low` and `high`, in either order, whole or not;
        what is given twice is added up.
    nodes
        The number of nodes.

    Examples
    --------
    >>> repaired_joint([1, 2, 3], [3, 3, 3], [1.2, 1.9, 3.1], 5).joint
    JointDegrees(low=array([1, 2, 3]), high=array([3, 3, 3]), edges=array([1, 2, 3]))
    """
    cells = _given(low, high, weights)
    rounded = _rounded(cells, nodes)
    joint = JointTable(rounded, nodes).repaired()
    kept = {
        (one, two): count for one, two, count in zip(*(row.tolist() for row in joint), strict=True)
    }
    moved = sum(abs(kept.pop(cell, 0) - weight) for cell, weight in cells.items())
    return RepairedJoint(joint, float(moved + sum(kept.values())))


def _given(low: ArrayLike, high: ArrayLike, weights: ArrayLike) -> dict[tuple[int, int], float]:
    """Return the weight of each pair of degrees, checked and added up, in order."""
    one, two = np.asarray(low), np.asarray(high)
    weight = np.asarray(weights, dtype=np.float64)
    if one.shape != two.shape or one.shape != weight.shape or one.ndim != 1:
        raise ValueError("low, high and weights must be rows of the same length")
    if len(one) and (one.dtype.kind not in "iu" or two.dtype.kind not in "iu"):
        raise ValueError("degrees must be whole numbers")
    if not np.isfinite(weight).all():
        raise ValueError("weights must be finite; one is infinite or not a number")
    cells: dict[tuple[int, int], float] = defaultdict(float)
    order = np.lexsort((np.maximum(one, two), np.minimum(one, two)))
    for least, most, value in zip(
        np.minimum(one, two)[order].tolist(),
        np.maximum(one, two)[order].tolist(),
        weight[order].tolist(),
        strict=True,
    ):
        cells[least, most] += value
    return dict(cells)


def _rounded(cells: dict[tuple[int, int], float], nodes: int) -> dict[tuple[int, int], int]:
    """Return whole numbers of edges that so many nodes can hold, with the sum nearly kept."""
    kept = {
        cell: weight
        for cell, weight in cells.items()
        if weight > 0 and cell[0] >= 1 and cell[1] < nodes
    }
    needed = sum(weight * (1 / least + 1 / most) for (least, most), weight in kept.items())
    scale = min(1.0, nodes / needed) if needed else 1.0
    rounded, total, given = {}, 0, 0.0
    for cell, weight in kept.items():
        # The fraction that one cell loses is carried to the next.
        given += weight * scale
        count = max(round(given - total), 0)
        total += count
        if count:
            rounded[cell] = count
    return rounded
