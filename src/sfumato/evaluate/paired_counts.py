"""The two sides of a comparison, counted alike: the private table, and a release of it.

NOT PRIVATE where it counts the private table; whoever uses it says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.engines.memory import CodeTable, code_type
from sfumato.tabular.noisy_tables import NoisyTables
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["Comparable", "Side", "code_table", "count_sides", "keep_released_columns", "side_of"]

Comparable = NoisyTables | SyntheticTable | Table
"""What a private table can be compared with: released counts, released rows, or other rows."""

BATCH = 2**23
"""How many cells are counted at a time, on each side."""


class Side(Protocol):
    """One side: something that counts."""

    def marginals(self, sets: Sequence[Sequence[int]]) -> Sequence[NDArray[Any]]:
        """Return one table for each set of columns."""


class _Released:
    """Released counts as a side."""

    def __init__(self, release: NoisyTables) -> None:
        self._release = release

    def marginals(self, sets: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        """Return the released counts of each set of columns."""
        names = self._release.public.columns
        return [self._release.counts([names[column] for column in columns]) for columns in sets]


def code_table(codes: NDArray[Any], public: TablePublic) -> CodeTable:
    """Return rows of codes as a table that counts."""
    columns = [codes[:, number].astype(code_type(size)) for number, size in enumerate(public.sizes)]
    return CodeTable(columns, public.sizes)


def side_of(release: Comparable) -> Side:
    """Return what counts in a release: its tables, or its published rows."""
    if isinstance(release, SyntheticTable):
        return code_table(release.published_codes, release.public)
    return release.counts if isinstance(release, Table) else _Released(release)


def can_count(release: Comparable, columns: Sequence[int]) -> bool:
    """Tell whether a release can count a combination of columns."""
    if isinstance(release, NoisyTables):
        return any(set(columns) <= set(inside) for inside in release.sets)
    return True


def count_sides(
    sides: Sequence[Side], sets: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], list[NDArray[Any]]]]:
    """Yield each set of columns with its table on every side, counted in batches."""
    batch: list[tuple[int, ...]] = []
    cells = 0
    for columns in [*sets, None]:
        size = 0 if columns is None else prod(sizes[column] for column in columns)
        if batch and (columns is None or cells + size > BATCH):
            tables = [side.marginals(batch) for side in sides]
            for number, done in enumerate(batch):
                yield done, [np.asarray(side[number]) for side in tables]
            batch, cells = [], 0
        if columns is not None:
            batch.append(columns)
            cells += size


class Described(Protocol):
    """Something with the public part of a table."""

    @property
    def public(self) -> TablePublic:
        """What is public about it."""


def keep_released_columns(table: Table, release: Described) -> Table:
    """Return a table with the columns of a release; raise unless they have the same values.

    A release publishes the columns that it used, which need not be all of the table.
    """
    theirs = release.public.schema
    if set(theirs.names) < set(table.public.columns):
        table = table.only(theirs.names)
    if table.public.undiscovered and table.public.columns == theirs.names:
        table = table.see_values(theirs)
    mine = table.public.schema
    if [c.coding for c in mine.columns] != [c.coding for c in theirs.columns] or (
        mine.names != theirs.names
    ):
        raise ValueError(
            "the schema of this table is not that of the release; read the table with the schema "
            "of the release"
        )
    return table
