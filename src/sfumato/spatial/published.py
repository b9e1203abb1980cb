"""The published files of spatial releases.

Everything here is a function of a release.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

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
