"""How column names are written on the command line."""

from __future__ import annotations

import re

from sfumato.cli.exits import ExitCode, Refusal

#: One column name of a list: quoted, with inner quotes doubled, or as it is.
NAME = re.compile(r'[ \t]*(?:"((?:[^"]|"")*)"|([^",\r\n][^,\r\n]*|))[ \t]*(?:(,)|\Z)')
#: How many characters of an option an error repeats.
SHOWN = 60


def names_in(
    text: str, *, what: str = "columns", example: str = 'age,"height, in cm"'
) -> tuple[str, ...]:
    """Return the names of a text such as `age,sex`; a name with a comma is quoted.

    Parameters
    ----------
    text
        The names.
    what
        What they are names of, for errors.
    example
        How such a text looks, for errors.
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
