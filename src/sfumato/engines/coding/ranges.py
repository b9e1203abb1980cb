"""Columns of whole numbers and of dates, one code each or in near-equal bins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding.base import (
    Coding,
    Found,
    Generator,
    Ladder,
    hashable,
    read_whole,
)
from sfumato.engines.reading import EXACT, Days, Wholes
from sfumato.noise.exact import briefly

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dates", "Integers"]

EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, kw_only=True)
class Integers(Coding):
    """Whole numbers from `low` to `high`, both included, one code each or in near-equal bins.

    Parameters
    ----------
    low, high
        The least and greatest number, of at most 64 bits.
    bins
        How many bins; `None` gives every number its own code.
    digits
        If given, synthetic values are texts of this many digits, with leading zeros.
    """

    kind = "integer"
    noun = "a whole number"

    low: int
    high: int
    bins: int | None = None
    digits: int | None = None
    _starts: NDArray[np.uint64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high") if self.bins is None else ("low", "high", "bins"):
            object.__setattr__(self, name, read_whole(name, getattr(self, name)))
        if self.low > self.high:
            raise ValueError(f"low must not be more than high; got {self.low} and {self.high}")
        if self.low < 0 and self.high >= 2**63:
            raise ValueError("a range with negative numbers must end below 2**63")
        if self.digits is not None and (
            type(self.digits) is not int or self.low < 0 or self.high >= 10 ** min(self.digits, 20)
        ):
            raise ValueError("digits must be a whole number of digits in which low and high fit")
        count = self.high - self.low + 1
        bins = count if self.bins is None else self.bins
        if not 1 <= bins <= min(count, 2**24):
            raise ValueError(
                f"the {count} whole numbers from low to high need 1 to {min(count, 2**24)} bins; "
                f"got {bins}"
            )
        # ⌊i·count/bins⌋ in parts that 64 bits hold.
        wide, rest = divmod(count, bins)
        places = np.arange(bins, dtype=np.uint64)
        starts = places * np.uint64(wide) + places * np.uint64(rest) // np.uint64(bins)
        object.__setattr__(self, "_starts", starts)

    @property
    def proper(self) -> int:
        """The number of bins."""
        return len(self._starts)

    @property
    def landmarks(self) -> tuple[int, ...]:
        """The codes of the bounds, and of zero."""
        if not self.low < 0 < self.high:
            return super().landmarks
        zero = int(np.searchsorted(self._starts, np.uint64(-self.low), side="right")) - 1
        return tuple(sorted({zero, *super().landmarks}))

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return f"a whole number from {self.low} to {self.high}"

    def _read(self, series: pl.Series) -> Found:
        wholes = Wholes.read(series)
        below, above = wholes.below(self.low), wholes.above(self.high)
        codes = np.clip(self._bin(wholes.bits), 0, self.proper - 1)
        codes = np.where(below, 0, np.where(above, self.proper - 1, codes))
        far = max(abs(self.low), abs(self.high)) >= EXACT
        outside = (below | above) & ~wholes.missing & ~wholes.unreadable
        unsure = wholes.rounded & far
        return Found(codes, wholes.missing, wholes.unreadable, outside & ~unsure, unsure)

    def _bin(self, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the bin of numbers within the range, given modulo 2**64."""
        offset = bits - np.uint64(self.low % 2**64)  # wraps around on purpose
        if self.bins is None:
            single: NDArray[np.int64] = np.minimum(offset, self.proper - 1).astype(np.int64)
            return single
        return np.searchsorted(self._starts, offset, side="right").astype(np.int64) - 1

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        import polars as pl

        span = np.uint64(self.high - self.low)
        room = np.append(self._starts[1:] - np.uint64(1), span) - self._starts
        share = generator.random(len(codes)) * (room[codes].astype(np.float64) + 1.0)
        within = np.minimum(np.minimum(share, 2.0**63).astype(np.uint64), room[codes])
        bits = self._starts[codes] + within + np.uint64(self.low % 2**64)
        values = pl.Series(bits if self.high >= 2**63 else bits.view(np.int64))
        return values if self.digits is None else values.cast(pl.String).str.zfill(self.digits)

    def ladder(self) -> Ladder | None:
        """Return the whole numbers; `None` where some have more than 53 bits."""
        if max(abs(self.low), abs(self.high)) >= EXACT:
            return None
        firsts = self._starts.astype(np.int64) + self.low
        lasts = np.append(firsts[1:] - 1, self.high)
        return Ladder("number", Fraction(0), Fraction(1), firsts, lasts)

    def climb(self, rungs: NDArray[np.int64]) -> pl.Series:
        """Return whole numbers as they are written."""
        import polars as pl

        values = pl.Series(rungs)
        return values if self.digits is None else values.cast(pl.String).str.zfill(self.digits)

    def label(self, code: int) -> str:
        """Return the number, or the bin as an interval."""
        low = self.low + int(self._starts[code])
        last = code == self.proper - 1
        high = self.high if last else self.low + int(self._starts[code + 1]) - 1
        first, end = (str(number).zfill(self.digits or 1) for number in (low, high))
        return first if low == high else f"{first} to {end}"

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"low": self.low, "high": self.high}
        for name in ("bins", "digits"):
            if getattr(self, name) is not None:
                document[name] = getattr(self, name)
        return document


@dataclass(frozen=True, kw_only=True)
class Dates(Coding):
    """Days from `low` to `high`, both included, one code each or in near-equal bins."""

    kind = "date"
    noun = "a date (YYYY-MM-DD)"

    low: date
    high: date
    bins: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            if type(getattr(self, name)) is not date:
                raise ValueError(f"{name} must be a date")
        self._days.proper  # noqa: B018 - checks the order and the number of bins

    @property
    def _days(self) -> Integers:
        low, high = ((end - EPOCH).days for end in (self.low, self.high))
        return Integers(low=low, high=high, bins=self.bins)

    @property
    def proper(self) -> int:
        """The number of bins."""
        return self._days.proper

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return f"a date from {self.low} to {self.high}"

    def _read(self, series: pl.Series) -> Found:
        import polars as pl

        days = Days.read(series)
        found = self._days._read(pl.Series(days.values))
        outside = found.outside & ~days.missing & ~days.unreadable
        return Found(found.codes, days.missing, days.unreadable, outside, found.unsure)

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        import polars as pl

        return self._days._values(codes, generator).cast(pl.Int32).cast(pl.Date)

    def ladder(self) -> Ladder | None:
        """Return the days since 1970."""
        days = self._days.ladder()
        return None if days is None else replace(days, scale="date")

    def climb(self, rungs: NDArray[np.int64]) -> pl.Series:
        """Return days as dates."""
        import polars as pl

        return pl.Series(rungs).cast(pl.Int32).cast(pl.Date)

    def label(self, code: int) -> str:
        """Return the day, or the bin as an interval."""
        ends = self._days.label(code).split(" to ")
        return " to ".join(str(EPOCH + timedelta(days=int(end))) for end in ends)

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"low": str(self.low), "high": str(self.high)}
        return document if self.bins is None else {**document, "bins": self.bins}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the coding of a document whose dates are dates or texts."""
        options = dict(document)
        for name in ("low", "high"):
            if isinstance(options.get(name), str):
                options[name] = _read_date(name, options[name])
        return cls(**{name: hashable(value) for name, value in options.items()})


def _read_date(name: str, text: str) -> date:
    """Return the day that a text names, or say that it names none."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} must be a date (YYYY-MM-DD); got {briefly(text)}") from None
