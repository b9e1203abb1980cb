"""A model that grows table by table: everything public that select–measure–generate shares.

It holds noisy answers only. The methods differ in what they ask next; this module says how answers
become a model, which sets of columns can still be joined, and what the model expects to be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.engines.bits import small_tables
from sfumato.mechanisms.choose import choose_within
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.mechanisms.graphical import GraphicalModel, Measured, fit
from sfumato.mechanisms.graphical.fitting import total_of
from sfumato.mechanisms.projection import project_simplex
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.binned_model import IN_BINS, BinnedModel, Bins
from sfumato.tabular.candidates import Pool, Set, joinable_sets
from sfumato.tabular.constrained import structural_zeros
from sfumato.tabular.counting_method import TOTAL, table_label
from sfumato.tabular.model import FittedModel, Model
from sfumato.tabular.one_way import columns_to_count, shares_by_size
from sfumato.tabular.part_estimates import estimate_shares
from sfumato.tabular.queries import GRID, Distances
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

__all__ = ["LARGEST", "Count", "GrowingModel", "one_way_counts"]

Expected = Callable[[], NDArray[np.int64]]

#: Up to so many combinations of all columns, estimates are what the model says itself.
MOST_COMBINATIONS = 2**17
#: Else what depends on each other is counted in this many rows drawn from it.
DRAWN = 20_000
#: The most steps of a fit on the way, and of the last one.
ON_THE_WAY, AT_LAST = 60, 250
#: Estimates beyond this are cut to it: far above any table, far below what overflows.
LARGEST = 2**36


@dataclass(frozen=True)
class Count:
    """Noisy counts of some columns; of no columns for the number of rows.

    Parameters
    ----------
    label
        The name of the answer in the transcript, and of its slice.
    columns
        The columns, in the order of the axes.
    shape
        Their sizes.
    share
        Its share of the budget.
    loss
        What it may cost, for one record.
    relation
        What a neighbour is.
    """

    label: str
    columns: Set
    shape: tuple[int, ...]
    share: Fraction
    loss: Loss
    relation: Relation

    @property
    def noise(self) -> CountNoise:
        """The noise: a record is in one cell, so it moves one count by 1."""
        return count_noise(self.shape or (1,), self.loss, self.relation)

    def ask(self, budget: Budget) -> Ask:
        """Return the request, with a slice of its own."""
        part = budget.take(self.loss, self.label)
        return Ask(part, self.noise, Marginal(self.columns), self.label)


def one_way_counts(
    growing: GrowingModel, columns: Sequence[int], share: Fraction, name: str = "column: "
) -> tuple[Count, ...]:
    """Return the tables of single columns, which share a part of the budget."""
    sizes = [growing.sizes[column] for column in columns]
    shares = shares_by_size(sizes, gaussian=isinstance(growing.limit, ZCDP))
    return tuple(
        growing.count((column,), share * part, name)
        for column, part in zip(columns, shares, strict=True)
    )


def _average(items: Sequence[Measured]) -> NDArray[np.float64]:
    """Return the mean of noisy tables of the same cells, weighted by their precisions."""
    # A huge epsilon leaves no noise at all.
    weights = [1 / max(item.deviation, 1e-6) ** 2 for item in items]
    return np.average([item.values for item in items], axis=0, weights=weights)


class GrowingModel:
    """The public state of a release in the making.

    Parameters
    ----------
    public
        What is public about the table.
    limit, relation
        The loss for one record of the whole release, and what a neighbour is.
    bins
        The columns whose values are merged in all further tables.
    """

    def __init__(
        self,
        public: TablePublic,
        limit: Loss,
        relation: Relation,
        bins: Mapping[int, Bins] | None = None,
    ) -> None:
        self.public = public
        self.bins = bins or {}
        self.sizes = tuple(
            self.bins[column].size if column in self.bins else size
            for column, size in enumerate(public.sizes)
        )
        self.limit = limit
        self.relation = relation
        self.measured: list[Measured] = []
        self.tables: list[NoisyTable] = []
        self._model: GraphicalModel | None = None
        self._rows: list[Measured] = []
        self._fitted = 0
        self._near = np.eye(len(self.sizes), dtype=np.bool_)
        groups = {column: merged.groups for column, merged in self.bins.items()}
        self._zeros = structural_zeros(public.rules.see(groups))
        for columns, _ in self._zeros:
            self._near[np.ix_(columns, columns)] = True

    @property
    def total(self) -> float:
        """The number of rows, as far as is known."""
        if self.public.rows is not None:
            return float(min(max(self.public.rows, 1), LARGEST))
        told = [*self._rows, *self.measured]
        return min(total_of(told), float(LARGEST)) if told else 1.0

    def count(self, columns: Set, share: Fraction, name: str = "") -> Count:
        """Return a table of some columns, or the number of rows, as it will be counted."""
        label = table_label(self.public, columns) if columns else TOTAL
        return Count(
            label=f"{name}{label}",
            columns=columns,
            shape=tuple(self.sizes[column] for column in columns),
            share=share,
            loss=self.limit.share(share),
            relation=self.relation,
        )

    def measure(self, budget: Budget, counts: Sequence[Count]) -> Program[None]:
        """Ask for tables, all at once, and take them in."""
        answers = yield [count.ask(budget) for count in counts]
        for count, values in zip(counts, answers, strict=True):
            self.learn(count, values)

    def take_in(self, known: Mapping[int, tuple[NDArray[np.float64], float]]) -> None:
        """Take in noisy counts of single columns that are known already, with their deviations."""
        for column, (counts, deviation) in known.items():
            self.measured.append(Measured((column,), counts, deviation))

    def learn(self, asked: Count, values: NDArray[np.int64]) -> None:
        """Take in a noisy table."""
        deviation = asked.noise.standard_deviation
        table = np.clip(values, -LARGEST, LARGEST).astype(np.float64).reshape(asked.shape)
        item = Measured(asked.columns, table, deviation)
        if not asked.columns:
            self._rows.append(item)
            return
        self.measured.append(item)
        for first in asked.columns:
            for second in asked.columns:
                self._near[first, second] = True
        levels = tuple(IN_BINS if column in self.bins else 0 for column in asked.columns)
        self.tables.append(
            NoisyTable(asked.label, asked.columns, levels, item.values.size, deviation)
        )

    def one_way(self) -> dict[int, NDArray[np.float64]]:
        """Return how many rows each value of each measured column has, none of them negative."""
        tables: dict[int, list[Measured]] = {}
        for item in self.measured:
            tables.setdefault(item.columns[0], []).append(item)
        return {
            column: project_simplex(_average(items), self.total) for column, items in tables.items()
        }

    def coarsen(self, bins: Mapping[int, Bins]) -> GrowingModel:
        """Return the state of the same measurements over columns whose values are merged."""
        inside = GrowingModel(self.public, self.limit, self.relation, bins)
        inside._rows = list(self._rows)
        inside.tables = list(self.tables)
        for item in self.measured:
            (column,) = item.columns
            if column in bins:
                merged = bins[column]
                values = np.bincount(merged.groups, item.values, merged.size).astype(np.float64)
                # Codes of several values have more noise; a table has one figure for all.
                deviation = item.deviation * sqrt(len(merged.groups) / merged.size)
                item = Measured(item.columns, values, deviation)
            inside.measured.append(item)
        return inside

    def _refit(self) -> None:
        """Fit the model to all tables, starting from the last one."""
        self._model = fit(
            self.sizes,
            self.measured,
            self.total,
            iterations=ON_THE_WAY,
            start=self._model,
            zeros=self._zeros,
        )
        self._fitted = len(self.measured)

    def fitting(self, pool: Pool, most_cells: float) -> NDArray[np.int64]:
        """Return the numbers of the sets that can be joined without making the model too large."""
        return joinable_sets(self._near, pool, most_cells)

    def estimates(self, pool: Pool) -> NDArray[np.int64]:
        """Return what the model expects in every cell of a pool, in steps of the grid.

        It is what the model says itself where all combinations of columns are few; else columns
        that depend on each other are counted in rows of the model, in a fixed number.
        """
        if self._fitted != len(self.measured):
            self._refit()
        assert self._model is not None
        sizes, steps = self.sizes, GRID * self.total
        together = small_tables(pool.sets, sizes) if prod(sizes) <= MOST_COMBINATIONS else None
        if together is None:
            # A seed of our own: what is drawn is public anyway, and nothing else hangs on it.
            generator = noise.generator(len(self.measured))
            expected = estimate_shares(pool, self._model, DRAWN, generator)
            expected *= steps
        else:
            axes = enumerate(columns_to_count(self.sizes))
            rest = tuple(axis for axis, column in axes if column not in together.columns)
            expected = together.summed(self._model.joint().sum(axis=rest))
            expected *= steps
        # Whatever a fit came to, the cells of no table add up to more than 2⁶¹.
        most = min(GRID * LARGEST, 2**61 // int(pool.cells.max(initial=1)))
        bounded = np.clip(np.nan_to_num(expected), 0.0, most)
        return np.asarray(np.rint(bounded, out=bounded), dtype=np.int64)

    def expected_once(self, pool: Pool) -> Expected:
        """Return the expected counts of a pool by the present model, found when first asked for."""
        found: list[NDArray[np.int64]] = []

        def expected() -> NDArray[np.int64]:
            if not found:
                found.append(self.estimates(pool))
            return found[0]

        return expected

    def marginal(self, columns: Set) -> NDArray[np.float64]:
        """Return the shares of some columns, by the model of everything that was learned."""
        if self._fitted != len(self.measured):
            self._refit()
        assert self._model is not None
        return self._model.marginal(columns)

    def choose(
        self,
        budget: Budget,
        number: int,
        pool: Pool,
        offered: NDArray[np.int64],
        share: Fraction,
        *,
        handicap: NDArray[np.float64] | None = None,
        weights: NDArray[np.int64] | None = None,
        expected: Expected | None = None,
    ) -> Ask:
        """Return the question which offered set the model gets most wrong.

        One record moves an L1 distance by 1, a replaced one by 2.
        """
        rows = np.zeros(len(pool.sets)) if handicap is None else np.minimum(handicap, LARGEST)
        scores = Distances(
            pool,
            offered,
            expected or self.expected_once(pool),
            np.rint(GRID * rows[offered]).astype(np.int64),
            np.ones(offered.size, np.int64) if weights is None else weights[offered],
        )
        loss, label = self.limit.share(share), f"choice {number}"
        moved = GRID * (2 if self.relation is Relation.REPLACE_ONE else 1)
        sensitivity = Fraction(moved * int(scores.weights.max()))
        primitive = choose_within(loss, offered.size, sensitivity)
        return Ask(budget.take(loss, label), primitive, scores, label)

    def release(self, notes: Sequence[str] = ()) -> SyntheticTable:
        """Return the release: the model that explains all tables best."""
        fitted = fit(self.sizes, self.measured, self.total, iterations=AT_LAST, zeros=self._zeros)
        model: Model = FittedModel(fitted)
        if self.bins:
            model = BinnedModel(model, self.bins, self.public.rules)
        total = self.total if self.public.rows is None else float(self.public.rows)
        return SyntheticTable(self.public, model, total, self.tables, notes)
