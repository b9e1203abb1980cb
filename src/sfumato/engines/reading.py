"""The one reading of one value: what a value of any type says as a number, a date or a name.

A column, an array or a file comes to have a type because of all its records: one missing value
makes a column of whole numbers one of floats, one word makes it a column of objects or of texts.
So no type may decide what a value says. The rule is this: every value has one text (`text_of`), and
the readers here read that text. What a program may make of a value when another record changes the
column's type is read alike:

- `7`, `7.0`, `"7"`, `"7.0"` and `"007"` are the same number, `True` and `"TRUE"` are the number 1;
- a date, a time stamp of any resolution and its text in ISO 8601 are the same moment, counted in
  microseconds of UTC;
- `None`, NaN, NaT and null are missing, as is any text of `MISSING_TEXT`.

Columns of numbers and of time stamps are not written out first: for each type there is a quick way,
which gives the same (docs/proofs/reading.md). Nothing here raises on a value, so nothing can put
one into an exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from functools import cached_property
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
    "Names",
    "Text",
    "Truth",
    "Wholes",
    "absent",
    "distinct_texts",
    "moments",
    "series_of",
    "text_of",
]

MISSING_TEXT = (
    "", "NA", "N/A", "NaN", "nan", "NAN", "NaT", "nat", "NAT", "NULL", "null", "None",
)  # fmt: skip
"""Texts that mean a missing value, unless a category has that very name."""

UNREADABLE = "\x00"
"""Stands for something that is no text; no category may have this name."""

EXACT = 2**53
"""Whole numbers of a smaller absolute value are told apart by doubles."""

Mask = NDArray[np.bool_]

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_INFINITE = r"^(?i)[+-]?inf(inity)?$"
_TRUTH = r"^(?i)(true|false)$"
_DIGITS = r"^[+-]?[0-9]+$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = (
    r"^(?<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ]"
    r"(?<hour>[0-9]{2}):(?<minute>[0-9]{2})(?::(?<second>[0-9]{2})(?:\.(?<part>[0-9]{1,9}))?)?"
    r" ?(?<zone>Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?$"
)
_ABSENT_TYPES = ("NAType", "NaTType", "NullType")
_TRUE = ("t", "yes", "y")
_FALSE = ("f", "no", "n")

_DAY = 86_400_000_000
_FIRST_MOMENT = (date.min - date(1970, 1, 1)).days * _DAY
_LAST_MOMENT = ((date.max - date(1970, 1, 1)).days + 1) * _DAY - 1


# Values one by one


def text_of(value: Any) -> str | None:
    """Return the text of one value: `None` if it is missing, `UNREADABLE` if it is no plain value.

    Text is itself. Anything else begins with a blank, so that no number is ever exactly a text;
    readers look behind blanks. A float beyond 2**53 keeps its point or exponent, since the whole
    number that it was made from may have been another.
    """
    if value is None or type(value).__name__ in _ABSENT_TYPES:
        return None
    if isinstance(value, str):
        plain = str.__str__(value)
        return plain if plain.isascii() or _is_unicode(plain) else UNREADABLE
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="ignore") if _is_text(value) else UNREADABLE
    if isinstance(value, bool | np.bool_):
        return f" {bool(value)}"
    # NumPy counts a span of time among the whole numbers.
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return _whole_text(int(value))
    if isinstance(value, float | np.floating):
        return _float_text(float(value))
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, complex | np.complexfloating):
        # One complex number makes complex numbers of all others in an array.
        return _float_text(float(value.real)) if not value.imag else UNREADABLE
    if isinstance(value, np.datetime64):
        return _moment_text(value)
    return f" {value.isoformat()}" if isinstance(value, date | time) else UNREADABLE


def _whole_text(value: int) -> str:
    # Python refuses to write numbers of several thousand digits; no double reaches so far.
    if value.bit_length() > 2**11:
        return " inf" if value > 0 else " -inf"
    return f" {value}"


def _float_text(value: float) -> str | None:
    if value != value:
        return None
    return f" {int(value)}" if value.is_integer() and abs(value) < EXACT else f" {value!r}"


def _decimal_text(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    # A whole number without its point, unless its exponent would make it endlessly long.
    short = value.is_finite() and value.adjusted() < 64 and value == value.to_integral_value()
    return f" {int(value)}" if short else f" {value}"


def _moment_text(value: np.datetime64) -> str | None:
    if np.isnat(value):
        return None
    unit = np.datetime_data(value.dtype)[0]
    # NumPy's own text, completed: far years would overflow in a finer unit.
    fine = unit in ("ns", "ps", "fs", "as")
    return f" {value.astype('M8[us]') if fine else value}{_REST.get(unit, '')}"


_REST = {
    "Y": "-01-01T00:00:00",
    "M": "-01T00:00:00",
    "W": "T00:00:00",
    "D": "T00:00:00",
    "h": ":00:00",
    "m": ":00",
    "ms": "000",
}
"""What NumPy leaves out of the text of a time stamp of a coarser unit."""


def _is_unicode(value: str) -> bool:
    """Return whether a text has no lone surrogates, which UTF-8 cannot hold."""
    return value.encode("utf-8", errors="replace").decode("utf-8") == value


def _is_text(value: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    return value.decode("utf-8", errors="replace").encode("utf-8") == value


# Columns


def series_of(values: Any) -> pl.Series:
    """Return Python objects of any types as the column of their texts."""
    import polars as pl

    return pl.Series([text_of(value) for value in values], dtype=pl.String)


def moments(values: NDArray[np.int64], unit: str, missing: Mask) -> pl.Series:
    """Return time stamps as a column in microseconds, rounded down.

    Parameters
    ----------
    values
        Counts of `unit` since 1970-01-01 in UTC.
    unit
        `"s"`, `"ms"`, `"us"` or `"ns"`.
    missing
        Which of them are missing.
    """
    import polars as pl

    if unit == "ns":
        counts = values // 1000
    else:
        factor = {"s": 1_000_000, "ms": 1000, "us": 1}[unit]
        # Beyond the last year that can be read, so that it stays unreadable and nothing overflows.
        far = 2 * _LAST_MOMENT // factor
        counts = np.clip(values, -far, far) * factor
    column = pl.Series(counts).cast(pl.Datetime("us"))
    return _only(column, pl.Series(~missing)) if missing.any() else column


def _mask(series: pl.Series) -> Mask:
    """Return a Boolean series as an array, null as false."""
    return np.asarray(series.fill_null(False).to_numpy(), dtype=np.bool_)


def _nothing(length: int) -> Mask:
    return np.zeros(length, dtype=np.bool_)


def _only(series: pl.Series, keep: pl.Series) -> pl.Series:
    """Return a column with null wherever it is not to be kept."""
    import polars as pl

    return pl.select(pl.when(keep.fill_null(False)).then(series)).to_series()


def _plain(series: pl.Series) -> pl.Series:
    """Return a column of a type that has no quick way as the column of its texts."""
    import polars as pl

    kind = series.dtype
    if kind in (pl.Binary, pl.Object, pl.Time):
        # Polars writes a time of day without the fraction of its second.
        return series_of(series.to_list())
    if isinstance(kind, pl.Decimal):
        # The decimal's own digits, since a cast to double may round in another way.
        return " " + series.cast(pl.String).str.replace(r"\.0*$", "")
    if kind in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if kind == pl.String or kind == pl.Boolean or kind.is_integer() or kind.is_float():
        return series
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return series
    if kind == pl.Null:
        return series.cast(pl.String)
    return _only(pl.repeat(UNREADABLE, len(series), eager=True), series.is_not_null())


def _strip_blanks(series: pl.Series) -> tuple[pl.Series, Mask]:
    """Return text without surrounding blanks, and where it is missing."""
    text = series.str.strip_chars()
    return text, _mask(text.is_null() | text.is_in(list(MISSING_TEXT)))


def absent(series: pl.Series) -> Mask:
    """Return which values of a column of any type are missing."""
    import polars as pl

    series = _plain(series)
    if series.dtype == pl.String:
        return _strip_blanks(series)[1]
    gone = series.is_null()
    return _mask(gone | series.is_nan() if series.dtype.is_float() else gone)


def _is_moment(series: pl.Series) -> bool:
    return series.dtype.is_temporal()


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
        if _is_moment(series):
            missing = _mask(series.is_null())
            return cls(np.zeros(len(series)), missing, ~missing)
        floats = series.cast(pl.Float64, strict=False)
        values = floats.fill_null(float("nan")).to_numpy()
        missing = np.isnan(values)
        return cls(np.where(missing, 0.0, values), missing, _nothing(len(series)))

    @classmethod
    def _from_text(cls, series: pl.Series) -> Floats:
        import polars as pl

        text, missing = _strip_blanks(series)
        number = _only(text, text.str.contains(_NUMBER)).cast(pl.Float64, strict=False)
        values = number.fill_null(0.0).to_numpy().copy()
        readable = _mask(number.is_not_null())
        if not (readable | missing).all():
            words = ~readable & ~missing
            infinite = words & _mask(text.str.contains(_INFINITE))
            values[infinite] = np.where(_mask(text.str.starts_with("-"))[infinite], -np.inf, np.inf)
            truth = words & _mask(text.str.contains(_TRUTH))
            values[truth] = _mask(text.str.to_lowercase() == "true")[truth]
            readable |= infinite | truth
        return cls(values, missing, ~readable & ~missing)


@dataclass(frozen=True)
class Wholes:
    """A column read as whole numbers of 64 bits, signed or unsigned.

    `bits` holds each number modulo 2**64; `large` marks those of 2**63 and more; `beyond` is −1
    or 1 for numbers too small or too large for 64 bits; `rounded` marks numbers that are written
    with a point or an exponent and lie so far from zero that neighbours look alike.
    """

    bits: NDArray[np.uint64]
    large: Mask
    beyond: NDArray[np.int8]
    rounded: Mask
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Wholes:
        """Read a column of any type."""
        import polars as pl

        series = _plain(series)
        if series.dtype == pl.String:
            return cls._from_text(series)
        if series.dtype.is_float() or _is_moment(series):
            return cls._from_floats(Floats.read(series))
        signed = series.cast(pl.Int64, strict=False)
        if signed.null_count() > series.null_count():
            return cls._from_text(series.cast(pl.String))
        bits = signed.fill_null(0).to_numpy().astype(np.int64).view(np.uint64)
        none = _nothing(len(bits))
        missing = _mask(series.is_null())
        return cls(bits, none, np.zeros(len(bits), np.int8), none, missing, none)

    @classmethod
    def _from_floats(cls, floats: Floats) -> Wholes:
        values = floats.values
        beyond = np.where(values >= 2.0**64, 1, np.where(values < -(2.0**63), -1, 0))
        inside = np.where(beyond == 0, values, 0.0)
        unreadable = floats.unreadable | (inside != np.floor(inside))
        large = inside >= 2.0**63
        small = np.where(large, 0.0, inside).astype(np.int64).view(np.uint64)
        bits = np.where(large, np.where(large, inside, 0.0).astype(np.uint64), small)
        rounded = (np.abs(values) >= EXACT) & np.isfinite(values)
        return cls(bits, large, beyond.astype(np.int8), rounded, floats.missing, unreadable)

    @classmethod
    def _from_text(cls, series: pl.Series) -> Wholes:
        import polars as pl

        text, missing = _strip_blanks(series)
        plain = text.str.contains(_DIGITS).fill_null(False)
        digits = _only(text, plain).str.replace(r"^\+", "")
        signed = digits.cast(pl.Int64, strict=False)
        unsigned = _only(digits, signed.is_null()).cast(pl.UInt64, strict=False)
        large = _mask(unsigned.is_not_null())
        exact = _mask(plain)
        lost = exact & ~large & _mask(signed.is_null())
        below = lost & _mask(digits.str.starts_with("-"))
        bits = signed.fill_null(0).to_numpy().astype(np.int64).view(np.uint64)
        bits = np.where(large, unsigned.fill_null(0).to_numpy().astype(np.uint64), bits)
        beyond = lost.astype(np.int8) - 2 * below.astype(np.int8)
        if (exact | missing).all():
            none = _nothing(len(bits))
            return cls(bits, large, beyond, none, missing, none)
        # With a point, an exponent or in words, a number is what its double is.
        other = cls._from_floats(Floats._from_text(_only(text, ~plain)))
        return cls(
            np.where(exact, bits, other.bits),
            np.where(exact, large, other.large),
            np.where(exact, beyond, other.beyond),
            ~exact & other.rounded,
            missing,
            ~exact & ~missing & (other.unreadable | other.missing),
        )

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
class Moments:
    """A column read as moments: microseconds of UTC since 1970, in the years 1 to 9999."""

    values: NDArray[np.int64]
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Moments:
        """Read a column of any type."""
        import polars as pl

        series = _plain(series)
        if series.dtype == pl.String:
            return cls._from_text(series)
        gone, kind = absent(series), series.dtype
        if not _is_moment(series):
            return cls(np.zeros(len(series), dtype=np.int64), gone, ~gone)
        # The count itself, since what Polars computes with far dates may panic.
        counts = series.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
        unit = "d" if kind == pl.Date else str(getattr(kind, "time_unit", "us"))
        values, inside = _microseconds(counts, unit)
        return cls(np.where(inside & ~gone, values, 0), gone, ~inside & ~gone)

    @classmethod
    def _from_text(cls, series: pl.Series) -> Moments:
        text, gone = _strip_blanks(series)
        counts, found = _days(_only(text, text.str.contains(_DATE)))
        values, inside = _microseconds(counts, "d")
        readable = found & inside
        longer = ~(readable | gone) & _mask(text.str.len_bytes() > 10)
        if longer.any():
            rest, there = _read_times(text.filter(longer))
            values[longer], readable[longer] = rest, there
        return cls(np.where(readable, values, 0), gone, ~readable & ~gone)


def _days(text: pl.Series) -> tuple[NDArray[np.int64], Mask]:
    """Return the days since 1970 of dates written YYYY-MM-DD, and which of them are one."""
    import polars as pl

    days = text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Int64)
    return days.fill_null(0).to_numpy(), _mask(days.is_not_null())


def _microseconds(counts: NDArray[np.int64], unit: str) -> tuple[NDArray[np.int64], Mask]:
    """Return counts of a unit in microseconds, rounded down, and which lie in the years 1 to 9999.

    What lies outside them has any number.
    """
    if unit == "ns":
        values = counts // 1000
        factor = 1
    else:
        values = counts
        factor = {"d": _DAY, "s": 1_000_000, "ms": 1000, "us": 1}[unit]
    inside = (values >= _FIRST_MOMENT // factor) & (values <= _LAST_MOMENT // factor)
    return np.where(inside, values, 0) * factor, inside


def _read_times(text: pl.Series) -> tuple[NDArray[np.int64], Mask]:
    """Return the microseconds of dates with a time of day, and which of the texts are one."""
    import polars as pl

    parts = text.str.extract_groups(_MOMENT).struct.unnest()
    counts, found = _days(parts["day"])

    def number(series: pl.Series) -> NDArray[np.int64]:
        return series.cast(pl.Int64, strict=False).fill_null(0).to_numpy()

    hour, minute, second = (number(parts[name]) for name in ("hour", "minute", "second"))
    part = number(parts["part"].str.pad_end(9, "0")) // 1000
    zone = parts["zone"].fill_null("Z").str.replace_all(":", "")
    ahead = np.where(_mask(zone.str.starts_with("-")), -1, 1)
    shift = [number(zone.str.slice(first, 2)) for first in (1, 3, 5)]
    day, inside = _microseconds(counts, "d")
    clock = ((hour * 60 + minute) * 60 + second) * 1_000_000 + part
    offset = ahead * ((shift[0] * 60 + shift[1]) * 60 + shift[2]) * 1_000_000
    values = day + clock - offset
    there = found & inside & (hour < 24) & (minute < 60) & (second < 60)
    there &= (shift[0] < 24) & (shift[1] < 60) & (shift[2] < 60)
    there &= (values >= _FIRST_MOMENT) & (values <= _LAST_MOMENT)
    return np.where(there, values, 0), there


@dataclass(frozen=True)
class Days:
    """A column read as dates, in days of UTC since 1970-01-01; a time of day is dropped."""

    values: NDArray[np.int64]
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Days:
        """Read a column of any type."""
        found = Moments.read(series)
        return cls(found.values // _DAY, found.missing, found.unreadable)


@dataclass(frozen=True)
class Truth:
    """A column read as true and false."""

    values: NDArray[np.bool_]
    missing: Mask
    unreadable: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Truth:
        """Read a column of any type; the numbers 1 and 0, yes and no, t and f are understood."""
        import polars as pl

        series = _plain(series)
        floats = Floats.read(series)
        there = ~floats.missing & ~floats.unreadable
        true, false = there & (floats.values == 1.0), there & (floats.values == 0.0)
        if series.dtype == pl.String and floats.unreadable.any():
            words = series.str.strip_chars().str.to_lowercase()
            true, false = true | _mask(words.is_in(_TRUE)), false | _mask(words.is_in(_FALSE))
        return cls(true, floats.missing, ~true & ~false & ~floats.missing)


@dataclass(frozen=True)
class Text:
    """A column read as text; null is missing."""

    values: pl.Series
    missing: Mask

    @classmethod
    def read(cls, series: pl.Series) -> Text:
        """Read a column of any type; what was no text begins with a blank."""
        import polars as pl

        series = _plain(series)
        kind = series.dtype
        if kind == pl.String:
            text = series
        elif _is_moment(series):
            found = Moments.read(series)
            inside = pl.Series(~found.unreadable & ~found.missing)
            stamps = _only(pl.Series(found.values).cast(pl.Datetime("us")), inside)
            text = (" " + stamps.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")).fill_null(UNREADABLE)
            text = _only(text, series.is_not_null())
        elif kind.is_float():
            numbers = series.cast(pl.Float64).fill_nan(None)
            whole = (numbers == numbers.floor()) & (numbers.abs() < EXACT)
            short = _only(numbers, whole).cast(pl.Int64).cast(pl.String)
            text = " " + short.zip_with(short.is_not_null(), numbers.cast(pl.String))
        elif kind == pl.Boolean:
            words = pl.when(series).then(pl.lit(" True")).otherwise(pl.lit(" False"))
            text = _only(pl.select(words).to_series(), series.is_not_null())
        else:
            text = " " + series.cast(pl.String)
        return cls(text, _mask(text.is_null()))


NONE, UNSURE = -1, -2
"""What `Names.find` says of a value that is none of the names, and of one that may be several."""


@dataclass(frozen=True)
class Names:
    """Declared names, and which of them a value is.

    A value is the name that it is exactly; else the one that it is without surrounding blanks; else
    the one that is the same number or moment. Names that are the same number or moment can be told
    apart by exact text only: what is that number and not exactly one of them may be several.

    Parameters
    ----------
    names
        The names, each once.
    """

    names: tuple[str, ...]

    def find(self, series: pl.Series) -> NDArray[np.int64]:
        """Return the place of each value among the names; `NONE` where it is missing."""
        import polars as pl

        series = _plain(series)
        if series.dtype != pl.String:
            return self._find_typed(series)
        codes = np.full(len(series), NONE, dtype=np.int64)
        if self._exact:
            exact = series.replace_strict(
                list(self._exact), list(self._exact.values()), default=None, return_dtype=pl.Int64
            )
            codes = exact.fill_null(NONE).to_numpy().copy()
        rest = (codes == NONE) & _mask(series.is_not_null())
        if rest.any():
            codes[rest] = self._find_trimmed(series.filter(rest).str.strip_chars())
        return codes

    def _find_trimmed(self, text: pl.Series) -> NDArray[np.int64]:
        """Return the places of texts that are none of the names exactly."""
        import polars as pl

        alone = [(name, place) for place, name in enumerate(self.names) if place not in self._twins]
        codes = np.full(len(text), NONE, dtype=np.int64)
        if alone:
            names, places = zip(*alone, strict=True)
            found = text.replace_strict(
                list(names), list(places), default=NONE, return_dtype=pl.Int64
            )
            codes = found.to_numpy().copy()
        for keys in (self._numbers, self._moments, self._digits):
            if keys is not None and (codes == NONE).any():
                rest = codes == NONE
                codes[rest] = keys.find(text.filter(rest))
        return codes

    def _find_typed(self, series: pl.Series) -> NDArray[np.int64]:
        """Return the places of numbers, truth values or moments."""
        if _is_moment(series):
            found = np.full(len(series), NONE, dtype=np.int64)
            return found if self._moments is None else self._moments.find(series)
        codes = np.full(len(series), NONE, dtype=np.int64)
        if self._numbers is not None:
            codes = self._numbers.find(series)
        if self._digits is not None:
            # Numbers as large as this are rare, and are looked up by their digits.
            far = (np.abs(Floats.read(series).values) >= EXACT) & (codes == NONE)
            codes[far] = self._digits.find(Text.read(series.filter(far)).values.str.strip_chars())
        return codes

    @cached_property
    def _exact(self) -> dict[str, int]:
        """The place of each name that a text may be exactly.

        A number is written with a blank before it, so a twin that begins with one is none of them.
        """
        places = enumerate(self.names)
        return {n: p for p, n in places if p not in self._twins or not n.startswith(" ")}

    @cached_property
    def _texts(self) -> pl.Series:
        import polars as pl

        return pl.Series(self.names, dtype=pl.String)

    @cached_property
    def _numbers(self) -> _Keys | None:
        """The names that are numbers, but for whole numbers that doubles do not tell apart."""
        floats = Floats.read(self._texts)
        digits = _mask(_large_digits(self._texts).is_not_null())
        there = ~floats.missing & ~floats.unreadable & ~digits
        return _Keys.of(_number_keys, floats.values, there, digits)

    @cached_property
    def _moments(self) -> _Keys | None:
        """The names that are moments."""
        found = Moments.read(self._texts)
        return _Keys.of(_moment_keys, found.values, ~found.missing & ~found.unreadable)

    @cached_property
    def _digits(self) -> _Digits | None:
        """The names that are whole numbers which doubles do not tell apart."""
        found = _large_digits(self._texts)
        return _Digits(found) if found.is_not_null().any() else None

    @cached_property
    def _twins(self) -> frozenset[int]:
        """The places of names that share their number or moment with another."""
        groups = [keys.twins for keys in (self._numbers, self._moments, self._digits) if keys]
        return frozenset(place for group in groups for place in group)


def _number_keys(series: pl.Series) -> tuple[NDArray[Any], Mask]:
    floats = Floats.read(series)
    return floats.values, ~floats.missing & ~floats.unreadable


def _moment_keys(series: pl.Series) -> tuple[NDArray[Any], Mask]:
    found = Moments.read(series)
    return found.values, ~found.missing & ~found.unreadable


@dataclass(frozen=True)
class _Keys:
    """Sorted numbers or moments of some names, and the places of these."""

    reader: Any
    keys: NDArray[Any]
    places: NDArray[np.int64]
    twins: frozenset[int]

    @classmethod
    def of(
        cls, reader: Any, values: NDArray[Any], there: Mask, rivals: Mask | None = None
    ) -> _Keys | None:
        """Return the keys of the names that have one.

        Parameters
        ----------
        reader
            What reads the keys of a column, and which values have one.
        values, there
            The keys of the names, and which names have one.
        rivals
            Names that are looked up in another way, and are twins of those with the same key.
        """
        if not there.any():
            return None
        own = np.flatnonzero(there)
        other = np.flatnonzero(_nothing(len(there)) if rivals is None else rivals)
        keys, first, group, many = np.unique(
            values[own], return_index=True, return_inverse=True, return_counts=True
        )
        shared = (many > 1) | np.isin(keys, values[other])
        places = np.where(shared, UNSURE, own[first])
        twins = [*own[shared[group]], *other[np.isin(values[other], keys)]]
        return cls(reader, keys, places, frozenset(int(place) for place in twins))

    def find(self, series: pl.Series) -> NDArray[np.int64]:
        """Return the place of each value."""
        values, there = self.reader(series)
        at = np.minimum(np.searchsorted(self.keys, values), len(self.keys) - 1)
        found = there & (self.keys[at] == values)
        return np.where(found, self.places[at], NONE)


def _large_digits(text: pl.Series) -> pl.Series:
    """Return whole numbers of 2**53 and more in their shortest digits, null for all other text."""
    stripped = text.str.strip_chars()
    short = stripped.str.replace(r"^\+?(-?)0*([0-9]+)$", "$1$2")
    floats = Floats.read(short)
    far = (np.abs(floats.values) >= EXACT) & ~floats.unreadable & ~floats.missing
    import polars as pl

    return _only(short, pl.Series(far) & stripped.str.contains(_DIGITS))


class _Digits:
    """Whole numbers that doubles do not tell apart, by their digits."""

    def __init__(self, digits: pl.Series) -> None:
        listed = digits.to_list()
        self._places: dict[str, list[int]] = {}
        for place, text in enumerate(listed):
            if text is not None:
                self._places.setdefault(text, []).append(place)
        shared = [places for places in self._places.values() if len(places) > 1]
        self.twins = frozenset(place for places in shared for place in places)
        self._doubles = np.unique(Floats.read(digits.drop_nulls()).values)

    def find(self, text: pl.Series) -> NDArray[np.int64]:
        """Return the place of each text; a number that may have been rounded may be several."""
        import polars as pl

        single = {t: p[0] if len(p) == 1 else UNSURE for t, p in self._places.items()}
        short = _large_digits(text)
        found = short.replace_strict(
            list(single), list(single.values()), default=NONE, return_dtype=pl.Int64
        )
        # What is another double was none of them before it was rounded.
        rounded = Wholes.read(text).rounded & np.isin(Floats.read(text).values, self._doubles)
        return np.where(rounded, UNSURE, found.fill_null(NONE).to_numpy())


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
