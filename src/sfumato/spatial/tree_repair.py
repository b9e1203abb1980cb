"""What a released tree of noisy counts tells about its cells: public repair.

Which nodes are counted, and how precisely, follows from the public tree (`weights`). What was said
is combined by least squares on the tree (`consistent`), and then settled from the root down
(`settle_counts`): counts are not negative, cells that look empty beside full ones are, and children
that cannot be told from equal shares are given equal shares. Nothing here may be given a private
value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.spatial.tree_shape import TreeShape

__all__ = ["LEAST", "WHOLE", "consistent", "settle_counts", "weights"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The weights on the nodes of a path from the root to a leaf add up to this.
WHOLE = 100
#: What a limb takes of it, by its rank: it has at least 16^rank leaves, the node above it more.
SHARES = (0, 12, 3, 1, 1, 1, 1, 1)
RANK_BITS = 4
#: The least weight of a leaf.
LEAST = WHOLE - sum(SHARES)
#: A cell within this many standard deviations of zero may be empty …
EMPTY = 2.5
#: … if an equal share of what its parent holds would lie this many above zero.
FULL = 5.0
#: Siblings more than these are not drawn together: few of many are alike.
MOST_ALIKE = 4


def weights(shape: TreeShape) -> Integers:
    """Return how much of the budget for counts each node gets, in parts of `WHOLE`.

    Limbs, the topmost nodes with fewer than 16, 256, 4096 … leaves, get a few parts: they hold the
    sums of many leaves, in which the noise of the leaves would add up. A leaf gets what its
    limbs left.

    Parameters
    ----------
    shape
        The public tree.

    Notes
    -----
    Along every path from the root to a leaf the weights add up to `WHOLE`, and so does the change
    of Σ weight·count by one point.
    """
    below = shape.sums(np.ones(shape.leaves.size)).astype(np.int64)
    rank = np.zeros(shape.nodes, dtype=np.int64)
    for power in range(1, len(SHARES)):
        rank += below >> (RANK_BITS * power) > 0
    above = np.append(len(SHARES), rank[shape.parents[1:]])
    given = np.where(above > rank, np.array(SHARES, dtype=np.int64)[rank], 0)
    left = np.full(shape.nodes, WHOLE, dtype=np.int64)
    for level in range(1, shape.levels):
        here = shape.level(level)
        up = shape.parents[here]
        left[here] = left[up] - given[up]
    given[shape.leaves] = left[shape.leaves]
    return given


def consistent(shape: TreeShape, measured: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """Return the counts of all nodes that add up and are nearest to what was measured.

    Parameters
    ----------
    shape
        The public tree.
    measured
        A noisy count of each node; anything where none was measured.
    variances
        The variance of each, infinite where none was measured; those of leaves are finite.

    Returns
    -------
    counts
        The least-squares estimates: the best linear ones. A node's is the sum of its children's.
    spreads
        The variance of each node's estimate from its own subtree.

    Notes
    -----
    Two passes (Hay et al., 2010), with variances of any size: upwards each node joins what was
    measured with the sum of its children, by their precisions; downwards what a node's estimate
    exceeds that sum by is shared among its children in proportion to their variances.
    """
    estimates, spreads = measured.copy(), variances.copy()
    for level in range(shape.levels - 2, -1, -1):
        inner = shape.inner(level)
        sums = estimates[shape.level(level + 1)].reshape(-1, shape.fan_out).sum(axis=1)
        spread = spreads[shape.level(level + 1)].reshape(-1, shape.fan_out).sum(axis=1)
        own = variances[inner]
        known = np.isfinite(own)
        weight = np.where(known, spread / (np.where(known, own, 0.0) + spread), 0.0)
        estimates[inner] = sums + weight * (np.where(known, measured[inner], 0.0) - sums)
        spreads[inner] = spread * (1.0 - weight)
    counts = estimates.copy()
    for level in range(shape.levels - 1):
        below = shape.level(level + 1)
        children = estimates[below].reshape(-1, shape.fan_out)
        spread = spreads[below].reshape(-1, shape.fan_out)
        rest = counts[shape.inner(level)] - children.sum(axis=1)
        counts[below] = _share_rest(children, spread, rest).ravel()
    return counts, spreads


def settle_counts(shape: TreeShape, counts: Floats, spreads: Floats, deviation: float) -> Floats:
    """Return non-negative counts of all nodes that add up, with empty and even cells as such.

    Parameters
    ----------
    shape
        The public tree.
    counts, spreads
        As `consistent` returned them.
    deviation
        The standard deviation of a measurement of variance 1.

    Notes
    -----
    From the root down each node's count is shared among its children. Children within `EMPTY`
    standard deviations of zero are taken as empty where an equal share would lie above `FULL`.
    Where none is, up to `MOST_ALIKE` children are drawn towards equal shares as far as their
    differences could be noise (James and Stein). Last, the shares are projected onto those that
    are not negative.
    """
    result = counts.copy()
    result[0] = max(result[0], 0.0)
    for level in range(shape.levels - 1):
        below = shape.level(level + 1)
        children = counts[below].reshape(-1, shape.fan_out)
        spread = spreads[below].reshape(-1, shape.fan_out)
        whole = result[shape.inner(level)]
        equal = whole[:, None] / shape.fan_out
        noise = deviation * np.sqrt(spread)
        empty = (children < EMPTY * noise) & (equal > FULL * noise)
        empty &= ~empty.all(axis=1, keepdims=True)
        shares = _share_rest(children, spread, whole - children.sum(axis=1))
        if shape.fan_out <= MOST_ALIKE:
            kept = np.where(empty.any(axis=1), 1.0, _kept_share(shares - equal, noise))
            shares = equal + kept[:, None] * (shares - equal)
        result[below] = _project_shares(shares, spread, whole, empty).ravel()
    return result


def _share_rest(children: Floats, spread: Floats, rest: Floats) -> Floats:
    """Return children with a rest added in proportion to their variances."""
    part: Floats = spread / spread.sum(axis=1, keepdims=True)
    return children + rest[:, None] * part


def _kept_share(differences: Floats, noise: Floats) -> Floats:
    """Return how much of the differences among siblings is kept: what exceeds their noise."""
    freedom = differences.shape[1] - 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = ((differences / noise) ** 2).sum(axis=1)
        kept = 1.0 - freedom / found
    # Without noise every difference is kept; without a difference there is none to keep.
    return np.where(np.isfinite(kept), np.maximum(kept, 0.0), 1.0)


def _project_shares(
    shares: Floats, spread: Floats, whole: Floats, empty: NDArray[np.bool_]
) -> Floats:
    """Return the nearest non-negative shares of each whole, by the precisions of the shares.

    The solution is max(0, share + multiplier·variance); which shares are positive is found by
    taking them in the order of share/variance.
    """
    ratio = np.where(empty, -np.inf, shares / spread)
    order = np.argsort(-ratio, axis=1, kind="stable")
    allowed = np.take_along_axis(~empty, order, axis=1)
    sums = np.cumsum(np.where(allowed, np.take_along_axis(shares, order, axis=1), 0.0), axis=1)
    spreads = np.cumsum(np.where(allowed, np.take_along_axis(spread, order, axis=1), 0.0), axis=1)
    multipliers = (whole[:, None] - sums) / spreads
    positive = allowed & (np.take_along_axis(ratio, order, axis=1) + multipliers > 0)
    last = np.maximum(positive.sum(axis=1) - 1, 0)
    multiplier = np.take_along_axis(multipliers, last[:, None], axis=1)
    result = np.where(empty, 0.0, np.maximum(shares + multiplier * spread, 0.0))
    result[whole <= 0] = 0.0
    return result
