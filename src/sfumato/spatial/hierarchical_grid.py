"""HierarchicalGrid: a complete tree of grids, each finer than the last, made consistent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.points import Points, PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, count_noise, measure_counts
from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import OrNone, Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.transcript import Transcript
from sfumato.spatial.grid_cells import GridCells
from sfumato.spatial.grid_size import MOST_CELLS, checked_shape, require_planned
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.spatial_method import SpatialMethod, count_step

__all__ = ["HierarchicalGrid"]

#: The label of the counts in transcripts.
NODES = "nodes"
#: By default the finest grid has at most 2 to this many cells, and a node this many children.
DEFAULT_BITS = 20
DEFAULT_BRANCHING = {1: 64, 2: 8}


@dataclass(frozen=True, kw_only=True)
class HierarchicalGrid(SpatialMethod):
    """Release noisy counts of nested grids, made consistent by least squares.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person); every level gets the same share.
    branching
        Into how many parts a level cuts every axis of a cell of the level before. By default 8 in
        two dimensions, 64 in one, and as many in more as keep the finest grid below 2^20 cells.
    levels
        How many grids there are; 3 by default, or fewer in more than six dimensions. The whole
        domain is not counted again.

    Notes
    -----
    Privacy: a point falls into one cell of each grid, so that as many counts as there are levels
    change by 1 (docs/proofs/hierarchical-grid.md).

    References
    ----------
    Hay, Rastogi, Miklau and Suciu, *Boosting the accuracy of differentially private histograms
    through consistency*, VLDB 2010; Qardaji, Yang and Li, *Understanding hierarchical methods for
    differentially private histograms*, VLDB 2013.
    """

    proof: ClassVar[str] = "hierarchical-grid.md"

    branching: int | None = parameter(OrNone(Whole(2)), None)
    levels: int | None = parameter(OrNone(Whole(1)), None)

    def check(self, public: PointsPublic) -> None:
        """Raise where the finest grid would be too large."""
        super().check(public)
        branching, levels = self.branches(public)
        # Checked by its logarithm first: the power may be too large to be written down.
        if levels * public.dimensions > 64 or branching > MOST_CELLS:
            raise ValueError(
                f"{levels} levels that cut each of {public.dimensions} axes make more than "
                f"{MOST_CELLS:,} cells; take fewer levels, or UniformGrid"
            )
        checked_shape(branching**levels, public)

    def branches(self, public: PointsPublic) -> tuple[int, int]:
        """Return the branching along an axis and the number of levels."""
        dimensions = public.dimensions
        levels = self.levels
        if levels is None:
            levels = max(min(3, DEFAULT_BITS // dimensions), 1)
        if self.branching is not None:
            return self.branching, levels
        branching = DEFAULT_BRANCHING.get(dimensions, 2**DEFAULT_BITS)
        while branching > 2 and branching ** (levels * dimensions) > 2**DEFAULT_BITS:
            # From far away by halves, then one by one.
            branching = branching // 2 if branching > 64 else branching - 1
        return branching, levels

    def tree(self, public: PointsPublic) -> Hierarchy:
        """Return the tree over the cells of the finest grid, in nested order."""
        branching, levels = self.branches(public)
        fan_out = branching**public.dimensions
        return Hierarchy(leaves=fan_out**levels, fan_out=fan_out)

    def _noise(self, public: PointsPublic) -> CountNoise:
        """Return the noise on all nodes below the root."""
        limit, relation = self.record_budget(public)
        tree = self.tree(public)
        return count_noise((tree.size - 1,), limit, relation, moves=tree.height)

    def trial(self) -> Self:
        """Return a method whose grids are small."""
        return replace(self, branching=2, levels=None if self.levels is None else 1)

    def plan(self, public: PointsPublic) -> Plan:
        """Return what the counts will cost and how good they will be."""
        self.check(public)
        branching, levels = self.branches(public)
        sides = ", ".join(
            " × ".join([str(branching**level)] * public.dimensions)
            for level in range(1, levels + 1)
        )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(count_step(f"grids of {sides}", self.loss(), self._noise(public), public),),
            notes=(
                "Least squares makes the grids agree, which leaves less noise than the margin "
                "says.",
                *self.size_notes(public),
            ),
            sizes=self.sizes(public, prod(self._noise(public).shape)),
        )

    def _measure(self, data: Points, budget: Budget) -> None:
        public = data.public
        branching, levels = self.branches(public)
        counts = data.counts.histogram((branching**levels,) * public.dimensions)
        tree = self.tree(public)
        # The root is left out: it is not needed, and every level costs its share.
        sums = tree.sums(nested_order(counts, branching, levels))[1:]
        measure_counts(budget, sums, moves=tree.height, label=NODES)

    def _build(self, public: PointsPublic, transcript: Transcript) -> SpatialHistogram:
        branching, levels = self.branches(public)
        tree, noise = self.tree(public), self._noise(public)
        require_planned(transcript, [(NODES, noise)])
        measured = np.concatenate([[0.0], transcript[NODES]])
        values = tree.leaf_values(tree.infer(measured, [np.inf] + [1.0] * tree.height))
        grid = from_nested_order(values, branching, levels, public.dimensions)
        return SpatialHistogram(
            public, GridCells(public.bounds, grid), deviation=noise.standard_deviation
        )


def nested_order(grid: NDArray[np.int64], branching: int, levels: int) -> NDArray[np.int64]:
    """Return the cells of a grid so that those of each coarser cell stand together.

    Parameters
    ----------
    grid
        The grid, branching^levels cells along each axis.
    branching, levels
        How the coarser grids are nested.

    Examples
    --------
    >>> nested_order(np.arange(16).reshape(4, 4), 2, 2).tolist()
    [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
    """
    digits = grid.reshape((branching,) * (levels * grid.ndim))
    order = [axis * levels + level for level in range(levels) for axis in range(grid.ndim)]
    return np.ascontiguousarray(digits.transpose(order)).reshape(-1)


def from_nested_order(
    cells: NDArray[np.float64], branching: int, levels: int, dimensions: int
) -> NDArray[np.float64]:
    """Return the grid whose cells `nested_order` put in order."""
    digits = cells.reshape((branching,) * (levels * dimensions))
    order = [level * dimensions + axis for axis in range(dimensions) for level in range(levels)]
    return np.ascontiguousarray(digits.transpose(order)).reshape((branching**levels,) * dimensions)
