"""The hot loops of spatial releases, compiled by Numba; imported when something is asked.

Everything here works on released values.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["answer_boxes", "spread_cells"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def answer_boxes(
    boxes: Any, first_children: Any, nodes: Any, sides: Any, offsets: Any, reach: Any
) -> Any:
    """Return the count of each box by a walk down the tree.

    Parameters
    ----------
    boxes
        Lower and upper edges, shape (boxes, axes, 2), in units of the finest cells.
    first_children
        The number of the first child of each node; −1 for a leaf.
    nodes
        The count of each node.
    sides
        The sides of a node of each level, shape (levels, axes).
    offsets
        How far each child's corner is from its parent's, shape (levels, fan-out, axes).
    reach
        The sides of the domain.
    """
    axes, levels, fan_out = boxes.shape[1], sides.shape[0], offsets.shape[1]
    answers = np.zeros(boxes.shape[0])
    # Of one node of each level at most all children wait.
    node = np.empty(levels * fan_out + 1, dtype=np.int64)
    depth = np.empty(levels * fan_out + 1, dtype=np.int64)
    corner = np.empty((levels * fan_out + 1, axes))
    for query in range(boxes.shape[0]):
        box = boxes[query]
        total, waiting = 0.0, 1
        node[0], depth[0] = 0, 0
        corner[0, :] = 0.0
        while waiting > 0:
            waiting -= 1
            here, level = node[waiting], depth[waiting]
            inside, share = True, 1.0
            for axis in range(axes):
                low, side = corner[waiting, axis], sides[level, axis]
                overlap = min(low + side, box[axis, 1]) - max(low, box[axis, 0])
                if overlap < side:
                    inside = False
                    if overlap <= 0.0:
                        share = 0.0
                        break
                    share *= overlap / side
            if share == 0.0:
                continue
            first = first_children[here]
            if inside or first < 0:
                total += nodes[here] * share
                continue
            # The last child takes the place of its parent, so its corner is written last.
            for child in range(fan_out):
                place = waiting + fan_out - 1 - child
                for axis in range(axes):
                    corner[place, axis] = corner[waiting, axis] + offsets[level, child, axis]
                node[place], depth[place] = first + child, level + 1
            waiting += fan_out
        answers[query] = total
    return answers


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def spread_cells(grid: Any, strides: Any, shape: Any, boxes: Any, counts: Any) -> None:
    """Add the count of each cell to a regular grid, by the exact overlap.

    Parameters
    ----------
    grid
        The cells of the grid, flat; added to.
    strides, shape
        How far two neighbours on an axis are apart in it, and its cells on each axis.
    boxes
        The cells' edges in units of the grid's cells, shape (cells, axes, 2).
    counts
        The counts.
    """
    axes = shape.size
    first = np.empty(axes, dtype=np.int64)
    last = np.empty(axes, dtype=np.int64)
    place = np.empty(axes, dtype=np.int64)
    for cell in range(counts.size):
        for axis in range(axes):
            low, high = boxes[cell, axis, 0], boxes[cell, axis, 1]
            first[axis] = min(int(np.floor(low)), shape[axis] - 1)
            last[axis] = max(min(int(np.ceil(high)), shape[axis]) - 1, first[axis])
            place[axis] = first[axis]
        axis = 0
        while axis >= 0:
            share, where = 1.0, 0
            for a in range(axes):
                low, high = boxes[cell, a, 0], boxes[cell, a, 1]
                overlap = min(high, place[a] + 1.0) - max(low, float(place[a]))
                share *= max(overlap, 0.0) / (high - low)
                where += place[a] * strides[a]
            grid[where] += counts[cell] * share
            # Count on, like the wheels of a meter.
            axis = axes - 1
            while axis >= 0:
                place[axis] += 1
                if place[axis] <= last[axis]:
                    break
                place[axis] = first[axis]
                axis -= 1
