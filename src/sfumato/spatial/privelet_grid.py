"""Privelet: noisy wavelet coefficients of a fine grid, for range counts with little noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.mechanisms.privelet import generalised_sensitivity, inverse_haar, padded_shape
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import OrNone, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.spatial.grid_cells import GridCells
from sfumato.spatial.grid_size import GridShape, check_shape, even_shape
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.queries import HaarCoefficients
from sfumato.spatial.spatial_method import SpatialMethod, count_step

__all__ = ["Privelet"]

#: The label of the coefficients in transcripts.
COEFFICIENTS = "coefficients"
#: By default the grid has 2 to this many cells.
DEFAULT_BITS = 20


@dataclass(frozen=True, kw_only=True)
class Privelet(SpatialMethod):
    """Release a fine grid through noisy Haar wavelet coefficients.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person).
    cells
        Cells along every axis, or one number per axis; powers of two. Default: 2^20 cells in total,
        divided over the axes as evenly as powers of two allow.

    Notes
    -----
    Privacy: a point changes Π(1 + log₂ m_i) integer coefficients by ±1 each
    (docs/proofs/privelet-grid.md).

    References
    ----------
    Xiao, Wang and Gehrke, *Differential privacy via wavelet transforms*, ICDE 2010.
    """

    proof: ClassVar[str] = "privelet-grid.md"
    example: ClassVar[dict[str, Any]] = {"cells": 4}

    cells: Any = parameter(OrNone(GridShape()), None)

    def check(self, public: PointsPublic) -> None:
        """Raise where the grid does not fit the points, or is not one of powers of two."""
        super().check(public)
        shape = self.shape(public)
        if padded_shape(shape) != shape:
            raise ValueError(f"cells must be powers of two; got {self.cells!r}")

    def shape(self, public: PointsPublic) -> tuple[int, ...]:
        """Return the cells along each axis."""
        if self.cells is None:
            return even_shape(public, DEFAULT_BITS)
        return check_shape(self.cells, public)

    def _noise(self, public: PointsPublic) -> CountNoise:
        """Return the noise on the coefficients."""
        limit, relation = self.record_budget(public)
        shape = self.shape(public)
        return count_noise(shape, limit, relation, moves=generalised_sensitivity(shape))

    def trial(self) -> Self:
        """Return a method whose grid is small."""
        return replace(self, cells=1)

    def plan(self, public: PointsPublic) -> Plan:
        """Return what the coefficients will cost and how good they will be."""
        self.check(public)
        shape = self.shape(public)
        what = f"wavelet coefficients of {' × '.join(map(str, shape))} cells"
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(count_step(what, self.loss(), self._noise(public), public),),
            notes=(
                "The noise of a box grows with the logarithm of its size; single cells get more "
                "than UniformGrid gives them.",
                *self.size_notes(public),
            ),
            sizes=self.sizes(public, math.prod(shape)),
        )

    def program(self, public: PointsPublic, budget: Budget) -> Program[SpatialHistogram]:
        """Ask for all coefficients at once."""
        shape, noise = self.shape(public), self._noise(public)
        coefficients = yield Ask(budget, noise, HaarCoefficients(shape), COEFFICIENTS)
        yield FINISH
        return SpatialHistogram(
            public,
            GridCells(public.bounds, inverse_haar(coefficients, shape)),
            deviation=noise.standard_deviation * cell_deviation(shape),
        )


def cell_deviation(shape: tuple[int, ...]) -> float:
    """Return the standard deviation of a cell that is read back, for one a coefficient.

    Along an axis of m cells a cell is total/m plus or minus the difference of every node above it,
    divided by the number of cells below that node.

    Parameters
    ----------
    shape
        Cells along each axis, powers of two.
    """
    variances = [
        1 / size**2 + sum(4.0**-level for level in range(1, size.bit_length())) for size in shape
    ]
    return math.sqrt(math.prod(variances))
