"""How many records lie how far from the middle of their columns: a query for tails.

A frozen public value; what noise is added to it is proved in docs/proofs/regression-rows.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.privacy.program import Query
from sfumato.regression.intervals import Shells, count_farthest
from sfumato.regression.rows import places_of

__all__ = ["ShellCounts"]

Integers64 = NDArray[np.int64]


@dataclass(frozen=True)
class ShellCounts(Query):
    """How many records lie in each shell of the two columns in which they are farthest out.

    Parameters
    ----------
    shells
        The shells of each column.
    columns
        The numbers of the columns, of numbers or dates.
    """

    shells: tuple[Shells, ...]
    columns: tuple[int, ...]

    def answer(self, data: Table) -> Integers64:
        """Return the count of every shell, column after column."""
        numbers = (
            self._numbers(data, shells, column)
            for shells, column in zip(self.shells, self.columns, strict=True)
        )
        return count_farthest(self.shells, numbers, int(data.counts.rows))

    def _numbers(self, data: Table, shells: Shells, column: int) -> Integers64:
        """Return the number of every record's shell in one column. Private."""
        coding = data.public.schema.columns[column].coding
        # A record without a number is in no shell.
        table = np.zeros(coding.size, dtype=np.int64)
        table[: coding.proper] = shells.numbers(places_of(coding))
        return np.asarray(table[data.counts.codes(column)])
