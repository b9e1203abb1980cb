"""Files that declare what is public: schemas of points and sequences, a little TOML, and lists.

A schema is written from what everybody may know and never from the data; for tables, whose domains
are many, there is a draft (`sfumato table schema`) that has to be confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.screen import Screen

#: The section that tells what kind of data a schema is about.
KINDS = ("table", "points", "sequences")


def read_document(path: Path) -> dict[str, Any]:
    """Return what a schema file says; whatever is wrong with it is an error of the data."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no schema file {str(path)!r}")
    from sfumato.privacy.documents import read_toml

    try:
        return read_toml(path)
    except ValueError as error:
        raise Refusal(ExitCode.DATA, str(error)) from None


def read_list(path: Path) -> str:
    """Return the text of a public file that lists something; a bad one is an error of the data."""
    from sfumato.privacy.documents import read_text

    try:
        return read_text(path)
    except ValueError as error:
        raise Refusal(ExitCode.DATA, str(error)) from None


def kind_of(path: Path) -> str:
    """Return the kind of data that a schema file declares."""
    found = [kind for kind in KINDS if kind in read_document(path)]
    if len(found) != 1:
        names = ", ".join(f"[{kind}]" for kind in KINDS)
        raise Refusal(ExitCode.DATA, f"{path.name} must have one of the sections {names}")
    return found[0]


def section(
    path: Path, document: Mapping[str, Any], name: str, known: Iterable[str]
) -> dict[str, Any]:
    """Return a section of a schema file, after refusing names that it may not hold."""
    found = document.get(name)
    if not isinstance(found, dict):
        others = [kind for kind in KINDS if kind in document and kind != name]
        told = f"; this file describes {others[0]}" if others else ""
        raise Refusal(ExitCode.DATA, f"{path.name}: the section [{name}] is missing{told}")
    allowed = list(known)
    unknown = [key for key in found if key not in allowed]
    if unknown:
        raise Refusal(
            ExitCode.DATA,
            f"{path.name}: [{name}] has no {unknown[0]!r}; it may hold {', '.join(allowed)}",
        )
    return found


def refuse_others(path: Path, document: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse a schema file with unknown sections."""
    allowed = list(known)
    unknown = [name for name in document if name not in allowed]
    if unknown:
        raise Refusal(
            ExitCode.DATA,
            f"{path.name}: unknown section {unknown[0]!r}; allowed are "
            f"{', '.join(f'[{name}]' for name in allowed)}",
        )


def lines_of(name: str, entries: Mapping[str, Any]) -> list[str]:
    """Return a section as lines of TOML; what is `None` is left out."""
    from sfumato.data.toml import write_value

    lines = [f"[{name}]"]
    for key, value in entries.items():
        if value is not None:
            bare = key.isidentifier() and key.isascii()
            lines.append(f"{key if bare else write_value(key)} = {write_value(value)}")
    return lines


def answer_with_schema(screen: Screen, declared: Any, text: str, out: Path | None) -> None:
    """Write a schema file, or answer with its text."""
    if out is not None:
        out.write_text(text, encoding="utf-8")
        screen.note(f"Written to {out}.")
    document = {"schema": declared.to_json(), "written": None if out is None else str(out)}
    screen.answer(
        document, lambda console: None if out else console.out(text, highlight=False, end="")
    )
