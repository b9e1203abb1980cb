"""AIM: many small rounds, whose budgets grow as soon as they bring too little."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ZCDP
from sfumato.privacy.parameters import Whole, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Program
from sfumato.tabular.candidates import Pool, candidate_pool
from sfumato.tabular.counting_method import TableMethod, mean_absolute
from sfumato.tabular.growing_model import GrowingModel
from sfumato.tabular.one_way import columns_to_count, require_countable
from sfumato.tabular.round_plan import choices_step, one_way_steps, round_plan, rounds_step
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["AIM"]

#: The share of a round that chooses.
CHOICE_SHARE = Fraction(1, 10)
#: The most cells of the model at the end; on the way it grows with what is spent.
MOST_MODEL_CELLS = 2**19
#: More sets or cells than this are not compared with the data in one round.
MOST_SETS, MOST_POOL_CELLS = 20_000, 2**23


@dataclass(frozen=True, kw_only=True)
class AIM(TableMethod[SyntheticTable]):
    """Release a synthetic table by adaptive and iterative measurement (AIM).

    Every one-way marginal is measured. Then, in many small rounds, the marginal with the largest
    model error is chosen and measured; errors are weighted by the overlap with the marginals of
    interest. If a round changes the model by less than its noise, later rounds get a larger budget.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta), as in the paper;
        otherwise the guarantee is pure.
    ways
        Number of columns per marginal of interest; all marginals of this many columns are of
        interest.
    rounds
        Number of planned rounds per column; 16 in the paper.

    Notes
    -----
    Privacy: choices and tables as in `Synthesizer`, with scores multiplied by public weights, which
    multiplies their sensitivity; how the budget is shared follows from earlier noisy answers, and
    the budget is a privacy filter (docs/proofs/synthesizer.md). McKenna and others (2022).
    """

    proof: ClassVar[str] = "synthesizer.md"

    ways: int = parameter(Whole(1), 3)
    rounds: int = parameter(Whole(2, 64), 16)

    def _first_share(self, public: TablePublic) -> Fraction:
        """Return the share of one round at the beginning."""
        return Fraction(1, self.rounds * len(columns_to_count(public.sizes)))

    def _pool(self, public: TablePublic) -> Pool:
        return candidate_pool(
            public.sizes,
            MOST_MODEL_CELLS,
            most_sets=MOST_SETS,
            most_cells=MOST_POOL_CELLS,
            ways=self.ways,
            singles=True,
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for every column, then for one combination after another."""
        limit, relation = self.record_budget(public)
        growing = GrowingModel(public, limit, relation)
        columns = columns_to_count(public.sizes)
        share = self._first_share(public) if len(columns) > 1 else Fraction(1)
        table_share = share * (1 - CHOICE_SHARE) if len(columns) > 1 else share
        counts = [growing.count((column,), table_share, "column: ") for column in columns]
        yield from growing.measure(budget, counts)
        left = 1 - table_share * len(columns)
        pool, number = self._pool(public), 0
        weights = _weights(pool)
        while left > 0 and pool.sets:
            number += 1
            if left < 2 * share:
                # What would not pay for two rounds is spent on this one.
                share = left
            table_share = share * (1 - CHOICE_SHARE)
            offered = growing.fitting(pool, MOST_MODEL_CELLS * float(1 - left + share))
            if offered.size == 0:
                # Single columns make no model larger than it is.
                offered = np.flatnonzero(weights == 1).astype(np.int64)
            spread = mean_absolute(growing.count((columns[0],), table_share).noise)
            pick = yield growing.choose(
                budget,
                number,
                pool,
                offered,
                share * CHOICE_SHARE,
                handicap=spread * pool.cells.astype(np.float64),
                weights=weights,
            )
            chosen = pool.sets[offered[pick]]
            count = growing.count(chosen, table_share, f"table {number}: ")
            values = yield count.ask(budget)
            before = growing.marginal(chosen)
            growing.learn(count, values)
            left -= share
            change = float(np.abs(growing.marginal(chosen) - before).sum()) * growing.total
            if change <= spread * prod(count.shape):
                # Half the noise: twice the share under pure epsilon, four times under zCDP.
                share *= 4 if isinstance(limit, ZCDP) else 2
        yield FINISH
        return growing.release()

    def check(self, public: TablePublic) -> None:
        """Raise where the columns have too many values to be counted."""
        super().check(public)
        require_countable(public)

    def plan(self, public: TablePublic) -> Plan:
        """Return what a release will cost and how good it will be, before it is spent."""
        self.check(public)
        limit, relation = self.record_budget(public)
        columns = columns_to_count(public.sizes)
        growing = GrowingModel(public, limit, relation)
        share = self._first_share(public) if len(columns) > 1 else Fraction(1)
        table = share * (1 - CHOICE_SHARE) if len(columns) > 1 else share
        counts = [growing.count((column,), table, "column: ") for column in columns]
        steps = one_way_steps(self, public, counts)
        pool, left = self._pool(public), 1 - table * len(columns)
        if pool.sets and left:
            rounds = max(1, int(left / share))
            largest = float(pool.cells.max(initial=1))
            choices, tables = left * CHOICE_SHARE, left * (1 - CHOICE_SHARE)
            heaviest = int(_weights(pool).max())
            steps.append(choices_step(self, public, rounds, choices, len(pool.sets), heaviest))
            steps.append(rounds_step(self, public, rounds, tables, largest))
        return round_plan(
            self,
            public,
            steps,
            "There will be fewer rounds, with less noise each, as soon as rounds bring too little.",
        )

    def trial(self) -> AIM:
        """Return the same with few rounds."""
        return replace(self, rounds=2)


def _weights(pool: Pool) -> NDArray[np.int64]:
    """Return for each set how many columns it shares with all asked marginals, up to a factor.

    Every column is in equally many marginals, so the sum grows with the number of columns; a common
    factor multiplies scores and sensitivity alike and changes nothing.
    """
    return np.asarray([len(inside) for inside in pool.sets], dtype=np.int64)
