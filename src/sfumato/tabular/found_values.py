"""The values that were found in a column that nobody could list, as a release tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import MISSING, OTHER, Discover
from sfumato.mechanisms.partition_selection import FrequentValues
from sfumato.privacy.program import DoesNotFollow
from sfumato.tabular.files import FORMULA

__all__ = ["FoundValues", "say_found"]


@dataclass(frozen=True, eq=False)
class FoundValues:
    """The values that were found in one column. Public.

    Parameters
    ----------
    column
        The name of the column.
    values
        The values that are kept, in order.
    counts
        The noisy number of rows of each.
    surplus
        How many more were found than the column may keep.
    selection
        What found them.
    """

    column: str
    values: tuple[str, ...]
    counts: NDArray[np.int64]
    surplus: int
    selection: FrequentValues

    @classmethod
    def of(cls, column: str, coding: Discover, selection: FrequentValues, said: Any) -> FoundValues:
        """Return what is kept of the output of a selection: the most frequent ones, in order."""
        values, counts = said
        if any(name in (OTHER, MISSING) for name in values):
            raise DoesNotFollow(f"a value of {column!r} has the name of a reserved code")
        # Of equal counts the first in order; a sort that is stable sees to it.
        kept = np.sort(np.argsort(-counts, kind="stable")[: coding.most])
        names = tuple(values[place] for place in kept.tolist())
        return cls(column, names, counts[kept], len(values) - len(names), selection)


def say_found(discovered: Sequence[FoundValues]) -> list[str]:
    """Return sentences about the values that were found, for the words of a release."""
    return [
        f"The values of {known.column} were not declared: {len(known.values):,} frequent "
        f"value{'s' * (len(known.values) != 1)} {'was' if len(known.values) == 1 else 'were'} "
        f"found privately, and all others are {OTHER}.{_warn_of_formulas(known.values)}"
        for known in discovered
    ]


def _warn_of_formulas(values: Sequence[str]) -> str:
    """Return a warning of values that nobody has looked at and that a spreadsheet may run."""
    many = sum(map(bool, map(FORMULA.match, values)))
    if not many:
        return ""
    return (
        f" {many:,} of them begin{'s' * (many == 1)} with =, +, - or @, and a spreadsheet may run "
        f"{'it as a formula' if many == 1 else 'them as formulas'}: open released files as text."
    )
