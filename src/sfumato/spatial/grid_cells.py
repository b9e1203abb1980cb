"""Cells of grids: equal cells in any dimension, and equal cells cut into equal sub-cells.

They hold released counts, and answer boxes as if the points of a cell lay evenly in it. Nothing
here may ever be given a private value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["GridCells", "NestedCells"]

Bounds = Sequence[tuple[float, float]]
Floats = NDArray[np.float64]

#: An axis of at most so many cells is added up cell by cell; a longer one by differences.
SHORT = 4


def _positions(boxes: Floats, bounds: Bounds, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the corners of boxes in units of cells, cut to the grid; an empty box stays empty."""
    lows = np.array([low for low, _ in bounds], dtype=np.float64)
    highs = np.array([high for _, high in bounds], dtype=np.float64)
    sizes = np.array(shape, dtype=np.float64)
    # Divided first: a width may be close to the largest float.
    share = np.clip((boxes - lows[:, None]) / (highs - lows)[:, None], 0.0, 1.0) * sizes[:, None]
    low = share[..., 0]
    return low, np.maximum(share[..., 1], low)


def _edges(bounds: Bounds, shape: tuple[int, ...]) -> list[Floats]:
    """Return the borders of the cells along each axis."""
    edges = []
    for (low, high), size in zip(bounds, shape, strict=True):
        share = np.arange(size + 1) / size
        edges.append(low * (1.0 - share) + high * share)
    return edges


def _check_boxes(boxes: ArrayLike, dimensions: int) -> Floats:
    """Return boxes as an array of shape (queries, dimensions, 2)."""
    asked = np.asarray(boxes, dtype=np.float64)
    if asked.ndim != 3 or asked.shape[1:] != (dimensions, 2):
        raise ValueError(
            f"boxes must have the shape (queries, {dimensions}, 2), lower and upper end of each "
            f"axis; got {asked.shape}"
        )
    return asked


class GridCells:
    """Equal cells of a grid, in any number of dimensions.

    Parameters
    ----------
    bounds
        The lower and the upper end of each axis.
    counts
        The released counts, one axis for each dimension.

    Examples
    --------
    >>> cells = GridCells([(0, 2), (0, 1)], [[3], [5]])
    >>> cells.total, cells.answer([[(0.5, 2), (0, 1)]]).tolist()
    (8.0, [6.5])
    """

    def __init__(self, bounds: Bounds, counts: ArrayLike) -> None:
        self.bounds = tuple((float(low), float(high)) for low, high in bounds)
        self.grid = np.array(counts, dtype=np.float64)
        self.grid.setflags(write=False)
        if self.grid.ndim != len(self.bounds):
            raise ValueError(
                f"counts must have {len(self.bounds)} axes, one for each pair of bounds; "
                f"got {self.grid.ndim}"
            )

    def __len__(self) -> int:
        return self.grid.size

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each axis."""
        return self.grid.shape

    @property
    def counts(self) -> Floats:
        """The counts of all cells, the last axis running fastest."""
        return self.grid.reshape(-1)

    @property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self.grid.sum())

    @cached_property
    def boxes(self) -> Floats:
        """The cells as boxes, of shape (cells, dimensions, 2), in the order of `counts`."""
        edges = _edges(self.bounds, self.shape)
        boxes = np.empty((*self.shape, len(self.shape), 2))
        for axis, edge in enumerate(edges):
            wide = [1] * len(self.shape)
            wide[axis] = -1
            boxes[..., axis, 0] = edge[:-1].reshape(wide)
            boxes[..., axis, 1] = edge[1:].reshape(wide)
        flat = boxes.reshape(self.grid.size, len(self.shape), 2)
        flat.setflags(write=False)
        return flat

    @cached_property
    def _summed(self) -> Floats:
        """The counts, summed up along every axis that is not short."""
        table = self.grid
        for axis, size in enumerate(self.shape):
            if size > SHORT:
                padding = [(1, 0) if a == axis else (0, 0) for a in range(table.ndim)]
                table = np.pad(np.cumsum(table, axis=axis), padding)
        return np.ascontiguousarray(table)

    def answer(self, boxes: ArrayLike) -> Floats:
        """Return about how many points lie in each box.

        Parameters
        ----------
        boxes
            Array of shape (queries, dimensions, 2), in the coordinates of the bounds.

        Notes
        -----
        Within a cell points are taken as evenly spread. The integral of such a density up to a
        corner is multilinear within a cell, so that it is read off a summed-area table by
        interpolation.
        """
        from sfumato.spatial.grid_kernels import sum_weighted

        asked = _check_boxes(boxes, len(self.shape))
        low, high = _positions(asked, self.bounds, self.shape)
        places = np.zeros((*low.shape, SHORT), dtype=np.int64)
        weights = np.zeros((*low.shape, SHORT))
        for axis, size in enumerate(self.shape):
            terms = _overlaps if size <= SHORT else _differences
            places[:, axis], weights[:, axis] = terms(low[:, axis], high[:, axis], size)
        table = self._summed
        strides = np.array([prod(table.shape[axis + 1 :]) for axis in range(table.ndim)])
        sums = np.empty(len(asked))
        sum_weighted(table.reshape(-1), strides, places, weights, sums)
        return sums


def _overlaps(low: Floats, high: Floats, size: int) -> tuple[NDArray[np.int64], Floats]:
    """Return which share of every cell of a short axis lies between two positions."""
    cell = np.arange(SHORT)
    share = np.minimum(high[:, None], cell + 1.0) - np.maximum(low[:, None], cell)
    share[:, size:] = 0.0
    return np.minimum(cell, size - 1), np.maximum(share, 0.0)


def _differences(low: Floats, high: Floats, size: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the entries of a summed axis, and their weights, that give what lies between."""
    ends = np.stack([high, low], axis=1)
    whole = np.minimum(ends.astype(np.int64), size - 1)
    part = ends - whole
    sign = np.array([1.0, -1.0])
    places = np.stack([whole, whole + 1], axis=2).reshape(-1, SHORT)
    weights = np.stack([sign * (1.0 - part), sign * part], axis=2).reshape(-1, SHORT)
    return places, weights


