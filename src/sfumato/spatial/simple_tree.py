"""SimpleTree: points as the cells of a tree of limited height, every node of it counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import count_noise
from sfumato.mechanisms.laplace import LARGEST_COUNT, GeometricNoise
from sfumato.mechanisms.privtree import MOST_NODES
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import OrNone, Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.spatial.cells import TreeCells
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.queries import CellCounts
from sfumato.spatial.spatial_method import SpatialMethod, count_step, points_about
from sfumato.spatial.tree_method import cells_about, check_fan_out, halvings_of
from sfumato.spatial.tree_repair import consistent
from sfumato.spatial.tree_shape import TreeShape, children

__all__ = ["SimpleTree"]


@dataclass(frozen=True, kw_only=True)
class SimpleTree(SpatialMethod):
    """Release noisy counts of the leaves of a tree of limited height; a baseline.

    This is the usual private quadtree. The noise on every count grows with the maximum height;
    `PrivTree` has no such limit.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person).
    levels
        Maximum number of levels, including the root.
    threshold
        A cell is split if its noisy count exceeds this. Default: twice the scale of the noise.
    fan_out
        Number of children of a cell, a power of two. Default: 2 to the power of the number of axes,
        at most 256.

    Notes
    -----
    Privacy: a point is in one cell of each level; every level gets an equal share of epsilon for
    its counts, and noisy counts alone determine what is counted next (docs/proofs/simple-tree.md).
    """

    proof: ClassVar[str] = "simple-tree.md"
    example: ClassVar[dict[str, Any]] = {"levels": 3}

    levels: int = parameter(Whole(1), 6)
    threshold: int | None = parameter(OrNone(Whole(-LARGEST_COUNT, LARGEST_COUNT)), None)
    fan_out: int | None = parameter(OrNone(Whole(2, 256)), None)

    def check(self, public: PointsPublic) -> None:
        """Raise where the fan-out does not fit the axes, or the height the points' grid."""
        super().check(public)
        check_fan_out(self.fan_out, public)
        most = len(public.axes) // halvings_of(self.fan_out, public) + 1
        if self.levels > most:
            raise ValueError(
                f"levels must be at most {most} for points of {public.dimensions} dimensions and "
                f"this fan-out; got {self.levels}"
            )

    def level_noise(self, public: PointsPublic, cells: int) -> GeometricNoise:
        """Return the noise on the counts of the cells of one level."""
        limit, relation = self.record_budget(public)
        noise = count_noise((cells,), limit.share(Fraction(1, self.levels)), relation)
        assert isinstance(noise, GeometricNoise)
        return noise

    def _split(self, noisy: NDArray[np.int64], public: PointsPublic) -> NDArray[np.bool_]:
        """Return which cells of a level are split, by what was said of them."""
        split: NDArray[np.bool_] = noisy > self._threshold(public)
        return split

    def _threshold(self, public: PointsPublic) -> int:
        """Return the noisy count above which a cell is split."""
        if self.threshold is not None:
            return self.threshold
        # For whole numbers, above twice the scale is above its whole part.
        return min(int(2 * self.level_noise(public, 1).scale), LARGEST_COUNT)

    def plan(self, public: PointsPublic) -> Plan:
        """Return what every level will cost and how good its counts will be."""
        self.check(public)
        share = self.loss().share(Fraction(1, self.levels))
        noise = self.level_noise(public, 1)
        steps = tuple(
            count_step(f"the cells of level {level + 1}", share, noise, public)
            for level in range(self.levels)
        )
        cells = cells_about(
            1 << halvings_of(self.fan_out, public),
            [self._threshold(public)] * (self.levels - 1),
            points_about(public) or 0,
        )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=steps,
            notes=(
                "The number of cells depends on the points and is not known in advance.",
                *self.size_notes(public),
            ),
            sizes=self.sizes(public, cells),
        )

    def program(self, public: PointsPublic, budget: Budget) -> Program[SpatialHistogram]:
        """Ask level by level for the counts of the children of what was split."""
        halvings = halvings_of(self.fan_out, public)
        prefixes, measured = np.zeros(1, dtype=np.uint64), list[NDArray[np.int64]]()
        labels = [f"level {level + 1}" for level in range(self.levels)]
        for level, part in enumerate(budget.split(labels)):
            if not len(prefixes) or sum(map(len, measured)) + len(prefixes) > MOST_NODES:
                break
            query = CellCounts(prefixes, level * halvings)
            measured.append(
                (yield Ask(part, self.level_noise(public, len(prefixes)), query, labels[level]))
            )
            prefixes = children(prefixes, self._split(measured[-1], public), halvings)
        yield FINISH
        # The cells of the last level that was counted are leaves, whatever they hold.
        splits = [self._split(noisy, public) for noisy in measured[:-1]]
        shape = TreeShape(splits, halvings, public.axes)
        said = np.concatenate(measured).astype(np.float64)
        variances = np.ones(shape.nodes)
        if public.rows is not None:
            said[0], variances[0] = public.rows, 0.0
        nodes, _ = consistent(shape, said, variances)
        cells = TreeCells(public, shape, nodes[shape.leaves])
        deviation = self.level_noise(public, 1).standard_deviation
        return SpatialHistogram(public, cells, deviation=deviation)
