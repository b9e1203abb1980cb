"""Hilbert's curve: the cells of a grid in an order in which neighbours are neighbours.

The curve is public; nothing here sees counts.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["hilbert_index", "hilbert_order"]


def hilbert_index(coordinates: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return the places of cells on Hilbert's curve.

    Parameters
    ----------
    coordinates
        Array of shape (cells, dimensions), each from 0 to 2**bits − 1.
    bits
        How often every axis is halved; bits times dimensions is at most 62.

    Notes
    -----
    Skilling, *Programming the Hilbert curve*, 2004: undo the turns of the curve from the coarsest
    halving to the finest, take the Gray code, and interleave the bits of the axes.

    Examples
    --------
    >>> hilbert_index(np.array([[0, 0], [0, 1], [1, 1], [1, 0]]), 1).tolist()
    [0, 1, 2, 3]
    """
    axes = [np.array(column, dtype=np.int64) for column in np.asarray(coordinates).T]
    for bit in range(bits - 1, 0, -1):
        below = (1 << bit) - 1
        for axis in axes:
            upper = (axis >> bit) & 1 == 1
            # In the upper half the first axis is mirrored, in the lower it is swapped.
            swapped = np.where(upper, 0, (axes[0] ^ axis) & below)
            axes[0] ^= np.where(upper, below, swapped)
            if axis is not axes[0]:
                axis ^= swapped
    for first, second in pairwise(axes):
        second ^= first
    turn = np.zeros_like(axes[0])
    for bit in range(bits - 1, 0, -1):
        turn ^= np.where((axes[-1] >> bit) & 1 == 1, (1 << bit) - 1, 0)
    places = np.zeros_like(axes[0])
    for bit in range(bits - 1, -1, -1):
        for axis in axes:
            places = (places << 1) | (((axis ^ turn) >> bit) & 1)
    return places


@lru_cache(maxsize=4)
def hilbert_order(dimensions: int, bits: int) -> NDArray[np.intp]:
    """Return the cells of a grid in the order of Hilbert's curve.

    Parameters
    ----------
    dimensions, bits
        The grid has 2**bits cells along each axis.

    Returns
    -------
    order
        The numbers of the cells, the last axis running fastest. In it every aligned run of 2^k
        cells is a box.
    """
    side = 1 << bits
    cells = np.indices((side,) * dimensions).reshape(dimensions, -1).T
    order = np.empty(len(cells), dtype=np.intp)
    order[hilbert_index(cells, bits)] = np.arange(len(cells))
    order.setflags(write=False)
    return order
