"""Which levels of a binary tree over buckets are counted, and with what share of the budget.

The choice is tuned to a public workload of boxes, from a public partition; nothing here sees a
count. All figures that decide are whole numbers, so that every machine decides alike.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.spatial.bucket_cells import Buckets
from sfumato.spatial.grid_size import rounded_root

__all__ = ["level_shares", "used_nodes", "workload"]

#: How many boxes the workload has, and the logarithms of the least and greatest share of the domain
#: that one covers.
BOXES = 48
LEAST_BITS, MOST_BITS = 13, 3
#: Usage is counted in units of 2 to the minus this.
USAGE_BITS = 20
#: So many overlaps are held at once.
AT_ONCE = 1 << 21


@lru_cache(maxsize=16)
def workload(dimensions: int, side: int) -> NDArray[np.int64]:
    """Return a public workload of boxes of cells: (boxes, dimensions, 2), upper ends excluded.

    Parameters
    ----------
    dimensions, side
        The grid has `side` cells along each axis.

    Notes
    -----
    Sizes are spread evenly on a logarithmic scale. Shapes and places come from a fixed congruential
    sequence, which is the same everywhere and for ever; they need not be random.
    """
    state = 1
    boxes = np.empty((BOXES, dimensions, 2), dtype=np.int64)
    for number in range(BOXES):
        halvings = LEAST_BITS - (LEAST_BITS - MOST_BITS) * number // (BOXES - 1)
        for axis in range(dimensions):
            # About 2^(−halvings/d) of the axis, a quarter more or less.
            state = _after(state)
            width = max(side * (96 + (state >> 40) % 65) // 128, 1)
            width = max(rounded_root(Fraction(width**dimensions, 1 << halvings), dimensions), 1)
            state = _after(state)
            low = (state >> 32) % (side - min(width, side) + 1)
            boxes[number, axis] = low, low + min(width, side)
    boxes.setflags(write=False)
    return boxes


def _after(state: int) -> int:
    """Return the next number of Knuth's MMIX sequence; its upper bits are used."""
    return (state * 6364136223846793005 + 1442695040888963407) % 2**64


def used_nodes(tree: Hierarchy, buckets: Buckets) -> list[int]:
    """Return how often the boxes of the workload use nodes of each level, from the root.

    A box is answered by the largest nodes that lie within it and by parts of buckets; a part f of a
    bucket counts f², as its noise does. Units are 2^−USAGE_BITS.

    Parameters
    ----------
    tree
        The binary tree over the buckets.
    buckets
        The partition.
    """
    used = [0] * tree.levels
    boxes = workload(buckets.dimensions, buckets.side)
    at_once = max(AT_ONCE // (len(buckets) * buckets.dimensions), 1)
    for start in range(0, BOXES, at_once):
        whole, parts = _covered(boxes[start : start + at_once], buckets)
        used[-1] += parts
        for level in range(tree.height, 0, -1):
            # A node over padding only lies within every box.
            pairs = _padded(whole)
            above = pairs[:, 0::2] & pairs[:, 1::2]
            alone = whole & ~np.repeat(above, 2, axis=1)[:, : whole.shape[1]]
            used[level] += int(alone.sum()) << USAGE_BITS
            whole = above
        used[0] += int(whole.sum()) << USAGE_BITS
    return used


def _covered(boxes: NDArray[np.int64], buckets: Buckets) -> tuple[NDArray[np.bool_], int]:
    """Return which buckets lie within each box, and Σ f² over the parts of others, in units."""
    corners, sizes = buckets.corners, buckets.sizes
    high = np.minimum(corners[:, :, 1], boxes[:, None, :, 1])
    low = np.maximum(corners[:, :, 0], boxes[:, None, :, 0])
    covered = np.prod(np.maximum(high - low, 0), axis=2)
    whole = covered == sizes
    # Sizes are powers of two: the parts and their squares are exact.
    parts = (np.where(whole, 0, covered) / sizes) ** 2 * (1 << USAGE_BITS)
    return whole, int(parts.astype(np.int64).sum())


def _padded(whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return rows of even length."""
    return np.pad(whole, [(0, 0), (0, whole.shape[1] % 2)], constant_values=True)


def level_shares(used: list[int]) -> dict[int, Fraction]:
    """Return the levels that are counted, with their shares of the budget.

    Parameters
    ----------
    used
        How often the workload uses nodes of each level, from the root to the buckets.

    Notes
    -----
    With the share w of a budget, a level's noise has a variance in proportion to 1/w², so that
    Σ used/w² is to be least under Σ w = 1: w ∝ used^(1/3), with the minimum (Σ used^(1/3))³. A
    level that is left out passes its use on to the next one below, where each node is two. Levels
    are left out greedily as long as the minimum falls; the buckets themselves stay.
    """
    kept = list(range(len(used)))
    best = _roots(used, kept)
    while True:
        candidates = [[other for other in kept if other != level] for level in kept[:-1]]
        trials = [(sum(_roots(used, levels)), levels) for levels in candidates]
        if not trials or min(trials)[0] > sum(best):
            break
        kept = min(trials)[1]
        best = _roots(used, kept)
    total = sum(best)
    return {level: Fraction(root, total) for level, root in zip(kept, best, strict=True)}


def _roots(used: list[int], kept: list[int]) -> list[int]:
    """Return the cube roots of the use of kept levels, in small whole units, at least 1."""
    roots, passed, level = [], 0, 0
    for number in kept:
        while level <= number:
            passed = 2 * passed + used[level]
            level += 1
        roots.append(max(rounded_root(Fraction(passed << 12), 3), 1))
        passed = 0
    return roots
