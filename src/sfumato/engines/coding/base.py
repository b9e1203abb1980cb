"""How a raw column becomes small integer codes, and codes become values again.

A coding is public: it is declared, not learnt from the data. Encoding is total: every value of
every type either gets a code or is reported by its row number and by what was expected, never by
itself. Codes are ordered: the declared values or bins, then "other", then "missing".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.memory import code_type
from sfumato.engines.reading import NONE, UNSURE, Names, distinct_texts
from sfumato.noise.exact import briefly, exact, writable
from sfumato.privacy.parameters import Constraint, OneOf

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "MISSING",
    "OTHER",
    "Coding",
    "Encoded",
    "Fault",
    "Found",
    "Generator",
    "Ladder",
    "Mask",
    "hashable",
    "read_double",
    "read_number",
    "read_whole",
]

OTHER = "(other)"
"""What the code of undeclared categories is called in synthetic data."""

MISSING = "(missing)"
"""What the code of missing values is called."""

Mask = NDArray[np.bool_]


class Generator(Protocol):
    """A NumPy generator for values inside bins: post-processing, never private."""

    def random(self, size: Any = ...) -> Any:
        """Return uniform numbers in [0, 1)."""
        ...

    def integers(self, low: Any, high: Any = ..., *, endpoint: Any = ...) -> Any:
        """Return uniform whole numbers."""
        ...


@dataclass(frozen=True, eq=False)
class Ladder:
    """The values of a column as rungs at equal distances, exactly.

    Parameters
    ----------
    scale
        What the values are: `"number"`, `"date"` (days) or `"datetime"` (seconds).
    start, step
        The value of rung 0, and the distance of two rungs.
    firsts, lasts
        The first and the last rung of each proper code.
    """

    scale: str
    start: Fraction
    step: Fraction
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]


@dataclass(frozen=True)
class Fault:
    """Rows of one column that have no code, and why."""

    wrong: str
    remedy: str
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """The codes of some values, and which values have none.

    Parameters
    ----------
    codes
        The code of each value; of one outside the domain, that of the nearest.
    missing, unreadable, outside
        What is missing, what cannot be read as declared, and what lies outside the domain.
    unsure
        What may be several values of the domain. It is refused whatever is declared: another
        record may have changed how it is stored.
    """

    codes: NDArray[Any]
    missing: Mask
    unreadable: Mask
    outside: Mask
    unsure: Mask

    def at(self, places: NDArray[Any] | None) -> Found:
        """Return what was found at some places; `None` for all of them in order."""
        if places is None:
            return self
        return Found(*(getattr(self, item.name)[places] for item in fields(self)))


@dataclass(frozen=True)
class Encoded:
    """The codes of one column, and what could not be encoded (coded 0, to be refused)."""

    codes: NDArray[Any]
    faults: tuple[Fault, ...]


class MissingValues(Constraint):
    """Texts and numbers that stand for a missing value."""

    allowed = "a list of texts and finite numbers, whole ones of at most 64 bits"

    def parse(self, value: Any) -> tuple[str | int | float, ...]:
        """Return the values."""
        if not isinstance(value, tuple):
            raise TypeError
        for item in value:
            if isinstance(item, str):
                # A lone surrogate has no UTF-8, and no file holds it.
                item.encode()
            elif isinstance(item, int):
                read_whole("a missing value", item)
            elif not isinstance(item, float) or not isfinite(item):
                raise TypeError
        return value


def read_whole(name: str, value: Any) -> int:
    """Return a declared whole number of at most 64 bits as an int.

    Parameters
    ----------
    name
        What it is called where it was declared.
    value
        What was declared: an int, or NumPy's.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be a whole number; got {briefly(value)}")
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"{name} must be a whole number of at most 64 bits; got {briefly(value)}")
    return int(value)


def read_number(name: str, value: Any) -> Fraction:
    """Return a declared number that a double can be near to, as an exact fraction.

    Parameters
    ----------
    name
        What it is called where it was declared.
    value
        What was declared: a number, and no text.
    """
    try:
        if isinstance(value, str):
            raise TypeError
        number = writable(exact(value))
        if abs(number) > Fraction(float_info.max):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a finite number; got {briefly(value)}") from None
    return number


