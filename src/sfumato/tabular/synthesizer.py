"""Synthesizer: the method to reach for when nothing else is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, comb, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.mechanisms.count_noise import count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss
from sfumato.privacy.parameters import OrNone, Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Program
from sfumato.privacy.progress import track
from sfumato.tabular.binning import BinnedPublic, BinningMethod
from sfumato.tabular.candidates import Pool, candidate_pool
from sfumato.tabular.counting_method import mean_absolute, rows_about
from sfumato.tabular.growing_model import GrowingModel, one_way_counts
from sfumato.tabular.one_way import columns_to_count, require_countable
from sfumato.tabular.round_plan import (
    choices_step,
    one_way_step,
    round_plan,
    rounds_step,
    rows_step,
    unknown_step,
)
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["Rounds", "Synthesizer", "rounds_for"]

#: What the number of rows costs where it is private: it only steers how many tables are measured.
ROWS_SHARE = Fraction(1, 100)
#: The share of a round that chooses its table; the rest measures it.
CHOICE_SHARE = Fraction(15, 100)
#: A table is worth a round while the noise on a typical one adds up to less than this many times
#: the rows. Gaussian noise grows with the root of the number of tables only, and may be larger.
WORTH, WORTH_GAUSSIAN = 0.6, 1.2
#: Where fewer rounds than this are worth it, there are none, and columns stay independent.
FEWEST_ROUNDS = 4
#: At most this many rounds for each column.
ROUNDS_A_COLUMN = 0.8
#: More rounds than this take long and are hardly ever worth it.
MOST_ROUNDS = 64
#: A table may have so many cells that its noise adds up to this many times the rows.
LARGEST_NOISE = 1.5
#: Half of the expected noise counts against a table: fitting takes out the other half.
HANDICAP = 0.5
#: One-way tables get this share, over how often the rounds will cover a column.
ONE_WAY, LEAST_ONE_WAY, MOST_ONE_WAY = 0.45, 0.05, 0.85
#: More sets or cells than this are not compared with the data in one round.
MOST_SETS, MOST_POOL_CELLS = 7_500, 2**22
#: The most cells of the model.
MOST_MODEL_CELLS = 2**17
#: Sets of more columns than this are not counted on when rounds are planned.
COUNTED_WAYS = 5


@dataclass(frozen=True)
class Rounds:
    """How a budget is spent, decided from public figures.

    Parameters
    ----------
    one_way
        The share of all one-way tables.
    rounds
        How many further tables are chosen and measured.
    choice, table
        The share of one choice and of one measurement.
    cells
        The most cells of a table.
    spread
        The mean absolute noise on a cell of such a table.
    """

    one_way: Fraction
    rounds: int
    choice: Fraction
    table: Fraction
    cells: float
    spread: float


def _counts_rows(public: TablePublic) -> bool:
    """Tell whether the number of rows is private and steers something."""
    return public.rows is None and len(columns_to_count(public)) > 1


def _spread(limit: Loss, relation: Relation, share: Fraction) -> float:
    return mean_absolute(count_noise((1,), limit.share(share), relation))


def _worthwhile(
    sizes: NDArray[np.float64], rows: float, limit: Loss, relation: Relation, left: Fraction
) -> int:
    """Return how many rounds are worth their noise."""
    typical = float((sizes**2).sum() / sizes.sum())
    worth = WORTH_GAUSSIAN if isinstance(limit, ZCDP) else WORTH
    most = min(ceil(ROUNDS_A_COLUMN * sizes.size), comb(sizes.size, 2), MOST_ROUNDS)
    rounds = 0
    while rounds < most:
        share = left * Fraction(3, 4) * (1 - CHOICE_SHARE) / (rounds + 1)
        if max(typical**2, 16.0) * _spread(limit, relation, share) > worth * rows:
            break
        rounds += 1
    # A few noisy tables would hardly pay for what all columns lose to them.
    return rounds if rounds >= min(FEWEST_ROUNDS, most) else 0


def rounds_for(
    sizes: tuple[int, ...],
    rows: float,
    limit: Loss,
    relation: Relation,
    left: Fraction,
    fixed: int | None = None,
) -> Rounds:
    """Return how much is spent on one-way tables, and on how many further ones.

    Parameters
    ----------
    sizes
        The domain size of each column.
    rows
        The number of rows, public or noisy.
    limit, relation
        The loss for one record, and what a neighbour is.
    left
        The share of it that is not spent yet.
    fixed
        The number of rounds, if it is asked for.

    Notes
    -----
    Under pure ε noise grows with the number of tables, so few large ones beat many small ones. A
    round is worth its price while the noise on a table of two typical columns stays below the
    signal; columns of many values weigh more in what is typical.
    """
    useful = np.asarray([size for size in sizes if size > 1], dtype=np.float64)
    if useful.size < 2:
        return Rounds(left, 0, Fraction(0), Fraction(0), 0.0, 0.0)
    rounds = _worthwhile(useful, rows, limit, relation, left) if fixed is None else fixed
    if rounds == 0:
        return Rounds(left, 0, Fraction(0), Fraction(0), 0.0, 0.0)
    share = left * Fraction(3, 4) * (1 - CHOICE_SHARE) / rounds
    cells = LARGEST_NOISE * rows / _spread(limit, relation, share)
    ways = min(log(max(cells, 4.0)) / log(max(float(useful.mean()), 2.0)), COUNTED_WAYS)
    cover = rounds * ways / useful.size
    wanted = min(max(ONE_WAY / cover, LEAST_ONE_WAY), MOST_ONE_WAY)
    one_way = left * Fraction(round(1000 * wanted), 1000)
    each = (left - one_way) / rounds
    table = each * (1 - CHOICE_SHARE)
    spread = _spread(limit, relation, table)
    # The smallest pair is always worth a look where rounds were asked for.
    cells = max(LARGEST_NOISE * rows / spread, float(np.sort(useful)[:2].prod()))
    return Rounds(one_way, rounds, each * CHOICE_SHARE, table, cells, spread)


def course_for(
    sizes: tuple[int, ...],
    rows: float,
    limit: Loss,
    relation: Relation,
    left: Fraction,
    fixed: int | None,
) -> tuple[Rounds, Pool]:
    """Return how the budget is spent, and the sets of columns that rounds choose from."""
    rounds = rounds_for(sizes, rows, limit, relation, left, fixed)
    pool = candidate_pool(sizes, rounds.cells, most_sets=MOST_SETS, most_cells=MOST_POOL_CELLS)
    if not pool.sets:
        rounds = Rounds(left, 0, Fraction(0), Fraction(0), 0.0, 0.0)
    return rounds, pool


@dataclass(frozen=True, kw_only=True)
class Synthesizer(BinningMethod):
    """Release a synthetic table from adaptively chosen marginals; the recommended method.

    Every one-way marginal is measured. Then, in rounds, the marginal with the largest model error
    is chosen privately and measured, and a graphical model is fitted to all measurements. The
    number of rounds and the size of their tables depend on the number of rows, the declared columns
    and the budget.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    rounds
        Number of marginals to choose and measure. Default: as many as improve the model despite
        their noise.
    binner
        Where bins come from, for columns of numbers or dates with more than 32 values. `"auto"`:
        ranges with many records are halved repeatedly, down to single values, and counted; the
        tables of several columns use at most 32 bins of them, and synthetic values follow the finer
        counts within a bin. `"declared"`: from the schema. `"uniform"`: bins of equal width, at no
        privacy loss. `"quantile"`: bins with about equal numbers of records. `"privtree"`: halved
        repeatedly, without finer counts; categories are grouped along their taxonomy.
    bins
        Maximum number of bins per column, 32 by default; 16 for `"uniform"` and `"quantile"`.
    bins_share
        Share of the budget for the bins of all columns. Default: for k such columns with `"auto"`
        k/(k + 10), at most 2/5; with `"quantile"` and `"privtree"` 1/10.

    Notes
    -----
    Privacy: the score of a combination is the L1 distance of its counts from public figures, which
    one record changes by at most 1 (2 under replace-one); in a measured table one record changes
    one cell by 1; shares of choices and tables add up to the budget (docs/proofs/synthesizer.md).
    """

    proof: ClassVar[str] = "synthesizer.md"
    example: ClassVar[dict[str, Any]] = {"rounds": 2}

    rounds: int | None = parameter(OrNone(Whole(0, 1000)), None)

    def _table_program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        limit, relation = self.record_budget(public)
        growing, left = GrowingModel(public, limit, relation), Fraction(1)
        if isinstance(public, BinnedPublic):
            growing.take_in(public.known)
        if _counts_rows(public):
            yield from growing.measure(budget, [growing.count((), ROWS_SHARE)])
            left -= ROWS_SHARE
        rounds, pool = course_for(public.sizes, growing.total, limit, relation, left, self.rounds)
        columns = columns_to_count(public)
        yield from growing.measure(budget, one_way_counts(growing, columns, rounds.one_way))
        handicap = HANDICAP * rounds.spread * pool.cells.astype(np.float64)
        for number in track(range(1, rounds.rounds + 1), "choosing and counting"):
            offered = growing.fitting(pool, MOST_MODEL_CELLS)
            if offered.size == 0:
                break
            share, pick = rounds.table, 0
            if offered.size > 1:
                pick = yield growing.choose(
                    budget, number, pool, offered, rounds.choice, handicap=handicap
                )
            else:
                # What there is no choice about is not chosen, and its table gets all of the round.
                share += rounds.choice
            count = growing.count(pool.sets[offered[pick]], share, f"table {number}: ")
            yield from growing.measure(budget, [count])
        yield FINISH
        return growing.release()

    def check(self, public: TablePublic) -> None:
        """Raise where the columns have too many values to be counted."""
        super().check(public)
        require_countable(self.about(public))

    def _plan_table(self, public: TablePublic) -> Plan:
        limit, relation = self.record_budget(public)
        columns = columns_to_count(public)
        left, steps = Fraction(1), []
        if _counts_rows(public):
            steps.append(rows_step(self, public, ROWS_SHARE))
            left -= ROWS_SHARE
        about = rows_about(public)
        if len(columns) > 1 and about is None:
            steps.append(unknown_step(self, left))
        else:
            rounds, pool = course_for(
                public.sizes, float(about or 1), limit, relation, left, self.rounds
            )
            counts = one_way_counts(GrowingModel(public, limit, relation), columns, rounds.one_way)
            noises = [count.noise for count in counts]
            steps.append(one_way_step(self, public, rounds.one_way, noises))
            if rounds.rounds:
                cells = float(pool.cells.max(initial=1))
                many, choices = rounds.rounds, rounds.rounds * rounds.choice
                steps.append(choices_step(self, public, many, choices, len(pool.sets)))
                steps.append(rounds_step(self, public, many, many * rounds.table, cells))
        return round_plan(self, public, steps)

    def trial(self) -> Synthesizer:
        """Return the same with a single round."""
        return self if self.rounds == 0 else replace(self, rounds=1)
