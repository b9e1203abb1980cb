"""How column names and losses are written on the command line."""

from __future__ import annotations

import re
from fractions import Fraction

from sfumato.cli.exits import ExitCode, Refusal

#: One column name of a list: quoted, with inner quotes doubled, or as it is.
NAME = re.compile(r'[ \t]*(?:"((?:[^"]|"")*)"|([^",\r\n][^,\r\n]*|))[ \t]*(?:(,)|\Z)')
#: How many characters of an option an error repeats.
SHOWN = 60
#: Losses of other orders of magnitude mean nothing, and floating point cannot follow them.
MAGNITUDE = 100
SMALLEST, LARGEST = Fraction(1, 10**MAGNITUDE), 10**MAGNITUDE


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
