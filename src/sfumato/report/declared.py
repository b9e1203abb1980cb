"""What was declared about the columns of a table: a section that all releases of tables share."""

from __future__ import annotations

from math import prod

from sfumato.data.table import TablePublic
from sfumato.report.blocks import Block, Grid, Section, Text


def declared(public: TablePublic) -> Section:
    """List what was declared about each column, and what had been read off the data first."""
    rows = []
    for column in public.schema.columns:
        labels = column.coding.labels
        values = (
            ", ".join(labels) if len(labels) <= 4 else f"{labels[0]}, {labels[1]} … {labels[-1]}"
        )
        inferred = ", ".join(column.inferred) or "—"
        rows.append((column.name, column.coding.kind, f"{column.size:,}", values, inferred))
    cells = prod(public.sizes)
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
        Text(f"Together they span {cells:,} combinations of values."),
    )
    return Section("declared", "What was declared about the columns", blocks, "public.json, schema")
