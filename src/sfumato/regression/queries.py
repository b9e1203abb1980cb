"""What programs may ask of the records of a regression: the vocabulary of its queries.

Each is a frozen public value: a rule of rows, a choice among intervals, weights. The rows that it
leads to are made, weighed and cut here, beside the data; a program sees what noise was added to.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.mechanisms.huber import FEATURE_BITS
from sfumato.mechanisms.laplace import LARGEST_INPUT
from sfumato.mechanisms.residual import Answered
from sfumato.privacy.program import Query
from sfumato.regression.batches import batch_models
from sfumato.regression.design import BLOCK, UNIT, Design
from sfumato.regression.intervals import IntervalChoice
from sfumato.regression.response_rows import ManyRows
from sfumato.regression.rows import ANSWER, ROW, RowRule, Rows, places_of

__all__ = [
    "AnsweredRecords",
    "BatchModels",
    "FeatureSums",
    "IntervalScores",
    "ResidualSums",
    "ResponseSums",
    "RowSums",
    "WeighedSums",
    "weigh",
]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]
Part = Literal["matrix", "trace", "products", "square"]

#: Whole numbers up to this are floats.
LARGEST_FLOAT = 2**53
#: Rows and answers in the finer units of the minimiser.
FINER = 2**FEATURE_BITS // ROW

assert ROW == ANSWER and FINER * ROW == 2**FEATURE_BITS
# Sums of products of one block of features are below 2⁵³, where floats are exact in any order.
assert BLOCK * UNIT**2 <= LARGEST_FLOAT


def weigh(sums: Integers64, weights: Integers64, most: int = LARGEST_INPUT) -> Integers64:
    """Return sums times whole weights; so many records that it would exceed `most` count as fewer.

    Cutting moves no two sums further apart; a product that wrapped around would tell one record
    from none.
    """
    ends = most // np.abs(weights)
    cut: Integers64 = np.clip(sums, -ends, ends)
    return cut * weights


@dataclass(frozen=True)
class IntervalScores(Query):
    """How well each interval fits where a column lies and how far it spreads.

    Parameters
    ----------
    choice
        The choice among intervals.
    column
        The number of the column, of numbers or dates.
    """

    choice: IntervalChoice
    column: int

    def answer(self, data: Table) -> Integers64:
        """Return the score of every interval."""
        return self.answer_all([self], data)[0]

    @classmethod
    def answer_all(cls, queries: Sequence[IntervalScores], data: Table) -> list[Integers64]:
        """Return the scores for several columns from one pass."""
        tables = data.counts.marginals([(query.column,) for query in queries])
        found = []
        for query, counts in zip(queries, tables, strict=True):
            places = places_of(data.public.schema.columns[query.column].coding)
            # A record without a number is in no interval.
            numbers = counts[: places.size].astype(np.int64)
            found.append(query.choice.scores(numbers, places))
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class WeighedSums(Query):
    """Sums over records in one vector, each times a whole weight.

    Parameters
    ----------
    weights
        The weight of every sum.
    floats
        Whether the whole numbers are given as floats.
    """

    weights: Integers64
    floats: bool = False

    def answer(self, data: Table) -> Any:
        """Return the weighed sums."""
        if self.floats:
            return weigh(self.sums(data), self.weights, LARGEST_FLOAT).astype(np.float64)
        return weigh(self.sums(data), self.weights)

    @abstractmethod
    def sums(self, data: Table) -> Integers64:
        """Return the sums, exactly. Private."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSums(WeighedSums):
    """Sums over the rows x and answers y that records become.

    Parameters
    ----------
    rule
        What becomes of a record.
    parts
        Which sums, in order: `"matrix"`, the upper triangle of Σ x xᵀ; `"trace"`, Σ |x|²;
        `"products"`, Σ y x; `"square"`, Σ y².
    entry
        Where the entries of rows are clipped besides, in whole units.
    """

    rule: RowRule
    parts: tuple[Part, ...]
    entry: int | None = None

    def sums(self, data: Table) -> Integers64:
        """Return the parts one after another."""
        rows = Rows(self.rule, data)
        found: dict[str, Any] = {}
        if "matrix" in self.parts:
            moments = rows.moments(self.entry)
            upper = moments.xx[np.triu_indices(rows.dimension)]
            found |= {"matrix": upper, "products": moments.xy, "square": [moments.yy]}
        else:
            products, trace = rows.first_moments()
            found |= {"products": products, "trace": [trace]}
        return np.concatenate([found[part] for part in self.parts])


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualSums(WeighedSums):
    """Σ r x over rows x, with r what given coefficients leave of an answer, cut.

    Parameters
    ----------
    rule
        What becomes of a record.
    coefficients
        One for each feature: public, or made of what primitives said.
    bound
        Where residuals are cut, in whole units.
    """

    rule: RowRule
    coefficients: Floats
    bound: int

    def sums(self, data: Table) -> Integers64:
        """Return the sums."""
        return Rows(self.rule, data).residual_xy(self.coefficients, self.bound)


@dataclass(frozen=True, eq=False, kw_only=True)
class ResponseSums(WeighedSums):
    """The upper triangle of Σ x xᵀ, then Σ x yᵀ, for rows x and rows of several responses y.

    Parameters
    ----------
    rules
        What becomes of a record, for each response; they differ in the response alone.
    length
        What rows of responses are divided by.
    """

    rules: tuple[RowRule, ...]
    length: float

    def sums(self, data: Table) -> Integers64:
        """Return the sums."""
        xx, xy = ManyRows(self.rules, self.length, data).sums()
        return np.concatenate([xx[np.triu_indices(len(xx))], xy.ravel()])


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureSums(WeighedSums):
    """Σ y x, then some products of Σ x xᵀ, for the features x and responses y of records.

    Parameters
    ----------
    design
        How records become features, in units of at most `UNIT`.
    rows, columns
        The two features of each product.
    """

    design: Design
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]

    def sums(self, data: Table) -> Integers64:
        """Return the sums, in units squared."""
        size = self.design.dimension
        xx, xy = np.zeros((size, size), dtype=np.int64), np.zeros(size, dtype=np.int64)
        for features, answers in self.design.blocks(data):
            xx += (features.T @ features).astype(np.int64)
            xy += (features.T @ answers).astype(np.int64)
        return np.concatenate([xy, xx[self.rows, self.columns]])


@dataclass(frozen=True, eq=False)
class AnsweredRecords(Query):
    """The rows and answers themselves, for a primitive that minimises a loss over them.

    Parameters
    ----------
    rule
        What becomes of a record.
    """

    rule: RowRule

    def answer(self, data: Table) -> Answered:
        """Return rows and answers in the units of the minimiser."""
        rows = Rows(self.rule, data)
        blocks = list(rows.blocks())
        none = np.zeros((0, rows.dimension), dtype=np.int64)
        features = np.concatenate([none, *(x.T.astype(np.int64) for x, _ in blocks)])
        answers = np.concatenate([none[:, 0], *(y.astype(np.int64) for _, y in blocks)])
        return Answered.of(features * FINER, answers * FINER)


@dataclass(frozen=True, eq=False)
class BatchModels(Query):
    """A least-squares model of each of many batches of rows.

    Parameters
    ----------
    rule
        What becomes of a record.
    batches
        How many batches there are.
    """

    rule: RowRule
    batches: int

    def answer(self, data: Table) -> Integers64:
        """Return the weights of each model, in whole steps of a grid."""
        return batch_models(Rows(self.rule, data), self.batches)
