"""Columns of names, and of true and false."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding.base import MISSING, OTHER, Coding, Found, Generator, hashable
from sfumato.engines.coding.taxonomy import Taxonomy, check_taxonomy, generalisations
from sfumato.engines.reading import NONE, UNREADABLE, UNSURE, Names, Truth, absent
from sfumato.noise.exact import briefly

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Booleans", "Categories"]

NOT_A_NUMBER = ("nan", "NaN")


@dataclass(frozen=True, kw_only=True)
class Categories(Coding):
    """A list of names, or of whole numbers that are names.

    Parameters
    ----------
    values
        The categories, all text or all whole numbers. A value in the data is the category that it
        is exactly, else the one that it is without surrounding blanks, else the one that is the
        same number or the same moment: 1, 1.0 and "1.0" are the category "1". Categories that are
        the same number, such as "1.1" and "1.10", are told apart by exact text alone; there the
        column must hold text, and a number is refused.
    taxonomy
        How values may be joined to coarser ones: a list of groups of values, such as
        `[["a", "b"], ["c", "d"]]`; a group may hold groups.
    """

    kind = "category"
    noun = "a category"
    outsides = ("refuse", "other")
    _unsure_words = (
        "the value is a number or a date, and the categories write it in another way",
        "Store the column as text, written as the categories are.",
    )

    values: tuple[str, ...] | tuple[int, ...]
    taxonomy: Taxonomy | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.values, list | tuple):
            raise ValueError(f"values must be a list of categories; got {briefly(self.values)}")
        object.__setattr__(self, "values", tuple(self.values))
        texts = all(isinstance(value, str) for value in self.values)
        wholes = not texts and all(type(value) is int for value in self.values)
        # Of values that were to be found there may be none, and then all are other ones.
        if not (texts or wholes) or not (self.values or self.outside == "other"):
            raise ValueError(
                "values must be all texts or all whole numbers, and at least one; for true and "
                "false use kind 'boolean', for numbers kind 'number' with edges"
            )
        if len(set(self.values)) != len(self.values):
            raise ValueError("values must list every category once")
        if wholes and any(not -(2**63) <= int(value) < 2**64 for value in self.values):
            raise ValueError("whole numbers in values must fit 64 bits; write them as text")
        if wholes and min(self._wholes) < 0 and max(self._wholes) >= 2**63:
            raise ValueError(
                "values cannot hold both negative numbers and numbers of 2**63 or more; write "
                "them as text"
            )
        if texts and any(_unusable(str(value)) for value in self.values):
            raise ValueError("values must be text that UTF-8 can hold, and not the NUL character")
        if self.missing_values and self._means_both():
            raise ValueError("a value cannot be both a category and one of missing_values")
        if self.missing == "code" and any(str(v).strip() in NOT_A_NUMBER for v in self.values):
            raise ValueError(
                "no category may be called 'nan' with missing = \"code\", because NumPy and "
                "Polars write a missing number as nan beside text; give the category another name"
            )
        self._refuse_reserved("missing", "code", MISSING)
        self._refuse_reserved("outside", "other", OTHER)
        if self.taxonomy is not None:
            object.__setattr__(self, "taxonomy", hashable(self.taxonomy))
            check_taxonomy(self.taxonomy, self.values)

    def _means_both(self) -> bool:
        """Tell whether some value is a category and is declared to mean missing."""
        import polars as pl

        gone = pl.Series(self._missing_names.names, dtype=pl.String)
        return bool((self._names.find(gone) != NONE).any())

    def _refuse_reserved(self, policy: str, choice: str, name: str) -> None:
        """Refuse a category with the name that a policy gives to a code of its own."""
        if getattr(self, policy) == choice and name in self.values:
            raise ValueError(
                f'no category may be called {name!r} with {policy} = "{choice}", which has a code '
                f'of that name; give the category another name, or set {policy} = "refuse"'
            )

    @property
    def textual(self) -> bool:
        """Whether the categories are text."""
        return not self.values or isinstance(self.values[0], str)

    @property
    def proper(self) -> int:
        """The number of categories."""
        return len(self.values)

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        shown = ", ".join(repr(value) for value in self.values[:8])
        return f"one of {shown}" + (", …" if len(self.values) > 8 else "")

    def without_taxonomy(self) -> Categories:
        """Return the coding that gives the same codes and declares no taxonomy."""
        return replace(self, taxonomy=None)

    def _generalisations(self) -> list[NDArray[np.intp]]:
        return [] if self.taxonomy is None else generalisations(self.taxonomy, self.values)

    def _read(self, series: pl.Series) -> Found:
        places = self._names.find(series)
        # A text that means missing is a category where one has that very name.
        gone = absent(series) & (places == NONE)
        none = np.zeros(len(places), dtype=np.bool_)
        unsure = places == UNSURE
        return Found(places, gone, none, (places == NONE) & ~gone, unsure)

    @cached_property
    def _names(self) -> Names:
        return Names(tuple(str(value) for value in self.values))

    @property
    def _wholes(self) -> list[int]:
        return [int(value) for value in self.values]

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        import polars as pl

        if not self.values:
            return pl.Series([None], dtype=pl.String).gather(pl.Series(codes))
        if self.textual:
            return pl.Series(list(self.values), dtype=pl.String).gather(pl.Series(codes))
        large = max(self._wholes) >= 2**63
        table = pl.Series(self._wholes, dtype=pl.UInt64 if large else pl.Int64)
        return table.gather(pl.Series(codes))

    def label(self, code: int) -> str:
        """Return the name of a category."""
        return str(self.values[code])


def _unusable(name: str) -> bool:
    """Return whether no text in the data could be this one."""
    return name == UNREADABLE or any("\ud800" <= letter <= "\udfff" for letter in name)


@dataclass(frozen=True, kw_only=True)
class Booleans(Coding):
    """False (code 0) and true (code 1); 0 and 1, no and yes are understood too."""

    kind = "boolean"
    noun = "true or false"
    outsides = ("refuse",)

    @property
    def proper(self) -> int:
        """Two."""
        return 2

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return "true or false"

    def _read(self, series: pl.Series) -> Found:
        truth = Truth.read(series)
        none = np.zeros(len(series), dtype=np.bool_)
        return Found(truth.values.astype(np.int64), truth.missing, truth.unreadable, none, none)

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        import polars as pl

        return pl.Series(codes == 1)

    def label(self, code: int) -> str:
        """Return `false` or `true`."""
        return ("false", "true")[code]
