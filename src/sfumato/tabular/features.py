"""Records of a table as vectors for a linear classifier: declared by the schema, never learnt.

Every column but the target gives one or more features, and there is one feature that is always
there (the bias). A feature map is public. Every vector it makes has a Euclidean norm of at most 1,
which the proofs of its users need; it is kept in whole units of 2⁻¹⁶, so that this holds exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.engines.coding import Categories
from sfumato.mechanisms.huber import FEATURE_BITS
from sfumato.noise.exact import briefly

__all__ = ["Attribute", "FeatureMap", "Task"]

Integers64 = NDArray[np.int64]

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
                    f"positive must hold values of {target!r}; got {briefly(label)}; there are "
                    f"{known}{more}"
                )
        chosen = np.array([label in positive for label in labels])
        return cls(column, chosen, FeatureMap.of(public, column))

    def signs(self, codes: NDArray[Any]) -> Integers64:
        """Return 1 for each positive code of the target and −1 for each other."""
        return np.where(self.positive[codes], 1, -1).astype(np.int64)
