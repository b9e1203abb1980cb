"""What was declared about the columns of a table: a section that all releases of tables share."""

from __future__ import annotations

from math import prod

from sfumato.data.table import TablePublic
from sfumato.engines.coding import Coding, Reals
from sfumato.report.blocks import Block, Grid, Section, Text

#: Up to so many values of a column are all told.
FEW = 4
#: More combinations than this are told by their order of magnitude.
MOST_CELLS = 10**15


def declared(public: TablePublic) -> Section:
    """List what was declared about each column, and what had been read off the data first."""
    rows = []
    for column in public.schema.columns:
        inferred = ", ".join(column.inferred) or "—"
        values = _values(column.coding)
        rows.append((column.name, column.coding.kind, f"{column.size:,}", values, inferred))
    cells = prod(public.sizes)
    many = f"{cells:,}" if cells < MOST_CELLS else f"about 10^{len(str(cells)) - 1}"
    blocks: tuple[Block, ...] = (
        Text(
            "These columns and their possible values were declared before the release. Whatever is "
            "marked as inferred was first read off the data and then confirmed by the custodian as "
            "public knowledge; the guarantee does not cover it."
        ),
        Grid(
            ("column", "kind", "values", "which", "inferred from the data"),
            tuple(rows),
            numbers=(2,),
        ),
        Text(f"Together they span {many} combinations of values."),
    )
    return Section("declared", "What was declared about the columns", blocks, "public.json, schema")


def _values(coding: Coding) -> str:
    """Return the values of a column in words: a few, or the first and the last of many."""
    if isinstance(coding, Reals):
        return coding.allowed
    if coding.size <= FEW:
        return ", ".join(coding.labels)
    first, second, last = coding.label(0), coding.label(1), coding.label(coding.proper - 1)
    return f"{first}, {second} … {last}"
