"""Made-up tables: columns and targets that nobody has, drawn from a fixed law.

Columns are skewed, off the middle of their declared range and correlated; targets can be told well
or hardly, with long tails or without. Nothing private enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.privacy.guarantee import Relation
from sfumato.regression.design import Design
from sfumato.regression.rows import numeric

__all__ = ["KINDS", "Columns", "MadeUp", "example_table"]

Floats = NDArray[np.float64]

#: What share of a made-up target its columns explain, and whether the rest has a long tail.
KINDS = ((0.2, True), (0.8, False), (0.5, True), (0.2, False), (0.8, True), (0.5, False))


@dataclass(frozen=True)
class Columns:
    """Which columns explain: 1 for a number, else the number of categories.

    Parameters
    ----------
    sizes
        One for each column.
    intercept
        Whether the model has a constant.
    """

    sizes: tuple[int, ...]
    intercept: bool

    @classmethod
    def of(cls, public: TablePublic, design: Design) -> Columns:
        """Return the columns of a design; codes outside the order of a number are left out."""
        numbers = numeric(public, design)
        sizes, first = [], 0
        for factor in design.factors:
            many = len(factor.names)
            sizes.append(1 if numbers[first] else max(many, 2))
            first += many
        return cls(tuple(sizes), design.intercept)

    @property
    def numbers(self) -> NDArray[np.bool_]:
        """Which features are numbers."""
        many = [1 if size <= 2 else size for size in self.sizes]
        found = np.repeat(np.array(self.sizes, dtype=np.int64) == 1, many)
        return np.append(found, np.zeros(int(self.intercept), dtype=np.bool_))

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return len(self.numbers)

    @property
    def profile(self) -> tuple[float, ...]:
        """How large the second moments of features are taken to be."""
        found = [value for k in self.sizes for value in ([1.0] if k <= 2 else [1.0 / k] * k)]
        return tuple(found + [1.0] * self.intercept)


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Features and answers from −1 to 1 of records that nobody has; the last ones are predicted.

    Parameters
    ----------
    features, answers
        One row and one number for each record.
    """

    features: Floats
    answers: Floats

    @classmethod
    def draw(cls, columns: Columns, rows: int, number: int) -> MadeUp:
        """Return one of the made-up tables."""
        explained, tailed = KINDS[number % len(KINDS)]
        generator = noise.generator(1000 + number)
        features = _features(columns, rows, generator)
        centred = features - features.mean(axis=0)
        scaled = centred / np.maximum(centred.std(axis=0), 1e-9)
        signal = scaled @ generator.standard_normal(columns.dimension)
        rest = generator.standard_normal(rows)
        if tailed:
            rest = np.exp(0.7 * rest)
        told = np.sqrt(explained) * _standard(signal) + np.sqrt(1 - explained) * _standard(rest)
        middle, spread = generator.uniform(-0.6, 0.3), generator.uniform(0.08, 0.35)
        if not columns.intercept:
            # Who asks for a model without a constant has centred columns.
            features, middle = centred, 0.0
        return cls(features, np.clip(middle + spread * told, -1.0, 1.0))


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-9))


def _features(columns: Columns, rows: int, generator: Any) -> Floats:
    """Return the features of made-up records: numbers from −1 to 1, and categories."""
    many = len(columns.sizes)
    shared = max(1, many // 3)
    loads = generator.choice([0.3, 1.0]) * generator.standard_normal((shared, many))
    latent = generator.standard_normal((rows, shared)) @ loads / np.sqrt(shared)
    latent += generator.standard_normal((rows, many))
    parts = []
    for size, column in zip(columns.sizes, latent.T, strict=True):
        values = _standard(column)
        if size == 1 and generator.random() < 0.3:
            # A long tail to the right, as amounts have.
            wide = 0.3 * generator.uniform(0.5, 1.5) * np.exp(0.6 * values)
            parts.append(np.clip(wide - 1, -1, 1)[:, None])
        elif size == 1:
            middle, spread = generator.uniform(-0.5, 0.5), generator.uniform(0.1, 0.4)
            parts.append(np.clip(middle + spread * values, -1, 1)[:, None])
        elif size == 2:
            parts.append(np.where(values > generator.uniform(-1, 1), 1.0, -1.0)[:, None])
        else:
            edges = np.sort(generator.uniform(-2, 2, size - 1))
            parts.append(np.eye(size)[np.searchsorted(edges, values)])
    parts += [np.ones((rows, 1))] * columns.intercept
    return np.concatenate(parts, axis=1)


def example_table(relation: Relation | None, max_rows: int | None) -> TablePublic:
    """Return the public part of a small table whose last column is a number."""
    dose = {"kind": "real", "low": 0, "high": 1, "bits": 6}
    return TablePublic.example(relation, max_rows, {"smokes": ["no", "yes"], "dose": dose})
