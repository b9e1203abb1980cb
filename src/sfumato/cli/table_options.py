"""Options that the commands for tables share, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import EngineChoice, schema_path

if TYPE_CHECKING:
    from sfumato.cli.screen import Screen
    from sfumato.data.schema import Schema
    from sfumato.data.table import Table, TablePublic


FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The private table: CSV (.gz, .xz) or Parquet.")
]
MaybeFileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]", help="The private table; it is not read, only its schema beside it is."
    ),
]
TableOption = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAMES",
        help="Columns of one table, as age,sex; repeat for more (marginals).",
    ),
]
WaysOption = Annotated[
    int | None,
    typer.Option(
        metavar="K", help="All tables of this many columns (marginals; 2 if --table is not given)."
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="The columns to use, as age,sex; by default all."),
]
TargetOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column that is to be predicted (classifiers)."),
]
PositiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--positive",
        metavar="VALUE",
        help="A value of the target that counts as positive; repeat for more (classifiers).",
    ),
]


def read_schema(path: Path) -> Schema:
    """Read a schema; whatever is wrong with it is an error of the data."""
    from sfumato.data.schema import Schema

    try:
        return Schema.read(path)
    except FileNotFoundError:
        raise
    except ValueError as error:
        raise Refusal(ExitCode.DATA, str(error)) from None


def read_public(schema: Path | None, file: Path | None, *, finely: bool = False) -> TablePublic:
    """Return what is public about a table, from its schema alone.

    Parameters
    ----------
    schema, file
        What the options said.
    finely
        Whether numbers are read finely instead of in bins, as for a regression.
    """
    from sfumato.data.table import TablePublic

    declared = read_schema(schema_path(schema, file, kind="table"))
    return TablePublic.of(declared.finely() if finely else declared)


def read_private(
    screen: Screen,
    file: Path,
    schema: Schema,
    engine: EngineChoice,
    separator: str | None,
    *,
    finely: bool = False,
) -> Table:
    """Read the private table."""
    from sfumato.data.table import read_table

    with screen.working(f"reading {file.name}"):
        return read_table(file, schema, engine=engine.value, separator=separator, finely=finely)
