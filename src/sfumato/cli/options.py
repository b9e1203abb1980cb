"""Options that the commands for all kinds of data share, and what they stand for."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.exits import ExitCode, Refusal

#: Losses of other orders of magnitude mean nothing, and floating point cannot follow them.
MAGNITUDES = {"epsilon": 15, "delta": 100}
#: The pictures that can be written, by the ending of their names.
PICTURES = (".svg", ".png", ".pdf")

#: One column name of a list: quoted, with inner quotes doubled, or as it is.
NAME = re.compile(r'[ \t]*(?:"((?:[^"]|"")*)"|([^",\r\n][^,\r\n]*|))[ \t]*(?:(,)|\Z)')
#: How many characters of an option an error repeats.
SHOWN = 60


class EngineChoice(StrEnum):
    """Where counting happens."""

    AUTO = "auto"
    MEMORY = "memory"
    DUCKDB = "duckdb"


class RelationChoice(StrEnum):
    """What a neighbour is."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"


ReleaseArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The release folder.", show_default=False)
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The schema file; by default FILE's name with the ending .schema.toml."
    ),
]
OwnSchemaOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The schema file; by default the release's own schema."),
]
WrittenSchemaOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The schema file to write; by default it is printed."),
]
RowsAboutOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="A public estimate of the number of records, for plans.", min=0),
]
RelationOption = Annotated[
    RelationChoice,
    typer.Option(help="Neighbouring data sets: one record added or removed, or one replaced."),
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
EngineOption = Annotated[
    EngineChoice,
    typer.Option(
        help="The engine: duckdb for files larger than memory; auto chooses by rows_about."
    ),
]
SeparatorOption = Annotated[
    str | None, typer.Option(metavar="CHAR", help="The separator of a CSV file.")
]
OutOption = Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the release.")]
RehearsalOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Save the rehearsal in this folder, marked as not private."),
]
RowsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="The number of synthetic rows; by default rows_about of the schema.",
        min=0,
    ),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="The ledger of the data, where the privacy loss is booked."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="The private key that signs the release; by default your own, if there is one.",
    ),
]
ReportOption = Annotated[bool, typer.Option(help="Add report.html to the release.")]


def refuse_extreme(**figures: str | None) -> None:
    """Refuse figures of a loss for which noise cannot be computed; the method refuses others."""
    from sfumato.noise.exact import briefly, exact

    for name, text in figures.items():
        try:
            figure = None if text is None else exact(text)
        except ValueError:
            continue
        most = MAGNITUDES[name]
        if figure and not Fraction(1, 10**most) <= abs(figure) <= 10**most:
            raise Refusal(
                ExitCode.USAGE, f"{name} must be from 1e-{most} to 1e{most}; got {briefly(text)}"
            )


def refuse_unwritable(
    path: Path | None, endings: tuple[str, ...], *, option: str = "--out"
) -> None:
    """Refuse, before any work, a file that could not be written."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise Refusal(ExitCode.USAGE, f"{option} must end in {', '.join(endings)}; got {path.name}")
    if not path.parent.is_dir():
        raise Refusal(ExitCode.USAGE, f"there is no folder {path.parent} for the file")


def parse_names(
    text: str, *, what: str = "columns", example: str = 'age,"height, in cm"'
) -> tuple[str, ...]:
    """Return the names of a text such as `age,sex`; a name with a comma is quoted.

    Parameters
    ----------
    text
        The names.
    what, example
        What they are names of, and how such a text looks, for errors.
    """
    names, place, more = [], 0, True
    while more:
        found = NAME.match(text, place)
        if found is None:
            shown = repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
            raise Refusal(
                ExitCode.USAGE,
                f"{shown} does not name {what}: names are separated by commas, and one with a "
                "comma, a line break or a quote at its beginning is put in double quotes, as in "
                f"{example}",
            )
        quoted, plain, comma = found.groups()
        names.append((plain if quoted is None else quoted.replace('""', '"')).strip())
        place, more = found.end(), bool(comma)
    return tuple(names)
