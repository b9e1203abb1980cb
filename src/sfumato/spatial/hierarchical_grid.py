"""HierarchicalGrid: a complete tree of grids, each finer than the last, made consistent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import OrNone, Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.spatial.grid_cells import GridCells
from sfumato.spatial.grid_size import MOST_CELLS, check_shape
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.queries import NestedGridCounts
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
    fan_out
        Number of parts into which each level divides every axis of a cell. Default: 64 in one
        dimension, 8 in two, and in more the largest number that keeps the finest grid below 2^20
        cells.
    levels
        Number of grids. Default: 3, or fewer in more than six dimensions. The whole domain is not
        counted as a grid.

    Notes
    -----
    Privacy: a point falls into one cell of each grid, so it changes one count per level by 1
    (docs/proofs/hierarchical-grid.md).

    References
    ----------
    Hay, Rastogi, Miklau and Suciu, *Boosting the accuracy of differentially private histograms
    through consistency*, VLDB 2010; Qardaji, Yang and Li, *Understanding hierarchical methods for
    differentially private histograms*, VLDB 2013.
    """

    proof: ClassVar[str] = "hierarchical-grid.md"
    example: ClassVar[dict[str, Any]] = {"fan_out": 2, "levels": 2}
    former_names: ClassVar[dict[str, str]] = {"branching": "fan_out"}

    fan_out: int | None = parameter(OrNone(Whole(2)), None)
    levels: int | None = parameter(OrNone(Whole(1)), None)

    def check(self, public: PointsPublic) -> None:
        """Raise where the finest grid would be too large."""
        super().check(public)
        branching, levels = self.branches(public)
        # Checked by its logarithm first: the power may be too large to be written down.
        if levels * public.dimensions > 64 or branching > MOST_CELLS:
            raise ValueError(
                f"{levels} levels on {public.dimensions} axes need more than {MOST_CELLS:,} cells; "
                "use fewer levels, or UniformGrid"
            )
        check_shape(branching**levels, public)

    def branches(self, public: PointsPublic) -> tuple[int, int]:
        """Return the branching along an axis and the number of levels."""
        dimensions = public.dimensions
        levels = self.levels
        if levels is None:
            levels = max(min(3, DEFAULT_BITS // dimensions), 1)
        if self.fan_out is not None:
            return self.fan_out, levels
        branching = DEFAULT_BRANCHING.get(dimensions, 2**DEFAULT_BITS)
        while branching > 2 and branching ** (levels * dimensions) > 2**DEFAULT_BITS:
            # From far away by halves, then one by one.
            branching = branching // 2 if branching > 64 else branching - 1
        return branching, levels

    def grids(self, public: PointsPublic) -> NestedGridCounts:
        """Return the query for the counts of all grids."""
        return NestedGridCounts(public.dimensions, *self.branches(public))

    def _noise(self, public: PointsPublic) -> CountNoise:
        """Return the noise on all nodes below the root."""
        limit, relation = self.record_budget(public)
        tree = self.grids(public).tree
        return count_noise((tree.size - 1,), limit, relation, moves=tree.height)

    def trial(self) -> Self:
        """Return a method whose grids are small."""
        return replace(self, fan_out=2, levels=None if self.levels is None else 1)

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

    def program(self, public: PointsPublic, budget: Budget) -> Program[SpatialHistogram]:
        """Ask for the counts of all grids at once."""
        grids, noise = self.grids(public), self._noise(public)
        counts = yield Ask(budget, noise, grids, NODES)
        yield FINISH
        tree = grids.tree
        # The root is not measured: it is not needed, and every level costs its share.
        nodes = tree.infer(np.concatenate([[0.0], counts]), [np.inf] + [1.0] * tree.height)
        grid = grids.grid(tree.leaf_values(nodes))
        return SpatialHistogram(
            public, GridCells(public.bounds, grid), deviation=noise.standard_deviation
        )
