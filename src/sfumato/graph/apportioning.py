"""Whole numbers that add up: the closest within bounds, and shares of a total.

Post-processing: nothing here may see a private value. All of it is done in integers, so that
everybody who repeats it gets the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["closest", "rounded", "shares"]

Integers = NDArray[np.int64]

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
    [0, 0, 3, 3]
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


def rounded(units: ArrayLike, unit: int) -> Integers:
    """Return numbers, given in parts of a unit, as whole numbers with the same sum.

    Examples
    --------
    >>> rounded([14, 14, 14, 14, 24], 10).tolist()
    [1, 2, 1, 2, 2]
    """
    sums = np.append(0, np.cumsum(np.asarray(units, dtype=np.int64)))
    return np.diff((sums + unit // 2) // unit)
