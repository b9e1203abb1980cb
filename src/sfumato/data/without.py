"""A private table without some of its columns or rows. As private as the table itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.engines.intake import Taken
from sfumato.engines.memory import CodeTable

__all__ = ["with_rows", "without_columns"]


def without_columns(table: Table, names: Sequence[str]) -> Table:
    """Return the same rows without some columns.

    Parameters
    ----------
    table
        The private table.
    names
        The columns that are left out; at least one must remain.
    """
    schema, counts = table.public.schema, table.counts
    gone = set(schema.indices(tuple(names)))
    kept = [number for number in range(len(schema.columns)) if number not in gone]
    smaller = replace(schema, columns=tuple(schema.columns[number] for number in kept))
    codes = CodeTable([counts.codes(number) for number in kept], smaller.sizes)
    return Table._of(smaller, Taken(codes, table.dropped_rows))


def with_rows(table: Table, kept: NDArray[np.bool_]) -> Table:
    """Return some of the rows.

    Parameters
    ----------
    table
        The private table.
    kept
        Which rows are kept.
    """
    schema, counts = table.public.schema, table.counts
    codes = [counts.codes(number)[kept] for number in range(len(schema.columns))]
    return Table._of(schema, Taken(CodeTable(codes, schema.sizes), table.dropped_rows))
