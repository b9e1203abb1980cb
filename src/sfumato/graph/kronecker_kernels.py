"""The hot loop of drawing Kronecker graphs, compiled by Numba. Imported when a graph is drawn.

Everything here is public.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["unrank_pairs"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def unrank_pairs(digits: Any, arrangements: Any, which: Any, ranks: Any) -> Any:
    """Return the pair of nodes, low < high, of each rank within its class.

    A rank is an arrangement of the kinds of digits, and a turn of each but the first that differs.

    Parameters
    ----------
    digits
        For each class in how many digits both nodes are 0, differ, and both are 1.
    arrangements
        In how many orders these can come.
    which, ranks
        The class of each pair and its rank there.
    """
    pairs = np.zeros((len(ranks), 2), dtype=np.int64)
    for pair in range(len(ranks)):
        zeros, apart, ones = digits[which[pair]]
        turns = ranks[pair] & ((1 << (apart - 1)) - 1)
        order = ranks[pair] >> (apart - 1)
        orders = arrangements[which[pair]]
        low, high, told_apart = 0, 0, False
        for remaining in range(zeros + apart + ones, 0, -1):
            low, high = 2 * low, 2 * high
            # The arrangements that go on with each kind of digit, one kind after the other.
            with_zeros = orders * zeros // remaining
            with_apart = orders * apart // remaining
            if order < with_zeros:
                orders = with_zeros
                zeros -= 1
                continue
            order -= with_zeros
            if order >= with_apart:
                order -= with_apart
                orders -= with_zeros + with_apart
                ones -= 1
                low += 1
                high += 1
                continue
            orders = with_apart
            apart -= 1
            # The first digit that differs is 0 in the lower node; the others turn either way.
            if told_apart and turns & 1:
                low += 1
            else:
                high += 1
            if told_apart:
                turns >>= 1
            told_apart = True
        pairs[pair, 0] = low
        pairs[pair, 1] = high
    return pairs
