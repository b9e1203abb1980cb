"""Columns of categories that nobody can list: the frequent ones are found privately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding.base import MISSING, OTHER, Coding, Fault, Mask
from sfumato.engines.coding.categories import Categories
from sfumato.engines.reading import MISSING_TEXT, UNREADABLE, UNSURE, Floats, Moments
from sfumato.mechanisms.partition_selection import is_presentable
from sfumato.noise.exact import briefly

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DISCOVER", "Discover", "TextsRead", "is_typed"]

DISCOVER = "discover"
"""What a schema says in place of a list of values."""

#: No text of more characters than this, and no more found values, may be declared.
LONGEST, MOST = 10_000, 100_000

_CLOCK = r"^[0-9]{2}:[0-9]{2}"
_FAR_MOMENT = r"^[+-]?[0-9]{3,}-[0-9]{2}-[0-9]{2}"
_TYPED = (
    "the value is not text but a number, a date or the like, and how it was written is not known",
    "Store the column as text, with no blank before what looks like a number or a date.",
)
_LACKING = (
    "the value is missing",
    'Fill it in, or declare missing = "code" for this column.',
)


@dataclass(frozen=True)
class TextsRead:
    """Texts of an open column as they are read.

    Parameters
    ----------
    texts
        Each text without surrounding blanks.
    missing, typed, usable
        What is missing, what is refused because it may have been written otherwise, and what is
        a value. The rest counts as other.
    """

    texts: pl.Series
    missing: Mask
    typed: Mask
    usable: Mask


@dataclass(frozen=True, kw_only=True)
class Discover(Categories):
    """Categories that nobody can list, all of them "other" until the frequent ones are found.

    A value is its text without surrounding blanks, compared exactly: "007" and "7" differ. So the
    column must hold text: a number, a date or a truth value is refused. A text that is too long,
    that holds control characters, or that is called like a reserved code counts as other.

    Parameters
    ----------
    longest
        How many characters a value may have at most.
    most
        How many values are kept at most; if more are found, those of the largest noisy counts.
    """

    noun = "a text"
    is_open = True

    values: tuple[str, ...] = ()
    outside: str = "other"
    longest: int = 200
    most: int = 1000

    def __post_init__(self) -> None:
        Coding.__post_init__(self)
        if self.values or self.taxonomy is not None or self.outside != "other":
            raise ValueError(
                'values = "discover" has no taxonomy, and all that is not found counts as other'
            )
        for name, high in (("longest", LONGEST), ("most", MOST)):
            number = getattr(self, name)
            if type(number) is not int or not 1 <= number <= high:
                raise ValueError(
                    f"{name} must be a whole number from 1 to {high:,}; got {briefly(number)}"
                )

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return f"a text of at most {self.longest} characters"

    def list_values(self, found: tuple[str, ...]) -> Categories:
        """Return the coding of the column once some values are found.

        Parameters
        ----------
        found
            The values, in order. Public.
        """
        return Categories(values=found, missing=self.missing, outside="other")

    def read_texts(self, texts: pl.Series, *, typed: bool) -> TextsRead:
        """Read different texts of the column, each by itself.

        Parameters
        ----------
        texts
            The texts as `Text.read` returns them, without nulls.
        typed
            Whether the column held no text, but numbers, dates or truth values.
        """
        import polars as pl

        trimmed = texts.str.strip_chars()
        gone = np.asarray(trimmed.is_in(list(MISSING_TEXT)).to_numpy(), dtype=np.bool_)
        odd = np.asarray((texts == UNREADABLE).to_numpy(), dtype=np.bool_) | typed
        if self.missing_values:
            meant = self._missing_names.find(texts)
            gone, odd = gone | (meant >= 0), odd | (meant == UNSURE)
        # What was no text begins with a blank.
        blank = np.asarray(texts.str.starts_with(" ").to_numpy(), dtype=np.bool_)
        if blank.any():
            odd = odd | (blank & _looks_typed(trimmed))
        fit = [
            is_presentable(text, self.longest) and text not in (OTHER, MISSING)
            for text in trimmed.to_list()
        ]
        usable = np.array(fit, dtype=np.bool_) & ~gone & ~odd
        return TextsRead(trimmed.cast(pl.String), gone, odd & ~gone, usable)

    def text_faults(
        self, found: TextsRead, missing: NDArray[Any], place: NDArray[Any]
    ) -> tuple[Fault, ...]:
        """Return the rows that are refused.

        Parameters
        ----------
        found
            What was read of the different texts.
        missing
            Which of them are missing, and lastly whether nothing is.
        place
            Which text each row has.
        """
        faults = []
        if self.missing == "refuse" and (gone := missing[place]).any():
            faults.append(Fault(*_LACKING, np.flatnonzero(gone).astype(np.int64)))
        odd = np.append(found.typed, False)[place]
        if odd.any():
            faults.append(Fault(*_TYPED, np.flatnonzero(odd).astype(np.int64)))
        return tuple(faults)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document; what is the same for every such column is left out."""
        document = {**super().to_json(), "values": DISCOVER}
        del document["outside"]
        for name in ("longest", "most"):
            if document[name] == getattr(Discover, name):
                del document[name]
        return document


def is_typed(series: pl.Series) -> bool:
    """Tell whether a column holds numbers, dates or truth values, so that none of it is text."""
    import polars as pl

    kinds = (pl.String, pl.Categorical, pl.Enum, pl.Binary, pl.Object, pl.Null)
    return series.dtype not in kinds


def _looks_typed(text: pl.Series) -> Mask:
    """Return which texts are a number, a truth value, a moment or a time of day."""
    floats, moments = Floats.read(text), Moments.read(text)
    number = ~floats.unreadable & ~floats.missing
    moment = ~moments.unreadable & ~moments.missing
    clock = text.str.contains(_CLOCK).to_numpy()
    # Moments of years that no calendar of ours has are moments too.
    far = text.str.contains(_FAR_MOMENT).to_numpy()
    return np.asarray(number | moment | clock | far, dtype=np.bool_)
