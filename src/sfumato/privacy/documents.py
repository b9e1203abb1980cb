"""Small files that people or this package write, TOML, JSON and text: read with limits, or refused.

Such a file is public, or its reader's own. What is refused here (too large, nested too deep, a
number that nothing can be computed with) never reaches the code that gives it a meaning.
"""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import IO, Any

__all__ = ["LARGEST_DOCUMENT", "read_bytes", "read_json", "read_text", "read_toml"]

LARGEST_DOCUMENT = 2**26
"""The most bytes of such a file."""

DEEPEST = 100
"""How many lists and tables may be nested in each other."""

MOST = 2**64
"""Whole numbers of a schema or questionnaire lie between this and its negative."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says, or say in a `ValueError` why it cannot be read.

    Parameters
    ----------
    path
        A schema or a questionnaire.
    """
    try:
        document = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as failure:
        raise ValueError(f"{path.name} is not a TOML file: {failure}") from None
    except (ValueError, RecursionError) as failure:
        raise ValueError(f"{path.name}: {_reason(failure)}") from None
    _check(path, document, numbers=True)
    return document


def read_json(path: Path) -> Any:
    """Return what a JSON file says, or say in a `ValueError` why it cannot be read.

    Parameters
    ----------
    path
        A survey, a tally, or what a respondent remembers.
    """
    try:
        document = json.loads(_text(path), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as failure:
        broken = isinstance(failure, json.JSONDecodeError)
        reason = "it is not valid JSON" if broken else _reason(failure)
        raise ValueError(f"{path.name}: {reason}") from None
    _check(path, document, numbers=False)
    return document


def read_text(path: Path) -> str:
    """Return the text of a file, or say in a `ValueError` why it cannot be read.

    Parameters
    ----------
    path
        A list of nodes, groups, symbols or boxes; a byte order mark before it is no part of it.
    """
    try:
        return _text(path).removeprefix("\ufeff")
    except ValueError as failure:
        raise ValueError(f"{path.name}: {failure}") from None


def read_bytes(file: IO[bytes]) -> bytes:
    """Return all that an open file holds, or say in a `ValueError` that it is too much.

    Parameters
    ----------
    file
        A file that should be small; of a larger one no more than the limit is read.
    """
    content = file.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise ValueError(f"it has more than {LARGEST_DOCUMENT // 2**20} MiB; shorten it")
    return content


def _text(path: Path) -> str:
    """Return the text of a file, if it is one and not too large."""
    with path.open("rb") as file:
        content = read_bytes(file)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not a text file in UTF-8; save it as UTF-8") from None


def _reason(failure: Exception) -> str:
    """Return in words why a file was refused."""
    if isinstance(failure, RecursionError):
        return f"lists and tables are nested more than {DEEPEST} deep; use fewer levels"
    if "digits" in str(failure):  # Python's own limit for the text of a whole number
        return "it holds a whole number of thousands of digits; write one of at most 19 digits"
    return str(failure)


def _refuse_constant(name: str) -> Any:
    """Raise for NaN and the infinities, which JSON does not have."""
    raise ValueError(f"{name} is not a number in JSON")


def _check(path: Path, document: Any, *, numbers: bool) -> None:
    """Refuse what is nested too deep and, where asked, numbers nobody can compute with."""
    level: list[tuple[str, Any]] = [("", document)]
    for _ in range(DEEPEST):
        below: list[tuple[str, Any]] = []
        for name, value in level:
            if isinstance(value, dict):
                below += ((f"{name}.{key}" if name else key, inner) for key, inner in value.items())
                below += ((name, key) for key in value)
            elif isinstance(value, list):
                below += ((name, item) for item in value)
            elif isinstance(value, str):
                _check_text(path, value)
            elif numbers:
                _check_number(path, name, value)
        if not below:
            return
        level = below
    raise ValueError(f"{path.name}: {_reason(RecursionError())}")


def _check_text(path: Path, text: str) -> None:
    """Refuse half a character, which JSON can write and no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{path.name}: it holds text that is not Unicode") from None


def _check_number(path: Path, name: str, value: Any) -> None:
    """Refuse a number that is not finite or has more than 64 bits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{path.name}: {name} must be a finite number; got {value}")
    if isinstance(value, int) and abs(value) >= MOST:
        raise ValueError(
            f"{path.name}: {name} must be a number of at most 64 bits; got one of about "
            f"{round(value.bit_length() * 0.30103)} digits"
        )
