"""A table seen through bins: its public part, and the private table itself.

A record of it is a function of a record of the table as it is declared, and of public bins; so
neighbours stay neighbours (docs/proofs/binning.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.data.table import Table, TablePublic
from sfumato.engines.coding import Categories, Coding, Integers
from sfumato.engines.memory import CodeTable

__all__ = ["BinnedPublic", "BinnedTable"]


@dataclass(frozen=True, kw_only=True)
class BinnedPublic(TablePublic):
    """What is public about a table whose columns are seen through bins.

    Parameters
    ----------
    left
        The share of a method's budget that is left once the bins are found.
    """

    left: Fraction

    @classmethod
    def seen(cls, public: TablePublic, numbers: Mapping[int, int], left: Fraction) -> BinnedPublic:
        """Return the public part of a table with so many bins of declared values in some columns.

        Parameters
        ----------
        public
            What is public about the table as it is declared.
        numbers
            The number of bins of each such column.
        left
            The share of the budget that is left.
        """
        columns = tuple(
            replace(column, coding=_binned(column.coding, numbers[number]))
            if number in numbers
            else column
            for number, column in enumerate(public.schema.columns)
        )
        return cls(
            schema=replace(public.schema, columns=columns),
            unit=public.unit,
            relation=public.relation,
            contribution=public.contribution,
            rows=public.rows,
            rows_about=public.rows_about,
            left=left,
        )


def _binned(coding: Coding, number: int) -> Coding:
    """Return a coding of so many bins, which keeps the reserved codes of another."""
    if isinstance(coding, Categories):
        names = tuple(f"group {group + 1}" for group in range(number))
        return Categories(values=names, missing=coding.missing, outside=coding.outside)
    return Integers(low=0, high=number - 1, missing=coding.missing, outside=coding.outside)


class BinnedTable(Table):
    """A private table whose columns are seen through bins.

    Parameters
    ----------
    public
        What is public about it.
    counts
        What counts in it.
    """

    __slots__ = ()

    def __init__(self, public: BinnedPublic, counts: CodeTable) -> None:
        object.__setattr__(self, "_coarse", None)
        object.__setattr__(self, "_public", public)
        object.__setattr__(self, "_table", counts)
        object.__setattr__(self, "_dropped", 0)
