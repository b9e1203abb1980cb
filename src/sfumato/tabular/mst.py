"""MST: the tree of pairs that tells most, chosen privately, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Program
from sfumato.tabular.candidates import Pool
from sfumato.tabular.counting_method import TableMethod
from sfumato.tabular.growing_model import GrowingModel, one_way_counts
from sfumato.tabular.one_way import columns_to_count, require_countable
from sfumato.tabular.round_plan import choices_step, one_way_steps, round_plan, rounds_step
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["MST"]

#: One-way tables, choices and two-way tables get a third each.
THIRD = Fraction(1, 3)
#: The most cells of all pairs together, and of the largest.
MOST_CELLS = 2**24


@dataclass(frozen=True, kw_only=True)
class MST(TableMethod[SyntheticTable]):
    """Release a synthetic table from a tree of two-way marginals (MST).

    Every one-way marginal is measured. Then the pairs of columns that are furthest from
    independence are chosen privately, one after another, so that they form a tree, and are
    measured.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.

    Notes
    -----
    Privacy: a third of the budget measures every column, a third chooses pairs by their L1 distance
    from public figures, which one record changes by at most 1 (2 under replace-one), a third
    measures the pairs (docs/proofs/synthesizer.md). McKenna, Miklau and Sheldon (2021), without
    their merging of rare values.
    """

    proof: ClassVar[str] = "synthesizer.md"

    def check(self, public: TablePublic) -> None:
        """Raise where the pairs have too many cells to be counted together."""
        super().check(public)
        require_countable(public)
        cells = sum(a * b for a, b in combinations(public.sizes, 2))
        if cells > MOST_CELLS:
            raise ValueError(
                f"all pairs of columns have {cells:,} cells; at most {MOST_CELLS:,} are allowed; "
                "declare fewer bins, or use Synthesizer"
            )

    def _shares(self, public: TablePublic) -> tuple[Fraction, Fraction, Fraction]:
        """Return what one-way tables, each choice and each pair get."""
        edges = len(columns_to_count(public.sizes)) - 1
        if edges == 0:
            return Fraction(1), Fraction(0), Fraction(0)
        # A single pair is not chosen.
        choices = THIRD / edges if edges > 1 else Fraction(0)
        return THIRD, choices, (1 - THIRD - edges * choices) / edges

    def program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for every column, then which pairs make a tree, then for these."""
        limit, relation = self.record_budget(public)
        growing = GrowingModel(public, limit, relation)
        columns = columns_to_count(public.sizes)
        one_way, choice_share, table_share = self._shares(public)
        yield from growing.measure(budget, one_way_counts(growing, columns, one_way))
        pool = Pool(tuple(combinations(columns, 2)), public.sizes)
        expected = growing.expected_once(pool)
        group = np.arange(len(public.sizes))
        chosen = []
        for number in range(1, len(columns)):
            offered = _joining(pool, group)
            pick = 0
            if len(columns) > 2:
                pick = yield growing.choose(
                    budget, number, pool, offered, choice_share, expected=expected
                )
            pair = pool.sets[offered[pick]]
            group[group == group[pair[0]]] = group[pair[1]]
            chosen.append(pair)
        counts = [growing.count(pair, table_share, "pair: ") for pair in chosen]
        yield from growing.measure(budget, counts)
        yield FINISH
        return growing.release()

    def plan(self, public: TablePublic) -> Plan:
        """Return what a release will cost and how good it will be, before it is spent."""
        self.check(public)
        limit, relation = self.record_budget(public)
        columns = columns_to_count(public.sizes)
        one_way, choice, table = self._shares(public)
        counts = one_way_counts(GrowingModel(public, limit, relation), columns, one_way)
        steps = one_way_steps(self, public, counts)
        edges = len(columns) - 1
        if edges > 1:
            pairs = edges * len(columns) // 2
            steps.append(choices_step(self, public, edges, edges * choice, pairs))
        if edges:
            largest = float(np.prod(sorted(public.sizes)[-2:]))
            steps.append(rounds_step(self, public, edges, edges * table, largest))
        return round_plan(self, public, steps)


def _joining(pool: Pool, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the pairs that join two parts of the forest."""
    pairs = np.asarray(pool.sets, dtype=np.int64)
    return np.flatnonzero(group[pairs[:, 0]] != group[pairs[:, 1]]).astype(np.int64)
