"""`sfumato table`: from a private table to a release of counts or of synthetic rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import table_ask, table_schema
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.kind import Evaluation, Kind, MethodChoice, add_commands, add_evaluation
from sfumato.cli.methods import methods_for
from sfumato.cli.options import (
    PICTURES,
    DeltaOption,
    OwnSchemaOption,
    ReleaseArgument,
    parse_names,
    refuse_unwritable,
)
from sfumato.cli.regress import REGRESSIONS
from sfumato.cli.releasing import load_release
from sfumato.cli.schemas import SchemaOptions
from sfumato.cli.screen import JsonOption, answering, print_table, save_picture
from sfumato.cli.table_schema import TABLES

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.data.schema import Schema
    from sfumato.data.table import Table, TablePublic
    from sfumato.tabular.synthetic import SyntheticTable

#: What is released where no method is named, and where tables of counts are named instead.
DEFAULT, COUNTING = "table.Synthesizer", "table.Marginals"
#: Parts, and pairs, shown one by one.
MOST_SHOWN = 60


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
    focus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Columns of a table that matters most, as age,sex; repeat for more (synthesizer).",
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column to predict (classifiers), or that matters most (synthesizer).",
        ),
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
    for name in ("tables", "focus"):
        if name in given:
            given[name] = [parse_names(text) for text in given[name]]
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
    options=SchemaOptions,
    reading=table_schema.ReadingOptions,
    file="The private table: CSV (.gz, .xz) or Parquet.",
    unread="The private table; not read: only the schema beside the file is.",
    read_public=TABLES.read_public,
    read_private=TABLES.read_private,
    help=(
        "Show the privacy loss and the expected error of a release. Reads the schema only.",
        "Run the whole release on synthetic data of the same shape. Free: no private data are "
        "read.",
        "Release the table: book the loss, add noise, repair, certify and save.",
    ),
)


@dataclass(frozen=True)
class Compared:
    """What of a release is compared with the private table."""

    schema: OwnSchemaOption = None
    ways: Annotated[
        int, typer.Option(help="Compare all tables of up to this many columns.", min=1, max=4)
    ] = 2
    queries: Annotated[
        int, typer.Option(help="The number of random ranges of ordered columns to compare.", min=0)
    ] = 1000
    predict: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Columns to predict from all others with rules learnt from the synthetic rows, "
            "as sex,income.",
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column to predict in the comparison of rows; of a number, whether it is "
            "above its median.",
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page that compares synthetic rows with the private ones, as .html. Not "
            "private.",
        ),
    ] = None

    @property
    def asks_rows(self) -> bool:
        """Whether something is asked for that only synthetic rows can answer."""
        return self.out is not None or self.target is not None


def _comparable() -> tuple[type[Any], ...]:
    from sfumato.regression.model import RegressionModel
    from sfumato.tabular.classifier import Classifier
    from sfumato.tabular.noisy_tables import NoisyTables
    from sfumato.tabular.synthetic import SyntheticTable

    return (NoisyTables, SyntheticTable, Classifier, RegressionModel)


def _compare(table: Table, made: Any, options: Compared) -> Any:
    """Compare a release of any of these classes with its table."""
    from sfumato.evaluate.classifiers import mistakes
    from sfumato.evaluate.regression import evaluate as errors
    from sfumato.evaluate.table import evaluate
    from sfumato.regression.model import RegressionModel
    from sfumato.tabular.classifier import Classifier
    from sfumato.tabular.synthetic import SyntheticTable

    if options.asks_rows and not isinstance(made, SyntheticTable):
        raise Refusal(ExitCode.USAGE, "--out and --target need a release of synthetic rows")
    if isinstance(made, Classifier):
        return mistakes(table, made)
    if isinstance(made, RegressionModel):
        return errors(table, made)
    every = range(1, min(options.ways, len(made.public.columns)) + 1)
    targets = () if options.predict is None else parse_names(options.predict)
    return evaluate(table, made, ways=every, queries=options.queries, predict=targets)


def _compare_rows(
    file: Path, schema: Schema, made: Any, options: Compared, reading: table_schema.ReadingOptions
) -> Any:
    """Compare synthetic rows with the private ones by their values, which are read into memory."""
    from sfumato.engines.files import TableFile
    from sfumato.evaluate.rows import compare_rows
    from sfumato.tabular.synthetic import SyntheticTable

    if not isinstance(made, SyntheticTable):
        return None
    names = made.public.columns
    engine = TableFile(file, reading.separator).choose_engine(
        reading.engine.value, schema.rows_about, len(names)
    )
    if engine != "memory" and not options.asks_rows:
        return None
    return compare_rows(
        file, made, schema=schema.only(names), target=options.target, separator=reading.separator
    )


EVALUATION = Evaluation(
    help="Compare a release with the private table. NOT PRIVATE: for the custodian's eyes only.",
    data="table",
    releases=_comparable,
    needs="only tables, synthetic rows, classifiers and regressions can be compared",
    options=Compared,
    reading=table_schema.ReadingOptions,
    read=TABLES.read_known,
    compare=_compare,
    compare_rows=_compare_rows,
)


def network(
    release: ReleaseArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the network, as .svg, .png or .pdf."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which columns a synthetic release joins, and how much they tell. Reads no data."""
    with answering(as_json) as screen:
        from sfumato.tabular.synthetic import SyntheticTable

        refuse_unwritable(out, PICTURES)
        made: SyntheticTable = load_release(
            screen, release, SyntheticTable, "a network needs a release of a synthetic table"
        )
        if out is not None:
            save_picture(made.plot(), out)
        screen.answer(
            _network_document(made, out), lambda console: _show_network(console, made, out)
        )


