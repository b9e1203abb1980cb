"""What a release shows of itself on a page: sections of sentences, tables and pictures.

`Release.sections` returns these values, all of them public. Nothing here writes HTML or draws:
`sfumato.report` does both, and escapes every text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str
    form: str = "text"


@dataclass(frozen=True)
class Quote:
    """A paragraph that is there to be copied."""

    words: str
    form: str = "quote"


@dataclass(frozen=True)
class Commands:
    """Lines to be typed into a shell."""

    lines: tuple[str, ...]
    form: str = "commands"


@dataclass(frozen=True)
class Picture:
    """A drawing with what it shows in words, for those who cannot see it.

    Parameters
    ----------
    name
        A name that no other picture of the page has.
    draw
        Paints on an empty figure of the given size; without a size, returns a figure of its own.
    caption
        What the picture shows.
    size
        Width and height in inches.
    """

    name: str
    draw: Callable[..., Any]
    caption: str
    size: tuple[float, float] | None = None
    form: str = "picture"


@dataclass(frozen=True)
class Gallery:
    """Several small pictures side by side."""

    pictures: tuple[Picture, ...]
    form: str = "gallery"


@dataclass(frozen=True)
class Grid:
    """A table.

    Parameters
    ----------
    head
        The names of its columns.
    rows
        Its cells, as text.
    numbers
        Which columns hold numbers and are set flush right.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    form: str = "grid"


@dataclass(frozen=True)
class Facts:
    """Names and what they stand for."""

    pairs: tuple[tuple[str, str], ...]
    form: str = "facts"


@dataclass(frozen=True)
class Listing:
    """Short points, one under another."""

    points: tuple[str, ...]
    form: str = "listing"


@dataclass(frozen=True)
class Beside:
    """A table with the picture of the same figures beside it."""

    grid: Grid
    picture: Picture
    form: str = "beside"


Block: TypeAlias = Text | Quote | Commands | Picture | Gallery | Grid | Facts | Listing | Beside


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Parameters
    ----------
    name
        Its anchor.
    title
        Its heading.
    blocks
        What it shows.
    source
        Where its figures come from, so that a reader can trace them.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    source: str
