"""Columns of numbers as a model needs them: on a fine grid rather than in bins.

Bins are for counting. A schema that declares them serves a regression too, once each column of
numbers is read between the same bounds and by the same rules, but as finely as it goes. Only what
is declared is looked at.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.engines.coding import Coding, Dates, Integers, Numbers, Reals

__all__ = ["finer", "finer_marks"]

#: Whole numbers and days have a code each up to so many; more are put on a grid.
MOST_CODES = 2**16


def finer(coding: Coding) -> Coding:
    """Return a column of numbers or dates without bins; any other column as it is."""
    if isinstance(coding, Numbers) and coding.proper > 1:
        return _grid(coding, coding.edges[0], coding.edges[-1])
    if isinstance(coding, Integers) and coding.bins is not None and coding.bins > 1:
        if coding.high - coding.low < MOST_CODES:
            return replace(coding, bins=None)
        return _grid(coding, float(coding.low), float(coding.high))
    if isinstance(coding, Dates) and coding.bins is not None and coding.bins > 1:
        return replace(coding, bins=None)
    return coding


def finer_marks(marks: tuple[str, ...]) -> tuple[str, ...]:
    """Return which parts of a finer column were read off the data."""
    whole = {"edges": ("low", "high"), "bins": (), "decimals": ()}
    found = [name for mark in marks for name in whole.get(mark, (mark,))]
    return tuple(dict.fromkeys(found))


def _grid(coding: Coding, low: float, high: float) -> Coding:
    """Return a grid between two bounds; bounds too close together for one stay as they are."""
    try:
        return Reals(
            low=low,
            high=high,
            missing=coding.missing,
            missing_values=coding.missing_values,
            outside=coding.outside,
        )
    except ValueError:
        return coding
