"""From a column as it was read to plain arrays: total parsing, the same for every engine.

Each reader takes a Polars series of any type and returns values together with two masks: what is
missing, and what is there but cannot be read as asked. None of them raises on a value, so none
can put one into an exception. Text is what a CSV file holds, so each reader understands text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "MISSING_TEXT",
    "UNREADABLE",
    "Days",
    "Floats",
    "Text",
    "Truth",
    "Wholes",
    "distinct_texts",
    "series_of",
]

MISSING_TEXT = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
"""Texts that mean a missing value, unless a category has that very name."""

Mask = NDArray[np.bool_]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_INFINITE = r"^(?i)[+-]?inf(inity)?$"
_WHOLE = r"^[+-]?\d+(\.0*)?$"
_DATE = r"^(\d{4}-\d{2}-\d{2})([T ].*)?$"
_FIRST_DAY = (date.min - date(1970, 1, 1)).days
_LAST_DAY = (date.max - date(1970, 1, 1)).days
_TRUE = ("true", "t", "yes", "y", "1")
_FALSE = ("false", "f", "no", "n", "0")


def _mask(series: pl.Series) -> Mask:
    """Return a Boolean series as an array, null as false."""
    return np.asarray(series.fill_null(False).to_numpy(), dtype=np.bool_)


def _nothing(series: pl.Series) -> Mask:
    return np.zeros(len(series), dtype=np.bool_)


def _only(series: pl.Series, keep: pl.Series) -> pl.Series:
    """Return a column with null wherever it is not to be kept."""
    import polars as pl

    return pl.select(pl.when(keep.fill_null(False)).then(series)).to_series()


def _plain(series: pl.Series) -> pl.Series:
    """Return a column of categories or of bytes as text, any other as it is."""
    import polars as pl

    if series.dtype == pl.Binary:
        return series_of(series.to_list())
    if series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    return series


def _stripped(series: pl.Series) -> tuple[pl.Series, Mask]:
    """Return text without surrounding blanks, and where it is missing."""
    text = series.str.strip_chars()
    return text, _mask(text.is_null() | text.is_in(list(MISSING_TEXT)))


@dataclass(frozen=True)
class Floats:
    """A column read as numbers: doubles, infinities included, NaN counted as missing."""

    values: NDArray[np.float64]
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Floats:
        """Read a column of any type."""
        import polars as pl

        series = _plain(series)
        if series.dtype == pl.String:
            return cls._from_text(series)
        if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
            missing = _mask(series.is_null())
            return cls(np.zeros(len(series)), missing, ~missing)
        floats = series.cast(pl.Float64, strict=False)
        values = floats.fill_null(float("nan")).to_numpy()
        missing = np.isnan(values)
        return cls(np.where(missing, 0.0, values), missing, _nothing(series))

    @classmethod
    def _from_text(cls, series: pl.Series) -> Floats:
        import polars as pl

        text, missing = _stripped(series)
        finite = text.str.contains(_NUMBER)
        infinite = _mask(text.str.contains(_INFINITE))
        number = _only(text, finite).cast(pl.Float64, strict=False)
        values = number.fill_null(0.0).to_numpy().copy()
        values[infinite] = np.where(_mask(text.str.starts_with("-"))[infinite], -np.inf, np.inf)
        readable = _mask(number.is_not_null()) | infinite
        return cls(values, missing, ~readable & ~missing)


@dataclass(frozen=True)
class Wholes:
    """A column read as whole numbers of 64 bits, signed or unsigned.

    `bits` holds each number modulo 2**64; `large` marks those of 2**63 and more; `beyond` is −1
    or 1 for numbers too small or too large for 64 bits.
    """

    bits: NDArray[np.uint64]
    large: Mask
    beyond: NDArray[np.int8]
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Wholes:
        """Read a column of any type."""
        import polars as pl

        series = _plain(series)
        if series.dtype == pl.String:
            return cls._from_text(series)
        if series.dtype.is_float():
            return cls._from_floats(Floats.read(series))
        if isinstance(series.dtype, pl.Decimal):
            # The decimal's own digits, since a double would lose some.
            return cls._from_text(series.cast(pl.String))
        missing = _mask(series.is_null())
        if not (series.dtype.is_integer() or series.dtype == pl.Boolean):
            return cls._blank(missing, ~missing)
        if series.dtype == pl.UInt64:
            bits = series.fill_null(0).to_numpy().astype(np.uint64)
            large = bits >= np.uint64(2**63)
            return cls(bits, large, np.zeros(len(bits), np.int8), missing, _nothing(series))
        signed = series.cast(pl.Int64, strict=False)
        if signed.null_count() > series.null_count():
            return cls._from_text(series.cast(pl.String))
        bits = signed.fill_null(0).to_numpy().astype(np.int64).view(np.uint64)
        return cls(bits, _nothing(series), np.zeros(len(bits), np.int8), missing, _nothing(series))

    @classmethod
    def _blank(cls, missing: Mask, unreadable: Mask) -> Wholes:
        zeros = np.zeros(len(missing), dtype=np.uint64)
        none = np.zeros(len(missing), dtype=np.bool_)
        return cls(zeros, none, np.zeros(len(missing), np.int8), missing, unreadable)

    @classmethod
    def _from_floats(cls, floats: Floats) -> Wholes:
        values = floats.values
        beyond = np.where(values >= 2.0**64, 1, np.where(values < -(2.0**63), -1, 0))
        inside = np.where(beyond == 0, values, 0.0)
        unreadable = floats.unreadable | (inside != np.floor(inside))
        large = inside >= 2.0**63
        small = np.where(large, 0.0, inside).astype(np.int64).view(np.uint64)
        bits = np.where(large, np.where(large, inside, 0.0).astype(np.uint64), small)
        return cls(bits, large, beyond.astype(np.int8), floats.missing, unreadable)

    @classmethod
    def _from_text(cls, series: pl.Series) -> Wholes:
        import polars as pl

        text, missing = _stripped(series)
        readable = text.str.contains(_WHOLE).fill_null(False)
        digits = _only(text, readable).str.replace(r"\.0*$", "").str.replace(r"^\+", "")
        signed = digits.cast(pl.Int64, strict=False)
        unsigned = _only(digits, signed.is_null()).cast(pl.UInt64, strict=False)
        large = _mask(unsigned.is_not_null())
        lost = _mask(readable) & ~large & _mask(signed.is_null())
        below = lost & _mask(digits.str.starts_with("-"))
        bits = signed.fill_null(0).to_numpy().astype(np.int64).view(np.uint64)
        bits = np.where(large, unsigned.fill_null(0).to_numpy().astype(np.uint64), bits)
        beyond = lost.astype(np.int8) - 2 * below.astype(np.int8)
        return cls(bits, large, beyond, missing, ~_mask(readable) & ~missing)

    def below(self, low: int) -> Mask:
        """Return which numbers are less than `low`."""
        signed = self.bits.view(np.int64)
        small = ~self.large & (signed < low)
        big = self.large & (self.bits < max(low, 0))
        outside: Mask = ((self.beyond == 0) & (small | big)) | (self.beyond < 0)
        return outside

    def above(self, high: int) -> Mask:
        """Return which numbers are greater than `high`."""
        signed = self.bits.view(np.int64)
        small = ~self.large & (signed > high)
        big = self.large & (self.bits > max(high, 0))
        outside: Mask = ((self.beyond == 0) & (small | big)) | (self.beyond > 0)
        return outside


@dataclass(frozen=True)
class Text:
    """A column read as text; null is missing."""

    values: pl.Series
    missing: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Text:
        """Read a column of any type; numbers are written without a needless point."""
        import polars as pl

        series = _plain(series)
        if series.dtype == pl.String:
            return cls(series, _mask(series.is_null()))
        if series.dtype.is_float():
            series = series.fill_nan(None)
            whole = (series == series.floor()) & (series.abs() < 2.0**63)
            text = series.cast(pl.String)
            short = _only(series, whole).cast(pl.Int64).cast(pl.String)
            text = short.zip_with(short.is_not_null(), text)
            return cls(text, _mask(text.is_null()))
        if series.dtype == pl.Boolean:
            words = pl.when(series).then(pl.lit("True")).otherwise(pl.lit("False"))
            text = _only(pl.select(words).to_series(), series.is_not_null())
            return cls(text, _mask(series.is_null()))
        missing = _mask(series.is_null())
        if series.dtype in (pl.Date, pl.Datetime):
            days = Days.read(series).values
            # Beyond the years 1 to 9999 a date has no text (and Polars would panic).
            writable = pl.Series((days >= _FIRST_DAY) & (days <= _LAST_DAY))
            text = _only(series, writable).cast(pl.String)
        elif series.dtype.is_numeric() or series.dtype in (pl.Time, pl.Null):
            text = series.cast(pl.String)
        else:
            text = pl.repeat(None, len(series), dtype=pl.String, eager=True)
        return cls(_only(text.fill_null(UNREADABLE), pl.Series(~missing)), missing)


UNREADABLE = "\x00"
"""Stands for something that is no text; no category may have this name."""


@dataclass(frozen=True)
class Days:
    """A column read as dates, in days since 1970-01-01; a time of day is dropped."""

    values: NDArray[np.int64]
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Days:
        """Read a column of any type."""
        import polars as pl

        series = _plain(series)
        if series.dtype == pl.String:
            text, missing = _stripped(series)
            dates = text.str.extract(_DATE, 1).str.to_date("%Y-%m-%d", strict=False)
        elif series.dtype == pl.Date:
            dates, missing = series, _mask(series.is_null())
        elif isinstance(series.dtype, pl.Datetime):
            # With a time zone, the day in UTC: files keep the instant, not always the zone.
            utc = series.dt.convert_time_zone("UTC") if series.dtype.time_zone else series
            dates, missing = utc.dt.date(), _mask(series.is_null())
        else:
            missing = _mask(series.is_null())
            return cls(np.zeros(len(series), dtype=np.int64), missing, ~missing)
        days = dates.cast(pl.Int32).cast(pl.Int64)
        unreadable = _mask(days.is_null()) & ~missing
        return cls(days.fill_null(0).to_numpy().astype(np.int64), missing, unreadable)


@dataclass(frozen=True)
class Truth:
    """A column read as true and false."""

    values: NDArray[np.bool_]
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Truth:
        """Read a column of any type; 1 and 0, yes and no, true and false are understood."""
        import polars as pl

        series = _plain(series)
        if series.dtype == pl.Boolean:
            return cls(_mask(series), _mask(series.is_null()), _nothing(series))
        if series.dtype == pl.String:
            text, missing = _stripped(series)
            lower = text.str.to_lowercase()
            true, false = _mask(lower.is_in(list(_TRUE))), _mask(lower.is_in(list(_FALSE)))
            return cls(true, missing, ~true & ~false & ~missing)
        floats = Floats.read(series)
        there = ~floats.missing & ~floats.unreadable
        true, false = there & (floats.values == 1.0), there & (floats.values == 0.0)
        return cls(true, floats.missing, ~true & ~false & ~floats.missing)


FIRST_ROWS, FEW_TEXTS = 1024, 64
"""Texts are read once each if the first rows do not have more different ones than this."""


def distinct_texts(series: pl.Series) -> tuple[pl.Series, NDArray[Any] | None]:
    """Return the different texts of a column, and which of them each row has.

    Where they are many or the column is no text, it is the column itself. Reading goes by the value
    alone, so the way it takes changes nothing besides the time.
    """
    import polars as pl

    if series.dtype != pl.String or series.head(FIRST_ROWS).n_unique() > FEW_TEXTS:
        return series, None
    texts = series.drop_nulls().unique()
    if len(texts) > len(series) // 8:
        return series, None
    places = series.cast(pl.Enum(texts)).to_physical().cast(pl.UInt32)
    nothing = pl.Series([None], dtype=pl.String)
    return pl.concat([texts, nothing]), places.fill_null(len(texts)).to_numpy()


def series_of(values: Any) -> pl.Series:
    """Return Python objects of mixed types as a column of text.

    Numbers keep all their digits, and what is no plain value becomes unreadable.
    """
    import polars as pl

    return pl.Series([_written(value) for value in values], dtype=pl.String)


def _written(value: Any) -> str | None:
    """Return one object as the text a CSV file would hold for it."""
    if value is None or (isinstance(value, float | np.floating | Decimal) and value != value):
        return None
    if isinstance(value, str):
        return str(value) if value.isascii() or _is_unicode(value) else UNREADABLE
    if isinstance(value, bool | np.bool_ | int | np.integer | Decimal):
        return str(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2.0**63 else repr(number)
    if isinstance(value, date):
        # A pandas NaT is a date that is not equal to itself.
        return None if value != value else _moment(value).isoformat()
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="ignore") if _is_text(value) else UNREADABLE
    return None if type(value).__name__ in ("NAType", "NaTType", "NullType") else UNREADABLE


def _moment(value: date) -> date:
    """Return a time with a zone in UTC, any other date as it is."""
    zoned = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC) if zoned and isinstance(value, datetime) else value


def _is_unicode(value: str) -> bool:
    """Return whether a text has no lone surrogates, which UTF-8 cannot hold."""
    return value.encode("utf-8", errors="replace").decode("utf-8") == value


def _is_text(value: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    return value.decode("utf-8", errors="replace").encode("utf-8") == value
