"""How far noise may throw the count of a box: a function of a release alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from sfumato.spatial.histogram import SpatialHistogram

#: 19 times in 20 a weighted sum of Laplace variables is within this many standard deviations: the
#: most that any sum needs is what one variable alone needs, ln(20)/√2.
DEVIATIONS = math.log(20) / math.sqrt(2)


def margins(made: SpatialHistogram, boxes: ArrayLike) -> list[float | None]:
    """Return the margin of the noise on the count of each box, `None` where it is not known.

    Parameters
    ----------
    made
        The release.
    boxes
        Shape (boxes, axes, 2).

    Notes
    -----
    The count of a box adds up its share of every cell, so the variance of its noise is that of one
    cell times the sum of the squared shares. Margins are whole numbers, rounded up, because noise
    is.
    """
    asked = np.asarray(boxes, dtype=np.float64)
    if not _independent(made):
        return [None] * len(asked)
    cells = made.cells.boxes
    wide = cells[:, :, 1] - cells[:, :, 0]
    found: list[float | None] = []
    for box in asked:
        inside = np.minimum(cells[:, :, 1], box[:, 1]) - np.maximum(cells[:, :, 0], box[:, 0])
        shares = np.prod(np.clip(inside / wide, 0.0, 1.0), axis=1)
        deviation = made.deviation * math.sqrt(float(np.square(shares).sum()))
        found.append(float(math.ceil(DEVIATIONS * deviation)))
    return found


def _independent(made: SpatialHistogram) -> bool:
    """Tell whether every cell carries its own noise, all of one size, and nothing was repaired."""
    method = made.provenance.method
    leaves = method.name == "points.PrivTree" and method.parameters()["counts"] == "leaves"
    return leaves or method.name == "points.UniformGrid"
