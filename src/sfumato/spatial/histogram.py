"""A release of points: cells that tile the domain, each with a noisy count.

Everything here is post-processing of what was released. Points are taken to be spread evenly
within a cell. The published points are drawn with bits that follow from the transcript, so that
anybody can draw them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import ceil, log, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato import noise
from sfumato.data.frames import ToFrame
from sfumato.data.points import PointsPublic
from sfumato.privacy.arguments import choose_generator
from sfumato.privacy.release import Release
from sfumato.sections import Section
from sfumato.spatial.cells import Cells
from sfumato.spatial.files import (
    cells_frame,
    csv,
    feature_collection,
    geojson_bytes,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SpatialHistogram"]

Floats = NDArray[np.float64]

#: Where no number of points was declared, no more than this are drawn unasked.
MOST_POINTS = 1_000_000
#: 19 times in 20 a weighted sum of Laplace variables is within this many standard deviations: the
#: most that any sum needs is what one variable alone needs, ln(20)/√2.
DEVIATIONS = log(20) / sqrt(2)
#: A grid of densities has at most this many cells.
MOST_DENSITIES = 2**26
#: The GeoJSON of more cells than this is not published unasked.
MOST_FEATURES = 20_000


class SpatialHistogram(Release, ToFrame):
    """Noisy counts of the cells that tile the domain of private points.

    Parameters
    ----------
    public
        What is public about the points.
    cells
        The cells and their counts.
    deviation
        The standard deviation of the noise on the count of one cell, for words.
    notes
        Sentences that the method adds, made of public and released facts.
    """

    kind = "spatial histogram"

    def __init__(
        self,
        public: PointsPublic,
        cells: Cells,
        *,
        deviation: float,
        notes: Sequence[str] = (),
    ) -> None:
        self.public = public
        self.cells = cells
        self.deviation = deviation
        self.notes = tuple(notes)

    @property
    def total(self) -> float:
        """The number of points, as far as the release tells."""
        return self.cells.total

    @property
    def points(self) -> int:
        """How many points are published: the noisy total, within reason.

        With very much noise the total may be absurd, so it is held to a million, or to twice the
        number of points that was declared where that is more.
        """
        declared = self.public.rows if self.public.rows is not None else self.public.rows_about
        most = max(MOST_POINTS, 2 * (declared or 0))
        return min(max(round(self.total), 0), most)

    def count(self, boxes: ArrayLike) -> Any:
        """Return about how many points lie in each box.

        Parameters
        ----------
        boxes
            Lower and upper edges on every axis: shape (axes, 2) for one box, which gives a
            number, or (boxes, axes, 2), which gives one number a box. Edges may be infinite; what
            lies outside the domain holds no points.
        """
        asked = np.asarray(boxes, dtype=np.float64)
        axes = self.public.dimensions
        if asked.ndim not in (2, 3) or asked.shape[-2:] != (axes, 2):
            raise ValueError(
                f"a box needs a lower and an upper edge on each of {axes} axes: an array of shape "
                f"({axes}, 2), or (boxes, {axes}, 2) for several boxes; got shape {asked.shape}"
            )
        # A missing number compares false, and so is refused as well.
        if not (asked[..., 0] <= asked[..., 1]).all():
            raise ValueError("the lower edge of a box must not exceed its upper edge")
        low, high = np.array(self.public.bounds, dtype=np.float64).T
        inside = np.clip(asked, low[:, None], high[:, None]).reshape(-1, axes, 2)
        answers = self.cells.answer(inside)
        return float(answers[0]) if asked.ndim == 2 else answers

    def margins(self, boxes: ArrayLike) -> list[float | None]:
        """Return the margin of the noise on the count of each box, `None` where it is not known.

        The noise is within it 19 times in 20. The count of a box adds up its share of every cell,
        so the variance of its noise is that of one cell times the sum of the squared shares.
        Margins are whole numbers, rounded up, because noise is.

        Parameters
        ----------
        boxes
            Several boxes, as for `count`.
        """
        asked = np.asarray(boxes, dtype=np.float64)
        if not self._independent:
            return [None] * len(asked)
        cells = self.cells.boxes
        wide = cells[:, :, 1] - cells[:, :, 0]
        found: list[float | None] = []
        for box in asked:
            inside = np.minimum(cells[:, :, 1], box[:, 1]) - np.maximum(cells[:, :, 0], box[:, 0])
            shares = np.prod(np.clip(inside / wide, 0.0, 1.0), axis=1)
            deviation = self.deviation * sqrt(float(np.square(shares).sum()))
            found.append(float(ceil(DEVIATIONS * deviation)))
        return found

    @property
    def _independent(self) -> bool:
        """Whether every cell carries its own noise, all of one size, and nothing was repaired."""
        method = self.provenance.method
        leaves = method.name == "points.PrivTree" and method.parameters()["counts"] == "leaves"
        return leaves or method.name == "points.UniformGrid"

    def density(self, shape: int | Sequence[int], axes: Sequence[int] | None = None) -> Floats:
        """Return counts on a regular grid over the domain, by the exact overlap with the cells.

        Parameters
        ----------
        shape
            The cells of the grid on each axis, or one number for all axes.
        axes
            Which axes the grid has; all others are added up. By default all.
        """
        from sfumato.spatial.tree_kernels import spread_cells

        kept = range(self.public.dimensions) if axes is None else axes
        sizes = self._grid_shape(shape, tuple(kept))
        low, high = np.array([self.public.bounds[axis] for axis in kept], dtype=np.float64).T
        scale = np.array(sizes, dtype=np.float64) / (high - low)
        scaled = (self.cells.boxes[:, list(kept)] - low[:, None]) * scale[:, None]
        grid = np.zeros(prod(sizes))
        strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
        spread_cells(
            grid,
            np.array(strides, dtype=np.int64),
            np.array(sizes, dtype=np.int64),
            np.ascontiguousarray(scaled),
            np.ascontiguousarray(self.cells.counts),
        )
        return grid.reshape(sizes)

    def _grid_shape(self, shape: int | Sequence[int], axes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a grid, or say what is wrong with it."""
        number = self.public.dimensions
        if not axes or len(set(axes)) != len(axes) or not all(0 <= a < number for a in axes):
            raise ValueError(f"axes must be different numbers from 0 to {number - 1}; got {axes}")
        sizes = (shape,) * len(axes) if isinstance(shape, int) else tuple(int(s) for s in shape)
        if len(sizes) != len(axes) or min(sizes) < 1 or prod(sizes) > MOST_DENSITIES:
            raise ValueError(
                f"shape must be one positive number for each of {len(axes)} axes, at most "
                f"{MOST_DENSITIES:,} cells in all; got {shape!r}"
            )
        return sizes

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        generator: np.random.Generator | None = None,
        backend: str = "polars",
    ) -> Any:
        """Return synthetic points, as a frame with one column an axis.

        Cells get points in proportion to their counts, negative counts taken as none, and each to
        within one of its share; within a cell points are spread evenly.

        Parameters
        ----------
        rows
            How many; by default as many as are published.
        seed
            A whole number, for points that can be drawn again; fresh otherwise.
        generator
            A NumPy generator in place of a seed.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.

        Notes
        -----
        Privacy: post-processing of the release; it costs nothing, however often it is done.
        """
        import polars as pl

        from sfumato.data.frames import to_backend

        rows = self.points if rows is None else rows
        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        generator = choose_generator(seed, generator)
        drawn = self._draw(rows, generator)
        frame = pl.DataFrame(
            [pl.Series(name, drawn[axis]) for axis, name in enumerate(self.public.names)]
        )
        return to_backend(frame, backend)

    def _draw(self, rows: int, generator: np.random.Generator) -> Floats:
        """Return synthetic points, shape (axes, points)."""
        weights = np.maximum(self.cells.counts, 0.0)
        if not weights.sum() > 0:
            # Nothing is known of where points are: the whole domain is all one cell.
            weights = np.prod(self.cells.boxes[:, :, 1] - self.cells.boxes[:, :, 0], axis=1)
        edges = np.cumsum(weights)
        # One point in each of `rows` equal parts of the total, in random order; every point is
        # decided by its own bits, so that the last digit of a count moves few of them.
        order = generator.permutation(rows)
        heights = (order + generator.random(rows)) / max(rows, 1) * edges[-1]
        chosen = np.searchsorted(edges, heights, side="right")
        chosen = np.minimum(chosen, np.flatnonzero(weights)[-1])
        drawn = np.empty((self.public.dimensions, rows))
        for axis in range(self.public.dimensions):
            low, high = self.cells.boxes[:, axis, 0][chosen], self.cells.boxes[:, axis, 1][chosen]
            drawn[axis] = np.minimum(low + generator.random(rows) * (high - low), high)
        return drawn

    @cached_property
    def published(self) -> pl.DataFrame:
        """The points of points.csv, drawn with bits that follow from the transcript."""
        seed = int.from_bytes(bytes.fromhex(self.transcript.digest())[:16], "big")
        frame: pl.DataFrame = self.sample(generator=noise.generator(seed))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the cells as a Polars frame: both edges on each axis, and the count."""
        return cells_frame(self.public.names, self.cells)

    @cached_property
    def _files(self) -> dict[str, bytes]:
        files = {
            "cells.csv": csv(self.to_polars()),
            "points.csv": csv(self.published),
        }
        if self._has_geojson:
            files["cells.geojson"] = geojson_bytes(self.geojson())
        return files

    @property
    def _has_geojson(self) -> bool:
        """Whether the cells are published as a map layer, too."""
        return self.public.geographic and len(self.cells.counts) <= MOST_FEATURES

    def files(self) -> dict[str, bytes]:
        """Return the cells and synthetic points as CSV, and a map layer of geographic cells."""
        return dict(self._files)

    def geojson(self) -> dict[str, Any]:
        """Return the cells as a GeoJSON FeatureCollection, with counts and densities per km².

        Only for geographic points: the first axis is longitude, the second latitude.
        """
        if not self.public.geographic:
            raise ValueError(
                "GeoJSON needs geographic points: declare geographic=True for points whose first "
                "axis is longitude and whose second axis is latitude, in degrees"
            )
        return feature_collection(self.cells.boxes, self.cells.counts)

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        number = len(self.cells.counts)
        names = ", ".join(self.public.names)
        sentences = [
            f"Noisy counts of points in {number:,} cell{'s' * (number != 1)} that tile the "
            f"declared domain ({names}), so that no one {self.public.unit} changes them by much.",
            f"The noise on the count of a cell has a standard deviation of about "
            f"{self.deviation:,.4g}; about {self.total:,.0f} points in all.",
            "Within a cell, points are assumed to be uniformly distributed: the published data "
            "have no detail finer than the cells.",
            f"points.csv holds {self.points:,} synthetic points with these counts.",
        ]
        if self.public.person is not None:
            most = self.public.contribution
            sentences.append(
                f"Of each person the first {most:,} point{'s were' if most > 1 else ' was'} used: "
                "counts refer to the used part of the data, not to all of it."
            )
        if self.public.geographic and not self._has_geojson:
            sentences.append(
                f"With more than {MOST_FEATURES:,} cells the map layer is not among the files; "
                "geojson() makes it."
            )
        return " ".join([*sentences, *self.notes])

    def summary(self) -> dict[str, Any]:
        """Return the total, the number of cells and points, and the noise, for programs."""
        return {
            "total": round(self.total, 3),
            "cells": len(self.cells.counts),
            "points": self.points,
            "standard_deviation": self.deviation,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.spatial.page import histogram_sections

        return histogram_sections(self)

    def plot(self) -> Any:
        """Return a map of the released density (a step histogram for one axis)."""
        from sfumato.spatial.map_picture import map_picture

        return map_picture(self)
