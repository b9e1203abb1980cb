"""One estimate from noisy histograms of the leaves of a tree and of its uppermost nodes.

Least squares over all histograms in which a node is the sum of its children: a pass up weighs what
was measured against what the children sum to, a pass down hands each family what its parent knows
better (Hay and others 2010, for trees of any shape). Everything here is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.sequence.context_tree import ContextTree

__all__ = ["Noisy", "combined"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy histograms.

    Parameters
    ----------
    counts
        One histogram a row.
    deviation
        The standard deviation of the noise on each cell.
    """

    counts: Floats
    deviation: float


def combined(tree: ContextTree, leaves: Noisy, upper: Sequence[Noisy]) -> tuple[Floats, Floats]:
    """Return histograms of all nodes, each the sum of its children's, and variances of their cells.

    Parameters
    ----------
    tree
        The shape.
    leaves
        Of all leaves, level by level.
    upper
        Of the split nodes of the first levels, level by level; none, one or more.

    Returns
    -------
    histograms, variances
        In units of the noise on leaves, or of 1 where that has none. The variances are those of
        the pass up: slightly too large below nodes that were measured.
    """
    unit = leaves.deviation or 1.0
    counts = tree.summed(leaves.counts / unit)
    variances = tree.summed(np.full(len(leaves.counts), 1.0 if leaves.deviation else 0.0))
    if not leaves.deviation:
        return counts, variances
    parts = _parts(tree)
    for depth in range(len(tree.levels) - 2, -1, -1):
        split = tree.levels[depth]
        summed = _families(tree, counts[parts[depth + 1]])
        spread = _families(tree, variances[parts[depth + 1]])
        if depth < len(upper):
            own = (upper[depth].deviation / unit) ** 2
            weight = own / (own + spread)
            summed = weight[:, None] * summed + (1 - weight[:, None]) * upper[depth].counts / unit
            spread = weight * spread
        counts[parts[depth]][split] = summed
        variances[parts[depth]][split] = spread
    for depth in range(1, len(tree.levels)):
        split = tree.levels[depth - 1]
        here = counts[parts[depth]]
        missing = counts[parts[depth - 1]][split] - _families(tree, here)
        shares = variances[parts[depth]].reshape(-1, tree.fan_out)
        shares = shares / shares.sum(axis=1, keepdims=True)
        here += (missing[:, None, :] * shares[:, :, None]).reshape(here.shape)
    return counts, variances


def _parts(tree: ContextTree) -> list[slice]:
    """Return where the nodes of each level lie."""
    ends = np.cumsum([0, *(len(level) for level in tree.levels)])
    return [slice(begin, end) for begin, end in pairwise(ends.tolist())]


def _families(tree: ContextTree, values: Floats) -> Floats:
    """Return the sums over the children of each node, from the values of a level."""
    return np.asarray(values.reshape(-1, tree.fan_out, *values.shape[1:]).sum(axis=1))
