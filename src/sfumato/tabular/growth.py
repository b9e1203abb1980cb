"""A model that grows table by table: everything public that select–measure–generate shares.

It holds noisy answers only. The methods differ in what they ask next; this module says how answers
become a model, which sets of columns can still be joined, and what the model expects to be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.engines.bits import small_tables
from sfumato.engines.together import counted_together
from sfumato.mechanisms.graphical import GraphicalModel, Measured, fit
from sfumato.mechanisms.graphical.fitting import total_of
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss
from sfumato.tabular.candidates import joinable_sets
from sfumato.tabular.counting_method import TOTAL, table_label
from sfumato.tabular.fitted import FittedModel
from sfumato.tabular.one_way import counted_columns, shares_by_size
from sfumato.tabular.program import GRID, LARGEST, Choice, Count, Pool, Set
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

__all__ = ["Growth", "one_way_asks"]

Expected = Callable[[], NDArray[np.int64]]

#: Up to so many combinations of all columns, estimates are what the model says itself.
MOST_COMBINATIONS = 2**17
#: Else they are counted in this many rows drawn from it.
DRAWN = 20_000
#: The most steps of a fit on the way, and of the last one.
ON_THE_WAY, AT_LAST = 60, 250


def one_way_asks(growth: Growth, columns: Sequence[int], share: Fraction) -> tuple[Count, ...]:
    """Return the questions for the tables of single columns, which share a part of the budget."""
    sizes = [growth.public.sizes[column] for column in columns]
    shares = shares_by_size(sizes, gaussian=isinstance(growth.limit, ZCDP))
    return tuple(
        growth.count((column,), share * part, "column: ")
        for column, part in zip(columns, shares, strict=True)
    )


class Growth:
    """The public state of a release in the making.

    Parameters
    ----------
    public
        What is public about the table.
    limit, relation
        The loss for one record of the whole release, and what a neighbour is.
    """

    def __init__(self, public: TablePublic, limit: Loss, relation: Relation) -> None:
        self.public = public
        self.limit = limit
        self.relation = relation
        self.measured: list[Measured] = []
        self.tables: list[NoisyTable] = []
        self._model: GraphicalModel | None = None
        self._rows: list[Measured] = []
        self._fitted = 0
        self._near = np.eye(len(public.sizes), dtype=np.bool_)

    @property
    def total(self) -> float:
        """The number of rows, as far as is known."""
        if self.public.rows is not None:
            return float(min(max(self.public.rows, 1), LARGEST))
        told = [*self._rows, *self.measured]
        return min(total_of(told), float(LARGEST)) if told else 1.0

    def count(self, columns: Set, share: Fraction, name: str = "") -> Count:
        """Return the question for a table of some columns, or for the number of rows."""
        label = table_label(self.public, columns) if columns else TOTAL
        return Count(
            label=f"{name}{label}",
            columns=columns,
            shape=tuple(self.public.sizes[column] for column in columns),
            loss=self.limit.share(share),
            relation=self.relation,
        )

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
        levels = (0,) * len(asked.columns)
        self.tables.append(
            NoisyTable(asked.label, asked.columns, levels, item.values.size, deviation)
        )

    def _refit(self) -> None:
        """Fit the model to all tables, starting from the last one."""
        self._model = fit(
            self.public.sizes, self.measured, self.total, iterations=ON_THE_WAY, start=self._model
        )
        self._fitted = len(self.measured)

    def fitting(self, pool: Pool, most_cells: float) -> NDArray[np.int64]:
        """Return the numbers of the sets that can be joined without making the model too large."""
        return joinable_sets(self._near, pool, most_cells)

    def estimates(self, pool: Pool) -> NDArray[np.int64]:
        """Return what the model expects in every cell of a pool, in steps of the grid.

        It is what the model says itself where all combinations of columns are few; else rows of
        the model, in a fixed number, are counted as the data are.
        """
        if self._fitted != len(self.measured):
            self._refit()
        assert self._model is not None
        sizes, steps = self.public.sizes, GRID * self.total
        together = small_tables(pool.sets, sizes) if prod(sizes) <= MOST_COMBINATIONS else None
        if together is None:
            # A seed of our own: what is drawn is public anyway, and nothing else hangs on it.
            drawn = self._model.draw(DRAWN, noise.generator(len(self.measured)))
            expected = counted_together(pool.sets, sizes, list(drawn.T)) * (steps / DRAWN)
        else:
            axes = enumerate(counted_columns(self.public))
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

    def choice(
        self,
        number: int,
        pool: Pool,
        offered: NDArray[np.int64],
        share: Fraction,
        *,
        handicap: NDArray[np.float64] | None = None,
        weights: NDArray[np.int64] | None = None,
        expected: Expected | None = None,
    ) -> Choice:
        """Return the question which offered set the model gets most wrong."""
        rows = np.zeros(len(pool.sets)) if handicap is None else np.minimum(handicap, LARGEST)
        return Choice(
            label=f"choice {number}",
            pool=pool,
            offered=offered,
            expected=expected or self.expected_once(pool),
            handicap=np.rint(GRID * rows[offered]).astype(np.int64),
            weights=np.ones(offered.size, np.int64) if weights is None else weights[offered],
            loss=self.limit.share(share),
            relation=self.relation,
        )

    def release(self, notes: Sequence[str] = ()) -> SyntheticTable:
        """Return the release: the model that explains all tables best."""
        model = fit(self.public.sizes, self.measured, self.total, iterations=AT_LAST)
        total = self.total if self.public.rows is None else float(self.public.rows)
        return SyntheticTable(self.public, FittedModel(model), total, self.tables, notes)
