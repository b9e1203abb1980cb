"""Rows of bounded length: what every record of a table becomes before it is summed.

A rule is public, or made of what primitives said; what it makes of a record depends on that record
alone. Rows and answers are whole numbers: a row is never longer than `ROW`, an answer never larger
than `ANSWER`, exactly (docs/proofs/regression-rows.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.engines.coding import Coding
from sfumato.regression.design import UNIT, UNORDERED, Design, Factor, Response, centres, in_units

__all__ = [
    "ANSWER",
    "ROW",
    "Moments",
    "RowRule",
    "Rows",
    "answering",
    "fine_values",
    "is_number",
    "numeric",
    "places_of",
]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]
Block = tuple[NDArray[np.int16], NDArray[np.int16]]
Shape = Literal["weigh", "clip", "unit"]

#: A length of 1, and an answer of 1, in whole units.
ROW = ANSWER = 2**12
#: Spreads, radii and bounds lie between this and its inverse, and weights below its inverse
#: squared, so that nothing overflows.
LEAST = 2.0**-30
#: The most features there may be: rounding then moves no squared length by a whole unit.
MOST_FEATURES = 2**16
#: A block holds about so many numbers, which stay in the cache, and at most so many records.
BLOCK_NUMBERS, BLOCK_RECORDS = 2**18, 2**14
#: Rows of up to so many numbers are kept once they are made.
KEPT = 2**27
#: The largest bound on a residual.
LARGEST_BOUND = 2**20
SHAPES: tuple[Shape, ...] = ("weigh", "clip", "unit")

# Sums of products of one block are below 2⁵³, where floats are exact in whatever order.
assert BLOCK_RECORDS * ROW * max(ROW, LARGEST_BOUND) <= 2**53


def answering(public: TablePublic, target: str) -> Response:
    """Return a column of numbers or dates as a response, whose values may be missing."""
    column = public.schema.index(target)
    coding = public.schema.columns[column].coding
    if isinstance(coding, UNORDERED) or coding.proper < 2:
        raise ValueError(
            f"target must be a column of numbers or dates; {target!r} is of kind {coding.kind!r}"
        )
    _, low, high = centres(coding)
    return Response(column, in_units(coding), low, high)


@lru_cache(maxsize=128)
def places_of(coding: Coding) -> Floats:
    """Return the place of every proper code between the bounds, from −1 to 1; not to be written."""
    middles, low, high = centres(coding)
    # Halves first: the difference of two large bounds must not overflow.
    found = np.asarray(2 * (middles / 2 - low / 2) / (high / 2 - low / 2) - 1)
    found.setflags(write=False)
    return found


def is_number(coding: Coding) -> bool:
    """Whether the first feature of a column is its place between the bounds."""
    return not isinstance(coding, UNORDERED) and coding.proper >= 2 and coding.size > 2


def fine_values(public: TablePublic, factor: Factor) -> Floats:
    """Return what each code sets its feature to, from −1 to 1, not rounded to units."""
    coding = public.schema.columns[factor.column].coding
    values = factor.units / UNIT
    if is_number(coding):
        values[: coding.proper] = places_of(coding)
    return np.asarray(values)


def numeric(public: TablePublic, design: Design) -> NDArray[np.bool_]:
    """Return which features are places between declared bounds, rather than categories."""
    found: list[bool] = []
    for factor in design.factors:
        number = is_number(public.schema.columns[factor.column].coding)
        found += [number and place == 0 for place in range(len(factor.names))]
    return np.array(found + [False] * design.intercept, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class RowRule:
    """How a record becomes a row and an answer. Public, or made of what primitives said.

    Parameters
    ----------
    design
        Which features a record has, and which column is its answer.
    centre, spread
        For each feature, what is subtracted from it and what the rest is divided by. A feature
        that a record does not have counts as 0.
    radius
        What a row is divided by besides; a row longer than that is shortened.
    shape
        `"weigh"`: a row longer than 1 and its answer are divided by its length, which leaves the
        true weights of a linear model as they are; `"clip"`: the row alone; `"unit"`: every row
        is brought to a length of 1, but for a row of zeros.
    response_centre, response_bound
        What is subtracted from the answer's place between its declared bounds, from −1 to 1, and
        what the rest is divided by; then it is cut to ±1.
    """

    design: Design
    centre: Floats
    spread: Floats
    radius: float = 1.0
    shape: Shape = "weigh"
    response_centre: float = 0.0
    response_bound: float = 1.0

    def __post_init__(self) -> None:
        centre = np.array(self.centre, dtype=np.float64)
        spread = np.array(self.spread, dtype=np.float64)
        if centre.shape != spread.shape or centre.shape != (self.design.dimension,):
            raise ValueError("centre and spread must have a number for each feature")
        if self.design.dimension > MOST_FEATURES:
            raise ValueError(
                f"a regression has at most {MOST_FEATURES:,} features; got {len(centre):,}"
            )
        sizes = np.array([*spread, self.radius, self.response_bound])
        places = np.array([*centre, self.response_centre])
        if not ((sizes >= LEAST) & (sizes <= 1 / LEAST)).all() or not (np.abs(places) <= 1).all():
            raise ValueError(
                f"spread, radius and response_bound must lie between {LEAST:.3g} and "
                f"{1 / LEAST:.3g}, and centres between -1 and 1"
            )
        if self.shape not in SHAPES:
            raise ValueError(f"shape must be 'weigh', 'clip' or 'unit'; got {self.shape!r}")
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "spread", spread)

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return self.design.dimension

    def values(self, public: TablePublic) -> list[Floats]:
        """Return for each column that explains what each of its codes sets its feature to."""
        found, first = [], 0
        for factor in self.design.factors:
            where = first + (0 if factor.single else factor.places)
            centred = fine_values(public, factor) - self.centre[where]
            found.append(np.asarray(centred / self.spread[where] / self.radius))
            first += len(factor.names)
        return found

    @property
    def constant(self) -> float:
        """What the intercept is in every row."""
        return float((1.0 - self.centre[-1]) / self.spread[-1] / self.radius)

    def answers(self, public: TablePublic) -> Floats:
        """Return the answer that each code of the target stands for; NaN for a missing one."""
        coding = public.schema.columns[self.design.response.column].coding
        found = np.full(coding.size, np.nan)
        places = (places_of(coding) - self.response_centre) / self.response_bound
        found[: coding.proper] = np.clip(places, -1.0, 1.0)
        return found

    def to_design(self, public: TablePublic) -> Floats:
        """Return the matrix that turns weights of rows into weights of features, and an offset.

        Notes
        -----
        With w the weights of rows, so that an answer is about xᵀw, the first rows of the matrix
        times w give the weight of each feature and its last one an offset, both for places from
        −1 to 1; `response_centre` is to be added to the offset.
        """
        size = self.dimension
        found = np.zeros((size + 1, size))
        scale = self.response_bound / (self.spread * self.radius)
        first = 0
        for factor in self.design.factors:
            last = first + len(factor.names)
            if factor.single:
                found[first, first] = scale[first]
                found[size, first] = -scale[first] * self.centre[first]
            else:
                self._several(found, public, factor, first, scale)
            first = last
        if self.design.intercept:
            found[first, first] = scale[first] * (1.0 - self.centre[first])
        return found

    def _several(
        self, found: Floats, public: TablePublic, factor: Factor, first: int, scale: Floats
    ) -> None:
        """Fill in a column with several features, of which a record has one."""
        number = is_number(public.schema.columns[factor.column].coding)
        for place in range(first, first + len(factor.names)):
            if number and place == first:
                # The offset is for records that have the number; the others take it back.
                found[place, place] = scale[place]
                offset = -scale[place] * self.centre[place]
                found[self.dimension, place] = offset
                found[first + 1 : first + len(factor.names), place] = -offset
            else:
                found[place, place] = scale[place] * (1.0 - self.centre[place])


@dataclass(frozen=True)
class Moments:
    """Exact sums over all rows, in whole units squared. Private.

    Parameters
    ----------
    xx, xy, yy
        Σ x xᵀ, Σ y x and Σ y².
    """

    xx: Integers64
    xy: Integers64
    yy: int


@dataclass(eq=False)
class Rows:
    """The rows and answers of a private table. Private.

    Parameters
    ----------
    rule
        What becomes of a record.
    data
        The table.
    """

    rule: RowRule
    data: Table

    @property
    def count(self) -> int:
        """How many records there are. Private."""
        return int(self.data.counts.rows)

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return self.rule.dimension

    def blocks(self) -> Iterator[Block]:
        """Return rows, feature by feature, and answers in whole units, in the order of records."""
        if self.count * self.dimension > KEPT:
            return self._make()
        # The rounds of a fit ask for the same rows again and again.
        return iter(self.data.counts.recall(self.rule, lambda: list(self._make())))

    def _make(self) -> Iterator[Block]:
        from sfumato.regression import row_kernels

        rule, counts, public = self.rule, self.data.counts, self.data.public
        values, answers = rule.values(public), rule.answers(public)
        codes = [counts.codes(column) for column in rule.design.columns]
        told = counts.codes(rule.design.response.column)
        size = self.dimension
        many = min(BLOCK_RECORDS, max(256, BLOCK_NUMBERS // max(size, 1)))
        block, scratch = np.empty((size, many)), np.empty(many)
        shape = SHAPES.index(rule.shape)
        for start in range(0, counts.rows, many):
            rows = min(many, counts.rows - start)
            part, first = block[:, :rows], 0
            for factor, column, table in zip(rule.design.factors, codes, values, strict=True):
                last = first + len(factor.names)
                here = column[start : start + rows]
                row_kernels.look_up(table, factor.places, here, part[first:last])
                first = last
            if rule.design.intercept:
                part[first] = rule.constant
            x, y = np.empty((size, rows), dtype=np.int16), np.empty(rows, dtype=np.int16)
            said = answers[told[start : start + rows]]
            row_kernels.shorten(part, said, shape, float(ROW), float(ANSWER), x, y, scratch[:rows])
            yield x, y

    def moments(self, entry: int | None = None) -> Moments:
        """Return the exact sums Σ x xᵀ, Σ y x and Σ y². Private.

        Parameters
        ----------
        entry
            Where the entries of rows are clipped before, in whole units.
        """
        xx = np.zeros((self.dimension, self.dimension), dtype=np.int64)
        xy, yy = np.zeros(self.dimension, dtype=np.int64), 0
        for x, y in self.blocks():
            whole = x if entry is None else np.clip(x, -entry, entry)
            rows, answers = whole.astype(np.float64), y.astype(np.float64)
            xx += (rows @ rows.T).astype(np.int64)
            xy += (rows @ answers).astype(np.int64)
            yy += int(answers @ answers)
        return Moments(xx, xy, yy)

    def first_moments(self) -> tuple[Integers64, int]:
        """Return the exact sums Σ y x and Σ |x|², without those of products. Private."""
        xy, squares = np.zeros(self.dimension, dtype=np.int64), 0
        for x, y in self.blocks():
            rows = x.astype(np.float64)
            xy += (rows @ y.astype(np.float64)).astype(np.int64)
            # A block's sum is at most 2¹⁴·2²⁴, exact in whatever order.
            squares += int(np.sum(rows * rows))
        return xy, squares

    def residual_xy(self, weights: Any, bound: int) -> Integers64:
        """Return Σ x·clip(y − xᵀw, ±bound) in whole units squared, exactly. Private.

        Parameters
        ----------
        weights
            w, one for each feature: public, or made of what primitives said. What is no number
            counts as 0.
        bound
            The largest residual in units of 1/`ANSWER`, a whole number.

        Notes
        -----
        The residual of each record is cut to ±bound and then off towards 0, to a whole number.
        """
        from sfumato.regression import row_kernels

        if not 1 <= bound <= LARGEST_BOUND:
            raise ValueError(f"bound must be from 1 to {LARGEST_BOUND}; got {bound!r}")
        most = LEAST**-2
        finite = np.clip(np.nan_to_num(np.asarray(weights, dtype=np.float64)), -most, most)
        found = np.zeros(self.dimension, dtype=np.int64)
        for x, y in self.blocks():
            left = np.empty(y.size)
            row_kernels.write_clipped_residuals(x, y, finite, float(bound), left)
            found += (x.astype(np.float64) @ left).astype(np.int64)
        return found
