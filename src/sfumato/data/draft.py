"""A first schema, read off the data for the custodian to correct.

It looks at private values, so what it finds is marked as inferred and is not to be published or
used before a person who knows the data has said that it is public knowledge.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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
)
from sfumato.engines.coding.ranges import EPOCH
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.files import TableFile
from sfumato.engines.reading import MISSING_TEXT, UNREADABLE, Days, Floats, Text, Truth, Wholes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["draft"]

MOST_CATEGORIES = 64
MOST_SINGLE = 32
#: More different words than this among numbers are more than ways to say that there is none.
MOST_WORDS = 3
BINS = 16
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
        or _number(present, policy)
        or _date(present, policy)
        or _category(present, policy)
    )
    if coding is None:
        coding = _number_with_words(present) or _open(present, policy)
    if coding is None:
        return None
    made = ("bins", "decimals", "outside", *(("values",) if coding.is_open else ()))
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
    if high - low < MOST_SINGLE:
        return Integers(low=low, high=high, missing=missing)
    if max(abs(low), abs(high)) >= 2**52:
        return None
    return Numbers.equal(low, high, BINS, decimals=0, missing=missing)


def _number(series: pl.Series, missing: str) -> Coding | None:
    floats = Floats.read(series)
    if floats.unreadable.any() or not np.isfinite(floats.values).all():
        return None
    low, high = float(floats.values.min()), float(floats.values.max())
    if low == high:
        high = float(np.nextafter(low, np.inf)) if abs(low) > 1 else low + 1.0
        return Numbers(edges=(low, high), missing=missing)
    edges = Numbers.equal_edges(low, high, BINS)
    if any(b <= a for a, b in pairwise(edges)):  # only a few doubles lie in between
        edges = (low, high)
    return Numbers(edges=edges, missing=missing)


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
    days = Days.read(series)
    if days.unreadable.any():
        return None
    low, high = (EPOCH + timedelta(days=int(end)) for end in (days.values.min(), days.values.max()))
    bins = None if (high - low).days < MOST_SINGLE else BINS
    return Dates(low=low, high=high, bins=bins, missing=missing)


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
