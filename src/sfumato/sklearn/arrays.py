"""Arrays as private tables: what is public about them is given as bounds, never read off them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Schema
from sfumato.data.table import Table

__all__ = [
    "TARGET",
    "feature_frame",
    "feature_names",
    "limits",
    "private_table",
    "real_target",
    "refuse_odd",
    "run_check",
]

Floats = NDArray[np.float64]
Result = TypeVar("Result")

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
        A list of (low, high), one pair a column; or (low, high) of all columns, each end a number
        or an array with one number a column.
    count
        How many columns there are.
    what
        The name of the parameter, for messages.
    """
    if bounds is None:
        raise ValueError(
            f"{what} must be given as (low, high), or as a list of (low, high), one pair per "
            "column; bounds must be public knowledge, not the extremes of these data"
        )
    try:
        pairs = _pairs(bounds, count)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} must be (low, high), numbers or arrays with one number for each of the "
            f"{count} columns, or a list of {count} pairs (low, high)"
        ) from error
    for number, (low_end, high_end) in enumerate(pairs):
        if not (np.isfinite(low_end) and np.isfinite(high_end) and low_end < high_end):
            raise ValueError(
                f"{what} of column {number} must be finite with low < high; got "
                f"({low_end!r}, {high_end!r})"
            )
    return pairs


def _pairs(bounds: Any, count: int) -> list[tuple[float, float]]:
    """Return one pair a column of either form."""
    given = list(bounds)
    # A list or tuple of two numbers is a pair, also where there are two columns; ends that are
    # arrays hold one number a column, however many columns there are.
    apart = isinstance(bounds, np.ndarray) or not any(isinstance(one, np.ndarray) for one in given)
    if apart and len(given) == count and all(np.shape(one) == (2,) for one in given):
        return [(float(low), float(high)) for low, high in given]
    low, high = (np.asarray(end, dtype=np.float64) for end in given)
    ends = [np.broadcast_to(end, (count,)).tolist() for end in (low, high)]
    return list(zip(*ends, strict=True))


def refuse_odd(values: Any, what: str, *, features: bool = False, words: bool = False) -> None:
    """Refuse what scikit-learn would quote, or would read by a type that other rows gave it.

    Parameters
    ----------
    values
        An array, a list or a frame; what cannot be read as one is left to whoever reads it next.
    what
        What is refused, for messages: the features or the target.
    features
        Whether there must be two axes, rows and columns.
    words
        Whether text is allowed.
    """
    if hasattr(values, "toarray"):
        return  # A sparse matrix, which scikit-learn refuses by its type.
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        # scikit-learn would use what lies under the mask.
        raise ValueError(f"{what} must not be masked; remove the rows with masked values")
    named = _columns(values)
    if features and (named is None or any(name is None for name, _ in named)):
        if named is None:
            return
        raise ValueError(
            f"{what} must have two axes, with one row per record. Reshape your data: "
            "array.reshape(-1, 1) for a single feature, array.reshape(1, -1) for a single record"
        )
    for name, column in named or ():
        _refuse_odd_column(what if name is None else f"column {name!r} of {what}", column)
        if words or column.dtype.kind not in "OSU" or column.ndim != 1:
            continue
        row = next((place for place, cell in enumerate(column) if _is_word(cell)), None)
        if row is not None:
            where = f"row {row}" if name is None else f"column {name!r}, row {row}"
            raise ValueError(
                f"{what} must be numbers; {where} (counted from 0) holds text. Remove the row or "
                "the column, or encode the text as numbers"
            )


def _columns(values: Any) -> list[tuple[Any, NDArray[Any]]] | None:
    """Return columns with their names; a single axis has none, and what is no array is nothing."""
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if hasattr(values, "iloc") and names is not None:
        # By place, since pandas allows a name twice.
        return [(name, np.asarray(values.iloc[:, i])) for i, name in enumerate(names)]
    if names is not None:
        return [(name, np.asarray(values[name])) for name in names]
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        # Rows of unlike lengths and the like: scikit-learn says so without their values.
        return None
    return list(enumerate(array.T)) if array.ndim == 2 else [(None, array)]


def _refuse_odd_column(which: str, column: NDArray[Any]) -> None:
    """Refuse a type whose values are no numbers, though a conversion would make some of them."""
    if column.dtype.kind == "c":
        # scikit-learn says so too, and prints them.
        raise ValueError(f"Complex data not supported: {which} must be real numbers")
    if column.dtype.kind in "mM":
        # As numbers they would count a unit that the finest of all rows decides.
        raise ValueError(
            f"{which} must be numbers, and is stored as dates or durations; convert them to a "
            "number of days or of seconds"
        )
    if column.dtype.kind == "V":
        raise ValueError(f"{which} must be numbers, one per cell; it is stored as records")


def run_check(check: Callable[[], Result], what: str) -> Result:
    """Run a check of scikit-learn, whose message about a value that is no number quotes it."""
    try:
        return check()
    except OverflowError:
        pass
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
    raise ValueError(
        f"{what} must be numbers that double precision can hold; at least one value is not"
    )


def _is_word(cell: Any) -> bool:
    """Tell whether a cell is text that stands for no number."""
    if not isinstance(cell, str | bytes):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


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
