"""A first schema, read off the data for the custodian to correct.

It looks at private values, so what it finds is marked as inferred and is not to be published or
used before a person who knows the data has said that it is public knowledge.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import columns_of, is_relation, names_of
from sfumato.data.schema import Column, Schema
from sfumato.engines.coding import (
    MISSING,
    Booleans,
    Categories,
    Coding,
    Dates,
    Discover,
    Integers,
    Numbers,
    Steps,
    Times,
)
from sfumato.engines.coding.ranges import EPOCH
from sfumato.engines.coding.steps import SECOND
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.files import TableFile
from sfumato.engines.reading import MISSING_TEXT, UNREADABLE, Floats, Moments, Text, Truth, Wholes
from sfumato.noise.exact import exact

if TYPE_CHECKING:
    import polars as pl

__all__ = ["draft"]

MOST_CATEGORIES = 64
#: Numbers are drafted with a code for each value, in steps that make no more codes than this.
MOST_CODES = 2**20
#: More decimals than this are those of measurements, not of a way of writing.
MOST_DECIMALS = 6
#: Steps of a clock in seconds, the largest first: days, hours, minutes, seconds.
DAY = 86_400
CLOCK = (DAY, 3600, 60, 1)
#: More different words than this among numbers are more than ways to say that there is none.
MOST_WORDS = 3
#: Texts that occur so often on average are values of something, and not names or keys of rows.
REPEATS = 10


def draft(source: Any, separator: str | None = None) -> Schema:
    """Return an unconfirmed schema for a frame, a DuckDB relation or a file.

    A file is read into memory, so one too large for that is refused.
    """
    file = TableFile(Path(source), separator) if isinstance(source, str | Path) else None
    if file is not None and not file.fits_memory:
        raise DataError(
            Problem(
                wrong=f"{file.path.name} is too large to draft a schema from: drafting reads the "
                "whole file into memory",
                remedy="Draft from a frame with some of its rows and correct the domains, or "
                "write the schema by hand.",
            )
        )
    names = names_of(source) if file is None else file.names()
    # A name that is there twice means no column in particular.
    single = [name for name in names if names.count(name) == 1]
    left_out = [name for name in dict.fromkeys(names) if name not in single]
    series = _series(source, single) if file is None else file.read(single)
    columns: list[Column] = []
    for name, values in series.items():
        column = _column(name, values)
        if column is None:
            left_out.append(name)
        else:
            columns.append(column)
    if not columns:
        raise DataError(
            Problem(
                wrong="every column has too many different values for a draft",
                remedy="Write the schema by hand, with public categories or bins.",
            )
        )
    return Schema(columns=tuple(columns), unit=None, confirmed=False, left_out=tuple(left_out))


def _series(source: Any, names: list[str]) -> dict[str, pl.Series]:
    """Return some columns of a frame or of a DuckDB relation."""
    if not is_relation(source):
        return columns_of(source, names)
    from sfumato.engines.duckdb import read_relation

    return read_relation(source, names)


def _column(name: str, series: pl.Series) -> Column | None:
    """Return the draft of one column; `None` for names, identifiers and the like."""
    missing, present = _present(series)
    policy = "code" if missing else "refuse"
    if len(present) == 0:
        return None
    coding = (
        _truth(present, policy)
        or _whole(present, policy)
        or (None if _leading_zeros(present) == 0 else _number(present, policy))
        or _date(present, policy)
        or _category(present, policy)
    )
    if coding is None:
        coding = _number_with_words(present) or _open(present, policy)
    if coding is None:
        return None
    made = ("bins", "outside", *(("values",) if coding.is_open else ()))
    marks = [key for key in coding.to_json() if key not in made]
    return Column(name, coding, tuple(marks))


def _present(series: pl.Series) -> tuple[bool, pl.Series]:
    """Return whether values are missing, and the others."""
    import polars as pl

    text = Text.read(series)
    words = text.values.str.strip_chars().is_in(list(MISSING_TEXT)).fill_null(False)
    gone = pl.Series(text.missing) | words
    return bool(gone.any()), series.filter(~gone)


def _truth(series: pl.Series, missing: str) -> Coding | None:
    import polars as pl

    # 0 and 1 in a file are drafted as the numbers they are.
    if series.dtype == pl.String and series.str.contains("[01]").any():
        return None
    if series.dtype not in (pl.Boolean, pl.String) or Truth.read(series).unreadable.any():
        return None
    return Booleans(missing=missing)


def _whole(series: pl.Series, missing: str) -> Coding | None:
    wholes = Wholes.read(series)
    odd = wholes.unreadable | wholes.large | wholes.rounded | (wholes.beyond != 0)
    if odd.any():
        return None
    values = wholes.bits.view(np.int64)
    low, high = int(values.min()), int(values.max())
    digits = _leading_zeros(series)
    if digits == 0 or max(abs(low), abs(high)) >= 2**52:
        return None
    if high - low < MOST_CODES:
        return Integers(low=low, high=high, digits=digits, missing=missing)
    return _steps(low, high, Fraction(1), missing)


def _leading_zeros(series: pl.Series) -> int | None:
    """Return how many digits all values have if some begin with 0; 0 if they are no numbers.

    Numbers of different lengths, some with a leading zero, are names made of digits.
    """
    import polars as pl

    if series.dtype != pl.String:
        return None
    text = series.str.strip_chars()
    if not text.str.contains(r"^[+-]?0\d").any():
        return None
    lengths = text.str.len_bytes().unique()
    return int(lengths[0]) if len(lengths) == 1 and text.str.contains(r"^\d+$").all() else 0


def _steps(low: float, high: float, step: Fraction, missing: str) -> Coding:
    """Return numbers in decimal steps around two bounds, in larger ones where they are too many."""
    ends = exact(low), exact(high)
    while (ends[1] - ends[0]) / step >= MOST_CODES:
        step *= 10
    first, last = floor(ends[0] / step) * step, ceil(ends[1] / step) * step
    return Steps(low=first, high=last, step=step, missing=missing)  # type: ignore[arg-type]


def _number(series: pl.Series, missing: str) -> Coding | None:
    floats = Floats.read(series)
    if floats.unreadable.any() or not np.isfinite(floats.values).all():
        return None
    low, high = float(floats.values.min()), float(floats.values.max())
    if low == high:
        high = float(np.nextafter(low, np.inf)) if abs(low) > 1 else low + 1.0
        return Numbers(edges=(low, high), missing=missing)
    step = Fraction(1, 10 ** _decimals(floats.values))
    try:
        return _steps(low, high, step, missing)
    except ValueError:  # only a few doubles lie in between
        return Numbers(edges=(low, high), missing=missing)


def _decimals(values: NDArray[np.float64]) -> int:
    """Return with how many decimals all values are written, at most a few."""
    for decimals in range(MOST_DECIMALS):
        if (np.rint(values * 10.0**decimals) / 10.0**decimals == values).all():
            return decimals
    return MOST_DECIMALS


def _number_with_words(series: pl.Series) -> Coding | None:
    """Return numbers beside a few words, such as "?", that must mean that there is none."""
    import polars as pl

    unreadable = pl.Series(Floats.read(series).unreadable)
    words = sorted({str(text).strip() for text in Text.read(series.filter(unreadable)).values})
    if (
        not 1 <= len(words) <= MOST_WORDS
        or UNREADABLE in words
        or 2 * unreadable.sum() > len(series)
    ):
        return None
    numbers = series.filter(~unreadable)
    coding = _whole(numbers, "code") or _number(numbers, "code")
    return None if coding is None else replace(coding, missing_values=tuple(words))


def _date(series: pl.Series, missing: str) -> Coding | None:
    moments = Moments.read(series)
    if moments.unreadable.any():
        return None
    values = moments.values
    if (values % (DAY * SECOND)).any():
        return _time(values, missing)
    days = values // (DAY * SECOND)
    low, high = (EPOCH + timedelta(days=int(end)) for end in (days.min(), days.max()))
    return Dates(low=low, high=high, missing=missing)


def _time(values: NDArray[np.int64], missing: str) -> Coding:
    """Return moments in the largest steps that keep them, or in larger ones if they are many."""
    low, high = int(values.min()), int(values.max())
    fit = [step for step in CLOCK if not (values % (step * SECOND)).any()] or [1]
    step = next(
        (
            step
            for step in CLOCK[::-1]
            if step >= fit[0] and (high - low) / step / SECOND < MOST_CODES
        ),
        DAY,
    )
    first, last = (
        datetime(1970, 1, 1) + timedelta(microseconds=end)
        for end in (low // (step * SECOND) * step * SECOND, high)
    )
    return Times(low=first, high=last.replace(microsecond=0), step=step, missing=missing)


def _category(series: pl.Series, missing: str) -> Coding | None:
    names = sorted({str(text).strip() for text in Text.read(series).values})
    # A column that names its missing values as we do has to be declared by hand.
    clash = missing == "code" and MISSING in names
    if len(names) > MOST_CATEGORIES or UNREADABLE in names or clash:
        return None
    return Categories(values=tuple(names), missing=missing)


def _open(series: pl.Series, missing: str) -> Coding | None:
    """Return categories that are to be found, for texts that repeat: names and keys do not."""
    import polars as pl

    text = Text.read(series).values.str.strip_chars()
    repeats = REPEATS * text.n_unique() <= len(text)
    return Discover(missing=missing) if series.dtype == pl.String and repeats else None
