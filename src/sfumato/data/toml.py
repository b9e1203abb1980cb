"""Schema files: TOML that a custodian can read, correct and confirm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfumato.data.schema import Column, Schema
from sfumato.privacy.documents import read_toml
from sfumato.privacy.guarantee import Unit

__all__ = ["read", "write_schema", "write_value"]

MARK = "  # inferred from the data: is this public knowledge?"

OPEN = (
    "  # too many to list: frequent ones are found privately, which needs a delta. Or list public "
    "values, or remove the column"
)

QUESTION = """\
# FIRST QUESTION: can one person have several rows in this table?
#   no:   unit = "row"
#   yes:  unit = "person", person = the column that identifies the person, and
#         max_rows = the most rows used per person (the first ones in the file)
"""

DRAFT = """\
# A DRAFT, inferred from the data: it is not public, and it is refused until it is confirmed.
# Lines marked "inferred" were inferred from the data. Replace what is not public knowledge (for an
# age, 0 to 120 rather than the youngest and oldest patient), answer the first question, then set
# confirmed = true. Keep the marks: certificates state what was inferred and then confirmed.
"""


def read(path: Path) -> Schema:
    """Return the schema of a file, or say what is wrong with it."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no schema file {str(path)!r}")
    document = read_toml(path)
    try:
        _require_bound(document.get("table"))
        return Schema.from_json(document)
    except ValueError as failure:
        raise ValueError(f"{path.name}: {failure}") from None


def _require_bound(table: Any) -> None:
    """Raise where a file protects persons and does not say how many rows one may have.

    A line that was forgotten must not become a promise that nobody has several rows.
    """
    if not isinstance(table, dict) or table.get("unit") != "person" or "max_rows" in table:
        return
    raise ValueError(
        'unit = "person" needs a bound: write person = "…", the column that identifies the '
        "person, and max_rows = …, the most rows used per person; or write max_rows = 1 if no "
        "person has more than one row"
    )


def write_schema(schema: Schema) -> str:
    """Return the text of a schema file."""
    parts = [] if schema.confirmed else [DRAFT]
    parts.append(_table(schema))
    parts += [_column(column) for column in schema.columns]
    parts += [_constraint(constraint.to_json()) for constraint in schema.constraints]
    return "\n".join(parts)


def _table(schema: Schema) -> str:
    lines = [] if schema.confirmed else [QUESTION.rstrip()]
    lines.append("[table]")
    lines.append(f"unit = {write_value(str(schema.unit or ''))}")
    if schema.person is not None:
        lines.append(f"person = {write_value(schema.person)}")
    if schema.unit is Unit.PERSON:
        lines.append(f"max_rows = {schema.max_rows}")
    lines.append(f"relation = {write_value(str(schema.relation))}")
    if schema.rows_about is not None:
        lines.append(f"rows_about = {schema.rows_about}")
    elif not schema.confirmed:
        lines.append("# rows_about = 10000  # a public guess at the number of rows, for plans")
    if schema.left_out:
        lines.append(
            f"left_out = {write_value(list(schema.left_out))}  # columns that are not used"
        )
    if not schema.confirmed or schema.inferred:
        lines.append(f"confirmed = {write_value(schema.confirmed)}")
    return "\n".join(lines) + "\n"


def _column(column: Column) -> str:
    lines = [f"[columns.{write_value(column.name)}]"]
    for key, value in column.to_json().items():
        mark = MARK if key in column.inferred else ""
        if key == "values" and column.coding.is_open and column.inferred:
            mark = OPEN
        lines.append(f"{key} = {write_value(value)}{mark}")
    return "\n".join(lines) + "\n"


def _constraint(document: dict[str, Any]) -> str:
    lines = [f"{key} = {write_value(value)}" for key, value in document.items()]
    return "\n".join(["[[constraints]]", *lines]) + "\n"


def write_value(value: Any) -> str:
    """Return a value as TOML writes it; its texts are JSON's but for DEL."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(write_value(item) for item in value) + "]"
    if isinstance(value, dict):
        entries = ", ".join(
            f"{write_value(key)} = {write_value(one)}" for key, one in value.items()
        )
        return f"{{{entries}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
