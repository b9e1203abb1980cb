"""The published files of spatial releases.

Everything here is a function of a release.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.spatial.cells import Cells

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COUNT_DECIMALS", "cells_frame", "csv"]

#: Published counts are rounded to this many decimals, far below the noise.
COUNT_DECIMALS = 3


def csv(frame: pl.DataFrame) -> bytes:
    """Return a frame as CSV."""
    buffer = io.BytesIO()
    frame.write_csv(buffer)
    return buffer.getvalue()


def cells_frame(names: Sequence[str], cells: Cells) -> pl.DataFrame:
    """Return the cells as a Polars frame: both edges on each axis, and the count.

    Parameters
    ----------
    names
        The names of the axes.
    cells
        The cells.
    """
    import polars as pl

    series = []
    for axis, name in enumerate(names):
        series.append(pl.Series(f"{name}_from", np.ascontiguousarray(cells.boxes[:, axis, 0])))
        series.append(pl.Series(f"{name}_to", np.ascontiguousarray(cells.boxes[:, axis, 1])))
    series.append(pl.Series("count", np.round(cells.counts, COUNT_DECIMALS) + 0.0))
    return pl.DataFrame(series)


# Cells of longitude and latitude as GeoJSON polygons (RFC 7946), with their density.
#
# A function of released cells and counts.


Floats = NDArray[np.float64]

#: The mean radius of the earth in kilometres (IUGG).
RADIUS = 6371.0088
#: Decimals of coordinates (a tenth of a millimetre), counts, and digits of densities.
PLACES, DECIMALS, DIGITS = 9, 3, 6


def areas(boxes: Floats) -> Floats:
    """Return the areas of boxes of longitude and latitude on the sphere, in km².

    Parameters
    ----------
    boxes
        In degrees, shape (boxes, axes, 2): longitude first, then latitude; further axes are not
        looked at.

    Notes
    -----
    R²·(λ₂ − λ₁)·(sin φ₂ − sin φ₁), with the difference of sines written as
    2·cos((φ₁ + φ₂)/2)·sin((φ₂ − φ₁)/2), which does not cancel for small boxes.
    """
    low, high = np.radians(boxes[:, :2, 0]).T, np.radians(boxes[:, :2, 1]).T
    sines = 2 * np.cos((low[1] + high[1]) / 2) * np.sin((high[1] - low[1]) / 2)
    found: Floats = RADIUS**2 * (high[0] - low[0]) * sines
    return found


def feature_collection(boxes: Floats, counts: Floats) -> dict[str, Any]:
    """Return cells as a FeatureCollection of rectangles with counts and densities.

    Parameters
    ----------
    boxes
        In degrees, shape (cells, axes, 2): longitude first, then latitude. Further axes are
        given as properties `from` and `to` of a cell.
    counts
        The count of each cell.
    """
    places = np.round(boxes, PLACES).tolist()
    sizes = areas(boxes)
    features = []
    for box, count, size in zip(places, counts.tolist(), sizes.tolist(), strict=True):
        (west, east), (south, north) = box[:2]
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        properties: dict[str, Any] = {
            "count": round(count, DECIMALS) + 0.0,
            "per_km2": float(f"{count / size:.{DIGITS}g}") if size > 0 else None,
        }
        if len(box) > 2:
            properties["from"] = [edges[0] for edges in box[2:]]
            properties["to"] = [edges[1] for edges in box[2:]]
        features.append(
            {
                "type": "Feature",
                "geometry": {"type": "Polygon", "coordinates": [ring]},
                "properties": properties,
            }
        )
    return {"type": "FeatureCollection", "features": features}


def geojson_bytes(document: dict[str, Any]) -> bytes:
    """Return a FeatureCollection as a file with one line a feature."""
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in document["features"])
    return f'{{"type":"FeatureCollection","features":[\n{lines}\n]}}\n'.encode()
