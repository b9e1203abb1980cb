"""Degrees that a simple graph can have: the test of Erdős and Gallai, and repair of noisy ones.

Post-processing: nothing here may see a private value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Repaired", "excess", "graphical", "is_graphical"]

Integers = NDArray[np.int64]


class Repaired(NamedTuple):
    """Degrees that a graph can have, and Σ |change| by which they differ from those given."""

    degrees: Integers
    moved: float


def excess(falling: Integers) -> int:
    """Return by how much degrees in falling order break the inequalities of Erdős and Gallai.

    The largest of Σ_{i≤k} d_i − k(k−1) − Σ_{i>k} min(d_i, k) over k = 1 … n; none is broken where
    it is at most 0. Degrees are between 0 and n − 1.
    """
    nodes = len(falling)
    if nodes == 0:
        return 0
    sums = np.append(0, np.cumsum(falling))
    size = np.arange(1, nodes + 1)
    # The first `above[k]` degrees are at least k; later than both them and k, min(d, k) is d.
    above = nodes - np.searchsorted(falling[::-1], size, side="left")
    split = np.maximum(above, size)
    others = size * (split - size) + sums[nodes] - sums[split]
    return int((sums[size] - size * (size - 1) - others).max())


def is_graphical(degrees: ArrayLike) -> bool:
    """Tell whether some simple graph has these degrees.

    Examples
    --------
    >>> is_graphical([3, 3, 2, 2]), is_graphical([3, 3, 1, 1])
    (True, False)
    """
    values = np.asarray(degrees, dtype=np.int64)
    if not len(values):
        return True
    if values.min() < 0 or values.max() >= len(values) or values.sum() % 2:
        return False
    return excess(np.sort(values)[::-1]) <= 0


def graphical(degrees: ArrayLike) -> Repaired:
    """Return degrees that a simple graph can have, close to those given and in their order.

    Degrees are cut to 0 … n − 1 and rounded. While they break Erdős and Gallai's inequalities the
    largest is lowered by 1, all at once; an odd sum is mended where rounding was closest. For
    whole numbers within 0 … n − 1 no graphical sequence is closer in L1. O(n log n).

    Parameters
    ----------
    degrees
        One finite number for each node, however far off.

    Notes
    -----
    One step of one degree changes no inequality by more than 1, so at least `excess` steps are
    needed. Let T degrees be the largest, c, and some inequality be broken; then c ≥ T, for up to
    the T-th each holds if c < T. So the excess grows with k up to T: the broken inequality that is
    worst counts all T, and each lowering of one of them mends it by 1.

    Examples
    --------
    >>> graphical([2.2, 9.0, 1.4, -3.0])
    Repaired(degrees=array([1, 2, 1, 0]), moved=11.6)
    """
    given = np.asarray(degrees)
    if given.ndim != 1 or given.dtype.kind not in "iuf":
        raise ValueError("degrees must be numbers in one row, one for each node")
    if not np.isfinite(given).all():
        raise ValueError("degrees must be finite; one is infinite or not a number")
    nodes = len(given)
    within = np.clip(given, 0, max(nodes - 1, 0))
    whole = np.rint(within).astype(np.int64)
    order = np.lexsort((-within, -whole))
    falling = whole[order]
    too_much = excess(falling)
    if too_much > 0:
        falling = _lower_largest(falling, too_much + (int(falling.sum()) - too_much) % 2)
    elif falling.sum() % 2:
        falling = _even(falling, within[order], nodes)
    repaired = np.empty(nodes, dtype=np.int64)
    repaired[order] = falling
    moved = float(np.abs(repaired - given.astype(np.float64)).sum())
    return Repaired(repaired, moved)


def _lower_largest(falling: Integers, steps: int) -> Integers:
    """Lower the largest degree by 1, so many times; of equal ones the last."""
    # Lowering the first j degrees to the (j+1)-th takes `needed[j − 1]` steps.
    size = np.arange(1, len(falling) + 1)
    following = np.append(falling[1:], 0)
    needed = np.cumsum(falling) - size * following
    many = int(np.searchsorted(needed, steps, side="left")) + 1
    total = int(falling[:many].sum()) - steps
    level, higher = divmod(total, many)
    lowered = falling.copy()
    lowered[:many] = level
    lowered[:higher] += 1
    return lowered


def _even(falling: Integers, given: NDArray[np.float64], nodes: int) -> Integers:
    """Change one degree by 1, the one that was rounded the farthest, or else the largest."""
    residual = given - falling
    # An integer that was given is lowered, so that no more edges are made up than must be.
    step = np.where(residual > 0, 1, -1)
    possible = (falling + step >= 0) & (falling + step < nodes)
    place = int(np.argmax(np.where(possible, np.abs(residual), -1.0)))
    changed = falling.copy()
    changed[place] += step[place]
    ordered = np.sort(changed)[::-1]
    if possible[place] and excess(ordered) <= 0:
        return changed
    return _lower_largest(falling, 1)


# Whole numbers that add up: the closest within bounds, and shares of a total.
#
# Post-processing: nothing here may see a private value. All of it is done in integers, so that
# everybody who repeats it gets the same.


#: Values are cut to this before anything is added up: sums stay within 64 bits.
LARGEST = 2**53


def closest(values: ArrayLike, largest: ArrayLike, total: int) -> Integers:
    """Return the whole numbers closest to given ones that lie within bounds and add up to a total.

    All values move by the same amount where the bounds let them, which is the projection in the L2
    norm; what does not divide evenly goes to some of them, evenly spread.

    Parameters
    ----------
    values
        Whole numbers, however far off.
    largest
        What each of them is at most; the least is 0.
    total
        The sum, which is cut to what the bounds allow.

    Examples
    --------
    >>> closest([-2, 0, 5, 4], 10, 6).tolist()
    [0, 0, 4, 2]
    """
    given = np.clip(np.asarray(values, dtype=np.int64), -LARGEST, LARGEST)
    caps = np.broadcast_to(np.asarray(largest, dtype=np.int64), given.shape)
    wanted = min(max(total, 0), int(caps.sum()))
    if len(given) == 0:
        return given
    # With the shift `low` they add up to at least what is wanted, with `high` to less.
    low, high = int((given - caps).min()) - 1, int(given.max()) + 1
    if wanted == 0:
        return np.zeros_like(given)
    while high - low > 1:
        middle = (low + high) // 2
        if int(np.clip(given - middle, 0, caps).sum()) >= wanted:
            low = middle
        else:
            high = middle
    found = np.clip(given - high, 0, caps)
    movable = np.flatnonzero(np.clip(given - low, 0, caps) > found)
    missing = wanted - int(found.sum())
    found[movable[np.arange(missing) * len(movable) // max(missing, 1)]] += 1
    return found


def shares(weights: ArrayLike, total: int) -> Integers:
    """Return whole shares of a total in proportion to weights, each off by less than 1.

    Parameters
    ----------
    weights
        Whole numbers of at least 0; all 0 stands for equal weights.
    total
        What is shared out.

    Examples
    --------
    >>> shares([1, 1, 2], 6).tolist()
    [2, 1, 3]
    """
    parts = np.asarray(weights, dtype=np.int64)
    if len(parts) == 0:
        return parts
    if not parts.any():
        parts = np.ones_like(parts)
    sums = np.cumsum(parts)
    # Products of 64-bit numbers may not fit; a float is off by much less than one share.
    reached = np.floor(sums * (total / sums[-1]) + 0.5).astype(np.int64)
    reached[-1] = total
    parted: Integers = np.diff(np.minimum(np.append(0, reached), total))
    return parted


def round_keeping_sum(units: ArrayLike, unit: int) -> Integers:
    """Return numbers, given in parts of a unit, as whole numbers with the same sum.

    Examples
    --------
    >>> round_keeping_sum([14, 14, 14, 14, 24], 10).tolist()
    [1, 2, 1, 2, 2]
    """
    sums = np.append(0, np.cumsum(np.asarray(units, dtype=np.int64)))
    return np.diff((sums + unit // 2) // unit)