def read_double(name: str, value: Any) -> float:
    """Return a declared number as the nearest double.

    Parameters
    ----------
    name, value
        As for `read_number`.
    """
    # There may be a million edges, and most numbers are doubles.
    near = type(value) is float and isfinite(value)
    # Adding 0.0 turns -0.0 into 0.0, so that equal codings are written alike.
    return (value if near else float(read_number(name, value))) + 0.0


@dataclass(frozen=True, kw_only=True)
class Coding(ABC):
    """What all codings have: a policy for missing values and one for values outside the domain.

    Parameters
    ----------
    missing
        `"refuse"`: a missing value is an error; `"code"`: it has a code of its own.
    missing_values
        Texts and numbers that stand for a missing value in this column, such as `"?"` or 999,
        beside an empty field, NA, NaN, null and the like.
    outside
        `"refuse"`: a value outside the domain is an error; `"clamp"` (numbers and dates): it
        counts as the nearest bound; `"other"` (categories): it has a code of its own.
    """

    kind: ClassVar[str]
    outsides: ClassVar[tuple[str, ...]] = ("refuse", "clamp")

    #: Whether nobody listed its values, so that the frequent ones are still to be found.
    is_open: ClassVar[bool] = False

    missing: str = "refuse"
    missing_values: tuple[str | int | float, ...] = ()
    outside: str = "refuse"

    def __post_init__(self) -> None:
        MissingValues()("missing_values", self.missing_values)
        OneOf(("refuse", "code"))("missing", self.missing)
        OneOf(self.outsides)(f"outside of a {self.kind}", self.outside)

    @property
    @abstractmethod
    def proper(self) -> int:
        """The number of codes that stand for a declared value or bin."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What a value must be, in words."""

    @abstractmethod
    def _read(self, series: pl.Series) -> Found:
        """Return the code of each value, by the one reading of a value."""

    @abstractmethod
    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        """Return a value for each proper code."""

    @abstractmethod
    def label(self, code: int) -> str:
        """Return what a proper code stands for, in words."""

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.proper + (self.outside == "other") + (self.missing == "code")

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """The number of groups at each level of generalisation; level 0 is the codes."""
        return tuple(int(groups.max()) + 1 for groups in self.levels)

    @property
    def levels(self) -> tuple[NDArray[np.intp], ...]:
        """The group of each code at each level of generalisation, from fine to coarse.

        Level 0 leaves every code as it is. At every further level some groups are joined, down to
        two or more. "Other" and "missing" are groups of their own at every level. Public.
        """
        reserved = np.arange(self.size - self.proper, dtype=np.intp)
        groups = [np.arange(self.proper, dtype=np.intp), *self._generalisations()]
        return tuple(np.concatenate([g, int(g.max(initial=-1)) + 1 + reserved]) for g in groups)

    @property
    def landmarks(self) -> tuple[int, ...]:
        """The codes where values pile up in many tables: the bounds, and zero where it is one."""
        return tuple(sorted({0, self.proper - 1}))

    def ladder(self) -> Ladder | None:
        """Return the values as rungs at equal distances; `None` where they are not such."""
        return None

    def climb(self, rungs: NDArray[np.int64]) -> pl.Series:
        """Return the values of some rungs of the ladder."""
        raise NotImplementedError(f"a column of kind {self.kind!r} has no ladder")

    def without_taxonomy(self) -> Coding:
        """Return the coding that gives the same codes and declares no taxonomy."""
        return self

    def _generalisations(self) -> list[NDArray[np.intp]]:
        """Return the group of each proper code at level 1 and up: pairs, pairs of pairs, …"""
        depth = max((self.proper - 1).bit_length() - 1, 0)
        codes = np.arange(self.proper, dtype=np.intp)
        return [codes >> level for level in range(1, depth + 1)]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each code stands for, in words; no two codes are called alike."""
        return (*self._proper_labels(), *self.reserved_labels)

    @property
    def reserved_labels(self) -> tuple[str, ...]:
        """What the codes after the proper ones stand for."""
        return (OTHER,) * (self.outside == "other") + (MISSING,) * (self.missing == "code")

    def _proper_labels(self) -> list[str]:
        """Return what each proper code stands for."""
        return [self.label(code) for code in range(self.proper)]

    def encode(self, series: pl.Series) -> Encoded:
        """Return the code of every value of a column, and what has none."""
        distinct, places = distinct_texts(series)
        found = self._read_with_missing(distinct).at(places)
        missing, unreadable, outside = found.missing, found.unreadable, found.outside
        faults: list[Fault] = []
        codes = np.where(missing | unreadable | outside | found.unsure, 0, found.codes)
        if self.outside == "clamp":
            codes = np.where(outside, found.codes, codes)
            outside = np.zeros_like(missing)
        elif self.outside == "other":
            codes = np.where(outside | unreadable, self.proper, codes)
            outside = unreadable = np.zeros_like(missing)
        if self.missing == "code":
            codes = np.where(missing, self.size - 1, codes)
        else:
            _fault(
                faults,
                missing,
                "the value is missing",
                'Fill it in, or declare missing = "code" for this column.',
            )
        _fault(faults, unreadable, f"the value is not {self.noun}", self._unreadable_remedy)
        _fault(faults, outside, f"the value is outside the domain ({self.allowed})", self._remedy)
        _fault(faults, found.unsure, *self._unsure_words)
        return Encoded(codes.astype(code_type(self.size)), tuple(faults))

    def _read_with_missing(self, series: pl.Series) -> Found:
        """Read a column in which some values are declared to mean missing."""
        if not self.missing_values:
            return self._read(series)
        import polars as pl

        meant = self._missing_names.find(series)
        kept = pl.select(pl.when(pl.Series(meant == NONE)).then(series)).to_series()
        found = self._read(kept)
        # Rounded, it may have been one of them or another number.
        rounded = meant == UNSURE
        return replace(found, missing=found.missing & ~rounded, unsure=found.unsure | rounded)

    @cached_property
    def _missing_names(self) -> Names:
        """The values that are declared to mean missing, of twins the first."""
        import polars as pl

        names = Names(())
        for text in map(str, self.missing_values):
            if names.find(pl.Series([text]))[0] == NONE:
                names = Names((*names.names, text))
        return names

    noun: ClassVar[str]
    _unreadable_remedy: ClassVar[str] = "Correct it, or declare another kind for this column."
    _unsure_words: ClassVar[tuple[str, str]] = (
        "the value is stored in floating point, and the domain or its missing_values contain "
        "whole numbers beyond 2**53, which floating point cannot distinguish",
        "Store the column as whole numbers or as text.",
    )

    @property
    def _remedy(self) -> str:
        policy = self.outsides[-1]
        widen = "Correct it, or declare a wider domain from public knowledge"
        return f"{widen}." if policy == "refuse" else f'{widen}, or outside = "{policy}".'

    def decode(self, codes: NDArray[Any], generator: Generator) -> pl.Series:
        """Return a value for every code, uniform within a bin; null for missing."""
        import polars as pl

        numbers = np.asarray(codes).astype(np.int64)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= self.size):
            raise ValueError(f"codes must be 0 to {self.size - 1}")
        proper = numbers < self.proper
        values = self._values(np.where(proper, numbers, 0), generator)
        values = pl.select(pl.when(pl.Series(proper)).then(values)).to_series()
        if self.outside == "other" and values.dtype == pl.String:
            other = pl.Series(numbers == self.proper)
            named = pl.when(other).then(pl.lit(OTHER)).otherwise(values)
            values = pl.select(named).to_series()
        return values

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        document: dict[str, Any] = {"kind": self.kind, **self._document()}
        for name in ("missing", "outside"):
            if getattr(self, name) != "refuse":
                document[name] = getattr(self, name)
        if self.missing_values:
            document["missing_values"] = list(self.missing_values)
        return document

    def _document(self) -> dict[str, Any]:
        shared = ("missing", "missing_values", "outside")
        own = [f.name for f in fields(self) if f.name not in shared]
        return {
            name: _plain(getattr(self, name)) for name in own if getattr(self, name) is not None
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the coding a document describes; `kind` is left out."""
        return cls(**{name: hashable(value) for name, value in document.items()})


def _fault(faults: list[Fault], mask: NDArray[Any], wrong: str, remedy: str) -> None:
    if mask.any():
        faults.append(Fault(wrong, remedy, np.flatnonzero(mask).astype(np.int64)))


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def hashable(value: Any) -> Any:
    """Return a list as a tuple, those within it too, anything else as it is."""
    return tuple(hashable(item) for item in value) if isinstance(value, list | tuple) else value
