"""What programs may ask of a table: the vocabulary of its queries.

Each is a frozen public value; the engine that holds the codes answers it exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.privacy.program import Query

__all__ = ["Accepted", "Marginal"]


@dataclass(frozen=True)
class Marginal(Query):
    """How many rows have each combination of values of some columns.

    Parameters
    ----------
    columns
        The columns, in the order of the axes; none for the number of rows, as a table of one cell.
    """

    columns: tuple[int, ...]

    def answer(self, data: Table) -> NDArray[np.int64]:
        """Return the table of counts."""
        return self.answer_all([self], data)[0]

    @classmethod
    def answer_all(cls, queries: Sequence[Marginal], data: Table) -> list[NDArray[np.int64]]:
        """Return several tables from one pass."""
        tables = data.counts.marginals([query.columns for query in queries])
        return [table.reshape(table.shape or (1,)) for table in tables]


@dataclass(frozen=True)
class Accepted(Query):
    """How many rows have accepted values in some columns, as an array of one count.

    Parameters
    ----------
    columns
        The columns.
    codes
        For each of them, the codes that are accepted.
    weights
        What a row counts for: one number, or one for each code of the last column.
    """

    columns: tuple[int, ...]
    codes: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...] = (1,)

    def answer(self, data: Table) -> NDArray[np.int64]:
        """Return the count."""
        (table,) = data.counts.marginals([self.columns])
        chosen = table[np.ix_(*self.codes)] if self.columns else table
        weights = np.array(self.weights, dtype=np.int64)
        return np.array([(chosen.reshape(-1, len(weights)) @ weights).sum()], dtype=np.int64)
