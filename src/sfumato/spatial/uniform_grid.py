"""UniformGrid: noisy counts of equal cells."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import OrNone, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.spatial.grid_cells import GridCells
from sfumato.spatial.grid_size import (
    SIZE_SHARE,
    GridShape,
    check_shape,
    count_points,
    rows_noise,
    size_step,
    uniform_side,
)
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.queries import GridCounts
from sfumato.spatial.spatial_method import SpatialMethod, count_step, points_about

__all__ = ["UniformGrid"]

#: The label of the counts in transcripts.
CELLS = "cells"


@dataclass(frozen=True, kw_only=True)
class UniformGrid(SpatialMethod):
    """Release noisy counts of the cells of an even grid.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person).
    cells
        Cells along every axis, or one number per axis. Default: (n·ε/10)^(2/(d+2)) along each of d
        axes, where n is the number of points. If that number is private, a fiftieth of epsilon is
        for a noisy count of them.

    Notes
    -----
    Privacy: each point falls into one cell, so the L1 sensitivity of the counts is 1, and 2 under
    replace-one; the size of the grid depends only on the noisy number of points
    (docs/proofs/uniform-grid.md).
    """

    proof: ClassVar[str] = "uniform-grid.md"

    cells: Any = parameter(OrNone(GridShape()), None)

    def check(self, public: PointsPublic) -> None:
        """Raise where a declared grid does not fit the points."""
        super().check(public)
        if self.cells is not None:
            check_shape(self.cells, public)

    def _counts_rows(self, public: PointsPublic) -> bool:
        """Tell whether the number of points is measured."""
        return self.cells is None and public.rows is None

    def _share(self, public: PointsPublic) -> Fraction:
        """Return the share of the budget that the counts of the cells get."""
        return 1 - SIZE_SHARE if self._counts_rows(public) else Fraction(1)

    def _noise(self, public: PointsPublic, shape: tuple[int, ...]) -> CountNoise:
        limit, relation = self.record_budget(public)
        return count_noise(shape, limit.share(self._share(public)), relation)

    def shape(self, public: PointsPublic, points: int) -> tuple[int, ...]:
        """Return the grid for a number of points, public or noisy."""
        if self.cells is not None:
            return check_shape(self.cells, public)
        side = uniform_side(points, self._noise(public, (1,)), public)
        return (side,) * public.dimensions

    def plan(self, public: PointsPublic) -> Plan:
        """Return what the counts will cost and how good they will be."""
        self.check(public)
        steps: list[PlanStep] = []
        if self._counts_rows(public):
            steps.append(size_step(self.loss(), rows_noise(*self.record_budget(public)), public))
        about = points_about(public)
        if self.cells is None and about is None:
            shape: tuple[int, ...] = (0,)
            what = "equal cells, as many as the noisy number of points suggests"
        else:
            shape = self.shape(public, about or 0)
            what = f"{' × '.join(map(str, shape))} equal cells"
        loss = self.loss().share(self._share(public))
        steps.append(count_step(what, loss, self._noise(public, (1,)), public))
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=(
                "Points are assumed to be uniformly distributed within a cell; the error of this "
                "assumption is not known in advance.",
                *self.size_notes(public),
            ),
            sizes=self.sizes(public, prod(shape)),
        )

    def program(self, public: PointsPublic, budget: Budget) -> Program[SpatialHistogram]:
        """Ask for the number of points if the grid needs it, then for the counts of its cells."""
        points, rest = 0, budget
        if self.cells is None:
            points, rest = yield from count_points(public, budget)
        shape = self.shape(public, points)
        noise = self._noise(public, shape)
        counts = yield Ask(rest, noise, GridCounts(shape), CELLS)
        cells = GridCells(public.bounds, counts)
        return SpatialHistogram(public, cells, deviation=noise.standard_deviation)
