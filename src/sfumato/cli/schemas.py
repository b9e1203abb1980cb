"""Schema files on the command line, and data that are read as theirs says.

Whatever is wrong with a file is an error of the data, and not of how a command was typed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import SchemaOption

if TYPE_CHECKING:
    from sfumato.cli.screen import Screen


def refuse_bad(read: Callable[..., Any], *arguments: Any) -> Any:
    """Return what is read of a public file; what a reader refuses is an error of the data."""
    try:
        return read(*arguments)
    except ValueError as error:
        raise Refusal(ExitCode.DATA, str(error)) from None


def read_list(path: Path) -> str:
    """Return the text of a public file that lists something."""
    from sfumato.privacy.documents import read_text

    return str(refuse_bad(read_text, path))


def read_schema(path: Path, kind: str) -> Any:
    """Return what a schema file declares to be public about data of a kind."""
    from sfumato.data.declarations import read_public

    return refuse_bad(read_public, path, kind)


def find_kind(path: Path) -> str:
    """Return the kind of data that a schema file declares."""
    from sfumato.data import declarations

    return str(refuse_bad(declarations.find_kind, path))


def schema_path(schema: Path | None, file: Path | None, *, kind: str) -> Path:
    """Return the schema file that is named, or that lies beside the private data."""
    if schema is not None:
        return schema
    if file is None:
        raise Refusal(ExitCode.USAGE, "no schema is given; add --schema FILE.schema.toml")
    beside = file.with_name(f"{file.name.split('.')[0]}.schema.toml")
    if not beside.is_file():
        # Only the schema of a table is drafted from the data.
        from_data = f"{file} " if kind == "table" else "… "
        raise Refusal(
            ExitCode.USAGE,
            f"there is no schema {beside}; make one with `sfumato {kind} schema {from_data}--out "
            f"{beside}`, or give another with --schema",
        )
    return beside


@dataclass(frozen=True)
class SchemaOptions:
    """What is public, where a schema declares it."""

    schema: SchemaOption = None


@dataclass(frozen=True)
class BySchema:
    """How data are read whose public part a schema declares.

    Parameters
    ----------
    kind
        The section of the schema: table, points or sequences.
    read
        Reads a private file, given what is public about it and the options of reading.
    """

    kind: str
    read: Callable[[Path, Any, Any], Any]

    def read_public(self, screen: Screen, file: Path | None, options: SchemaOptions) -> Any:
        """Return what is public, from the schema alone.

        Where the number of points or sequences is public, a plan takes it to be what was declared.
        """
        declared = read_schema(schema_path(options.schema, file, kind=self.kind), self.kind)
        if self.kind != "table" and declared.relation.value == "replace_one":
            return replace(declared, rows=declared.rows_about)
        return declared

    def read_private(self, screen: Screen, file: Path, options: SchemaOptions, reading: Any) -> Any:
        """Read the private file."""
        path = schema_path(options.schema, file, kind=self.kind)
        return self.read_known(screen, file, read_schema(path, self.kind), reading)

    def read_known(self, screen: Screen, file: Path, public: Any, reading: Any) -> Any:
        """Read private data of which a schema or a release says what is public."""
        with screen.working(f"reading {file.name}"):
            return self.read(file, public, reading)


def refuse_taken(out: Path | None) -> None:
    """Refuse to write a schema over a file that is there."""
    if out is not None and out.exists():
        raise Refusal(ExitCode.USAGE, f"{out} exists; a schema is never overwritten")


def answer_with_schema(
    screen: Screen, declared: Any, text: str, out: Path | None, **further: Any
) -> None:
    """Write a schema file, or answer with its text.

    Parameters
    ----------
    screen
        Where the answer is shown.
    declared, text
        The schema as a value, and as a file holds it.
    out
        The file to write, if any.
    further
        Further entries of the answer for programs.
    """
    if out is not None:
        out.write_text(text, encoding="utf-8")
        screen.note(f"Written to {out}.")
    written = None if out is None else str(out)
    screen.answer(
        {"schema": declared.to_json(), "written": written, **further},
        lambda console: None if out else console.out(text, highlight=False, end=""),
    )
