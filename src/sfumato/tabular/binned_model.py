"""A model over merged bins as a model over the declared codes of a table.

The bins are public once they were said. A bin is spread evenly over its codes; everything here is
post-processing of released figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.tabular.model import Model, Network
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["BinnedModel", "Bins", "undo_bins"]

#: The level of a column that was counted in bins: less than 0 is no level of its taxonomy.
IN_BINS = -1


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one column.

    Parameters
    ----------
    groups
        The bin of each code, reserved codes included; every bin from 0 up to the last occurs.
    proper
        How many codes stand for declared values; those of "other" and "missing" come after.
    """

    groups: NDArray[np.intp]
    proper: int

    @property
    def size(self) -> int:
        """The number of bins, those of reserved codes included."""
        return int(self.groups.max()) + 1

    @property
    def number(self) -> int:
        """The number of bins of declared values."""
        return self.size - (len(self.groups) - self.proper)

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """How many codes each bin joins."""
        return np.bincount(self.groups, minlength=self.size).astype(np.int64)

    @cached_property
    def _members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The codes, those of one bin after those of another, and where each bin begins."""
        order = np.argsort(self.groups, kind="stable").astype(np.int64)
        return order, np.cumsum(self.widths) - self.widths

    def spread(self, drawn: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """Return a code of each drawn bin, each of its codes as likely as the others."""
        order, starts = self._members
        codes: NDArray[np.int64] = order[starts[drawn] + generator.integers(0, self.widths[drawn])]
        return codes


@dataclass(frozen=True, eq=False)
class BinnedModel:
    """A distribution over declared codes, made of one over bins.

    Parameters
    ----------
    inside
        The model over bins.
    bins
        The bins of each column that has any, by its number.
    """

    inside: Model
    bins: Mapping[int, Bins]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The declared domain size of each column."""
        return tuple(
            len(self.bins[column].groups) if column in self.bins else size
            for column, size in enumerate(self.inside.sizes)
        )

    @property
    def network(self) -> Network:
        """Which columns the model joins."""
        known = self.inside.network
        parts = tuple(
            replace(part, levels=self.levels(part.columns, part.levels)) for part in known.parts
        )
        return Network(known.directed, parts)

    def levels(self, columns: tuple[int, ...], levels: tuple[int, ...]) -> tuple[int, ...]:
        """Return at which levels of the declared columns a table holds them."""
        return tuple(
            IN_BINS if column in self.bins else level
            for column, level in zip(columns, levels, strict=True)
        )

    def marginal(self, columns: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the probabilities of all combinations of some columns, axes in the order given."""
        table = self.inside.marginal(columns)
        for axis, column in enumerate(columns):
            if column not in self.bins:
                continue
            bins = self.bins[column]
            shape = [1] * table.ndim
            shape[axis] = bins.size
            even = table / bins.widths.reshape(shape)
            table = np.take(even, bins.groups, axis=axis)
        return table

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns)."""
        codes = np.array(self.inside.draw(rows, generator), dtype=np.int64)
        for column, bins in self.bins.items():
            codes[:, column] = bins.spread(codes[:, column], generator)
        return codes


def undo_bins(
    release: SyntheticTable, public: TablePublic, bins: Mapping[int, Bins], note: str
) -> SyntheticTable:
    """Return a release over bins as one in the custodian's own columns.

    Parameters
    ----------
    release
        The release over bins.
    public
        What is public about the table as it was declared.
    bins
        The bins of each column that has any.
    note
        A sentence about them.
    """
    model = BinnedModel(release.model, bins)
    tables = [
        replace(table, levels=model.levels(table.columns, table.levels)) for table in release.tables
    ]
    return SyntheticTable(public, model, release.total, tables, (*release.notes, note))
