"""From arrays of any type to plain columns of coordinates.

Nothing is guessed and nothing raises on a value: what cannot be read as a number is left for the
coding of its axis to report by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import column_of
from sfumato.engines.errors import DataError, Problem

if TYPE_CHECKING:
    import polars as pl

__all__ = ["array_columns", "is_array", "person_column"]


def is_array(values: Any) -> bool:
    """Return whether values are an array or nested lists, and not a frame."""
    return isinstance(values, np.ndarray | list | tuple)


def array_columns(values: Any, names: Sequence[str]) -> dict[str, pl.Series]:
    """Return the columns of an array of shape (points, axes) by the names of its axes.

    Parameters
    ----------
    values
        An array or nested lists. For one axis the shape may be (points,); an empty list stands
        for no points.
    names
        The names of the axes.
    """
    array = _array(values)
    if array.ndim == 1 and (len(names) == 1 or len(array) == 0):
        array = array.reshape(len(array), len(names))
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataError(
            Problem(
                wrong=f"the array must have shape (points, {len(names)}), one column for each "
                f"axis; it has {array.ndim} dimensions"
                + (f" and {array.shape[1]} columns" if array.ndim == 2 else ""),
                remedy="Give as many columns as bounds.",
            )
        )
    return {name: column_of(array[:, axis]) for axis, name in enumerate(names)}


def person_column(persons: Any, rows: int) -> pl.Series:
    """Return whose each point is, as a column."""
    listed = persons if hasattr(persons, "__len__") else list(persons)
    if getattr(listed, "ndim", 1) != 1 or len(listed) != rows:
        raise DataError(
            Problem(
                wrong="person must be one identifier for each point",
                remedy="Give an array as long as the points.",
            )
        )
    return column_of(listed)


def _array(values: Any) -> NDArray[Any]:
    """Return an array of whatever type fits, without a value in any exception."""
    if isinstance(values, np.ndarray):
        return values
    try:
        array = np.asarray(values)
        # Plain numbers have one type whatever the others are; where they would not, a type
        # inferred from all records would change how each of them is read.
        return array if _plain_floats(values) else np.asarray(values, dtype=object)
    except (ValueError, TypeError, OverflowError):
        pass
    raise DataError(
        Problem(
            wrong="the lists have different lengths",
            remedy="Give each point as many coordinates as there are bounds.",
        )
    )


def _plain_floats(values: Any) -> bool:
    """Tell whether lists hold Python's own floats and small whole numbers and nothing else."""
    for item in values:
        if isinstance(item, list | tuple):
            if not _plain_floats(item):
                return False
        elif type(item) is not float and not (type(item) is int and abs(item) < 2**53):
            return False
    return True