def _network_document(made: SyntheticTable, out: Path | None) -> dict[str, Any]:
    """Return the network for programs."""
    names = made.public.columns
    return {
        "directed": made.network.directed,
        "parts": [
            {"columns": [names[column] for column in part.columns], "levels": list(part.levels)}
            for part in made.network.parts
        ],
        "together": [
            {"columns": [names[column] for column in part.columns], "levels": list(part.levels)}
            for part in made.together
        ],
        "alone": [names[column] for column in made.alone],
        "pairs": [
            {"columns": [names[join.first], names[join.second]], "information": join.information}
            for join in made.joins
        ],
        "picture": None if out is None else str(out),
    }


def _show_network(console: Console, made: SyntheticTable, out: Path | None) -> None:
    """Print what is kept together, what stands alone, then the pairs that tell most."""
    directed, found, names = made.network.directed, made.joins, made.public.columns
    _show_parts(console, made)
    if made.alone:
        listed = ", ".join(names[column] for column in made.alone)
        console.print(f"Independent of all others: {listed}", soft_wrap=True)
    if found:
        head = ("given", "column") if directed else ("column", "column")
        rows = [
            (
                names[join.first],
                names[join.second],
                "—" if join.information is None else f"{join.information:.3f}",
            )
            for join in found[:MOST_SHOWN]
        ]
        print_table(console, (*head, "mutual information (nats)"), rows)
        if len(found) > MOST_SHOWN:
            console.print(f"{len(found) - MOST_SHOWN} more pairs have less mutual information.")
    if out is not None:
        console.print(f"Drawn in {out}", soft_wrap=True)


def _show_parts(console: Console, made: SyntheticTable) -> None:
    """Print the columns that go with others, in the order in which they are drawn if any."""
    from sfumato.tabular.synthetic import part_words

    directed = made.network.directed
    # The first column of an order has no parents, but others depend on it.
    parts = made.together
    if directed:
        parts = tuple(part for part in made.network.parts if part.columns[0] not in made.alone)
    if not parts:
        return
    console.print("Drawn in this order:" if directed else "Kept together:")
    for part in parts[:MOST_SHOWN]:
        words = part_words(made.public, part.columns, part.levels, directed=directed)
        console.print(f"  {words}", soft_wrap=True)
    if len(parts) > MOST_SHOWN:
        console.print(f"  and {len(parts) - MOST_SHOWN} more (--json lists them)")


app = typer.Typer(
    help="Tables: draft a schema, plan, rehearse, release, draw, query and evaluate.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("schema", epilog=EPILOG)(table_schema.schema)
add_commands(app, TABLE)
app.command("network", epilog=EPILOG)(network)
app.command("ask", epilog=EPILOG)(table_ask.ask)
add_evaluation(app, TABLE, EVALUATION)
