"""Hierarchical histograms: noisy counts of a tree of ranges, made consistent by least squares.

`measure_hierarchy` is the only function here that may see private counts. Proof:
docs/proofs/hierarchy.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.mechanisms.count_noise import measure_counts
from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.mechanisms.projection import project_simplex
from sfumato.privacy.budget import Budget

__all__ = ["measure_hierarchy", "repair_hierarchy"]


def measure_hierarchy(
    budget: Budget, counts: ArrayLike, *, tree: Hierarchy, label: str
) -> NDArray[np.int64]:
    """Add noise to the sums of all nodes of a public tree, and spend the whole slice.

    Parameters
    ----------
    budget
        The slice that is spent.
    counts
        Private counts of the ordered cells.
    tree
        The public tree over the cells.
    label
        The name of the answer in the transcript.

    Notes
    -----
    Privacy: one record is counted by one node of every level, so that `tree.levels` sums change,
    by 1 each.
    """
    sums = tree.sums(np.asarray(counts))
    return measure_counts(budget, sums, moves=tree.levels, label=label)


def repair_hierarchy(
    noisy: ArrayLike, *, tree: Hierarchy, nonnegative: bool = False
) -> NDArray[np.float64]:
    """Return one value a cell: the least-squares reading of the noisy nodes.

    Parameters
    ----------
    noisy
        What `measure_hierarchy` said.
    tree
        The same public tree.
    nonnegative
        Whether to project the cells onto non-negative values with the same total (a negative
        total becomes 0). That helps small counts and adds a bias to long ranges.
    """
    cells = tree.leaf_values(tree.infer(noisy))
    if nonnegative:
        return project_simplex(cells, max(float(cells.sum()), 0.0))
    return cells
