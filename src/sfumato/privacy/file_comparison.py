"""Comparing published files with those that a release gives, when it was made elsewhere.

On the platform that made a release its files come out the same to the byte. Elsewhere the last
digit of a computed figure can round the other way, which is rare. So few of them are let pass, each
is counted, and everything else must be the same to the byte, drawn rows among it. A figure that
differs is written as the program writes it, so that it carries one bit and its place.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from sfumato.privacy.figures import DIGITS, figure

__all__ = ["Differences", "compare", "surplus"]

#: One figure of so many may differ in its last digit …
OTHER_FIGURES = 1000
#: … and this many in any case.
FEW_FIGURES = 3

#: Counts are published with this many decimals.
COUNT_DECIMALS = 3
#: Files of computed figures, one kind of them in a column. In texts a last digit may be all there
#: is, as in ε = 0.001.
_DATA = (".csv", ".json", ".geojson")
#: Rows that were drawn are the same wherever they are drawn.
DRAWN = ("synthetic.csv", "points.csv")
#: A column in which no figure has so many digits was not computed with rounding.
LONG = 6

_FIGURE = re.compile(r"(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]\d+)?)")


@dataclass(frozen=True)
class Differences:
    """How published files differ from those that follow.

    Parameters
    ----------
    wrong
        What does not follow, in words, one for each file.
    figures
        How many figures differ by one unit of their last digit.
    others
        What else differs and may, in words.
    """

    wrong: tuple[str, ...] = ()
    figures: int = 0
    others: tuple[str, ...] = ()

    def __add__(self, other: Differences) -> Differences:
        return Differences(
            self.wrong + other.wrong,
            self.figures + other.figures,
            self.others + other.others,
        )

    def words(self) -> str:
        """Return what differs and was let pass, in words; empty where all bytes are the same."""
        parts: list[str] = []
        if self.figures:
            parts.append(f"{self.figures} figure{'s' * (self.figures > 1)} in the last digit")
        return " and ".join([*parts, *self.others])


def compare(
    own: dict[str, bytes],
    told: dict[str, bytes],
    *,
    exactly: bool = False,
) -> Differences:
    """Return how published files differ from those that follow.

    Parameters
    ----------
    own
        The files that follow.
    told
        The files that are published.
    exactly
        Whether every byte must be the same: the files were made on this platform.
    """
    found = Differences()
    for name in sorted({*own, *told}):
        if name not in told:
            found += Differences((f"{name} is missing",))
        elif name not in own:
            found += Differences((f"{name} is not a file of such a release",))
        elif own[name] != told[name]:
            found += _compare_file(name, own[name], told[name], exactly)
    return found


def _compare_file(name: str, own: bytes, told: bytes, exactly: bool) -> Differences:
    """Return how one file differs that is not the same."""
    try:
        mine, theirs = own.decode().split("\n"), told.decode().split("\n")
    except UnicodeDecodeError:
        return Differences((f"{name} is not text",))
    if len(mine) != len(theirs):
        more = len(theirs) - len(mine)
        what = f"{abs(more)} line{'s' * (abs(more) > 1)} {'more' if more > 0 else 'fewer'}"
        place = _first_difference(mine, theirs)
        return Differences((f"{name} has {what} than expected, from line {place}",))
    figures = 0
    exactly = exactly or name in DRAWN
    columns = {} if exactly else _columns(mine, name.endswith(_DATA))
    for number, (line, other) in enumerate(zip(mine, theirs, strict=True), 1):
        if line == other:
            continue
        apart = None if exactly else _figures_apart(line, other, columns)
        if apart is None:
            return Differences((f"line {number} of {name} is not what the transcript gives",))
        figures += apart
    if figures > max(FEW_FIGURES, len(_FIGURE.findall(own.decode())) // OTHER_FIGURES):
        return Differences((f"{figures} figures of {name} differ in their last digits",))
    return Differences((), figures)


def _first_difference(mine: list[str], theirs: list[str]) -> int:
    """Return the number of the first line that differs."""
    pairs = enumerate(zip_longest(mine, theirs), 1)
    return next(number for number, (line, other) in pairs if line != other)


#: For each place in a line: the power of ten of the finest digit there, and the most digits.
_Columns = dict[int, tuple[int, int]]
#: What a place in a line of text says of the figures there: nothing.
_NO_COLUMN = (0, 0)


def _columns(lines: list[str], data: bool) -> _Columns:
    """Return how finely the figures at each place of the lines are written; of data only."""
    if not data:
        return {}
    found: _Columns = {}
    for line in lines:
        for number, text in enumerate(_FIGURE.split(line)[1::2]):
            value = Decimal(text)
            place, digits = found.get(number, (0, 0))
            found[number] = (min(place, _place(value)), max(digits, _digits(value)))
    return found


def _figures_apart(mine: str, theirs: str, columns: _Columns) -> int | None:
    """Return how many figures of a line differ in the last digit; `None` if more is different."""
    ours, others = _FIGURE.split(mine), _FIGURE.split(theirs)
    if len(ours) != len(others) or ours[::2] != others[::2]:
        return None
    apart = 0
    for number, (own, other) in enumerate(zip(ours[1::2], others[1::2], strict=True)):
        if own != other:
            apart += 1
            if not _near(own, other, *columns.get(number, _NO_COLUMN)):
                return None
    return apart


def _near(mine: str, theirs: str, finest: int, most: int) -> bool:
    """Tell whether two figures are one unit apart in the last digit that is published.

    Parameters
    ----------
    mine, theirs
        The figures.
    finest, most
        The power of ten of the finest digit in their column, and the most digits there.
    """
    if not _is_canonical(mine, theirs):
        return False
    ours, other = Decimal(mine), Decimal(theirs)
    apart, lowest = abs(ours - other), min(_place(ours), _place(other))
    # Whole numbers are not computed with rounding; nor is one value written in two ways.
    if apart == 0 or (lowest == 0 and "e" not in mine + theirs):
        return False
    size = max(ours.adjusted(), other.adjusted())
    digits = max(_digits(ours), _digits(other))
    if digits <= DIGITS and apart <= Decimal(1).scaleb(size - DIGITS + 1):
        return True
    if digits > DIGITS and _place(ours) != _place(other):
        return False
    # Counts have three decimals, and there are columns in which all figures end at one place.
    if most and lowest == -COUNT_DECIMALS and apart <= Decimal(1).scaleb(lowest):
        return True
    return most >= LONG and lowest >= finest and apart <= Decimal(1).scaleb(finest)


def _is_canonical(mine: str, theirs: str) -> bool:
    """Tell whether a figure is written as the program writes it: no spare digit or exponent."""
    value = float(theirs)
    if theirs in (figure(value), repr(value)):
        return True
    return "e" not in mine + theirs and _place(Decimal(mine)) == _place(Decimal(theirs))


def _place(value: Decimal) -> int:
    """Return the power of ten of the last written digit."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def _digits(value: Decimal) -> int:
    return len(value.as_tuple().digits)


