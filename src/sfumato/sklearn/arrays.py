"""Arrays as private tables: what is public about them is given as bounds, never read off them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Schema
from sfumato.data.table import Table

__all__ = ["TARGET", "feature_frame", "feature_names", "limits", "private_table"]

Floats = NDArray[np.float64]

#: The column that the target becomes.
TARGET = "target"


def feature_names(count: int) -> list[str]:
    """Return what the columns of an array are called in the table."""
    return [f"x{number}" for number in range(count)]


def limits(bounds: Any, count: int, what: str) -> list[tuple[float, float]]:
    """Return declared bounds as one pair a column, or say what is wrong with them.

    Parameters
    ----------
    bounds
        (low, high), each a number or one number a column.
    count
        How many columns there are.
    what
        The name of the parameter, for messages.
    """
    if bounds is None:
        raise ValueError(
            f"{what} must be given as (low, high), numbers or arrays with one number a column: "
            "what everybody knows about the values, not what these data happen to hold"
        )
    try:
        low, high = (np.asarray(end, dtype=np.float64) for end in bounds)
        ends = [np.broadcast_to(end, (count,)).tolist() for end in (low, high)]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} must be (low, high), numbers or arrays with one number for each of the "
            f"{count} columns"
        ) from error
    pairs = list(zip(*ends, strict=True))
    for number, (low_end, high_end) in enumerate(pairs):
        if not (np.isfinite(low_end) and np.isfinite(high_end) and low_end < high_end):
            raise ValueError(
                f"{what} of column {number} must be finite with low < high; got "
                f"({low_end!r}, {high_end!r})"
            )
    return pairs


def _real(low: float, high: float) -> dict[str, Any]:
    # What is outside the bounds counts as the nearer bound.
    return {"kind": "real", "low": low, "high": high, "outside": "clamp"}


def feature_frame(values: Floats) -> Any:
    """Return an array as a frame with a column a feature."""
    import polars as pl

    names = feature_names(values.shape[1])
    return pl.DataFrame({name: values[:, number] for number, name in enumerate(names)})


def private_table(
    values: Floats,
    target: Any,
    bounds: list[tuple[float, float]],
    target_kind: Any,
    relation: str,
) -> Table:
    """Return an array and its target as one private table.

    Parameters
    ----------
    values
        The features, one row a record.
    target
        The target, one value a row.
    bounds
        The declared bounds of each feature.
    target_kind
        What is declared about the target, as `Schema.from_dict` takes it.
    relation
        What a neighbour is: a row more or less, or another row instead.
    """
    import polars as pl

    names = feature_names(len(bounds))
    columns: dict[str, Any] = {name: _real(*ends) for name, ends in zip(names, bounds, strict=True)}
    schema = Schema.from_dict({**columns, TARGET: target_kind}, relation=relation)
    return Table(feature_frame(values).with_columns(pl.Series(TARGET, target)), schema)


def real_target(low: float, high: float) -> dict[str, Any]:
    """Return what is declared about a target of numbers."""
    return _real(low, high)
