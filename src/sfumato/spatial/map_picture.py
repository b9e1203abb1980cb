"""Pictures of spatial releases: a map of the density, or a step histogram for one axis.

Everything in them is a function of the release.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato.spatial.histogram import SpatialHistogram

__all__ = ["map_picture"]

INK, SOFT, FILL, EDGE = "#1d3557", "#6f7f8c", "#a8c5da", "#ffffff"
#: From paper to deep water; what holds nothing stays paper.
SHADES = ("#f4f1e8", "#d5e0e3", "#9db8c7", "#5d87a1", "#2f5d7c", "#173049", "#0b1a2b")
#: A map of more cells than this is drawn as a grid of dots of the same density.
MOST_BOXES = 20_000
DOTS = 720
#: Shades tell densities apart down to this part of the highest.
DECADES = 4.0
#: Pairs of axes that are drawn where there are more than two.
MOST_PAIRS = 6
WIDTH = 6.4


def map_picture(release: SpatialHistogram) -> Any:
    """Return a figure of the released density.

    Parameters
    ----------
    release
        The release. One axis gives a step histogram, two a map, more the maps of pairs of axes.
    """
    import matplotlib as mpl

    # Names are text, even where they hold a dollar sign.
    with mpl.rc_context({"text.parse_math": False}):
        if release.public.dimensions == 1:
            return _steps(release)
        if release.public.dimensions == 2:
            return _map(release)
        return _pairs(release)


def _title(release: SpatialHistogram) -> str:
    cells = len(release.cells.counts)
    return f"About {release.total:,.0f} points in {cells:,} cell{'s' * (cells != 1)}"


def _steps(release: SpatialHistogram) -> Any:
    """Draw the density along one axis as steps."""
    from matplotlib.figure import Figure

    boxes = release.cells.boxes[:, 0]
    order = np.argsort(boxes[:, 0])
    edges = np.append(boxes[order, 0], boxes[order[-1], 1])
    density = release.cells.counts[order] / np.diff(edges)
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    axis = figure.subplots()
    axis.stairs(density, edges, fill=True, facecolor=FILL, edgecolor=INK, linewidth=0.4)
    axis.axhline(0, color=SOFT, linewidth=0.6)
    axis.set_xlim(*release.public.bounds[0])
    axis.set_xlabel(release.public.names[0], color=INK)
    axis.set_ylabel("points per unit", color=INK)
    axis.set_title(_title(release), fontsize=11, color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8, colors=INK)
    return figure


def _aspect(release: SpatialHistogram) -> float:
    """Return how tall a unit of the second axis is drawn beside one of the first."""
    (left, right), (low, high) = release.public.bounds[:2]
    if release.public.geographic:
        middle = np.radians((low + high) / 2)
        return float(1 / max(np.cos(middle), 0.1))
    return float((right - left) / (high - low))


def _map(release: SpatialHistogram) -> Any:
    """Draw the cells of two axes, shaded by density."""
    from matplotlib.figure import Figure

    (left, right), (low, high) = release.public.bounds
    aspect = _aspect(release)
    tall = float(np.clip(WIDTH * aspect * (high - low) / (right - left), 2.0, 9.0))
    figure = Figure(figsize=(WIDTH + 1.0, tall + 0.9), layout="constrained")
    axis = figure.subplots()
    drawn = _boxes(axis, release) if len(release.cells.counts) <= MOST_BOXES else None
    if drawn is None:
        drawn = _dots(axis, release.density(_dot_shape(release)), release, (0, 1))
    axis.set_xlim(left, right)
    axis.set_ylim(low, high)
    axis.set_aspect(aspect)
    _name(axis, release, (0, 1))
    axis.set_title(_title(release), fontsize=11, color=INK)
    _legend(figure, axis, drawn, release)
    return figure


def _dot_shape(release: SpatialHistogram) -> tuple[int, int]:
    """Return a grid of about square dots."""
    (left, right), (low, high) = release.public.bounds
    ratio = (high - low) * _aspect(release) / (right - left)
    across = int(np.clip(DOTS / max(np.sqrt(ratio), 0.25), 64, 2 * DOTS))
    return across, int(np.clip(across * ratio, 64, 2 * DOTS))


def _shades(density: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return colours and a logarithmic scale for densities; at most `DECADES` powers of ten."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    positive = density[density > 0]
    # The highest density of a few dots may be far above all others.
    top = float(positive.max()) if positive.size else 1.0
    bottom = max(float(positive.min()), top * 10.0**-DECADES) if positive.size else 0.1
    shades = LinearSegmentedColormap.from_list("sfumato", SHADES[1:])
    colours = shades.with_extremes(under=SHADES[0], bad=SHADES[0])
    return colours, LogNorm(min(bottom, top / 1.001), top)


def _density(release: SpatialHistogram) -> NDArray[np.float64]:
    """Return the points of each cell per unit of area: square kilometres on the earth."""
    from sfumato.spatial.files import areas

    boxes = release.cells.boxes
    sizes = areas(boxes) if release.public.geographic else np.prod(np.diff(boxes)[..., 0], axis=1)
    return np.asarray(release.cells.counts / np.maximum(sizes, np.finfo(float).tiny))


def _boxes(axis: Any, release: SpatialHistogram) -> Any:
    """Draw every cell as a rectangle."""
    from matplotlib.collections import PolyCollection

    boxes, density = release.cells.boxes, _density(release)
    colours, scale = _shades(density)
    (west, east), (south, north) = boxes[:, 0].T, boxes[:, 1].T
    corners = np.stack(
        [
            np.stack([x, y], axis=1)
            for x, y in ((west, south), (east, south), (east, north), (west, north))
        ],
        axis=1,
    )
    thin = 0.15 if len(boxes) <= 4000 else 0.0
    cells = PolyCollection(
        list(corners), array=density, cmap=colours, norm=scale, linewidths=thin,
        edgecolors=EDGE if thin else "face", rasterized=len(boxes) > 2000,
    )  # fmt: skip
    axis.add_collection(cells)
    return cells


def _dots(
    axis: Any, grid: NDArray[np.float64], release: SpatialHistogram, axes: tuple[int, int]
) -> Any:
    """Draw a grid of counts as the density of its dots."""
    (left, right), (low, high) = (release.public.bounds[number] for number in axes)
    across = (right - left) / grid.shape[0]
    ups = np.linspace(low, high, grid.shape[1] + 1)
    if release.public.geographic and axes == (0, 1):
        from sfumato.spatial.files import areas

        row = np.stack([np.tile([left, left + across], (len(ups) - 1, 1)),
                        np.stack([ups[:-1], ups[1:]], axis=1)], axis=1)  # fmt: skip
        sizes = areas(row)
    else:
        sizes = across * np.diff(ups)
    density = grid / sizes
    colours, scale = _shades(density)
    return axis.imshow(
        density.T, origin="lower", extent=(left, right, low, high), cmap=colours, norm=scale,
        interpolation="nearest", aspect="auto",
    )  # fmt: skip


def _name(axis: Any, release: SpatialHistogram, axes: tuple[int, int]) -> None:
    """Name the axes, and make them quiet."""
    axis.set_xlabel(release.public.names[axes[0]], color=INK, fontsize=9)
    axis.set_ylabel(release.public.names[axes[1]], color=INK, fontsize=9)
    axis.tick_params(labelsize=8, colors=INK, length=3, width=0.6)
    axis.set_facecolor(SHADES[0])
    for spine in axis.spines.values():
        spine.set_color(SOFT)
        spine.set_linewidth(0.6)


def _legend(figure: Any, axes: Any, drawn: Any, release: SpatialHistogram) -> None:
    """Say what the shades mean."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    unit = "km²" if release.public.geographic else "unit of area"
    bar = figure.colorbar(drawn, ax=axes, shrink=0.85, aspect=30, pad=0.02, extend="min")
    bar.set_label(f"points per {unit}", color=INK, fontsize=9)
    bar.ax.tick_params(labelsize=8, colors=INK, width=0.6)
    # Plain figures: powers of ten would be set as formulas, and formulas are not read here.
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.outline.set_linewidth(0.4)
    bar.outline.set_edgecolor(SOFT)


def _pairs(release: SpatialHistogram) -> Any:
    """Draw the density of the first axes, two and two, all others added up."""
    from matplotlib.figure import Figure

    number = release.public.dimensions
    pairs = list(combinations(range(min(number, 4)), 2))[:MOST_PAIRS]
    across = min(3, len(pairs))
    down = -(-len(pairs) // across)
    figure = Figure(figsize=(3.1 * across, 2.9 * down + 0.4), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis, pair in zip(axes, pairs, strict=False):
        _dots(axis, release.density(160, pair), release, pair)
        axis.set_box_aspect(1.0)
        _name(axis, release, pair)
    for axis in axes[len(pairs) :]:
        axis.set_visible(False)
    figure.suptitle(f"{_title(release)}; shades on a logarithmic scale", fontsize=11, color=INK)
    return figure