def surplus(name: str, told: bytes, own: bytes) -> str:
    """Return what a JSON document or an archive holds that does not follow, in words."""
    try:
        if name.endswith(".npz"):
            return _strange_member(name, told, own)
        return f"{name} is not what the transcript gives: {_strange(told, own)}"
    except (ValueError, RecursionError, zipfile.BadZipFile):
        return f"{name} does not say what such a release says"


def _strange_member(name: str, told: bytes, own: bytes) -> str:
    """Return the first member of an archive that does not follow."""
    with (
        zipfile.ZipFile(io.BytesIO(told)) as there,
        zipfile.ZipFile(io.BytesIO(own)) as here,
    ):
        expected = here.namelist()
        for member in there.infolist():
            if member.filename not in expected:
                return f"{name} holds {member.filename!r}, which nothing refers to"
            if there.read(member) != here.read(member.filename):
                return f"{member.filename!r} in {name} is not written in its one form"
    return f"{name} is not packed in its one form"


def _strange(told: bytes, own: bytes) -> str:
    """Return the first place at which two JSON documents differ."""
    place = _place_of(json.loads(told), json.loads(own), "")
    return "it is not written in its one form" if place is None else f"look at {place}"


def _place_of(told: Any, own: Any, place: str) -> str | None:
    """Return where one plain document differs from another, `None` where it does not."""
    if isinstance(told, dict) and isinstance(own, dict):
        for key in sorted({*told, *own}):
            inner = f"{place}.{key}" if place else key
            if key not in told or key not in own:
                return inner
            found = _place_of(told[key], own[key], inner)
            if found is not None:
                return found
        return None
    if isinstance(told, list) and isinstance(own, list) and len(told) == len(own):
        found_in = (
            _place_of(*pair, f"{place}[{number}]")
            for number, pair in enumerate(zip(told, own, strict=True))
        )
        return next((inner for inner in found_in if inner is not None), None)
    same = type(told) is type(own) and told == own
    return None if same else place or "the document"
