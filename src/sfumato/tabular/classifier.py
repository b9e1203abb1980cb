"""A released classifier: a linear rule that tells positive records from others.

A classifier is made of public values alone. Its decisions are taken in whole numbers, so that they
are the same everywhere, and so that private records can be counted by them without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import ToFrame, columns_of, names_of
from sfumato.data.table import Table, TablePublic
from sfumato.data.weights import WeightTable
from sfumato.engines.coding import Categories
from sfumato.engines.intake import IntakeRules, take
from sfumato.mechanisms.huber import FEATURE_BITS
from sfumato.noise.exact import briefly
from sfumato.privacy.loss import Number
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import Labels, Name, parameter
from sfumato.privacy.release import Release

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Classifier", "direction"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Weights in whole numbers are at most 2 to this: products with features stay exact in floats.
DIRECTION_BITS = 24


def direction(weights: Floats) -> Integers64:
    """Return weights in whole numbers, scaled so that the largest is 2²⁴.

    Parameters
    ----------
    weights
        Public weights, or one column of weights for each of several rules. Only the ratios within
        one rule matter to its decisions.
    """
    largest = np.abs(weights).max(axis=0)
    scaled = weights / np.where(largest > 0, largest, 1.0) * 2**DIRECTION_BITS
    whole: Integers64 = np.rint(scaled).astype(np.int64)
    return whole


class Classifier(Release, ToFrame):
    """A linear rule for one target.

    Parameters
    ----------
    public
        What is public about the table.
    task
        What is told apart by what.
    weights
        The weight of each feature, the bias last.
    about
        How the weights were found, in a sentence.
    """

    kind = "classifier"

    def __init__(self, public: TablePublic, task: Task, weights: Floats, about: str) -> None:
        self.public = public
        self.task = task
        self.weights = np.array(weights, dtype=np.float64)
        self.weights.setflags(write=False)
        self.about = about

    @property
    def target(self) -> str:
        """The name of the target column."""
        return self.public.columns[self.task.target]

    @property
    def positive(self) -> tuple[str, ...]:
        """The values of the target that count as positive."""
        labels = self.public.labels(self.target)
        return tuple(label for label, yes in zip(labels, self.task.positive, strict=True) if yes)

    def predict(self, frame: Any) -> NDArray[np.bool_]:
        """Return for each row whether it is taken to be positive.

        Parameters
        ----------
        frame
            A pandas, Polars or PyArrow frame with the columns of the schema; the target is not
            needed and not looked at.
        """
        schema = self.public.schema
        columns = [schema.columns[column] for column in self.task.features.columns]
        if not columns:
            return self.decide(np.zeros((_rows(frame), 0), dtype=np.int64))
        rules = IntakeRules(codings={column.name: column.coding for column in columns})
        rules.check_names(names_of(frame))
        table = take(columns_of(frame, rules.needed), rules).table
        return self.decide(np.stack([table.codes(c) for c in range(len(columns))], axis=1))

    def decide(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for each record whether it is taken to be positive.

        Parameters
        ----------
        codes
            The codes of all columns but the target and those of one value, shape (rows, columns).
        """
        places, values = self.task.features.entries(codes)
        whole = direction(self.weights)
        scores = (values * whole[places]).sum(axis=1)
        return np.asarray(scores > 0)

    @property
    def _table(self) -> WeightTable:
        return WeightTable(self.task.features.names(self.public), self.weights)

    def to_polars(self) -> pl.DataFrame:
        """Return the weights as a Polars frame."""
        return self._table.frame()

    def files(self) -> dict[str, bytes]:
        """Return the weights in one CSV file."""
        return self._table.files()

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        count = len(self.task.features.attributes)
        named = _list_labels(self.positive)
        return (
            f"A model that predicts from {count} column{'s' * (count != 1)} whether {self.target} "
            f"is {named}. {self.about} The prediction is yes if the weights of a record add up to "
            "more than 0: a constant, and one weight for each of its values. Of two values one "
            "adds the weight and the other subtracts it; a number adds its weight times its "
            "value, scaled to the range from −1 (lowest) to 1 (highest)."
        )

    def plot(self) -> Any:
        """Return a figure of the largest weights."""
        return self._table.picture(f"weight towards {self.target}: {_list_labels(self.positive)}")


def _rows(frame: Any) -> int:
    """Return how many rows a frame has."""
    columns = columns_of(frame)
    return len(next(iter(columns.values()))) if columns else 0


def _list_labels(labels: Sequence[str]) -> str:
    """Return a few labels in words."""
    shown = ", ".join(labels[:4])
    return shown if len(labels) <= 4 else f"{shown} or one of {len(labels) - 4} more"


# What all methods share that release a classifier: a target, and which of its values to find.


@dataclass(frozen=True, kw_only=True)
class ClassifyingMethod(Method[Table, Classifier]):
    """Release a rule that predicts one column from the others.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    target
        The column to predict.
    positive
        The values of the target that are positive; all others are negative.
    """

    kind: ClassVar[str] = "table"

    target: str = parameter(Name())
    positive: Any = parameter(Labels())

    @classmethod
    def example_method(cls, epsilon: Number, public: TablePublic, **more: Any) -> Self:
        """Return a rule that finds the last value of the last column."""
        target = public.columns[-1]
        told = {"target": target, "positive": [public.labels(target)[-1]]}
        return super().example_method(epsilon, public, **told, **more)

    def task(self, public: TablePublic) -> Task:
        """Return what is told apart by what."""
        return Task.of(public, self.target, self.positive)

    def check(self, public: TablePublic) -> None:
        """Raise where the target or a value of it is unknown."""
        super().check(public)
        self.task(public)


