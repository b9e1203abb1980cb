"""Options that the commands for tables share, and what they stand for."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.exits import ExitCode, Refusal

if TYPE_CHECKING:
    from sfumato.cli.screen import Screen
    from sfumato.data.schema import Schema
    from sfumato.data.table import Table, TablePublic
    from sfumato.tabular.counting_method import CountingMethod


#: One column name of a list: quoted, with inner quotes doubled, or as it is.
NAME = re.compile(r'[ \t]*(?:"((?:[^"]|"")*)"|([^",\r\n][^,\r\n]*|))[ \t]*(?:(,)|\Z)')
#: How many characters of an option an error repeats.
SHOWN = 60
#: Losses of other orders of magnitude mean nothing, and floating point cannot follow them.
MAGNITUDE = 100
SMALLEST, LARGEST = Fraction(1, 10**MAGNITUDE), 10**MAGNITUDE


class MethodChoice(StrEnum):
    """The methods for tables."""

    MARGINALS = "marginals"
    HISTOGRAM = "histogram"


class EngineChoice(StrEnum):
    """Where counting happens."""

    AUTO = "auto"
    MEMORY = "memory"
    DUCKDB = "duckdb"


FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The private table: CSV (.gz, .xz) or Parquet.")
]
MaybeFileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]", help="The private table; it is not read, only its schema beside it is."
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The schema file; by default FILE's name ending in .schema.toml."
    ),
]
EpsilonOption = Annotated[
    str,
    typer.Option(metavar="NUMBER", help="The privacy loss of the release; there is no default."),
]
DeltaOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER", help="Use Gaussian noise, with a guarantee of (epsilon, delta)."
    ),
]
MethodOption = Annotated[
    MethodChoice,
    typer.Option(help="Several small tables that agree, or one over all chosen columns."),
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
EngineOption = Annotated[
    EngineChoice, typer.Option(help="Where to count: auto goes by the size of the file.")
]
SeparatorOption = Annotated[
    str | None, typer.Option(metavar="CHAR", help="What stands between two fields of a CSV file.")
]


def names_in(text: str) -> tuple[str, ...]:
    """Return the column names of a text such as `age,sex`; a name with a comma is quoted."""
    names, place, more = [], 0, True
    while more:
        found = NAME.match(text, place)
        if found is None:
            shown = repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
            raise Refusal(
                ExitCode.USAGE,
                f"{shown} does not name columns: names are separated by commas, and one with a "
                "comma, a line break or a quote at its beginning is put in double quotes, as in "
                'age,"height, in cm"',
            )
        quoted, plain, comma = found.groups()
        names.append((plain if quoted is None else quoted.replace('""', '"')).strip())
        place, more = found.end(), bool(comma)
    return tuple(names)


def refuse_extreme(**figures: str | None) -> None:
    """Refuse figures of a loss beyond which noise and errors cannot be computed.

    Parameters
    ----------
    figures
        The figures by their names; `None`, and what is not a number, is left to the method.
    """
    from sfumato.noise.exact import briefly, exact

    for name, text in figures.items():
        try:
            figure = None if text is None else exact(text)
        except ValueError:
            continue
        if figure and not SMALLEST <= abs(figure) <= LARGEST:
            raise Refusal(
                ExitCode.USAGE,
                f"{name} must be from 1e-{MAGNITUDE} to 1e{MAGNITUDE}; got {briefly(text)}",
            )


def schema_path(schema: Path | None, file: Path | None) -> Path:
    """Return the schema file that is meant, or say that none was named."""
    if schema is not None:
        return schema
    if file is None:
        raise Refusal(ExitCode.USAGE, "name the schema: --schema FILE.schema.toml")
    beside = file.with_name(f"{file.name.split('.')[0]}.schema.toml")
    if not beside.is_file():
        raise Refusal(
            ExitCode.USAGE,
            f"there is no schema {beside}; make one with `sfumato table schema {file} --out "
            f"{beside}`, or name another with --schema",
        )
    return beside


def read_schema(path: Path) -> Schema:
    """Read a schema; whatever is wrong with it is an error of the data."""
    from sfumato.data.schema import Schema

    try:
        return Schema.read(path)
    except FileNotFoundError:
        raise
    except UnicodeDecodeError:
        raise Refusal(ExitCode.DATA, f"{path} is not a text file in UTF-8") from None
    except ValueError as error:
        raise Refusal(ExitCode.DATA, str(error)) from None


def read_public(schema: Path | None, file: Path | None) -> TablePublic:
    """Return what is public about a table, from its schema alone."""
    from sfumato.data.table import TablePublic

    return TablePublic.of(read_schema(schema_path(schema, file)))


def read_private(
    screen: Screen, file: Path, schema: Schema, engine: EngineChoice, separator: str | None
) -> Table:
    """Read the private table."""
    from sfumato.data.table import read_table

    with screen.working(f"reading {file.name}"):
        return read_table(file, schema, engine=engine.value, separator=separator)


def chosen_method(
    public: TablePublic,
    *,
    method: MethodChoice,
    epsilon: str,
    delta: str | None,
    tables: list[str] | None,
    ways: int | None,
    columns: str | None,
) -> CountingMethod:
    """Return the method that the options stand for, checked against what is public."""
    refuse_extreme(epsilon=epsilon, delta=delta)
    chosen: CountingMethod
    if method is MethodChoice.HISTOGRAM:
        chosen = _histogram(epsilon, delta, tables, ways, columns)
    else:
        chosen = _marginals(public, epsilon, delta, tables, ways, columns)
    chosen.check(public)
    return chosen


def _histogram(
    epsilon: str, delta: str | None, tables: list[str] | None, ways: int | None, columns: str | None
) -> CountingMethod:
    from sfumato.tabular.histogram import Histogram

    if tables or ways is not None:
        raise Refusal(
            ExitCode.USAGE, "a histogram is one table: choose it with --columns, or use marginals"
        )
    names = None if columns is None else names_in(columns)
    return Histogram(epsilon=epsilon, delta=delta, columns=names)


def _marginals(
    public: TablePublic,
    epsilon: str,
    delta: str | None,
    tables: list[str] | None,
    ways: int | None,
    columns: str | None,
) -> CountingMethod:
    from sfumato.tabular.marginals import Marginals

    if tables:
        if ways is not None or columns is not None:
            raise Refusal(ExitCode.USAGE, "name the tables with --table, or all with --ways")
        named = [names_in(text) for text in tables]
        return Marginals(epsilon=epsilon, delta=delta, tables=named)
    wanted = 2 if ways is None else ways
    if columns is None:
        return Marginals(epsilon=epsilon, delta=delta, ways=wanted)
    names = names_in(columns)
    public.schema.indices(names)
    size = max(1, min(wanted, len(names)))
    return Marginals(epsilon=epsilon, delta=delta, tables=list(combinations(names, size)))
