"""Comparing published files with those that a release gives, when it was made elsewhere.

On the platform that made a release its files come out the same to the byte. Elsewhere the last
digit of a computed figure can round the other way, and a draw that falls between two such figures
can come out otherwise. Both are rare. So few of them are let pass, each is counted, and everything
else must be the same to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest

from sfumato.privacy.figures import DIGITS

__all__ = ["Differences", "compare"]

#: One figure of so many may differ in its last digit …
OTHER_FIGURES = 1000
#: … and this many in any case.
FEW_FIGURES = 3
#: So many lines of a drawn file may come out otherwise.
OTHER_LINES = 2

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
    lines
        How many drawn lines differ.
    others
        What else differs and may, in words.
    """

    wrong: tuple[str, ...] = ()
    figures: int = 0
    lines: int = 0
    others: tuple[str, ...] = ()

    def __add__(self, other: Differences) -> Differences:
        return Differences(
            self.wrong + other.wrong,
            self.figures + other.figures,
            self.lines + other.lines,
            self.others + other.others,
        )

    def words(self) -> str:
        """Return what differs and was let pass, in words; empty where all bytes are the same."""
        parts: list[str] = []
        if self.figures:
            parts.append(f"{self.figures} figure{'s' * (self.figures > 1)} in the last digit")
        if self.lines:
            parts.append(f"{self.lines} drawn line{'s' * (self.lines > 1)}")
        return " and ".join([*parts, *self.others])


def compare(
    own: dict[str, bytes],
    told: dict[str, bytes],
    *,
    drawn: Collection[str] = (),
    exactly: bool = False,
) -> Differences:
    """Return how published files differ from those that follow.

    Parameters
    ----------
    own
        The files that follow.
    told
        The files that are published.
    drawn
        The names of files whose lines are drawn.
    exactly
        Whether every byte must be the same: the files were made on this platform.
    """
    found = Differences()
    for name in sorted({*own, *told}):
        if name not in told:
            found += Differences((f"{name} is missing",))
        elif name not in own:
            found += Differences((f"{name} is no file of such a release",))
        elif own[name] != told[name]:
            found += _compare_file(name, own[name], told[name], name in drawn, exactly)
    return found


def _compare_file(name: str, own: bytes, told: bytes, drawn: bool, exactly: bool) -> Differences:
    """Return how one file differs that is not the same."""
    try:
        mine, theirs = own.decode().split("\n"), told.decode().split("\n")
    except UnicodeDecodeError:
        return Differences((f"{name} is not text",))
    if len(mine) != len(theirs):
        more = len(theirs) - len(mine)
        what = f"{abs(more)} line{'s' * (abs(more) > 1)} {'more' if more > 0 else 'fewer'}"
        place = _first_difference(mine, theirs)
        return Differences((f"{name} has {what} than follow, from line {place}",))
    figures = lines = 0
    for number, (line, other) in enumerate(zip(mine, theirs, strict=True), 1):
        if line == other:
            continue
        apart = None if exactly else _figures_apart(line, other)
        if apart is not None:
            figures += apart
        elif drawn and not exactly and number > 1:
            lines += 1
        else:
            return Differences((f"line {number} of {name} does not follow",))
    if lines > OTHER_LINES:
        return Differences((f"{lines} lines of {name} do not follow",))
    if figures > max(FEW_FIGURES, len(_FIGURE.findall(own.decode())) // OTHER_FIGURES):
        return Differences((f"{figures} figures of {name} differ in their last digits",))
    return Differences((), figures, lines)


def _first_difference(mine: list[str], theirs: list[str]) -> int:
    """Return the number of the first line that differs."""
    pairs = enumerate(zip_longest(mine, theirs), 1)
    return next(number for number, (line, other) in pairs if line != other)


def _figures_apart(mine: str, theirs: str) -> int | None:
    """Return how many figures of a line differ in the last digit; `None` if more is different."""
    ours, others = _FIGURE.split(mine), _FIGURE.split(theirs)
    if len(ours) != len(others) or ours[::2] != others[::2]:
        return None
    pairs = [(a, b) for a, b in zip(ours[1::2], others[1::2], strict=True) if a != b]
    return len(pairs) if all(_near(a, b) for a, b in pairs) else None


def _near(mine: str, theirs: str) -> bool:
    """Tell whether two figures are one unit apart in the last place that either has written."""
    ours, other = Decimal(mine), Decimal(theirs)
    places = [_place(ours), _place(other)]
    # Whole numbers are not computed with rounding; nor is one value written in two ways.
    if (places == [0, 0] and "e" not in mine + theirs) or ours == other:
        return False
    # Either a fixed number of decimals is written, or as many digits as are published.
    if places[0] != places[1] and max(map(_digits, (ours, other))) > DIGITS:
        return False
    return abs(ours - other) <= Decimal(1).scaleb(min(places))


def _place(value: Decimal) -> int:
    """Return the power of ten of the last written digit."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def _digits(value: Decimal) -> int:
    return len(value.as_tuple().digits)