# Records of a table as vectors for a linear classifier: declared by the schema, never learnt.
#
# Every column but the target gives one or more features, and there is one feature that is always
# there (the bias). A feature map is public. Every vector it makes has a Euclidean norm of at most
# 1, which the proofs of its users need; it is kept in whole units of 2⁻¹⁶, so that this holds
# exactly.


#: What the feature that every record has is called.
BIAS = "(always)"


@dataclass(frozen=True)
class Attribute:
    """The features of one column: each of its codes sets one feature to one value.

    Parameters
    ----------
    column
        The number of the column in the schema.
    names
        What each of its features is called.
    places
        Which of its features a code sets.
    parts, whole
        To what: a code's part of the whole column's share; between −whole and whole.
    """

    column: int
    names: tuple[str, ...]
    places: NDArray[np.intp]
    parts: Integers64
    whole: int = 1

    @classmethod
    def of(cls, public: TablePublic, column: int) -> Attribute:
        """Return the features of a column.

        Two values give one feature of −1 or 1; an ordered column one feature from −1 to 1, and one
        for each code that stands outside the order; categories one feature each.
        """
        name, coding = public.columns[column], public.schema.columns[column].coding
        labels, size, proper = coding.labels, coding.size, coding.proper
        if size == 2:
            return cls(column, (labels[1],), np.zeros(2, dtype=np.intp), np.array([-1, 1]))
        if isinstance(coding, Categories) or proper < 2:
            ones = np.ones(size, dtype=np.int64)
            return cls(column, labels, np.arange(size, dtype=np.intp), ones)
        places = np.zeros(size, dtype=np.intp)
        places[proper:] = np.arange(1, 1 + size - proper)
        parts = np.full(size, proper - 1, dtype=np.int64)
        parts[:proper] = 2 * np.arange(proper) - (proper - 1)
        return cls(column, (name, *labels[proper:]), places, parts, proper - 1)

    def units(self, share: int) -> Integers64:
        """Return what each code sets its feature to, in units, rounded towards zero."""
        units: Integers64 = np.sign(self.parts) * (np.abs(self.parts) * share // self.whole)
        return units


@dataclass(frozen=True)
class FeatureMap:
    """How the records of a table become vectors of length at most 1.

    Parameters
    ----------
    attributes
        The columns that say something, in order.
    """

    attributes: tuple[Attribute, ...]

    @classmethod
    def of(cls, public: TablePublic, target: int) -> FeatureMap:
        """Return the map for all columns but the target; one with a single value says nothing."""
        columns = [c for c, size in enumerate(public.sizes) if c != target and size > 1]
        return cls(tuple(Attribute.of(public, column) for column in columns))

    @property
    def unit(self) -> int:
        """The share of each column and of the bias: ⌊2¹⁶/√k⌋, so that k squares are at most 2³²."""
        return math.isqrt(2 ** (2 * FEATURE_BITS) // (len(self.attributes) + 1))

    @property
    def dimension(self) -> int:
        """How many features there are, the bias included."""
        return 1 + sum(len(attribute.names) for attribute in self.attributes)

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of the columns that are used."""
        return tuple(attribute.column for attribute in self.attributes)

    def names(self, public: TablePublic) -> list[tuple[str, str]]:
        """Return the column and the value that each feature stands for, the bias last."""
        found = [
            (public.columns[attribute.column], name)
            for attribute in self.attributes
            for name in attribute.names
        ]
        return [*found, (BIAS, "")]

    @cached_property
    def _tables(self) -> list[tuple[NDArray[np.intp], Integers64]]:
        """For each attribute, the feature and the value in units that each code gives."""
        tables, first = [], 0
        for attribute in self.attributes:
            tables.append((attribute.places + first, attribute.units(self.unit)))
            first += len(attribute.names)
        return tables

    def entries(self, codes: NDArray[Any]) -> tuple[NDArray[np.intp], Integers64]:
        """Return the places and values of the features of records.

        Parameters
        ----------
        codes
            The codes of the columns that are used, shape (records, columns).
        """
        shape = (len(codes), len(self.attributes) + 1)
        places = np.full(shape, self.dimension - 1, dtype=np.intp)
        values = np.full(shape, self.unit, dtype=np.int64)
        for number, (features, units) in enumerate(self._tables):
            places[:, number] = features[codes[:, number]]
            values[:, number] = units[codes[:, number]]
        return places, values


@dataclass(frozen=True)
class Task:
    """What is to be told apart by what: public.

    Parameters
    ----------
    target
        The number of the target column.
    positive
        For each of its codes, whether it counts as positive.
    features
        How the other columns become vectors.
    """

    target: int
    positive: NDArray[np.bool_]
    features: FeatureMap

    @classmethod
    def of(cls, public: TablePublic, target: str, positive: Sequence[str]) -> Task:
        """Return the task, or say which columns or values there are."""
        column = public.schema.index(target)
        labels = public.labels(target)
        for label in positive:
            if label not in labels:
                known = ", ".join(repr(known) for known in labels[:20])
                more = f" and {len(labels) - 20} more" if len(labels) > 20 else ""
                raise ValueError(
                    f"positive must hold values of {target!r}; got {briefly(label)}; the values "
                    f"are {known}{more}"
                )
        chosen = np.array([label in positive for label in labels])
        return cls(column, chosen, FeatureMap.of(public, column))

    def signs(self, codes: NDArray[Any]) -> Integers64:
        """Return 1 for each positive code of the target and −1 for each other."""
        return np.where(self.positive[codes], 1, -1).astype(np.int64)
