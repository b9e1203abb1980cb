"""A model that grows table by table: everything public that select–measure–generate shares.

It holds noisy answers only. The methods differ in what they ask next; this module says how answers
become a model, which sets of columns can still be joined, and what the model expects to be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.engines.batch import Batch
from sfumato.engines.condense import distinct_rows
from sfumato.mechanisms.graphical import GraphicalModel, Measured, fit
from sfumato.mechanisms.graphical.fitting import total_of
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss
from sfumato.tabular.counting_method import TOTAL, table_label
from sfumato.tabular.fitted import FittedModel
from sfumato.tabular.one_way import counted_columns, shares_by_size
from sfumato.tabular.program import GRID, LARGEST, Choice, Count, Pool, Set
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

__all__ = ["Growth", "candidate_pool", "one_way_asks"]

Expected = Callable[[], NDArray[np.int64]]

#: Estimates are counted in this many rows drawn from the model.
DRAWN = 20_000
#: Probabilities are whole numbers of this part of one where all combinations are counted.
WHOLE = 2**40
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


def candidate_pool(
    sizes: Sequence[int],
    cells: float,
    *,
    most_sets: int,
    most_cells: int,
    ways: int | None = None,
    singles: bool = False,
) -> Pool:
    """Return sets of two or more columns whose tables are small enough to be worth measuring.

    Parameters
    ----------
    sizes
        The domain size of each column; columns of one value are left out.
    cells
        The most cells of a table.
    most_sets, most_cells
        All sets of k + 1 columns are taken in only if there are no more sets and cells than this
        in all; of the first k that do not fit, the smallest tables.
    ways
        The most columns of a set.
    singles
        Whether every single column is taken in as well.
    """
    useful = [column for column, size in enumerate(sizes) if size > 1]
    level: list[Set] = [(column,) for column in useful]
    taken: list[Set] = list(level) if singles else []
    used = sum(sizes[column] for column in useful) if singles else 0
    for _ in range(2, (ways or len(useful)) + 1):
        level = [
            (*columns, column)
            for columns in level
            for column in useful
            if column > columns[-1]
            and sizes[column] * prod(sizes[inside] for inside in columns) <= cells
        ]
        # Among tables of one size no columns come first: a fixed public lot decides.
        ranked = sorted(
            (prod(sizes[c] for c in columns), _lot(columns), columns) for columns in level
        )
        for size, _, columns in ranked:
            if len(taken) >= most_sets or used + size > most_cells:
                return Pool(tuple(sorted(taken)), tuple(sizes))
            taken.append(columns)
            used += size
    return Pool(tuple(sorted(taken)), tuple(sizes))


def _lot(columns: Set) -> int:
    """Return a number that looks random and is the same everywhere."""
    return crc32(repr(columns).encode())


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
        self._batch: Batch | None = None
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
        from sfumato.mechanisms.graphical.growth_kernels import grown_cells

        if not pool.sets:
            return np.zeros(0, dtype=np.int64)
        sizes = np.asarray(self.public.sizes, dtype=np.float64)
        cells = grown_cells(self._near, sizes, *pool.members)
        return np.flatnonzero(cells <= most_cells).astype(np.int64)

    def estimates(self, pool: Pool) -> NDArray[np.int64]:
        """Return what the model expects in every cell of a pool, in steps of the grid.

        Rows that stand for the model are counted as the data are.
        """
        if self._fitted != len(self.measured):
            self._refit()
        if self._batch is None or self._batch.tables != list(pool.sets):
            self._batch = Batch(pool.sets, self.public.sizes, DRAWN)
        self._batch.clear()
        rows, weights = self._expected_rows()
        self._batch.add([rows[column] for column in self._batch.columns], weights)
        flat = self._batch.flat().astype(np.float64)
        # Every row is in one cell of each table: the shares of a table sum to one.
        shares = flat / max(int(weights.sum()), 1)
        return np.rint(GRID * self.total * shares).astype(np.int64)

    def _expected_rows(self) -> tuple[list[NDArray[np.uint32]], NDArray[np.int64]]:
        """Return rows that stand for the model, column by column, and how often each occurs.

        All combinations with their probabilities where they are few; else drawn ones, in a fixed
        number.
        """
        assert self._model is not None
        sizes = self.public.sizes
        if prod(sizes) <= DRAWN:
            columns = counted_columns(self.public)
            whole = self._model.marginal(tuple(columns))
            rows = [np.zeros(whole.size, dtype=np.uint32) for _ in sizes]
            places = np.indices(whole.shape).reshape(len(columns), -1).astype(np.uint32)
            for column, codes in zip(columns, places, strict=True):
                rows[column] = codes
            shares = np.clip(np.nan_to_num(whole.reshape(-1)), 0.0, 1.0)
            return rows, np.rint(shares * WHOLE).astype(np.int64)
        # A seed of our own: what is drawn is public anyway, and must come out alike elsewhere.
        drawn = self._model.draw(DRAWN, noise.generator(len(self.measured)))
        found = distinct_rows([list(drawn.astype(np.uint32).T)], sizes)
        assert found is not None
        return found

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
