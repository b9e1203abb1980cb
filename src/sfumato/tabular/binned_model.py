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
    weights
        How rows of a bin are spread over its codes: a weight for each code, not negative; evenly
        by default, and where all weights of a bin are 0.
    """

    groups: NDArray[np.intp]
    proper: int
    weights: NDArray[np.float64] | None = None

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

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of each code in its bin."""
        even = 1.0 / self.widths[self.groups]
        if self.weights is None:
            return even
        sums = np.bincount(self.groups, self.weights, minlength=self.size)[self.groups]
        return np.where(sums > 0, self.weights / np.where(sums > 0, sums, 1.0), even)

    def spread(self, drawn: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """Return a code of each drawn bin, by the shares of its codes."""
        order, starts = self._members
        if self.weights is not None:
            # One running sum over all bins, each of which takes one unit of it.
            ends = np.cumsum(self.shares[order])
            begin = np.concatenate([[0.0], ends])[starts]
            widths = np.concatenate([ends, ends[-1:]])[starts + self.widths - 1] - begin
            wanted = begin[drawn] + generator.random(drawn.size) * widths[drawn]
            place = np.searchsorted(ends, wanted, side="right")
            last = starts + self.widths - 1
            place = np.clip(place, starts[drawn], last[drawn])
        else:
            place = starts[drawn] + generator.integers(0, self.widths[drawn])
        codes: NDArray[np.int64] = order[place]
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
            shape[axis] = len(bins.groups)
            table = np.take(table, bins.groups, axis=axis) * bins.shares.reshape(shape)
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
