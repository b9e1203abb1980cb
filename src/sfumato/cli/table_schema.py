"""Schemas of tables: `sfumato table schema` drafts one; private tables are read as theirs says."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    SeparatorOption,
    WrittenSchemaOption,
)
from sfumato.cli.schemas import BySchema, answer_with_schema, refuse_taken
from sfumato.cli.screen import JsonOption, Screen, answering

if TYPE_CHECKING:
    from sfumato.data.schema import Schema
    from sfumato.data.table import Table, TablePublic

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The private table: CSV (.gz, .xz) or Parquet.")
]

#: What stands between fields where it is not a comma.
SEPARATORS = (";", "\t", "|", ",")

QUESTION = "Can one person have several rows in this table?"


def schema(
    file: FileArgument,
    out: WrittenSchemaOption = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Answer the first question: row (no, one row per person) or person (yes)."
        ),
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="The column that identifies the person, if unit is person.")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(help="The most rows used per person, if unit is person.")
    ] = None,
    rows_about: Annotated[
        int | None, typer.Option(help="A public estimate of the number of rows, for plans.")
    ] = None,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draft a schema by reading the data. It is not public until you have confirmed it."""
    with answering(as_json) as screen:
        from sfumato.data.schema import Schema
        from sfumato.data.toml import write_schema

        refuse_taken(out)
        with screen.working(f"reading {file.name}"):
            _refuse_other_separator(file, separator)
            draft = Schema.draft(file, separator=separator)
        if unit is None and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
            unit, person, max_rows = _ask_unit(person)
        draft = _complete(draft, unit, person, max_rows, rows_about)
        _advise(screen, draft)
        answer_with_schema(
            screen,
            draft,
            write_schema(draft),
            out,
            confirmed=draft.confirmed,
            inferred={name: list(parts) for name, parts in draft.inferred.items()},
            question=QUESTION if draft.unit is None else None,
        )


def _refuse_other_separator(file: Path, separator: str | None) -> None:
    """Refuse a file whose first line is one name that looks like several."""
    from sfumato.engines.files import TableFile

    table = TableFile(file, separator)
    names = [] if table.parquet else table.names()
    mark = next((mark for mark in SEPARATORS if len(names) == 1 and mark in names[0]), None)
    if mark is not None:
        shown = "a tab" if mark == "\t" else repr(mark)
        given = "$'\\t'" if mark == "\t" else f"'{mark}'"
        raise Refusal(
            ExitCode.DATA,
            f"the first line of {file.name} is a single name that contains {shown}. If this is "
            f"the separator, add --separator {given}, here and to later commands",
        )


def _ask_unit(person: str | None) -> tuple[str, str | None, int | None]:
    """Ask the first question on the terminal."""
    if not typer.confirm(QUESTION, err=True):
        return "row", None, None
    column = person or typer.prompt("Which column identifies the person?", err=True)
    return "person", column, typer.prompt("How many rows to use per person", type=int, err=True)


def _complete(
    draft: Schema, unit: str | None, person: str | None, max_rows: int | None, about: int | None
) -> Schema:
    """Return the draft with what is already known; it stays a draft."""
    from sfumato.privacy.guarantee import Unit

    if unit is None:
        if person is not None or max_rows is not None:
            raise Refusal(ExitCode.USAGE, "--person and --max-rows need --unit person")
        return replace(draft, rows_about=about)
    # Whose row it is does not itself become a released column.
    columns = tuple(column for column in draft.columns if column.name != person)
    if person is not None and person not in {*draft.names, *draft.left_out}:
        known = ", ".join([*draft.names, *draft.left_out])
        raise Refusal(ExitCode.USAGE, f"there is no column {person!r}; the columns are {known}")
    return replace(
        draft,
        columns=columns,
        left_out=tuple(name for name in draft.left_out if name != person),
        unit=Unit.parse(unit),
        person=person,
        max_rows=1 if max_rows is None else max_rows,
        rows_about=about,
    )


def _advise(screen: Screen, draft: Schema) -> None:
    """Say what the custodian has to do next."""
    if draft.unit is None:
        screen.note(f"First question: {QUESTION} Answer it in [table] of the schema.", "bold")
    screen.note(
        f"A draft made from the data: {len(draft.inferred)} columns have domains inferred from "
        "the data. Replace what is not public knowledge, then set confirmed = true."
    )
    _warn_of_formulas(screen, draft)
    unlisted = [column.name for column in draft.columns if column.coding.is_open]
    if unlisted:
        screen.note(
            f"Too many values to list: {', '.join(unlisted)}. Frequent values will be found "
            "privately, which needs --delta; or list public values, or remove the column."
        )
    if draft.left_out:
        screen.note(f"Left out (too many different values): {', '.join(draft.left_out)}.")


def _warn_of_formulas(screen: Screen, draft: Schema) -> None:
    """Name the columns whose name or labels a spreadsheet might run; no label is shown."""
    from sfumato.tabular.files import FORMULA

    risky = [
        repr(column.name)
        for column in draft.columns
        if any(map(FORMULA.match, (column.name, *column.coding.labels)))
    ]
    if risky:
        screen.note(
            f"Warning: in {', '.join(risky)}, the name or a label begins with =, +, -, @ or a "
            "tab. Released files keep it unchanged, and a spreadsheet may run it as a formula. "
            "Rename it in the data and in the schema.",
            "bold yellow",
        )


@dataclass(frozen=True)
class ReadingOptions:
    """How a private table is read."""

    engine: EngineOption = EngineChoice.AUTO
    separator: SeparatorOption = None


def read_file(
    file: Path, public: TablePublic, reading: ReadingOptions, *, fine_grid: bool = False
) -> Table:
    """Read a private table.

    Parameters
    ----------
    file, public, reading
        What every kind of data is read with.
    fine_grid
        Whether numbers are read on a fine grid instead of in bins, as for a regression.
    """
    from sfumato.data.table import read_table

    engine, separator = reading.engine.value, reading.separator
    return read_table(file, public.schema, engine=engine, separator=separator, fine_grid=fine_grid)


TABLES = BySchema("table", read_file)
