"""Options that the commands for all kinds of data share, and what they stand for."""

from __future__ import annotations

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
    Path, typer.Argument(metavar="DIR", help="The folder of the release.", show_default=False)
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The schema file; by default FILE's name ending in .schema.toml."
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
    int | None, typer.Option(metavar="N", help="A public guess at their number, for plans.", min=0)
]
RelationOption = Annotated[
    RelationChoice,
    typer.Option(help="What is compared: one more or less, or one replaced by another."),
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
    typer.Option(help="Where to count: duckdb for files larger than memory; auto: by rows_about."),
]
SeparatorOption = Annotated[
    str | None, typer.Option(metavar="CHAR", help="What stands between two fields of a CSV file.")
]
OutOption = Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the release.")]
RehearsalOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Save the rehearsal here, marked as not private."),
]
MadeUpOption = Annotated[
    int | None,
    typer.Option(help="How many rows to make up; by default rows_about of the schema.", min=0),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="The ledger of the data, in which the loss is booked."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH", help="The private key that signs; by default yours, if you have one."
    ),
]
ReportOption = Annotated[bool, typer.Option(help="Add report.html to the release.")]


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
        most = MAGNITUDES[name]
        if figure and not Fraction(1, 10**most) <= abs(figure) <= 10**most:
            raise Refusal(
                ExitCode.USAGE, f"{name} must be from 1e-{most} to 1e{most}; got {briefly(text)}"
            )


def schema_path(schema: Path | None, file: Path | None, *, kind: str) -> Path:
    """Return the schema file that is meant, or say that none was named.

    Parameters
    ----------
    schema
        The file that was named.
    file
        The private data, beside which the schema may lie.
    kind
        The group of commands that makes schemas of this kind.
    """
    if schema is not None:
        return schema
    if file is None:
        raise Refusal(ExitCode.USAGE, "name the schema: --schema FILE.schema.toml")
    beside = file.with_name(f"{file.name.split('.')[0]}.schema.toml")
    if not beside.is_file():
        # Only of a table is a draft made from the data themselves.
        from_data = f"{file} " if kind == "table" else "… "
        raise Refusal(
            ExitCode.USAGE,
            f"there is no schema {beside}; make one with `sfumato {kind} schema {from_data}--out "
            f"{beside}`, or name another with --schema",
        )
    return beside


def refuse_taken(out: Path | None) -> None:
    """Refuse to write a schema over a file that is there."""
    if out is not None and out.exists():
        raise Refusal(ExitCode.USAGE, f"{out} exists; a schema is never overwritten")


def refuse_unwritable(
    path: Path | None, endings: tuple[str, ...], *, option: str = "--out"
) -> None:
    """Refuse, before any work, a file that could not be written.

    Parameters
    ----------
    path
        The file; `None` where none is asked for.
    endings
        How its name may end.
    option
        The option that names it.
    """
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise Refusal(ExitCode.USAGE, f"{option} ends in {', '.join(endings)}; got {path.name}")
    if not path.parent.is_dir():
        raise Refusal(ExitCode.USAGE, f"there is no folder {path.parent} for the file")
