"""What a spatial release is made of: boxes that tile the domain, each with a noisy count.

Everything here is public: functions of a released tree and of released counts. Points are taken to
be spread evenly within a cell. Nothing here may be given a private value.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.points import PointsPublic
from sfumato.spatial.tree_shape import TreeShape

__all__ = ["Cells", "TreeCells"]

Floats = NDArray[np.float64]

#: A cell of the finest grid; edges that differ by less than this part of it are the same.
SNAP = 2.0**-16


class Cells(Protocol):
    """Boxes that tile the domain, each with a count; points are spread evenly within a box."""

    @property
    def boxes(self) -> Floats:
        """The lower and upper edge of each cell on each axis, shape (cells, axes, 2)."""
        ...

    @property
    def counts(self) -> Floats:
        """The count of each cell; noise may make it negative."""
        ...

    @property
    def total(self) -> float:
        """The count of the whole domain."""
        ...

    def answer(self, boxes: Floats) -> Floats:
        """Return the count of each box, shape (boxes, axes, 2), within the domain."""
        ...


class TreeCells:
    """The leaves of a public tree that halves axes, each with a count.

    Parameters
    ----------
    public
        What is public about the points: the domain, and which axis each halving splits.
    shape
        The tree.
    counts
        The count of each leaf, in the order of the tree's leaves.
    """

    def __init__(self, public: PointsPublic, shape: TreeShape, counts: Floats) -> None:
        self.public = public
        self.shape = shape
        self._counts = np.array(counts, dtype=np.float64)
        self._counts.setflags(write=False)

    @property
    def counts(self) -> Floats:
        """The count of each leaf; noise may make it negative."""
        return self._counts

    @cached_property
    def boxes(self) -> Floats:
        """The lower and upper edge of each leaf on each axis, shape (leaves, axes, 2)."""
        parts = [
            self.public.boxes(prefixes[~split], level * self.shape.halvings)
            for level, (prefixes, split) in enumerate(
                zip(self.shape.prefixes, self.shape.splits, strict=True)
            )
        ]
        boxes = np.concatenate(parts)
        boxes.setflags(write=False)
        return boxes

    @cached_property
    def nodes(self) -> Floats:
        """The count of every node, level by level: a leaf's own, or the sum of its children."""
        return self.shape.sums(self._counts)

    @property
    def total(self) -> float:
        """The count of the whole domain."""
        return float(self.nodes[0])

    def answer(self, boxes: Floats) -> Floats:
        """Return the count of each box, shape (boxes, axes, 2), within the domain.

        Nodes that lie within a box are answered by their sums, so that the work goes by the
        surface of the box.
        """
        from sfumato.spatial.tree_kernels import answer_boxes

        low, high = np.array(self.public.bounds, dtype=np.float64).T
        reach = 2.0**self.shape.finest
        # In units of the finest cells, where the edges of all nodes are whole numbers.
        scaled = (boxes - low[:, None]) / (high - low)[:, None] * reach[:, None]
        whole = np.round(scaled)
        scaled = np.where(np.abs(scaled - whole) <= SNAP, whole, scaled)
        scaled = np.clip(scaled, 0.0, reach[:, None])
        answers: Floats = answer_boxes(
            np.ascontiguousarray(scaled),
            self.shape.first_children,
            self.nodes,
            self.shape.sides,
            self.shape.offsets,
            reach,
        )
        return answers
