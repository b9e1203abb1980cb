"""Columns of numbers in equal steps, and of moments: a code for each value that can occur."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from math import floor, lcm
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding.base import (
    Coding,
    Found,
    Generator,
    Ladder,
    hashable,
    read_number,
    read_whole,
)
from sfumato.engines.reading import Floats, Moments
from sfumato.noise.exact import briefly

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_STEPS", "Steps", "Times"]

MOST_STEPS = 2**24
"""The most codes of such a column."""

EPOCH = datetime(1970, 1, 1)
SECOND = 1_000_000
"""A second, in the unit in which moments are read."""


@dataclass(frozen=True, kw_only=True)
class Steps(Coding):
    """Numbers from `low` to `high` in equal steps, one code each; others count as the nearest.

    Parameters
    ----------
    low, high
        The declared bounds, both included. Codes begin at `low`.
    step
        The distance of two values, such as 0.01 for prices or 5 for rounded weights.
    """

    kind = "number"
    noun = "a number"

    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high, step = (read_number(name, getattr(self, name)) for name in _BOUNDS)
        if not low < high or step <= 0:
            raise ValueError("low must be less than high, and step must be positive")
        if (high - low) / step >= MOST_STEPS:
            raise ValueError(
                f"there must be at most {MOST_STEPS:,} steps from low to high; declare a larger "
                "step, or bins"
            )
        for name, number in zip(_BOUNDS, (low, high, step), strict=True):
            whole = number.denominator == 1 and abs(number) < 2**53
            object.__setattr__(self, name, int(number) if whole else float(number))
        first, wide, _ = self._units
        if abs(first) + wide * self.proper >= 2**53:
            raise ValueError("low, high and step need more digits than double precision has")

    @cached_property
    def _units(self) -> tuple[int, int, int]:
        """The first value and the step in whole units, and how many units make 1."""
        low, step = read_number("low", self.low), read_number("step", self.step)
        below = lcm(low.denominator, step.denominator)
        return int(low * below), int(step * below), below

    @cached_property
    def proper(self) -> int:
        """The number of values."""
        low, high, step = (read_number(name, getattr(self, name)) for name in _BOUNDS)
        return floor((high - low) / step) + 1

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return f"from {self.low} to {self.high}"

    @property
    def landmarks(self) -> tuple[int, ...]:
        """The codes of the bounds, and of zero."""
        first, wide, _ = self._units
        zero = [-first // wide] if first < 0 < first + wide * (self.proper - 1) else []
        return tuple(sorted({*zero, *super().landmarks}))

    def _read(self, series: pl.Series) -> Found:
        floats = Floats.read(series)
        first, wide, below = self._units
        outside = (floats.values < self.low) | (floats.values > self.high)
        outside &= ~(floats.missing | floats.unreadable)
        inside = np.clip(floats.values, self.low, self.high)
        codes = np.rint((inside * below - first) / wide).astype(np.int64)
        codes = np.clip(codes, 0, self.proper - 1)
        return Found(codes, floats.missing, floats.unreadable, outside, np.zeros_like(outside))

    def values(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values of some codes: whole numbers, or the doubles nearest to them."""
        first, wide, below = self._units
        units: NDArray[np.int64] = first + wide * codes
        return units if below == 1 else units / below

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        return self.climb(codes)

    def ladder(self) -> Ladder:
        """Return the steps."""
        first, wide, below = self._units
        rungs = np.arange(self.proper)
        return Ladder("number", Fraction(first, below), Fraction(wide, below), rungs, rungs)

    def climb(self, rungs: NDArray[np.int64]) -> pl.Series:
        """Return steps as numbers."""
        import polars as pl

        return pl.Series(self.values(rungs))

    def label(self, code: int) -> str:
        """Return the number."""
        return str(self.values(np.array([code], dtype=np.int64))[0].item())

    def _document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _BOUNDS}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the coding of a document with `step`, or with `decimals` in place of it."""
        options = {name: hashable(value) for name, value in document.items()}
        if "decimals" in options:
            decimals = options.pop("decimals")
            if type(decimals) is not int or not 0 <= decimals <= 9 or "step" in options:
                raise ValueError(f"decimals must be 0 to 9, without step; got {briefly(decimals)}")
            options["step"] = Fraction(1, 10**decimals)
        if any(options.get(name) is None for name in _BOUNDS):
            raise ValueError(
                "a number needs low, high and decimals (or step); or low, high and bins; or edges"
            )
        return cls(**options)


_BOUNDS = ("low", "high", "step")


@dataclass(frozen=True, kw_only=True)
class Times(Coding):
    """Moments from `low` to `high` in equal steps of seconds, in UTC; each has a code.

    Parameters
    ----------
    low, high
        The first and the last moment.
    step
        The seconds from one code to the next. A moment in between counts as the one before.
    """

    kind = "datetime"
    noun = "a date with a time of day (YYYY-MM-DDTHH:MM:SS)"

    low: datetime
    high: datetime
    step: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            moment = getattr(self, name)
            if not isinstance(moment, datetime):
                raise ValueError(f"{name} must be a date with a time of day")
            # What names no zone is in UTC, as in the data.
            plain = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
            object.__setattr__(self, name, plain)
        object.__setattr__(self, "step", read_whole("step", self.step))
        if self.step < 1 or self.low > self.high or self.proper > MOST_STEPS:
            raise ValueError(
                "step must be a positive number of seconds, low must not be after high, and "
                f"there must be at most {MOST_STEPS:,} steps between them"
            )

    @property
    def proper(self) -> int:
        """The number of moments."""
        return (self.high - self.low) // timedelta(seconds=self.step) + 1

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return f"from {self.low.isoformat()} to {self.high.isoformat()}"

    def _read(self, series: pl.Series) -> Found:
        moments = Moments.read(series)
        first, last = ((end - EPOCH) // timedelta(microseconds=1) for end in (self.low, self.high))
        outside = (moments.values < first) | (moments.values > last)
        outside &= ~(moments.missing | moments.unreadable)
        codes = (np.clip(moments.values, first, last) - first) // (self.step * SECOND)
        none = np.zeros_like(outside)
        return Found(codes, moments.missing, moments.unreadable, outside, none)

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        return self.climb(codes)

    def ladder(self) -> Ladder:
        """Return the moments, in seconds since 1970."""
        first = (self.low - EPOCH) // timedelta(microseconds=1)
        rungs = np.arange(self.proper)
        return Ladder("datetime", Fraction(first, SECOND), Fraction(self.step), rungs, rungs)

    def climb(self, rungs: NDArray[np.int64]) -> pl.Series:
        """Return steps as moments."""
        import polars as pl

        first = (self.low - EPOCH) // timedelta(microseconds=1)
        return pl.Series(first + rungs * (self.step * SECOND)).cast(pl.Datetime("us"))

    def label(self, code: int) -> str:
        """Return the moment."""
        return (self.low + timedelta(seconds=self.step * int(code))).isoformat()

    def _document(self) -> dict[str, Any]:
        return {"low": self.low.isoformat(), "high": self.high.isoformat(), "step": self.step}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the coding of a document whose moments are such or texts."""
        options = {name: hashable(value) for name, value in document.items()}
        for name in ("low", "high"):
            if isinstance(options.get(name), str):
                options[name] = _read_moment(name, options[name])
        return cls(**options)


def _read_moment(name: str, text: str) -> datetime:
    """Return the moment that a text names, or say that it names none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{name} must be a date with a time of day (YYYY-MM-DDTHH:MM:SS); got {briefly(text)}"
        ) from None
