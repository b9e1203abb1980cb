"""Methods and mechanisms with one mistake each, to show that the auditor can fail something."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import noise
from sfumato.data.table import Table, TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.program import Ask, Program, Query
from sfumato.tabular.histogram import Histogram
from sfumato.tabular.noisy_tables import NoisyTables


def geometric(shape: tuple[int, ...], epsilon: Any, sensitivity: Any = 1) -> GeometricNoise:
    return GeometricNoise(shape=shape, sensitivity=Fraction(sensitivity), epsilon=Fraction(epsilon))


def counts(data: Table) -> np.ndarray:
    (table,) = data.counts.marginals([tuple(range(len(data.public.sizes)))])
    return table


@dataclass(frozen=True)
class Leak(Query):
    """The number of rows; it puts the data where a program can find them."""

    found: list[Table] = field(default_factory=list, compare=False)

    def answer(self, data: Table) -> np.ndarray:
        self.found[:] = [data]
        return np.array([counts(data).sum()])


@dataclass(frozen=True)
class Picked(Query):
    """Some counts of the table, by their places."""

    places: tuple[int, ...]

    def answer(self, data: Table) -> np.ndarray:
        return counts(data).ravel()[list(self.places)]


@dataclass(frozen=True, kw_only=True)
class HalfScale(GeometricNoise):
    """Draws with half the scale it declares; its log-probability tells the truth it should have."""

    kind = "half scale"

    def sample(self, value: np.ndarray) -> np.ndarray:
        return value + noise.discrete_laplace(self.shape, scale=self.scale / 2)


@dataclass(frozen=True, kw_only=True)
class HalfScaleHistogram(Histogram):
    """Noise at half scale."""

    def program(self, public: TablePublic, budget: Budget) -> Program[NoisyTables]:
        primitive = HalfScale(
            shape=public.sizes, sensitivity=Fraction(1), epsilon=budget.remaining.epsilon
        )
        noisy = yield Ask(budget, primitive, Marginal((0, 1)), "counts")
        return NoisyTables(public, ((0, 1),), [noisy], self.noises(public), repair="clip")


@dataclass(frozen=True, kw_only=True)
class HalfSensitivity(Histogram):
    """Declares half the sensitivity, and scales its noise to that."""

    def program(self, public: TablePublic, budget: Budget) -> Program[None]:
        primitive = geometric(public.sizes, budget.remaining.epsilon, Fraction(1, 2))
        yield Ask(budget, primitive, Marginal((0, 1)), "counts")


@dataclass(frozen=True, kw_only=True)
class OneUnderReplacement(Histogram):
    """Sensitivity 1 where a replaced row moves two cells."""

    def program(self, public: TablePublic, budget: Budget) -> Program[None]:
        primitive = geometric(public.sizes, budget.remaining.epsilon)
        yield Ask(budget, primitive, Marginal((0, 1)), "counts")


@dataclass(frozen=True, kw_only=True)
class OccupiedCellsOnly(Histogram):
    """Adds noise to the occupied cells and leaves the empty ones out."""

    def program(self, public: TablePublic, budget: Budget) -> Program[None]:
        half, leak = Fraction(self.epsilon) / 2, Leak()
        yield Ask(budget, geometric((1,), half), leak, "rows")
        occupied = np.flatnonzero(counts(leak.found[0]))
        query = Picked(tuple(occupied.tolist()))
        yield Ask(budget, geometric(occupied.shape, half), query, "counts")


@dataclass(frozen=True, kw_only=True)
class DomainOffTheData(Histogram):
    """Counts up to the last cell that is occupied."""

    def program(self, public: TablePublic, budget: Budget) -> Program[None]:
        half, leak = Fraction(self.epsilon) / 2, Leak()
        yield Ask(budget, geometric((1,), half), leak, "rows")
        occupied = np.flatnonzero(counts(leak.found[0]))
        query = Picked(tuple(range(occupied.max(initial=0) + 1)))
        yield Ask(budget, geometric((len(query.places),), half), query, "counts")


@dataclass(frozen=True, kw_only=True)
class ParallelPartsOfOneUnit(Histogram):
    """Composes two tables of the same rows as if they were disjoint parts."""

    def program(self, public: TablePublic, budget: Budget) -> Program[None]:
        parts = budget.parallel(["a", "b"], name="columns")
        for column, part in enumerate(parts):
            noise = geometric((public.sizes[column],), part.limit.epsilon)
            yield Ask(part, noise, Marginal((column,)), str(column))


def with_size_of_the_data(data: Table) -> np.ndarray:
    """Leaks the number of rows through the size of its output."""
    return noise.discrete_laplace(int(counts(data).sum()) + 1, scale=1)


def with_true_empty_cells(data: Table) -> np.ndarray:
    """Leaves empty cells without noise."""
    table = counts(data).ravel()
    return np.where(table == 0, 0, table + noise.discrete_laplace(table.shape, scale=1))


def float_noise(data: float) -> float:
    """Adds floating-point noise, whose low bits tell the value (Mironov, 2012)."""
    unit = float(noise.uniform_integers(None, bound=2**53)) / 2**53
    sign = 1.0 if noise.bernoulli(None, probability="1/2") else -1.0
    return data + sign * float(np.log(max(unit, 2**-53)))


def vanilla_sparse_vector(answers: list[int]) -> list[Any]:
    """VanillaSVT at ε = 1: releases the noisy answer that passes the noisy threshold."""
    drawn = noise.discrete_laplace(len(answers) + 1, scale=2)
    said: list[Any] = []
    for noisy in (np.array(answers) + drawn[1:]).tolist():
        if noisy > drawn[0]:
            return [*said, noisy]
        said.append("below")
    return said


def binary_sparse_vector(answers: list[int], epsilon: str = "1") -> list[bool]:
    """BinarySVT: one threshold, and no end of positives."""
    drawn = noise.discrete_laplace(len(answers) + 1, scale=2 / Fraction(epsilon))
    return [bool(noisy > 1 + drawn[0]) for noisy in np.array(answers) + drawn[1:]]


def public(**options: Any) -> TablePublic:
    from sfumato.data.schema import Schema

    rows = 6 if options.get("relation") == "replace_one" else None
    return TablePublic.of(
        Schema.from_dict({"a": ["x", "y", "z"], "b": ["0", "1"]}, **options), rows
    )
