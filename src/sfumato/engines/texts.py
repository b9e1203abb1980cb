"""The texts of a column whose values nobody listed: a private dictionary.

A text gets a code when it first occurs, so neither the codes nor their number are public, and
nobody but an engine sees them: a table shows such a column as "other" and "missing" alone, until
its frequent texts were found (docs/proofs/partition-selection.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import Encoded
from sfumato.engines.coding.discover import Discover, is_typed
from sfumato.engines.reading import Text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CODE", "FIRST", "LACKING", "UNUSABLE", "Texts"]

CODE = np.dtype(np.uint32)
"""The type of the codes of such a column, however many texts it turns out to have."""

UNUSABLE, LACKING, FIRST = 0, 1, 2
"""The codes of what is no value, of what is missing, and of the first text."""


class Texts:
    """The different texts of one column, in the order in which they were met. Private.

    Parameters
    ----------
    values
        The texts that are known so far.
    """

    __slots__ = ("_places",)

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._places = {text: place for place, text in enumerate(values, FIRST)}

    def __repr__(self) -> str:
        return "Texts()"

    def __len__(self) -> int:
        return len(self._places)

    @property
    def values(self) -> list[str]:
        """The texts, in the order of their codes. Private."""
        return list(self._places)

    @property
    def size(self) -> int:
        """The number of codes. Private."""
        return FIRST + len(self._places)

    def find(self, text: str) -> int | None:
        """Return the code of a text, if it occurs. Private."""
        return self._places.get(text)

    def encode(self, coding: Discover, series: pl.Series) -> Encoded:
        """Return the codes of the next rows of the column, and what is to be refused."""
        import polars as pl

        text = Text.read(series).values
        distinct = text.drop_nulls().unique(maintain_order=True)
        # A text is read once, however many rows have it.
        at = text.cast(pl.Enum(distinct)).to_physical().cast(pl.UInt32)
        place = at.fill_null(len(distinct)).to_numpy()
        found = coding.read_texts(distinct, typed=is_typed(series))
        codes = np.full(len(distinct) + 1, UNUSABLE, dtype=CODE)
        codes[:-1][found.missing] = LACKING
        codes[-1] = LACKING
        usable = np.flatnonzero(found.usable)
        names = found.texts.filter(found.usable).to_list()
        codes[usable] = [self._places.setdefault(name, self.size) for name in names]
        return Encoded(codes[place], coding.text_faults(found, codes == LACKING, place))

    def read_through(self, names: tuple[str, ...], lacking: int) -> NDArray[np.int64]:
        """Return the place among some names of every code: of no name the one behind the last.

        Parameters
        ----------
        names
            The names. Public.
        lacking
            What becomes of the code of missing values.
        """
        new = np.full(self.size, len(names), dtype=np.int64)
        new[LACKING] = lacking
        for place, name in enumerate(names):
            code = self.find(name)
            if code is not None:
                new[code] = place
        return new
