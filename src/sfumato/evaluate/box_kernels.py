"""Counting the private points in boxes exactly, compiled by Numba.

NOT PRIVATE: it counts without noise; whoever uses it says so. Imported when something is asked.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["count_boxes"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _first_with(keys: Any, start: int, end: int, bit: Any) -> int:
    """Return the first place from `start` to `end` whose key has a bit set; they are sorted."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if keys[middle] & bit:
            high = middle
        else:
            low = middle + 1
    return low


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count_boxes(keys: Any, axes: Any, bits: Any, boxes: Any) -> Any:
    """Return the number of points in each box by a walk down the binary tree of the sorted keys.

    Parameters
    ----------
    keys
        The sorted keys of the points.
    axes
        Which axis each split halves.
    bits
        How often each axis is split.
    boxes
        Lower edges, included, and upper edges, not included, on the grid of the keys: whole
        numbers of shape (boxes, axes, 2).
    """
    splits, dimensions = axes.size, bits.size
    counts = np.zeros(boxes.shape[0], dtype=np.int64)
    # Of each level one node waits while its sibling is looked at.
    first = np.empty(splits + 2, dtype=np.int64)
    last = np.empty(splits + 2, dtype=np.int64)
    level = np.empty(splits + 2, dtype=np.int64)
    corner = np.empty((splits + 2, dimensions), dtype=np.int64)
    side = np.empty((splits + 2, dimensions), dtype=np.int64)
    for query in range(boxes.shape[0]):
        waiting = 1
        first[0], last[0], level[0] = 0, keys.size, 0
        for axis in range(dimensions):
            corner[0, axis], side[0, axis] = 0, np.int64(1) << bits[axis]
        while waiting > 0:
            waiting -= 1
            start, end, depth = first[waiting], last[waiting], level[waiting]
            apart, inside = start == end, True
            for axis in range(dimensions):
                low = corner[waiting, axis]
                high = low + side[waiting, axis]
                if high <= boxes[query, axis, 0] or low >= boxes[query, axis, 1]:
                    apart = True
                elif low < boxes[query, axis, 0] or high > boxes[query, axis, 1]:
                    inside = False
            if apart:
                continue
            if inside:
                counts[query] += end - start
                continue
            bit = np.uint64(1) << np.uint64(splits - 1 - depth)
            middle = _first_with(keys, start, end, bit)
            half = side[waiting, axes[depth]] // 2
            # The upper half goes on top; the lower one takes the place of both.
            for axis in range(dimensions):
                corner[waiting + 1, axis] = corner[waiting, axis]
                side[waiting + 1, axis] = side[waiting, axis]
            side[waiting, axes[depth]] = half
            side[waiting + 1, axes[depth]] = half
            corner[waiting + 1, axes[depth]] += half
            last[waiting], level[waiting] = middle, depth + 1
            first[waiting + 1], last[waiting + 1], level[waiting + 1] = middle, end, depth + 1
            waiting += 2
    return counts
