"""The short way to write a column's domain in Python."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from sfumato.engines.coding import (
    Booleans,
    Categories,
    Coding,
    Dates,
    Integers,
    Numbers,
    coding_from_json,
)

__all__ = ["coding_of"]


def coding_of(name: str, short: Any) -> Coding:
    """Return the coding that a short form stands for; an error names the column.

    Parameters
    ----------
    name
        The column, for the error message.
    short
        `["f", "m"]`: categories. `(0, 120, 16)`: sixteen bins of equal width, whole numbers out
        if the bounds are whole and the bins wide enough. `(0, 9)` or `range(10)`: whole numbers,
        a code each. `(date, date, 12)`: twelve bins of days. `bool`. A dictionary as in a schema
        file. A coding.
    """
    try:
        return _coding(short)
    except (ValueError, OverflowError) as failure:
        raise ValueError(f"column {name!r}: {failure}") from None


def _coding(short: Any) -> Coding:
    if isinstance(short, Coding):
        return short
    if short is bool:
        return Booleans()
    if isinstance(short, Mapping):
        return coding_from_json(dict(short))
    if isinstance(short, range):
        if short.step != 1 or not short:
            raise ValueError("a range must go up by one and not be empty")
        return Integers(low=short[0], high=short[-1])
    if isinstance(short, list):
        return _categories(short)
    if isinstance(short, tuple) and len(short) in (2, 3):
        return _bounds(*short)
    raise ValueError(
        "a domain is a list of categories, (low, high, bins), (low, high) for whole numbers, "
        f"bool, a dictionary or a coding; got {type(short).__name__}"
    )


def _categories(values: list[Any]) -> Coding:
    """Return categories, or true and false."""
    if values and all(isinstance(value, bool) for value in values):
        if len(set(values)) == len(values) == 2:
            return Booleans()
        raise ValueError("true and false belong together; write bool")
    return Categories(values=tuple(_plain(value) for value in values))


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's own."""
    return value.item() if hasattr(value, "item") else value


def _bounds(low: Any, high: Any, bins: Any = None) -> Coding:
    """Return bins between two bounds."""
    low, high, bins = _plain(low), _plain(high), _plain(bins)
    if isinstance(low, date) and isinstance(high, date):
        return Dates(low=low, high=high, bins=bins)
    if (
        isinstance(low, bool)
        or not isinstance(low, int | float)
        or not isinstance(high, int | float)
    ):
        raise ValueError("bounds are two numbers or two dates; categories are a list, not a tuple")
    if bins is None:
        if isinstance(low, int) and isinstance(high, int):
            return Integers(low=low, high=high)
        raise ValueError("say into how many bins the numbers go: (low, high, bins)")
    if type(bins) is not int:
        raise ValueError("the number of bins must be a whole number")
    whole = isinstance(low, int) and isinstance(high, int) and high - low >= bins
    return Numbers.equal(low, high, bins, decimals=0 if whole and high < 2**53 else None)
