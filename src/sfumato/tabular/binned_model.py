"""A model over merged bins as a model over the declared codes of a table.

The bins are public once they were said. A bin is spread evenly over its codes, or as finer noisy
counts tell; everything here is post-processing of released figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.data.allowed import Rules
from sfumato.data.table import TablePublic
from sfumato.mechanisms.graphical.elimination import TooLarge
from sfumato.mechanisms.projection import project_simplex
from sfumato.tabular.model import Model, Network
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

__all__ = ["BinnedModel", "Bins", "Leaves", "repair_leaves", "undo_bins"]

#: Neighbouring leaves of fewer records than this many deviations of their noise share a bin: in a
#: table with other columns, bins without records would seem to have some.
SIGNIFICANT = 2.0
#: Codes within bins that violate a constraint are drawn again so often.
REDRAWS = 30
#: The most cells of a table in which constraints are looked at within bins.
MOST_CELLS = 2**21
#: The most rounds in which codes within bins are fitted to all that is known of them, and the share
#: of rows by which columns may be off in the end.
COUPLING_ROUNDS, COUPLED = 50, 1e-4
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
class Leaves:
    """The finest stretches of one column that were counted, and their noisy counts.

    Parameters
    ----------
    label
        The name of the counts in the transcript.
    leaves
        The leaf of each code, reserved codes included; leaves are numbered by their first codes.
    proper
        How many codes stand for declared values.
    counts
        The noisy count of each leaf, repaired.
    deviation
        The standard deviation of its noise.
    segments
        The stretch of each code that no bin reaches beyond, if there are enough bins; all codes
        are in one by default.
    """

    label: str
    leaves: NDArray[np.intp]
    proper: int
    counts: NDArray[np.float64]
    deviation: float
    segments: NDArray[np.int64] | None = None

    @cached_property
    def _firsts(self) -> NDArray[np.intp]:
        """The first code of each leaf."""
        return np.unique(self.leaves, return_index=True)[1]

    def join(self, most: int) -> Bins:
        """Return at most so many bins, each made of neighbouring leaves, and shares within them.

        Parameters
        ----------
        most
            The most bins of declared values. Reserved codes keep bins of their own.

        Notes
        -----
        Two neighbours are joined first that have few records, and lie close together: within a bin
        noise moves records by the distance of its leaves, which means feel.
        """
        number = len(self.counts) - (len(self.leaves) - self.proper)
        widths = np.bincount(self.leaves)
        middles = self._firsts[:number] + (widths[:number] - 1) / 2
        apart = np.zeros(len(self.leaves)) if self.segments is None else self.segments
        cuts = np.diff(apart[self._firsts[:number]]) > 0
        bins = _join_neighbours(self.counts[:number], middles, self.deviation, most, cuts)
        # Every reserved code is a leaf and a bin of its own.
        bins += [[leaf] for leaf in range(number, len(self.counts))]
        groups = np.repeat(np.arange(len(bins)), [len(bin_) for bin_ in bins])[self.leaves]
        weights = self.counts[self.leaves] * _slopes(self.leaves, self.counts, widths, number)
        return Bins(groups, self.proper, weights)

    def counts_of(self, bins: Bins) -> tuple[NDArray[np.float64], float]:
        """Return the noisy count of each bin, and the typical deviation of its noise."""
        counts: NDArray[np.float64] = np.zeros(bins.size)
        np.add.at(counts, bins.groups[self._firsts], self.counts)
        return counts, self.deviation * float(np.sqrt(len(self.counts) / bins.size))


def repair_leaves(noisy: NDArray[np.int64], total: float, deviation: float) -> NDArray[np.float64]:
    """Return counts of leaves that are not negative, of about a number of rows in all.

    Parameters
    ----------
    noisy
        The noisy counts.
    total
        The number of rows, public or noisy.
    deviation
        The standard deviation of the noise.

    Notes
    -----
    What is left of counts that may be nothing but noise after a projection is positive on average,
    and in a long tail a few rows move the mean. They are shrunk by x/(x + deviation).
    """
    counts = project_simplex(np.clip(noisy, -(2.0**40), 2.0**40), total)
    rare = counts < SIGNIFICANT * deviation
    counts[rare] *= counts[rare] / (counts[rare] + deviation)
    left = float(counts.sum())
    return counts * (total / left) if left > 0 else counts


def _join_neighbours(
    counts: NDArray[np.float64],
    middles: NDArray[np.float64],
    deviation: float,
    most: int,
    cuts: NDArray[np.bool_],
) -> list[list[int]]:
    """Join leaves until there are no more than `most` bins; each is a list of leaves.

    Leaves on both sides of a cut are joined last.
    """
    total = max(float(counts.sum()), 1e-9)
    centre = float(counts @ middles) / total
    spread = max(float(np.sqrt(counts @ (middles - centre) ** 2 / total)), 1e-9)
    few = counts < SIGNIFICANT * deviation
    bins: list[list[int]] = []
    for leaf, rare in enumerate(few):
        if rare and leaf and few[leaf - 1] and not cuts[leaf - 1]:
            bins[-1].append(leaf)
        else:
            bins.append([leaf])
    held = [float(counts[bin_].sum()) for bin_ in bins]
    at = [float(middles[bin_].mean()) for bin_ in bins]
    while len(bins) > most:
        rows = np.array(held)
        lost = rows[:-1] + rows[1:] + deviation * np.diff(at) / spread
        lost[[bool(cuts[bin_[-1]]) for bin_ in bins[:-1]]] = np.inf
        first = int(np.argmin(lost))
        bins[first] += bins.pop(first + 1)
        held[first] += held.pop(first + 1)
        at[first] = float(middles[bins[first]].mean())
        at.pop(first + 1)
    return bins


def _slopes(
    leaves: NDArray[np.intp],
    counts: NDArray[np.float64],
    widths: NDArray[np.int64],
    number: int,
) -> NDArray[np.float64]:
    """Return how each leaf is spread over its codes: shares that rise or fall to its neighbours.

    At either end of a leaf its density is the geometric mean of its own and of its neighbour's, and
    in between it is linear. A neighbour of a single code may be a spike, and tells nothing.
    """
    density = counts[:number] / widths[:number]
    usable = (widths[:number] > 1) & (density > 0)
    ratio = np.ones((2, len(counts)))
    pair = usable[:-1] & usable[1:]
    rise = np.ones(number - 1)
    np.divide(density[1:], density[:-1], out=rise, where=pair)
    ratio[1, : number - 1], ratio[0, 1:number] = np.sqrt(rise), 1 / np.sqrt(rise)
    # How far into its leaf each code lies, from 0 to 1.
    order = np.argsort(leaves, kind="stable")
    place = np.empty(len(leaves))
    starts = np.cumsum(widths) - widths
    place[order] = (np.arange(len(leaves)) - starts[leaves[order]] + 0.5) / widths[leaves[order]]
    shape: NDArray[np.float64] = ratio[0][leaves] * (1 - place) + ratio[1][leaves] * place
    slopes: NDArray[np.float64] = shape / np.bincount(leaves, shape)[leaves]
    return slopes


@dataclass(frozen=True, eq=False)
class BinnedModel:
    """A distribution over declared codes, made of one over bins.

    Parameters
    ----------
    inside
        The model over bins.
    bins
        The bins of each column that has any, by its number.
    rules
        The constraints over declared codes: codes within bins are those that satisfy them.
    """

    inside: Model
    bins: Mapping[int, Bins]
    rules: Rules | None = None

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
        joined = [one for one in self._couplings if set(one) & set(columns)]
        more = tuple(c for one in joined for c in one if c not in columns)
        if more and prod(self.sizes[column] for column in (*columns, *more)) <= MOST_CELLS:
            # Within bins a column depends on all that constraints join it with.
            whole = self.marginal((*columns, *more))
            return np.asarray(whole.sum(axis=tuple(range(len(columns), whole.ndim))))
        joined = [] if more else joined
        table = self.inside.marginal(columns)
        for axis, column in enumerate(columns):
            if column in self.bins:
                table = np.take(table, self.bins[column].groups, axis=axis)
                if not any(column in one for one in joined):
                    table = table * _along(self.bins[column].shares, axis, table.ndim)
        for one in joined:
            order = [one.index(column) for column in columns if column in one]
            shares = np.transpose(self._couplings[one].shares.reshape(self._shape(one)), order)
            table = table * shares.reshape([self.sizes[c] if c in one else 1 for c in columns])
        return table

    def _shape(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.sizes[column] for column in columns)

    @cached_property
    def _couplings(self) -> dict[tuple[int, ...], Bins]:
        """Columns that constraints join, as one column of all combinations of their codes in bins.

        Only those of which one is in bins, and which have few enough combinations.
        """
        found: dict[tuple[int, ...], Bins] = {}
        for one in () if self.rules is None else self.rules.components:
            if set(one) & set(self.bins) and prod(self._shape(one)) <= MOST_CELLS:
                # A model may join them in too large a table.
                with suppress(TooLarge):
                    found[one] = self._couple(one)
        return found

    def _couple(self, columns: tuple[int, ...]) -> Bins:
        """Return how bins of some columns are spread over the codes that constraints allow.

        Of all distributions over allowed codes that have the bins' joint probabilities and each
        column's own shares, the one nearest to independent codes (iterative proportional fitting).
        """
        assert self.rules is not None
        wanted = self.inside.marginal(columns)
        groups = np.zeros((), dtype=np.intp)
        weights = self.rules.joint(columns).astype(np.float64)
        alone: dict[int, NDArray[np.float64]] = {}
        for axis, (column, size) in enumerate(zip(columns, wanted.shape, strict=True)):
            bins = self.bins.get(column)
            places = np.arange(size) if bins is None else bins.groups
            groups = groups[..., None] * size + places
            if bins is not None:
                others = tuple(other for other in range(wanted.ndim) if other != axis)
                alone[axis] = wanted.sum(axis=others)[bins.groups] * bins.shares
                weights *= _along(bins.shares, axis, weights.ndim)
        flat, cells = groups.ravel(), wanted.ravel()
        for _ in range(COUPLING_ROUNDS):
            sums = np.bincount(flat, weights.ravel(), cells.size).astype(np.float64)
            weights *= _ratio(cells, sums)[flat].reshape(weights.shape)
            off = 0.0
            for axis, shares in alone.items():
                sums = weights.sum(axis=tuple(a for a in range(weights.ndim) if a != axis))
                off = max(off, float(np.abs(sums - shares).sum()))
                weights *= _along(_ratio(shares, sums), axis, weights.ndim)
            if off < COUPLED:
                break
        return Bins(flat, flat.size, weights.ravel())

    def draw(self, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the codes of some rows, shape (rows, columns)."""
        drawn = np.array(self.inside.draw(rows, generator), dtype=np.int64)
        codes = drawn.copy()
        for columns, bins in self._couplings.items():
            sizes = [self.inside.sizes[column] for column in columns]
            cells = np.ravel_multi_index(tuple(drawn[:, columns].T), sizes)
            found = np.unravel_index(bins.spread(cells, generator), self._shape(columns))
            codes[:, columns] = np.array(found).T
        coupled = {column for one in self._couplings for column in one}
        alone = [column for column in self.bins if column not in coupled]
        for column in alone:
            codes[:, column] = self.bins[column].spread(drawn[:, column], generator)
        # Within the same bins, codes that violate a constraint are drawn again.
        alone = [c for c in alone if self.rules is not None and c in self.rules.columns]
        for _ in range(REDRAWS if alone else 0):
            assert self.rules is not None
            wrong = np.flatnonzero(~self.rules.allows(codes.T))
            for column in alone if wrong.size else ():
                codes[wrong, column] = self.bins[column].spread(drawn[wrong, column], generator)
        return codes


def _along(values: NDArray[np.float64], axis: int, axes: int) -> NDArray[np.float64]:
    """Return values along one of several axes."""
    return values.reshape([-1 if place == axis else 1 for place in range(axes)])


def _ratio(wanted: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much sums are scaled; those of nothing stay nothing."""
    return np.divide(wanted, there, out=np.zeros_like(wanted), where=there > 0)


def undo_bins(
    release: SyntheticTable,
    public: TablePublic,
    bins: Mapping[int, Bins],
    note: str,
    leaves: Mapping[int, Leaves] | None = None,
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
    leaves
        The finer counts of columns that have any.
    """
    model = BinnedModel(release.model, bins, public.rules)
    tables = [
        NoisyTable(fine.label, (column,), (IN_BINS,), len(fine.counts), fine.deviation)
        for column, fine in (leaves or {}).items()
    ]
    tables += [
        replace(table, levels=model.levels(table.columns, table.levels)) for table in release.tables
    ]
    return SyntheticTable(public, model, release.total, tables, (*release.notes, note))
