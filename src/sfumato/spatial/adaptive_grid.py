"""AdaptiveGrid: a coarse grid whose cells are cut finer where many points are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Number
from sfumato.privacy.parameters import SHARE, OrNone, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.spatial.grid_cells import NestedCells
from sfumato.spatial.grid_size import (
    MOST_CELLS,
    SIZE_SHARE,
    GridShape,
    check_shape,
    count_points,
    rate_of,
    round_root,
    rows_noise,
    size_step,
)
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.queries import GridCounts, SubCellCounts
from sfumato.spatial.spatial_method import SpatialMethod, count_step, points_about

__all__ = ["AdaptiveGrid"]

#: The labels of both levels in transcripts, and the names of their slices.
COARSE, FINE = "cells", "sub-cells"
#: The most cells of the coarse grid, and its least number of cells along an axis.
MOST_COARSE = 2**20
LEAST_SIDE = 10


@dataclass(frozen=True, kw_only=True)
class AdaptiveGrid(SpatialMethod):
    """Release noisy counts of a two-level grid in two dimensions, finer in dense regions.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person).
    cells
        Cells of the coarse grid along both axes, or one number per axis. Default: a quarter of the
        default of `UniformGrid`, and at least 10. If the number of points is private, a fiftieth of
        epsilon is for a noisy count of them.
    coarse_share
        Share of the budget for counts that goes to the coarse grid.

    Notes
    -----
    Privacy: each point falls into one cell of the coarse grid and into one sub-cell; how a cell is
    cut depends on noisy counts alone (docs/proofs/adaptive-grid.md).

    References
    ----------
    Qardaji, Yang and Li, *Differentially private grids for geospatial data*, ICDE 2013.
    """

    proof: ClassVar[str] = "adaptive-grid.md"
    example: ClassVar[dict[str, Any]] = {"cells": 2}
    former_names: ClassVar[dict[str, str]] = {"share": "coarse_share"}

    cells: Any = parameter(OrNone(GridShape()), None)
    coarse_share: Number = parameter(SHARE, Fraction(1, 2))

    def check(self, public: PointsPublic) -> None:
        """Raise unless the points lie in a plane and a declared grid fits them."""
        super().check(public)
        if public.dimensions != 2:
            raise ValueError(
                f"AdaptiveGrid is for points in 2 dimensions; these have {public.dimensions}. "
                "Use UniformGrid or PrivTree"
            )
        if self.cells is not None:
            check_shape(self.cells, public, MOST_COARSE)

    def _counts_rows(self, public: PointsPublic) -> bool:
        """Tell whether the number of points is measured."""
        return self.cells is None and public.rows is None

    def _shares(self, public: PointsPublic) -> tuple[Fraction, Fraction]:
        """Return the shares of the budget that the coarse and the fine counts get."""
        left = 1 - SIZE_SHARE if self._counts_rows(public) else Fraction(1)
        coarse = Fraction(self.coarse_share)
        return left * coarse, left * (1 - coarse)

    def _noises(self, public: PointsPublic) -> tuple[CountNoise, CountNoise]:
        """Return the noise on a coarse and on a fine count."""
        limit, relation = self.record_budget(public)
        coarse, fine = (
            count_noise((1,), limit.share(share), relation) for share in self._shares(public)
        )
        return coarse, fine

    def shape(self, public: PointsPublic, points: int) -> tuple[int, int]:
        """Return the coarse grid for a number of points, public or noisy."""
        if self.cells is not None:
            first, second = check_shape(self.cells, public, MOST_COARSE)
            return first, second
        rate = sum((rate_of(noise) for noise in self._noises(public)), Fraction(0))
        # ⌈√(nε/10)/4⌉: the least whole m with m² ≥ nε/160.
        strength = max(points, 0) * rate / 160
        side = round_root(strength, 2, down=True)
        side += side**2 < strength
        side = min(max(side, LEAST_SIDE), round_root(Fraction(MOST_COARSE), 2, down=True))
        return side, side

    def inner(self, public: PointsPublic, coarse: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many sub-cells each cell gets along its sides, from noisy counts.

        Parameters
        ----------
        public
            The public part of the points.
        coarse
            The noisy counts of the coarse grid.
        """
        # Products and square roots are rounded alike on every machine.
        positive = np.maximum(coarse, 0).astype(np.float64)  # counts may be beyond 64 bits
        strength = positive * (float(rate_of(self._noises(public)[1])) / 5)
        sides = np.maximum(np.ceil(np.sqrt(strength)), 1.0)
        most = MOST_CELLS - coarse.size
        cells = float((sides**2).sum())
        if cells > MOST_CELLS:
            # All shrink alike; what is rounded up to 1 adds at most one for each cell.
            sides = np.maximum(np.floor(sides * np.sqrt(most / cells)), 1.0)
        return sides.astype(np.int64)

    def _cells_about(self, public: PointsPublic) -> int:
        """Return how many cells there will be, as far as the number of points is declared."""
        about = points_about(public) or 0
        # As `inner` has it: every cell gets at least one, and nε/5 are shared by their counts.
        fine = int(about * rate_of(self._noises(public)[1]) / 5)
        return min(prod(self.shape(public, about)) + fine, MOST_CELLS)

    def plan(self, public: PointsPublic) -> Plan:
        """Return what both levels will cost and how good they will be."""
        self.check(public)
        steps: list[PlanStep] = []
        if self._counts_rows(public):
            steps.append(size_step(self.loss(), rows_noise(*self.record_budget(public)), public))
        words = ("cells of the coarse grid", "sub-cells, more where the coarse counts are large")
        for what, share, noise in zip(
            words, self._shares(public), self._noises(public), strict=True
        ):
            steps.append(count_step(what, self.loss().share(share), noise, public))
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=(
                "Both levels are combined by least squares; points are assumed to be uniformly "
                "distributed within a sub-cell.",
                *self.size_notes(public),
            ),
            sizes=self.sizes(public, self._cells_about(public)),
        )

    def program(self, public: PointsPublic, budget: Budget) -> Program[SpatialHistogram]:
        """Ask for the coarse counts, then for those of the sub-cells that they call for."""
        points, rest = 0, budget
        if self.cells is None:
            points, rest = yield from count_points(public, budget)
        shape, noises = self.shape(public, points), self._noises(public)
        share = Fraction(self.coarse_share)
        first, second = rest.split([COARSE, FINE], [share, 1 - share])
        coarse = yield Ask(first, replace(noises[0], shape=shape), GridCounts(shape), COARSE)
        inner = self.inner(public, coarse)
        sub_cells = (int((inner**2).sum()),)
        fine = yield Ask(
            second, replace(noises[1], shape=sub_cells), SubCellCounts(shape, inner), FINE
        )
        yield FINISH
        return SpatialHistogram(
            public,
            NestedCells(public.bounds, inner, combine_levels(coarse, inner, fine, noises)),
            deviation=noises[1].standard_deviation,
        )


