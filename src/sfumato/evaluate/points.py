"""How far the counts of a release of points are from the private points it was made of.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise, sections
from sfumato.data.points import Points
from sfumato.data.points_public import PointsPublic
from sfumato.evaluate.warning import WARNING
from sfumato.spatial.histogram import SpatialHistogram

__all__ = [
    "SIZES",
    "WARNING",
    "BoxErrors",
    "PointsEvaluation",
    "count_points",
    "evaluate",
    "random_boxes",
]

#: How much of the domain the boxes of a size span: from, and up to.
SIZES = {"small": (0.0001, 0.001), "medium": (0.001, 0.01), "large": (0.01, 0.1)}
#: A side may be up to this many times as long, as a share of its axis, as that of a cube.
STRETCH = 2.0
#: Counts below this share of all points are judged as if they were that large.
SANITY = 0.001

Floats = NDArray[np.float64]
Grid = NDArray[np.int64]


@dataclass(frozen=True)
class BoxErrors:
    """The counts of boxes of one size. Not private.

    Parameters
    ----------
    size
        What boxes of this size are called.
    share
        How much of the domain they span: from, and up to.
    absolute
        The difference of both counts, for each box.
    relative
        The difference as a share of the true count, or of a thousandth of all points where that
        is more.
    """

    size: str
    share: tuple[float, float]
    absolute: Floats
    relative: Floats

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "size": self.size,
            "share_of_domain": list(self.share),
            "queries": len(self.absolute),
            "average_absolute_error": float(self.absolute.mean()),
            "average_relative_error": float(self.relative.mean()),
            "median_relative_error": float(np.median(self.relative)),
        }

    def cells(self) -> tuple[str, ...]:
        """Return its line of the table that people read."""
        figures, (low, high) = self.to_json(), self.share
        return (
            f"{len(self.absolute):,} {self.size}",
            f"{100 * low:g} % to {100 * high:g} %",
            f"{figures['average_absolute_error']:,.2f} points",
            f"{100 * figures['average_relative_error']:.2f} %",
            f"{100 * figures['median_relative_error']:.2f} %",
        )


@dataclass(frozen=True)
class PointsEvaluation:
    """A comparison of a release with the private points. Not private.

    Parameters
    ----------
    points
        The number of private points.
    total
        The number of points that the release tells.
    boxes
        The errors of random boxes, one size after the other.
    """

    points: int
    total: float
    boxes: tuple[BoxErrors, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "points": self.points,
            "total": self.total,
            "boxes": [item.to_json() for item in self.boxes],
        }

    def blocks(self) -> list[sections.Text | sections.Grid]:
        """Return the same for people."""
        head = ("boxes", "share of the domain", "average error", "relative", "median")
        return [
            sections.Text(f"{self.points:,} points; {self.total:,.1f} in the release."),
            sections.Grid(head, tuple(item.cells() for item in self.boxes)),
            sections.Text(
                "Relative errors are percentages of the true count, or of 0.1 % of all points if "
                "that is larger."
            ),
        ]


def evaluate(
    points: Points,
    release: SpatialHistogram,
    *,
    queries: int = 1000,
    generator: np.random.Generator | None = None,
) -> PointsEvaluation:
    """Compare counts in random small, medium and large boxes with the truth. Not private.

    Parameters
    ----------
    points
        The private points, with their contributions bounded as for the release.
    release
        The release of them.
    queries
        The number of boxes per size.
    generator
        Draws the boxes; by default always the same ones, so that two releases can be compared.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    if queries < 1:
        raise ValueError(f"queries must be at least 1; got {queries}")
    _check_same_domain(points.public, release.public)
    generator = noise.generator(0) if generator is None else generator
    found = []
    for size, share in SIZES.items():
        grid = random_boxes(points.public, share, queries, generator)
        truth = count_points(points, grid)
        told = release.count(_edges(points.public, grid))
        apart = np.abs(told - truth)
        least = max(SANITY * points.counts.rows, 1.0)
        found.append(BoxErrors(size, share, apart, apart / np.maximum(truth, least)))
    return PointsEvaluation(points.counts.rows, release.total, tuple(found))


def random_boxes(
    public: PointsPublic,
    share: Sequence[float],
    queries: int,
    generator: np.random.Generator,
) -> Grid:
    """Return random boxes within the domain, on the grid on which points are counted.

    The share of the domain is uniform between its bounds, the position is uniform, and the sides
    are those of a cube, each stretched by a factor that is log-uniform from a half to two.

    Parameters
    ----------
    public
        What is public about the points.
    share
        How much of the domain a box spans: from, and up to.
    queries
        How many boxes.
    generator
        Draws them.

    Returns
    -------
    boxes
        Whole numbers of shape (queries, dimensions, 2): lower edges, included, and upper edges,
        not included.
    """
    axes = public.dimensions
    volumes = generator.uniform(share[0], share[1], queries)
    stretch = generator.uniform(-np.log(STRETCH), np.log(STRETCH), (queries, axes))
    # The factors of a box cancel, so that it has the volume that was drawn.
    stretch -= stretch.mean(axis=1, keepdims=True)
    sides = volumes[:, None] ** (1 / axes) * np.exp(stretch)
    for axis in range(axes - 1):
        # What is longer than its axis gives the rest of its factor to the next one.
        longer = np.maximum(sides[:, axis], 1.0)
        sides[:, axis] /= longer
        sides[:, axis + 1] *= longer
    sides = np.minimum(sides, 1.0)
    low = generator.random((queries, axes)) * (1 - sides)
    whole = 1 << public.bits
    first = np.floor(low * whole).astype(np.int64)
    last = np.ceil((low + sides) * whole).astype(np.int64)
    return np.stack([first, np.clip(last, first + 1, whole)], axis=2)


def count_points(points: Points, grid: Grid) -> Grid:
    """Return how many private points lie in each box. Not private.

    Parameters
    ----------
    points
        The private points.
    grid
        Boxes on the grid on which points are counted, as `random_boxes` returns them.
    """
    from sfumato.evaluate.box_kernels import count_boxes

    public, engine = points.public, points.counts
    counts: Grid = count_boxes(
        engine.keys,
        np.array(public.axes, dtype=np.int64),
        np.array(public.morton.bits, dtype=np.int64),
        np.ascontiguousarray(grid),
    )
    return counts


def _edges(public: PointsPublic, grid: Grid) -> Floats:
    """Return boxes on the grid in the coordinates of the bounds."""
    low, high = np.array(public.bounds, dtype=np.float64).T[:, :, None]
    share = grid / float(1 << public.bits)
    edges: Floats = low * (1.0 - share) + high * share
    return edges


def _check_same_domain(mine: PointsPublic, theirs: PointsPublic) -> None:
    """Raise unless the points and the release speak of the same domain."""
    plain = [replace(public, rows=None, rows_about=None) for public in (mine, theirs)]
    if plain[0] != plain[1]:
        raise ValueError(
            "the schema of these points is not that of the release; read the points with the "
            "schema of the release"
        )
