"""How many records lie how far from the middle of a column: a query for tails.

A frozen public value; what noise is added to it is proved in docs/proofs/regression-rows.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.privacy.program import Query
from sfumato.regression.intervals import Shells
from sfumato.regression.rows import places_of

__all__ = ["ShellCounts"]

Integers64 = NDArray[np.int64]


@dataclass(frozen=True)
class ShellCounts(Query):
    """How many records lie in each of some shells around the middle of a column.

    Parameters
    ----------
    shells
        The shells.
    column
        The number of the column, of numbers or dates.
    """

    shells: Shells
    column: int

    def answer(self, data: Table) -> Integers64:
        """Return the count of every shell."""
        return self.answer_all([self], data)[0]

    @classmethod
    def answer_all(cls, queries: Sequence[ShellCounts], data: Table) -> list[Integers64]:
        """Return the counts for several columns from one pass."""
        tables = data.counts.marginals([(query.column,) for query in queries])
        found = []
        for query, counts in zip(queries, tables, strict=True):
            places = places_of(data.public.schema.columns[query.column].coding)
            # A record without a number is in no shell.
            found.append(query.shells.counts(counts[: places.size].astype(np.int64), places))
        return found
