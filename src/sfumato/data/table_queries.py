"""What programs may ask of a table: the vocabulary of its queries.

Each is a frozen public value; the engine that holds the codes answers it exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Counts, Recoding
from sfumato.mechanisms.partition_selection import ValueCounts
from sfumato.privacy.program import Ask, Program, Query, Request, Step, answer_together

__all__ = ["Accepted", "Counted", "DiscoverableValues", "Marginal", "Seen", "View", "see_through"]

T = TypeVar("T")


class Counted(Protocol):
    """What a query about tables looks at: something with an engine."""

    @property
    def counts(self) -> Counts:
        """The engine that counts in it. Private."""


@dataclass(frozen=True)
class Marginal(Query):
    """How often each combination of values of some columns occurs.

    Parameters
    ----------
    columns
        The columns, in the order of the axes; none for the number of rows, as a table of one cell.
    flat
        Whether the cells come in one row, the last column varying fastest.
    """

    columns: tuple[int, ...]
    flat: bool = False

    def answer(self, data: Counted) -> NDArray[np.int64]:
        """Return the table of counts."""
        return self.answer_all([self], data)[0]

    @classmethod
    def answer_all(cls, queries: Sequence[Marginal], data: Counted) -> list[NDArray[np.int64]]:
        """Return several tables from one pass."""
        tables = data.counts.marginals([query.columns for query in queries])
        return [
            table.reshape(-1 if query.flat or not table.shape else table.shape)
            for query, table in zip(queries, tables, strict=True)
        ]


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
        What a row counts for: one number, or one for each accepted code of the last column.
    """

    columns: tuple[int, ...]
    codes: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...] = (1,)

    def answer(self, data: Counted) -> NDArray[np.int64]:
        """Return the count."""
        (table,) = data.counts.marginals([self.columns])
        chosen = table[np.ix_(*self.codes)] if self.columns else table
        weights = np.array(self.weights, dtype=np.int64)
        return np.array([(chosen.reshape(-1, len(weights)) @ weights).sum()], dtype=np.int64)


@dataclass(frozen=True)
class DiscoverableValues(Query):
    """Which texts occur in a column whose values nobody listed, and how often each does.

    Parameters
    ----------
    column
        The column.
    """

    column: int

    def answer(self, data: Counted) -> ValueCounts:
        """Return the texts and their counts."""
        return data.counts.value_counts(self.column)


@dataclass(frozen=True, eq=False)
class View:
    """Columns that are looked up from columns of a table: a public recoding.

    A row of a view is a function of the same row of the table, so that what one record can change
    stays the same.

    Parameters
    ----------
    columns
        For each column of the view, where it comes from and what becomes of its codes.
    """

    columns: tuple[Recoding, ...]


@dataclass(frozen=True)
class _Viewed:
    """A table as it is seen through a view. Private."""

    counts: Counts


@dataclass(frozen=True)
class Seen(Query):
    """A query about a view of a table.

    Parameters
    ----------
    view
        How the table is seen.
    query
        What is asked of the view.
    """

    view: View
    query: Query

    def answer(self, data: Counted) -> Any:
        """Return the answer of the view."""
        return self.answer_all([self], data)[0]

    @classmethod
    def answer_all(cls, queries: Sequence[Seen], data: Counted) -> list[Any]:
        """Return the answers of one view, all queries together."""
        (view,) = {query.view for query in queries}
        counts = data.counts.recall(view, lambda: data.counts.recode(view.columns))
        return answer_together([query.query for query in queries], _Viewed(counts))

    def blank(self) -> Any:
        """Return an answer of the same shape without data."""
        return self.query.blank()


def see_through(view: View, program: Program[T]) -> Program[T]:
    """Run a program whose queries are about a view of a table.

    Parameters
    ----------
    view
        How the table is seen.
    program
        What asks.
    """
    reply: Any = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result
        reply = yield _ask_of_view(view, request)


def _ask_of_view(view: View, request: Request) -> Request:
    """Return a request whose queries are about a view."""
    if isinstance(request, Sequence):
        return [replace(ask, query=Seen(view, ask.query)) for ask in request]
    if isinstance(request, Ask | Step):
        return replace(request, query=Seen(view, request.query))
    return request
