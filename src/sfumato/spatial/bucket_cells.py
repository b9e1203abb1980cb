"""Boxes of different sizes on a grid, each with a count: what a partition of a grid leaves.

They hold released counts, and answer boxes as if the points of a bucket lay evenly in it. Nothing
here may ever be given a private value.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.mechanisms.partition import bucket_starts
from sfumato.spatial.grid_cells import Bounds, GridCells
from sfumato.spatial.hilbert import hilbert_order

__all__ = ["BucketCells", "Buckets"]

Floats = NDArray[np.float64]


class Buckets:
    """A public partition of a grid into aligned runs of Hilbert's curve, which are boxes.

    Parameters
    ----------
    lengths
        log₂ of the number of cells of each bucket, along the curve.
    dimensions, bits
        The grid has 2**bits cells along each axis.
    """

    def __init__(self, lengths: NDArray[np.integer], dimensions: int, bits: int) -> None:
        self.dimensions, self.bits = dimensions, bits
        self.side = 1 << bits
        self.order = hilbert_order(dimensions, bits)
        self.starts = bucket_starts(lengths)
        self.sizes = np.left_shift(np.int64(1), lengths.astype(np.int64))

    def __len__(self) -> int:
        return self.sizes.size

    @cached_property
    def tree(self) -> Hierarchy:
        """The binary tree over the buckets."""
        return Hierarchy(leaves=len(self), fan_out=2)

    def sums(self, along: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the cells of each bucket, the cells being in the order of the curve."""
        sums: NDArray[np.int64] = np.add.reduceat(along, self.starts)
        return sums

    @cached_property
    def corners(self) -> NDArray[np.int64]:
        """The buckets as boxes of cells: (buckets, dimensions, 2), upper ends excluded."""
        corners = np.empty((len(self), self.dimensions, 2), dtype=np.int64)
        places = np.unravel_index(self.order, (self.side,) * self.dimensions)
        for axis, place in enumerate(places):
            corners[:, axis, 0] = np.minimum.reduceat(place, self.starts)
            corners[:, axis, 1] = np.maximum.reduceat(place, self.starts) + 1
        return corners

    def spread(self, counts: Floats) -> Floats:
        """Return the grid in which the count of each bucket is shared equally by its cells."""
        grid = np.empty(self.order.size)
        grid[self.order] = np.repeat(counts / self.sizes, self.sizes)
        return grid.reshape((self.side,) * self.dimensions)


class BucketCells:
    """The buckets of a partition, each with a count.

    Parameters
    ----------
    bounds
        The lower and the upper end of each axis.
    buckets
        The partition.
    counts
        The released count of each bucket.
    """

    def __init__(self, bounds: Bounds, buckets: Buckets, counts: ArrayLike) -> None:
        self.bounds = tuple((float(low), float(high)) for low, high in bounds)
        self.buckets = buckets
        self.counts = np.array(counts, dtype=np.float64)
        self.counts.setflags(write=False)

    def __len__(self) -> int:
        return self.counts.size

    @property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self.counts.sum())

    @cached_property
    def boxes(self) -> Floats:
        """The buckets as boxes, of shape (buckets, dimensions, 2), in the order of `counts`."""
        share = self.buckets.corners / self.buckets.side
        low, high = np.array(self.bounds, dtype=np.float64).T[:, :, None]
        boxes: Floats = low * (1.0 - share) + high * share
        boxes.setflags(write=False)
        return boxes

    @cached_property
    def _grid(self) -> GridCells:
        return GridCells(self.bounds, self.buckets.spread(self.counts))

    def answer(self, boxes: ArrayLike) -> Floats:
        """Return about how many points lie in each box, as if they lay evenly in a bucket.

        Parameters
        ----------
        boxes
            Array of shape (queries, dimensions, 2), in the coordinates of the bounds.
        """
        return self._grid.answer(boxes)