class NestedCells:
    """Equal cells of a plane grid, each cut into its own number of equal sub-cells.

    Parameters
    ----------
    bounds
        The lower and the upper end of the two axes.
    inner
        For each cell, how many sub-cells lie along each of its sides.
    counts
        The released counts of the sub-cells: cell by cell, the second axis running fastest both
        among cells and within one.

    Examples
    --------
    >>> cells = NestedCells([(0, 2), (0, 1)], [[1], [2]], [4, 1, 2, 3, 6])
    >>> cells.total, cells.answer([[(1.5, 2), (0, 0.25)], [(0.5, 2), (0, 1)]]).tolist()
    (16.0, [1.5, 14.0])
    """

    def __init__(self, bounds: Bounds, inner: ArrayLike, counts: ArrayLike) -> None:
        self.bounds = tuple((float(low), float(high)) for low, high in bounds)
        self.inner = np.array(inner, dtype=np.int64)
        self.counts = np.array(counts, dtype=np.float64).reshape(-1)
        if len(self.bounds) != 2 or self.inner.ndim != 2:
            raise ValueError("nested cells are for two dimensions")
        if self.inner.min() < 1 or int((self.inner**2).sum()) != self.counts.size:
            raise ValueError("counts must hold inner² values for each cell, inner being at least 1")
        self.inner.setflags(write=False)
        self.counts.setflags(write=False)

    def __len__(self) -> int:
        return self.counts.size

    @property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self.counts.sum())

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return for every sub-cell its cell, and its place along both sides within it."""
        sizes = self.inner.reshape(-1)
        cell = np.repeat(np.arange(sizes.size), sizes**2)
        first = np.cumsum(sizes**2) - sizes**2
        within = np.arange(self.counts.size) - first[cell]
        return cell, within // sizes[cell], within % sizes[cell]

    @cached_property
    def boxes(self) -> Floats:
        """The sub-cells as boxes, of shape (sub-cells, 2, 2), in the order of `counts`."""
        cell, *places = self._places()
        sizes = self.inner.reshape(-1)[cell].astype(np.float64)
        corners = np.divmod(cell, self.inner.shape[1])
        boxes = np.empty((self.counts.size, 2, 2))
        for axis, ((low, high), cells) in enumerate(
            zip(self.bounds, self.inner.shape, strict=True)
        ):
            for end in (0, 1):
                share = (corners[axis] + (places[axis] + end) / sizes) / cells
                boxes[:, axis, end] = low * (1.0 - share) + high * share
        boxes.setflags(write=False)
        return boxes

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Running totals of cells, and the summed-area table of each with its start."""
        sizes = self.inner.reshape(-1)
        starts = np.cumsum((sizes + 1) ** 2) - (sizes + 1) ** 2
        table = np.zeros(int(((sizes + 1) ** 2).sum()))
        totals = np.empty(sizes.size)
        ends = np.cumsum(sizes**2)
        # Cells of one size are summed up together: there are few sizes and many cells.
        for size in np.unique(sizes):
            which = np.flatnonzero(sizes == size)
            parts = self.counts[(ends[which] - size**2)[:, None] + np.arange(size**2)]
            summed = np.zeros((which.size, size + 1, size + 1))
            summed[:, 1:, 1:] = parts.reshape(-1, size, size).cumsum(axis=1).cumsum(axis=2)
            table[starts[which][:, None] + np.arange((size + 1) ** 2)] = summed.reshape(
                which.size, -1
            )
            totals[which] = summed[:, -1, -1]
        running = np.pad(np.cumsum(totals.reshape(self.inner.shape), axis=1), [(0, 0), (1, 0)])
        return running, table, starts.reshape(self.inner.shape)

    def answer(self, boxes: ArrayLike) -> Floats:
        """Return about how many points lie in each box, as if they lay evenly in a sub-cell.

        Parameters
        ----------
        boxes
            Array of shape (queries, 2, 2), in the coordinates of the bounds.
        """
        from sfumato.spatial.grid_kernels import sum_nested

        asked = _check_boxes(boxes, 2)
        low, high = _positions(asked, self.bounds, self.inner.shape)
        running, table, starts = self._tables
        sums = np.empty(len(asked))
        sum_nested(running, table, starts, self.inner, low, high, sums)
        return sums
