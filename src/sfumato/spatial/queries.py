"""What programs may ask of points: the vocabulary of their queries.

Each is a frozen public value; the engine that holds the sorted points answers it exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.points import Points
from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.mechanisms.privelet import haar
from sfumato.mechanisms.privtree import Frontier, FrontierQuery
from sfumato.privacy.program import Query
from sfumato.spatial.bucket_cells import Buckets
from sfumato.spatial.hilbert import hilbert_order
from sfumato.spatial.tree_shape import TreeShape, children

__all__ = [
    "BucketSums",
    "CellCounts",
    "CellFrontier",
    "CurveCounts",
    "GridCounts",
    "HaarCoefficients",
    "NestedGridCounts",
    "NodeCounts",
    "PointCount",
    "SubCellCounts",
]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class PointCount(Query):
    """How many points there are, as an array of one count."""

    def answer(self, data: Points) -> Integers:
        """Return the count."""
        return np.array([data.counts.rows], dtype=np.int64)


@dataclass(frozen=True)
class GridCounts(Query):
    """How many points are in each of the equal cells of a grid.

    Parameters
    ----------
    shape
        The number of cells along each axis.
    """

    shape: tuple[int, ...]

    def answer(self, data: Points) -> Integers:
        """Return the grid of counts."""
        return data.counts.histogram(self.shape)


@dataclass(frozen=True, eq=False)
class SubCellCounts(Query):
    """How many points are in each part of the cells of a grid.

    Parameters
    ----------
    shape
        The number of cells along each axis.
    inner
        For each of them, into how many equal parts it is cut along every axis.
    """

    shape: tuple[int, ...]
    inner: Integers

    def answer(self, data: Points) -> Integers:
        """Return the counts, cell by cell."""
        return data.counts.count_nested(self.shape, self.inner)


@dataclass(frozen=True)
class HaarCoefficients(Query):
    """The whole-number Haar coefficients of the counts of a grid.

    Parameters
    ----------
    shape
        The number of cells along each axis, powers of two.
    """

    shape: tuple[int, ...]

    def answer(self, data: Points) -> Integers:
        """Return as many coefficients as there are cells."""
        return haar(data.counts.histogram(self.shape))


@dataclass(frozen=True)
class NestedGridCounts(Query):
    """How many points are in each cell of nested grids, each finer than the last.

    Parameters
    ----------
    dimensions
        The number of axes.
    branching
        Into how many parts a grid cuts every axis of a cell of the grid before.
    levels
        How many grids there are; the whole domain is none of them.
    """

    dimensions: int
    branching: int
    levels: int

    @cached_property
    def tree(self) -> Hierarchy:
        """The tree of all cells, the whole domain its root and the cells of each one together."""
        fan_out = self.branching**self.dimensions
        return Hierarchy(leaves=fan_out**self.levels, fan_out=fan_out)

    def answer(self, data: Points) -> Integers:
        """Return the counts of the nodes of the tree below its root."""
        grid = data.counts.histogram((self.branching**self.levels,) * self.dimensions)
        return self.tree.sums(self.order(grid))[1:]

    def order(self, grid: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of the finest grid so that those of each coarser cell stand together.

        Examples
        --------
        >>> NestedGridCounts(2, 2, 2).order(np.arange(16).reshape(4, 4)).tolist()
        [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
        """
        digits = grid.reshape((self.branching,) * (self.levels * self.dimensions))
        axes = [
            axis * self.levels + level
            for level in range(self.levels)
            for axis in range(self.dimensions)
        ]
        return np.ascontiguousarray(digits.transpose(axes)).reshape(-1)

    def grid(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the grid whose cells `order` put in order."""
        digits = cells.reshape((self.branching,) * (self.levels * self.dimensions))
        axes = [
            level * self.dimensions + axis
            for axis in range(self.dimensions)
            for level in range(self.levels)
        ]
        shape = (self.branching**self.levels,) * self.dimensions
        return np.ascontiguousarray(digits.transpose(axes)).reshape(shape)


@dataclass(frozen=True)
class CurveCounts(Query):
    """How many points are in each cell of a grid, in the order of Hilbert's curve.

    Parameters
    ----------
    dimensions, bits
        The grid has 2**bits cells along each axis.
    """

    dimensions: int
    bits: int

    def answer(self, data: Points) -> Integers:
        """Return the counts along the curve."""
        grid = data.counts.histogram((1 << self.bits,) * self.dimensions)
        return grid.reshape(-1)[hilbert_order(self.dimensions, self.bits)]


@dataclass(frozen=True, eq=False)
class BucketSums(Query):
    """How many points are below each node of one level of the binary tree over buckets.

    Parameters
    ----------
    buckets
        The buckets, along Hilbert's curve.
    level
        The level; the root is level 0.
    """

    buckets: Buckets
    level: int

    def answer(self, data: Points) -> Integers:
        """Return the counts of the level."""
        return self.answer_all([self], data)[0]

    @classmethod
    def answer_all(cls, queries: Sequence[BucketSums], data: Points) -> list[Integers]:
        """Return the counts of several levels of one tree, from one pass over the points."""
        (buckets,) = {query.buckets for query in queries}
        along = CurveCounts(buckets.dimensions, buckets.bits).answer(data)
        levels = buckets.tree.split(buckets.tree.sums(buckets.sums(along)))
        return [levels[query.level] for query in queries]


@dataclass(frozen=True, eq=False)
class CellCounts(Query):
    """How many points are in some cells of one level of a tree.

    Parameters
    ----------
    prefixes
        The cells, each a string of bits.
    length
        How many halvings lead to each.
    """

    prefixes: NDArray[np.uint64]
    length: int

    def answer(self, data: Points) -> Integers:
        """Return the counts."""
        return data.counts.cells(self.prefixes, self.length)


def _root(kind: type[np.generic]) -> Any:
    """Return a field that is an array of one zero by default."""
    return field(default_factory=lambda: np.zeros(1, dtype=kind))


@dataclass(frozen=True, eq=False)
class CellFrontier(FrontierQuery):
    """The cells of one level of a growing tree, scored by how many points they hold.

    Parameters
    ----------
    halvings
        How many halvings lead from a cell to its children.
    level
        How many levels are above.
    prefixes
        The cells, each a string of bits; at first the whole domain.
    above
        The place of the parent of each in the frontier before.
    """

    halvings: int
    level: int = 0
    prefixes: NDArray[np.uint64] = _root(np.uint64)
    above: NDArray[np.intp] = _root(np.intp)

    @property
    def parents(self) -> NDArray[np.intp]:
        """For each cell, its parent's place in the frontier before."""
        return self.above

    def answer(self, data: Points) -> Frontier:
        """Return the number of points in each cell."""
        counts = data.counts.cells(self.prefixes, self.level * self.halvings)
        return Frontier(self.above, counts)

    def descend(self, split: NDArray[np.bool_]) -> CellFrontier:
        """Return the query for the children of the cells that were split."""
        return CellFrontier(
            self.halvings,
            self.level + 1,
            children(self.prefixes, split, self.halvings),
            np.repeat(np.flatnonzero(split), 1 << self.halvings),
        )


@dataclass(frozen=True, eq=False)
class NodeCounts(Query):
    """How many points some nodes of a tree of cells hold, each count times its weight.

    Parameters
    ----------
    shape
        The tree.
    nodes
        The numbers of the nodes, increasing.
    weights
        The weight of each.
    """

    shape: TreeShape
    nodes: NDArray[np.intp]
    weights: Integers

    def answer(self, data: Points) -> Integers:
        """Return the weighted counts."""
        shape = self.shape
        borders = np.searchsorted(self.nodes, shape.starts)
        parts = [
            data.counts.cells(
                shape.prefixes[level][self.nodes[first:last] - shape.starts[level]],
                level * shape.halvings,
            )
            for level, (first, last) in enumerate(itertools.pairwise(borders))
        ]
        return self.weights * np.concatenate(parts)
