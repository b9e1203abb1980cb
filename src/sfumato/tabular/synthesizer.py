"""Synthesizer: the method to reach for when nothing else is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import View, see_through
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, PureDP
from sfumato.privacy.loss_check import record_limit
from sfumato.privacy.parameters import Name, NameSets, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.progress import track
from sfumato.tabular.allocation import (
    LEAST_TOLERANCE,
    MOST_MODEL_CELLS,
    MOST_TOLERANCE,
    Rounds,
    drown_columns,
    plan_rounds,
    plan_shares,
    tolerate_noise,
)
from sfumato.tabular.binning import BinnedPublic, BinningMethod
from sfumato.tabular.candidates import Pool, candidate_pool
from sfumato.tabular.coarsening import Coarsening
from sfumato.tabular.counting_method import mean_absolute, rows_about
from sfumato.tabular.growing_model import Count, GrowingModel, one_way_counts
from sfumato.tabular.one_way import columns_to_count, require_countable
from sfumato.tabular.queries import GRID, Dependence
from sfumato.tabular.round_plan import (
    choices_step,
    dependence_step,
    one_way_steps,
    round_plan,
    rounds_step,
    rows_step,
    unknown_step,
)
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["Synthesizer"]

#: What the number of rows costs where it is private: it only steers how many tables are measured.
ROWS_SHARE = Fraction(1, 100)
#: How strongly columns depend on each other costs as many thousandths of the budget as it takes to
#: tell it to this part of the rows, and at most so many; beyond that noise it is not asked for.
DEPENDENCE_NOISE, MOST_THOUSANDTHS, USELESS_NOISE = 0.05, 30, 0.25
#: The most cells of a pair whose dependence is looked at, and the fewest rows per cell: with fewer,
#: chance alone looks like dependence.
MOST_DEPENDENCE_CELLS, FEWEST_ROWS_PER_CELL = 2**16, 10
#: The name of that figure in a transcript.
DEPENDENCE = "dependence"
#: More sets, pairs of columns or cells than this are not compared with the data in one round.
MOST_SETS, MOST_PAIRS, MOST_POOL_CELLS = 7_500, 2**15, 2**22
#: So many values a column is taken to have where its size may not decide.
USUAL_SIZE = 16
#: What a column is called that is measured a second time.
AGAIN = "column again: "
#: A set that holds the target counts for so many others.
TARGET_WEIGHT = 2
#: What a plan says where figures of the data decide how the budget is shared.
ESTIMATED = (
    "How much of the budget columns get, and how many tables of several columns there are, follows "
    "from noisy figures (the number of rows, the counts of the columns, how strongly they depend "
    "on each other); these lines are estimates."
)


def _counts_rows(public: TablePublic) -> bool:
    """Tell whether the number of rows is private and steers something."""
    return public.rows is None and len(columns_to_count(public.sizes)) > 1


@dataclass(frozen=True)
class DependenceCount:
    """How strongly columns depend on each other, as it is measured.

    Parameters
    ----------
    query
        What is measured.
    share
        Its share of the budget.
    noise
        Its noise.
    unit
        What a distance of all rows, in the mean over the pairs, comes to.
    """

    query: Dependence
    share: Fraction
    noise: CountNoise
    unit: float

    @property
    def deviation(self) -> float:
        """The standard deviation of its noise, as a part of the rows."""
        return self.noise.standard_deviation / self.unit

    @property
    def margin(self) -> float:
        """How far it is off at most in 19 of 20 cases, as a part of the rows."""
        return margin(self.noise) / self.unit

    @classmethod
    def plan(
        cls, sizes: tuple[int, ...], rows: float, limit: Loss, relation: Relation
    ) -> DependenceCount | None:
        """Return how it is measured, or nothing where noise would hide it.

        Parameters
        ----------
        sizes
            The declared size of each column.
        rows
            The number of rows, public or noisy.
        limit, relation
            The loss for one record, and what a neighbour is.
        """
        pairs = candidate_pool(
            sizes,
            min(rows / FEWEST_ROWS_PER_CELL, MOST_DEPENDENCE_CELLS),
            most_sets=MOST_PAIRS,
            most_cells=MOST_POOL_CELLS,
            ways=2,
        )
        query, unit = Dependence(pairs), GRID * len(pairs.sets) * rows
        if not pairs.sets:
            return None
        # A replaced row moves the one number twice.
        largest = query.moves * (2 if relation is Relation.REPLACE_ONE else 1)
        for thousandths in range(1, MOST_THOUSANDTHS + 1):
            share = Fraction(thousandths, 1000)
            noise = count_noise(
                (1,), limit.share(share), relation, moves=query.moves, largest=largest
            )
            found = cls(query, share, noise, unit)
            if found.deviation <= DEPENDENCE_NOISE:
                break
        return found if found.deviation <= USELESS_NOISE else None

    def measure(self, budget: Budget, limit: Loss) -> Program[float]:
        """Ask for it, and return how many times the usual noise further tables are worth."""
        part = budget.take(limit.share(self.share), DEPENDENCE)
        answer = yield Ask(part, self.noise, self.query, DEPENDENCE)
        return tolerate_noise(float(answer[0]) / self.unit, self.deviation)


def _offer(sizes: tuple[int, ...], rounds: Rounds) -> Pool:
    """Return the sets of columns that rounds choose from."""
    # The smallest sets come first: without room for all pairs no large column would be joined.
    pairs = min(comb(len(columns_to_count(sizes)), 2), MOST_PAIRS)
    return candidate_pool(
        sizes, rounds.cells, most_sets=max(MOST_SETS, pairs), most_cells=MOST_POOL_CELLS
    )


@dataclass(frozen=True, kw_only=True)
class Synthesizer(BinningMethod):
    """Release a synthetic table from adaptively chosen marginals; the recommended method.

    Every one-way marginal is measured. Then, in rounds, the marginal with the largest model error
    is chosen privately and measured, and a graphical model is fitted to all measurements. Where
    columns are few, one marginal of all of them may take the place of the rounds. In these
    marginals rare values share a code. The number of rounds and the size of their tables depend on
    the number of rows, the declared columns, the measured columns, a noisy figure of how strongly
    columns depend on each other, and the budget.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, the guarantee is (epsilon, delta), and noise is Gaussian where that means less
        noise, as it does for many columns; otherwise the guarantee is pure.
    noise
        `"auto"`: whichever noise is smaller. `"gaussian"`: Gaussian noise, which needs a delta and
        composes better with other releases in zCDP.
    rounds
        Number of marginals to choose and measure. Default: as many as improve the model despite
        their noise.
    focus
        Tables that matter most, such as `[("age", "income")]`: they are measured in any case.
    target
        The column that matters most, such as the one that will be predicted: tables that hold it
        are preferred.
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
    one cell by 1; it changes the distance of a pair from independence by less than 4 (8 under
    replace-one); all shares add up to the budget (docs/proofs/synthesizer.md).
    """

    proof: ClassVar[str] = "synthesizer.md"
    example: ClassVar[dict[str, Any]] = {"rounds": 2}

    rounds: int | None = parameter(OrNone(Whole(0, 1000)), None)

    noise: str = parameter(OneOf(("auto", "gaussian")), "auto")
    focus: Any = parameter(OrNone(NameSets()), None)
    target: str | None = parameter(OrNone(Name()), None)

    def counted_loss(self, public: TablePublic) -> Loss:
        """Return ε or ρ where a delta is given, whichever leaves less noise on a typical table.

        ε-DP implies (ε, δ)-DP. Gaussian noise grows with the root of the number of tables only, but
        starts from more: it pays where columns are many.
        """
        working = self.working_loss()
        if self.delta is None or self.noise == "gaussian":
            return working
        losses, columns = (PureDP(self.epsilon), working), len(public.sizes)
        limits = [record_limit(loss, public) for loss in losses]

        def spreads(tables: int) -> list[float]:
            """Return the mean absolute noise of either kind if so many tables share the budget."""
            return [
                mean_absolute(count_noise((1,), limit.share(Fraction(1, tables)), relation))
                for limit, relation in limits
            ]

        # Besides the columns themselves there are about as many tables of several columns, if any.
        # Whether there are must follow from what bins and found values leave as it is.
        pure, _ = spreads(columns)
        alone = drown_columns(USUAL_SIZE * pure, rows_about(public))
        return losses[int(np.argmin(spreads(columns if alone else 2 * columns)))]

    def _dependence(
        self, public: TablePublic, rows: float, left: Fraction
    ) -> DependenceCount | None:
        """Return how dependence is measured, where it decides the number of rounds."""
        if self.rounds is not None:
            return None
        limit, relation = self.record_budget(public)
        focus = len(self._focus_sets(public))
        share, _ = plan_shares(
            public.sizes, rows, limit.share(left), relation, None, focus, MOST_TOLERANCE
        )
        # Where columns get everything even if they depend on each other most, nothing is decided.
        return DependenceCount.plan(public.sizes, rows, limit, relation) if share < 1 else None

    def _focus_sets(self, public: TablePublic) -> list[tuple[int, ...]]:
        """Return the tables that are measured in any case."""
        sets = [tuple(sorted(public.schema.indices(names))) for names in self.focus or ()]
        return [columns for columns in dict.fromkeys(sets) if len(columns) > 1]

    def _table_program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        limit, relation = self.record_budget(public)
        growing, left = GrowingModel(public, limit, relation), Fraction(1)
        if isinstance(public, BinnedPublic):
            growing.take_in(public.known)
        if _counts_rows(public):
            yield from growing.measure(budget, [growing.count((), ROWS_SHARE)])
            left -= ROWS_SHARE
        columns, focus = columns_to_count(public.sizes), self._focus_sets(public)
        tolerance, dependence = 1.0, self._dependence(public, growing.total, left)
        if dependence is not None:
            tolerance = yield from dependence.measure(budget, limit)
            left -= dependence.share
        share, rounds = plan_shares(
            public.sizes,
            growing.total,
            limit.share(left),
            relation,
            self.rounds,
            len(focus),
            tolerance,
        )
        yield from growing.measure(budget, one_way_counts(growing, columns, left * share))
        if share == 1:
            yield FINISH
            return growing.release()
        rest = left * (1 - share)
        masses = growing.one_way()
        coarsening = Coarsening(masses)
        rounds = plan_rounds(
            coarsening.codes,
            growing.total,
            limit,
            relation,
            rest,
            self.rounds,
            len(focus),
            tolerance,
        )
        useful = coarsening.codes(rounds.spread) > 1
        if not focus and np.count_nonzero(useful) < 2:
            # Nothing is left to join: columns are measured a second time.
            yield from growing.measure(budget, one_way_counts(growing, columns, rest, AGAIN))
            yield FINISH
            return growing.release()
        if rounds.joint:
            focus = [tuple(sorted(c for c, kept in zip(masses, useful, strict=True) if kept))]
        bins = coarsening.bins(rounds.spread)
        if not bins:
            return (yield from self._run_rounds(growing, budget, rounds, focus))
        view = View(
            tuple((c, bins[c].groups if c in bins else None) for c in range(len(public.sizes)))
        )
        program = self._run_rounds(growing.coarsen(bins), budget, rounds, focus)
        return (yield from see_through(view, program))

    def _run_rounds(
        self,
        growing: GrowingModel,
        budget: Budget,
        rounds: Rounds,
        focus: list[tuple[int, ...]],
    ) -> Program[SyntheticTable]:
        """Choose and measure tables, and return the model of all measurements."""
        pool = _offer(growing.sizes, rounds)
        # A measured table stays off by its noise; fitting keeps counts from going below 0, so by
        # no more than twice the rows, as far as two tables of as many rows can be apart.
        noise = rounds.spread * pool.cells / growing.total
        handicap = growing.total * 2 * noise / (2 + noise)
        weights = self._weights(growing.public, pool)
        for number in track(range(1, rounds.number + 1), "choosing and counting"):
            offered = growing.fitting(pool, MOST_MODEL_CELLS)
            # What there is no choice about is not chosen, and its table gets all of the round.
            share = rounds.table + rounds.choice
            if number <= len(focus):
                chosen = focus[number - 1]
            elif offered.size == 0:
                # The model is as large as it may be: the rest makes its columns more exact.
                rest = (rounds.number + 1 - number) * share
                columns = columns_to_count(growing.sizes)
                yield from growing.measure(budget, one_way_counts(growing, columns, rest, AGAIN))
                break
            elif offered.size == 1:
                chosen = pool.sets[offered[0]]
            else:
                pick = yield growing.choose(
                    budget,
                    number,
                    pool,
                    offered,
                    rounds.choice,
                    handicap=handicap,
                    weights=weights,
                )
                share, chosen = rounds.table, pool.sets[offered[pick]]
            count = growing.count(chosen, share, f"table {number}: ")
            yield from growing.measure(budget, [count])
        yield FINISH
        return growing.release()

    def _weights(self, public: TablePublic, pool: Pool) -> NDArray[np.int64] | None:
        """Return what errors of each set count for, where there is a target."""
        if self.target is None:
            return None
        (target,) = public.schema.indices([self.target])
        return np.array([TARGET_WEIGHT if target in columns else 1 for columns in pool.sets])

    def check(self, public: TablePublic) -> None:
        """Raise where the columns have too many values to be counted."""
        super().check(public)
        about = self.about(public)
        require_countable(about)
        if self.noise == "gaussian" and self.delta is None:
            raise ValueError('noise="gaussian" needs a delta; give delta=, or leave noise out')
        focus = len(self._focus_sets(public))
        if self.rounds is not None and self.rounds < focus:
            raise ValueError(
                f"rounds = {self.rounds} is fewer than the {focus} tables of focus; "
                f"give at least rounds={focus}, or leave rounds out"
            )
        if self.target is not None:
            public.schema.indices([self.target])
        cells = sum(prod(about.sizes[c] for c in columns) for columns in self._focus_sets(public))
        if cells > MOST_MODEL_CELLS:
            raise ValueError(
                f"the tables of focus have {cells:,} cells; at most {MOST_MODEL_CELLS:,} are "
                "allowed; name fewer columns, or declare fewer bins"
            )

    def _plan_table(self, public: TablePublic) -> Plan:
        limit, relation = self.record_budget(public)
        columns = columns_to_count(public.sizes)
        left, steps, notes = Fraction(1), [], list[str]()
        if _counts_rows(public):
            steps.append(rows_step(self, public, ROWS_SHARE))
            left -= ROWS_SHARE
        about, focus = rows_about(public), len(self._focus_sets(public))
        if len(columns) > 1 and about is None:
            steps.append(unknown_step(self, public, left))
        else:
            dependence = self._dependence(public, float(about or 1), left)
            if dependence is not None:
                steps.append(dependence_step(self, public, dependence.share, dependence.margin))
                left -= dependence.share

            def planned(tolerance: float) -> tuple[tuple[Count, ...], Rounds]:
                """Return the tables of columns and the rounds for a dependence."""
                share, rounds = plan_shares(
                    public.sizes,
                    float(about or 1),
                    limit.share(left),
                    relation,
                    self.rounds,
                    focus,
                    tolerance,
                )
                growing = GrowingModel(public, limit, relation)
                return one_way_counts(growing, columns, left * share), rounds

            counts, rounds = planned(1.0)
            bounds = None
            if dependence is not None:
                bounds = planned(LEAST_TOLERANCE)[0], planned(MOST_TOLERANCE)[0]
            steps += one_way_steps(self, public, counts, bounds)
            if rounds.number:
                many, cells = rounds.number, rounds.cells
                sets = len(_offer(public.sizes, rounds).sets)
                choices, tables = many * left * rounds.choice, many * left * rounds.table
                if not rounds.joint:
                    steps.append(choices_step(self, public, many, choices, sets))
                steps.append(rounds_step(self, public, many, tables, cells))
            if self.rounds is None and (rounds.number or dependence is not None):
                notes.append(ESTIMATED)
        return round_plan(self, public, steps, *notes)

    def trial(self) -> Synthesizer:
        """Return the same with a single round, or with those of focus alone."""
        return self if self.rounds == 0 else replace(self, rounds=max(len(self.focus or ()), 1))
