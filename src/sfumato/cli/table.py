"""`sfumato table`: from a private table to a release of counts or of synthetic rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import table_ask, table_evaluate, table_network, table_schema
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import Kind, MethodChoice, add_commands
from sfumato.cli.methods import methods_for
from sfumato.cli.options import DeltaOption, parse_names
from sfumato.cli.regress import REGRESSIONS

if TYPE_CHECKING:
    from sfumato.data.table import TablePublic

#: What is released where no method is named, and where tables of counts are named instead.
DEFAULT, COUNTING = "table.Synthesizer", "table.Marginals"


@dataclass(frozen=True, kw_only=True)
class TableParameters:
    """Parameters of methods for tables that are written in a way of their own."""

    delta: DeltaOption = None
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAMES",
            help="Columns of one table, as age,sex; repeat for more (marginals).",
        ),
    ] = None
    ways: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="All tables of this many columns (marginals; 2 if --table is not given).",
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The columns to use, as age,sex; by default all."),
    ] = None
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column to predict (classifiers).")
    ] = None
    positive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE",
            help="A value of the target that counts as positive; repeat for more (classifiers).",
        ),
    ] = None


def _default(typed: Mapping[str, Any]) -> str:
    """Return the method for tables; naming tables of counts asks for these."""
    return COUNTING if typed.keys() & {"tables", "ways", "columns"} else DEFAULT


def _read(typed: dict[str, Any], public: TablePublic, method: str) -> dict[str, Any]:
    """Return parameters with their lists of column names."""
    given = dict(typed)
    if "tables" in given:
        given["tables"] = [parse_names(text) for text in given["tables"]]
    if "columns" in given:
        given["columns"] = parse_names(given["columns"])
    return _name_tables(given, public) if method == COUNTING else given


def _name_tables(given: dict[str, Any], public: TablePublic) -> dict[str, Any]:
    """Return the tables of counts that options name, or how many columns each is to have."""
    if "tables" in given and given.keys() & {"ways", "columns"}:
        raise Refusal(
            ExitCode.USAGE,
            "give the tables with --table COLUMNS, or all of one size with --ways NUMBER",
        )
    if "columns" not in given:
        return given
    names, ways = given.pop("columns"), given.pop("ways", 2)
    public.schema.indices(names)
    size = max(1, min(ways, len(names)))
    return {**given, "tables": list(combinations(names, size))}


TABLE = Kind(
    name="table",
    # Questions and regressions have commands of their own.
    methods=methods_for("table", besides=("table.Questions", *REGRESSIONS)),
    method_help="The release method; synthesizer by default, or marginals with --table, --ways or "
    "--columns.",
    choice=MethodChoice(default=_default, parameters=TableParameters, read=_read),
    options=table_schema.SchemaOptions,
    reading=table_schema.ReadingOptions,
    file="The private table: CSV (.gz, .xz) or Parquet.",
    unread="The private table; not read: only the schema beside the file is.",
    read_public=table_schema.read_public,
    read_private=table_schema.read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the schema only.",
        "Run the whole release on synthetic data of the same shape. Free: no private data are "
        "read.",
        "Release the table: book the loss, add noise, repair, certify and save.",
    ),
)

app = typer.Typer(
    help="Tables: draft a schema, plan, rehearse, release, draw, query and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("schema", epilog=EPILOG)(table_schema.schema)
add_commands(app, TABLE)
app.command("network", epilog=EPILOG)(table_network.network)
app.command("ask", epilog=EPILOG)(table_ask.ask)
app.command("evaluate", epilog=EPILOG)(table_evaluate.evaluate)
