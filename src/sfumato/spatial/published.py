"""The published files of spatial releases, and whether two of them say the same.

Everything here is a function of a release.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.spatial.cells import Cells

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COUNT_DECIMALS", "cells_csv", "points_csv", "same_numbers", "same_points"]

#: Published counts are rounded to this many decimals, far below the noise.
COUNT_DECIMALS = 3
#: The last digits of counts are the platform's: this share of drawn points may come out otherwise.
OTHER_POINTS = 1000

_NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")


def _csv(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_csv(buffer)
    return buffer.getvalue()


def cells_csv(names: Sequence[str], cells: Cells) -> bytes:
    """Return the cells as CSV: both edges on each axis, and the count.

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
    return _csv(pl.DataFrame(series))


def points_csv(points: pl.DataFrame) -> bytes:
    """Return synthetic points as CSV."""
    return _csv(points)


def same_numbers(mine: bytes, theirs: bytes) -> bool:
    """Tell whether two texts are the same but for the last digits of their numbers."""
    if mine == theirs:
        return True
    if _NUMBER.sub(b"0", mine) != _NUMBER.sub(b"0", theirs):
        return False
    ours = np.array(_NUMBER.findall(mine), dtype=np.float64)
    others = np.array(_NUMBER.findall(theirs), dtype=np.float64)
    apart = np.abs(ours - others)
    return bool((apart <= 2 * 10.0**-COUNT_DECIMALS + 1e-9 * np.abs(ours)).all())


def same_points(mine: pl.DataFrame, content: bytes) -> bool:
    """Tell whether published points are the drawn ones, but for very few.

    Where two platforms differ in the last digit of a count, a draw that falls between the two
    comes out otherwise; that is less than one point in a thousand by far.
    """
    import polars as pl

    try:
        theirs = pl.read_csv(io.BytesIO(content), schema=mine.schema)
    except pl.exceptions.PolarsError:
        return False
    header = content.split(b"\n", 1)[0]
    if header != _csv(mine.head(0)).rstrip(b"\n") or theirs.height != mine.height:
        return False
    ours, published = mine.to_numpy(), theirs.to_numpy()
    with np.errstate(invalid="ignore"):
        alike = np.abs(ours - published) <= 1e-9 * (1 + np.abs(ours))
    other = int((~alike).any(axis=1).sum())
    return other * OTHER_POINTS <= mine.height
