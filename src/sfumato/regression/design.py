"""Records of a table as numbers for a regression: declared by the schema, never learnt.

A column of numbers or dates gives one feature from −1 to 1, its place between its declared bounds;
two categories give one of −1 and 1; more give one feature each, of which a record has a single one.
A design is public. Features are kept in whole units of 1/`UNIT`, so that what a proof says about
their size holds exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.engines.coding import (
    MISSING,
    OTHER,
    Booleans,
    Categories,
    Coding,
    Dates,
    Integers,
    Numbers,
    Reals,
    Steps,
)
from sfumato.privacy.plan import Size

__all__ = [
    "INTERCEPT",
    "MOST_SUMS",
    "UNIT",
    "Design",
    "Factor",
    "Response",
    "check_dimension",
    "sums_of",
]

#: The most sums of products of two features; their matrix then takes half a gigabyte.
MOST_SUMS = 2**25

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: A feature of 1 in whole numbers: rounding moves a feature by at most one part in 8,192.
UNIT = 2**12
#: What the feature that every record has is called.
INTERCEPT = "(intercept)"
#: Columns whose values have no order.
UNORDERED = (Booleans, Categories)
#: Records that are turned into features at once.
BLOCK = 2**16


@dataclass(frozen=True)
class Factor:
    """The features of one column: each of its codes sets one feature to one value.

    Parameters
    ----------
    column
        The number of the column in the schema.
    names
        What each of its features stands for; empty text for the number itself.
    places
        Which of its features a code sets.
    units
        To what, in units; none is larger than `UNIT` either way.
    """

    column: int
    names: tuple[str, ...]
    places: NDArray[np.intp]
    units: Integers64

    @property
    def single(self) -> bool:
        """Whether it is one feature, which every code sets."""
        return len(self.names) == 1

    @classmethod
    def of(cls, public: TablePublic, column: int, *, places: bool = False) -> Factor:
        """Return the features of a column.

        Parameters
        ----------
        public
            What is public about the table.
        column
            The number of the column in the schema.
        places
            Whether categories give one feature, their places in the declared list from −1 to 1,
            rather than a feature each.
        """
        coding = public.schema.columns[column].coding
        size, proper = coding.size, coding.proper
        if places and isinstance(coding, UNORDERED):
            steps = np.linspace(-UNIT, UNIT, size)
            zeros = np.zeros(size, dtype=np.intp)
            return cls(column, ("",), zeros, np.rint(steps).astype(np.int64))
        if size == 2:
            name = coding.labels[1] if isinstance(coding, UNORDERED) else ""
            return cls(column, (name,), np.zeros(2, dtype=np.intp), np.array([-UNIT, UNIT]))
        if isinstance(coding, UNORDERED) or proper < 2:
            ones = np.full(size, UNIT, dtype=np.int64)
            return cls(column, coding.labels, np.arange(size, dtype=np.intp), ones)
        extra = _extra_labels(coding)
        where = np.zeros(size, dtype=np.intp)
        where[proper:] = np.arange(1, 1 + len(extra))
        units = np.full(size, UNIT, dtype=np.int64)
        units[:proper] = in_units(coding)
        return cls(column, ("", *extra), where, units)


def _extra_labels(coding: Coding) -> tuple[str, ...]:
    """Return what the codes are called that stand outside the order."""
    return (OTHER,) * (coding.outside == "other") + (MISSING,) * (coding.missing == "code")


@lru_cache(maxsize=128)
def centres(coding: Coding) -> tuple[Floats, float, float]:
    """Return the middle of every code of an ordered column, not to be written, and its bounds.

    A column whose bounds are one and the same double, or so far apart that middles overflow, is
    refused: its places would be no numbers, and nothing would be known about their size.
    """
    middles, low, high = _middles(coding)
    if not (np.isfinite(middles).all() and 0 < high / 2 - low / 2 < np.inf):
        raise ValueError(
            f"a column from {low!r} to {high!r} cannot be represented in double precision: "
            "subtract a public constant from it, or declare other bounds"
        )
    middles.setflags(write=False)
    return middles, low, high


def _middles(coding: Coding) -> tuple[Floats, float, float]:
    if isinstance(coding, Numbers):
        edges = np.array(coding.edges)
        # Halves first: the sum of two large edges must not overflow.
        return edges[:-1] / 2 + edges[1:] / 2, float(edges[0]), float(edges[-1])
    if isinstance(coding, Reals):
        steps = coding.edge(np.arange(coding.proper + 1))
        return (steps[:-1] + steps[1:]) / 2, coding.low, coding.high
    if isinstance(coding, Steps):
        values = coding.values(np.arange(coding.proper)).astype(np.float64)
        return values, float(coding.low), float(coding.high)
    if isinstance(coding, Integers) and coding.bins is None:
        places = float(coding.low) + np.arange(coding.proper, dtype=np.float64)
        return places, float(coding.low), float(coding.high)
    low, high = (float(coding.low), float(coding.high)) if isinstance(coding, Integers) else (0, 1)
    if isinstance(coding, Dates):
        low, high = float(coding.low.toordinal()), float(coding.high.toordinal())
    share = (np.arange(coding.proper) + 0.5) / coding.proper
    return low + (high - low) * share, low, high


@lru_cache(maxsize=128)
def in_units(coding: Coding) -> Integers64:
    """Return the place of every code between the bounds, from −UNIT to UNIT; not to be written."""
    middles, low, high = centres(coding)
    # Halves first: the difference of two large bounds must not overflow.
    place = (middles / 2 - low / 2) / (high / 2 - low / 2)
    units = np.clip(np.rint((2 * place - 1) * UNIT), -UNIT, UNIT)
    assert np.isfinite(units).all()
    found = np.asarray(units, dtype=np.int64)
    # Kept, since a plan and a fit ask for it again and again.
    found.setflags(write=False)
    return found


@dataclass(frozen=True)
class Response:
    """The column that is explained: a number, or one of two classes.

    Parameters
    ----------
    column
        The number of the column in the schema.
    units
        What each code counts as, in units: its place between the bounds, or ±UNIT for a class.
    low, high
        What −1 and 1 stand for; 0 and 1 for classes.
    """

    column: int
    units: Integers64
    low: float
    high: float

    @classmethod
    def number(cls, public: TablePublic, target: str) -> Response:
        """Return a column of numbers or dates as a response."""
        column = public.schema.index(target)
        coding = public.schema.columns[column].coding
        if isinstance(coding, UNORDERED) or coding.proper < 2 or coding.size != coding.proper:
            raise ValueError(
                "target must be a column of numbers or dates without a code for missing values, or "
                f"of classes with positive=[…]; {target!r} is of kind {coding.kind!r}"
            )
        _, low, high = centres(coding)
        return cls(column, in_units(coding), low, high)

    @classmethod
    def classes(cls, public: TablePublic, target: str, positive: tuple[str, ...]) -> Response:
        """Return a column as two classes, those values that are positive and the others."""
        column, labels = public.schema.index(target), public.labels(target)
        strange = [label for label in positive if label not in labels]
        if strange or len(set(positive)) == len(labels):
            known = ", ".join(repr(label) for label in labels[:20])
            raise ValueError(
                f"positive must be some of the values of {target!r}, not all; the values are "
                f"{known}"
            )
        chosen = np.array([label in positive for label in labels])
        return cls(column, np.where(chosen, UNIT, -UNIT).astype(np.int64), 0.0, 1.0)


@dataclass(frozen=True)
class Design:
    """How the records of a table become rows of features. Public.

    Parameters
    ----------
    factors
        The columns that explain, in order.
    response
        The column that is explained.
    intercept
        Whether every record has one more feature of 1, the last.
    """

    factors: tuple[Factor, ...]
    response: Response
    intercept: bool = True

    @classmethod
    def of(
        cls,
        public: TablePublic,
        response: Response,
        *,
        intercept: bool = True,
        places: bool = False,
    ) -> Design:
        """Return the design of all columns but the target; one with a single value says nothing."""
        columns = [c for c, size in enumerate(public.sizes) if c != response.column and size > 1]
        factors = tuple(Factor.of(public, column, places=places) for column in columns)
        return cls(factors, response, intercept)

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return sum(len(factor.names) for factor in self.factors) + self.intercept

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of the columns that explain."""
        return tuple(factor.column for factor in self.factors)

    def names(self, public: TablePublic) -> list[tuple[str, str]]:
        """Return the column and the value that each feature stands for."""
        found = [
            (public.columns[factor.column], name)
            for factor in self.factors
            for name in factor.names
        ]
        return found + [(INTERCEPT, "")] * self.intercept

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Which factor each feature belongs to; the intercept to one past the last."""
        many = [len(factor.names) for factor in self.factors] + [1] * self.intercept
        return np.repeat(np.arange(len(many), dtype=np.intp), many)

    def features(self, codes: list[NDArray[Any]], rows: int) -> Floats:
        """Return the features of records in units, as floats that are whole numbers.

        Parameters
        ----------
        codes
            The codes of the columns that explain, one array each.
        rows
            How many records there are.
        """
        found = np.zeros((rows, self.dimension))
        every, first = np.arange(rows), 0
        for factor, column in zip(self.factors, codes, strict=True):
            if factor.single:
                found[:, first] = factor.units[column]
            else:
                found[every, first + factor.places[column]] = factor.units[column]
            first += len(factor.names)
        if self.intercept:
            found[:, -1] = UNIT
        return found

    def blocks(self, data: Table) -> Iterator[tuple[Floats, Floats]]:
        """Yield the features and responses of the records in units, block by block. Private."""
        counts = data.counts
        explaining = [counts.codes(column) for column in self.columns]
        explained = counts.codes(self.response.column)
        for first in range(0, counts.rows, BLOCK):
            part = slice(first, first + BLOCK)
            codes = [column[part] for column in explaining]
            answers = self.response.units[explained[part]].astype(np.float64)
            yield self.features(codes, len(answers)), answers


def sums_of(dimension: int, targets: int = 1) -> tuple[Size, ...]:
    """Return how many sums of products a regression computes with, for its plan."""
    return (Size(dimension * (dimension + 1) // 2 + dimension * targets, "sums"),)


def check_dimension(dimension: int) -> None:
    """Raise where there are no features, or too many for the sums of their products."""
    if dimension == 0:
        raise ValueError("the model has no features: declare another column, or set intercept=True")
    sums = dimension * (dimension + 1) // 2
    if sums > MOST_SUMS:
        raise ValueError(
            f"{dimension:,} features have {sums:,} products of two; at most {MOST_SUMS:,} are "
            "allowed; name fewer columns, or declare fewer values of each"
        )
