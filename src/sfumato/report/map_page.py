"""A map of a spatial release as one HTML page: every cell tells its count when pointed at.

The page needs nothing from outside and runs no script. Everything in it is a function of the
release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.report.page import templates
from sfumato.sections.drawing import SHADES
from sfumato.spatial.histogram import SpatialHistogram

__all__ = ["map_page"]

Floats = NDArray[np.float64]

#: More cells than this are drawn as a regular grid of so many on each side instead.
MOST_CELLS, SIDE = 20_000, 100
#: How wide the map is, in units of the drawing, and how it may be shaped.
WIDTH, LOWEST, HIGHEST = 1000.0, 0.25, 1.6


@dataclass(frozen=True)
class Tile:
    """A cell as it is drawn."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    words: str


def map_page(release: SpatialHistogram) -> str:
    """Return a page with the map of a release of two axes or more; the first two are drawn."""
    public = release.public
    if public.dimensions < 2:
        raise ValueError("a page with a map needs two axes; draw points of one axis as .svg")
    boxes, counts, own = _shown(release)
    tall = _height(release)
    colours, steps = _colours(boxes, counts)
    tiles = [
        _tile(release, box, count, colour, tall)
        for box, count, colour in zip(boxes, counts, colours, strict=True)
    ]
    rest = public.names[2:]
    return (
        templates()
        .get_template("map.html")
        .render(
            title="A map of released counts",
            guarantee=release.guarantee,
            words=release.words(),
            tiles=tiles,
            width=WIDTH,
            height=round(tall, 1),
            legend=steps,
            axes=public.names[:2],
            bounds=[[f"{end:g}" for end in pair] for pair in public.bounds[:2]],
            # What a tile is: a cell of the release, or a square over which cells were added up.
            own=own,
            rest=", ".join(rest),
            made=release.provenance.time,
        )
    )


def _shown(release: SpatialHistogram) -> tuple[Floats, Floats, bool]:
    """Return the cells that are drawn, with their counts, and whether they are the release's."""
    public = release.public
    if public.dimensions == 2 and len(release.cells.counts) <= MOST_CELLS:
        return release.cells.boxes, release.cells.counts, True
    edges = [np.linspace(low, high, SIDE + 1) for low, high in public.bounds[:2]]
    corners = [
        np.stack(np.meshgrid(*(edge[part] for edge in edges), indexing="ij"), axis=-1)
        for part in (slice(None, -1), slice(1, None))
    ]
    boxes = np.stack(corners, axis=-1)
    return boxes.reshape(-1, 2, 2), release.density(SIDE, (0, 1)).reshape(-1), False


def _height(release: SpatialHistogram) -> float:
    """Return how tall the map is; of longitude and latitude, as long as they are on the ground."""
    (west, east), (south, north) = release.public.bounds[:2]
    if not release.public.geographic:
        return WIDTH * 0.75
    shrink = max(math.cos(math.radians((south + north) / 2)), 0.1)
    return WIDTH * min(max((north - south) / ((east - west) * shrink), LOWEST), HIGHEST)


def _colours(boxes: Floats, counts: Floats) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a colour for each cell by its density, and what the colours stand for."""
    areas = np.prod(boxes[:, :, 1] - boxes[:, :, 0], axis=1)
    kept = np.maximum(counts, 0.0)
    # In multiples of the average density; where nothing is left, every cell is as empty.
    times = kept / areas * (areas.sum() / max(float(kept.sum()), 1e-300))
    most = math.log1p(max(float(times.max()), 1.0))
    # By the logarithm: points crowd, and most of a map is nearly empty.
    levels = np.log1p(times) / most
    steps = np.arange(len(SHADES)) / (len(SHADES) - 1)
    legend = [
        (shade, f"{float(f'{math.expm1(step * most):.2g}'):,g}")
        for shade, step in zip(SHADES, steps.tolist(), strict=True)
    ]
    shades = np.array([[int(shade[n : n + 2], 16) for n in (1, 3, 5)] for shade in SHADES])
    mixed = np.stack([np.interp(levels, steps, shades[:, n]) for n in range(3)], axis=1)
    red, green, blue = np.rint(mixed).astype(int).T.tolist()
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in zip(red, green, blue, strict=True)], legend


def _tile(release: SpatialHistogram, box: Floats, count: float, colour: str, tall: float) -> Tile:
    """Return a cell in the coordinates of the drawing, whose vertical axis points down."""
    (west, east), (south, north) = release.public.bounds[:2]
    across, up = WIDTH / (east - west), tall / (north - south)
    names = release.public.names
    told: list[Any] = [f"about {count:,.1f} points"]
    for name, (low, high) in zip(names, box.tolist(), strict=False):
        told.append(f"{name} {low:.6g} to {high:.6g}")
    return Tile(
        x=round((box[0, 0] - west) * across, 3),
        y=round((north - box[1, 1]) * up, 3),
        width=round((box[0, 1] - box[0, 0]) * across, 3),
        height=round((box[1, 1] - box[1, 0]) * up, 3),
        colour=colour,
        words="; ".join(told),
    )