def combine_levels(
    coarse: NDArray[np.int64],
    inner: NDArray[np.int64],
    fine: NDArray[np.int64],
    noises: tuple[CountNoise, CountNoise],
) -> NDArray[np.float64]:
    """Return the counts of sub-cells that agree best with both levels.

    Parameters
    ----------
    coarse, inner, fine
        The noisy counts of the cells, how each is cut, and the noisy counts of sub-cells.
    noises
        The noise on the one and on the other.

    Notes
    -----
    With m² sub-cells, a cell's own count has a variance in proportion to 1/ε₁², the sum of its
    parts to m²/ε₂². Their average by inverse variance, shared equally among the parts, is the
    least-squares solution.
    """
    first, second = (float(rate_of(noise)) for noise in noises)
    parts = inner.reshape(-1) ** 2
    starts = np.cumsum(parts) - parts
    values = fine.astype(np.float64)
    sums = np.add.reduceat(values, starts)
    # ε₁²·m²·N + ε₂²·Σ over ε₁²·m² + ε₂², with the rates divided by the larger of them.
    own = parts * (first / max(first, second)) ** 2
    below = (second / max(first, second)) ** 2
    best = (own * coarse.reshape(-1) + below * sums) / (own + below)
    agreed: NDArray[np.float64] = values + np.repeat((best - sums) / parts, parts)
    return agreed
