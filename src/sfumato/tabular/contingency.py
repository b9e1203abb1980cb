"""Contingency: noise on every cell of the whole table, for domains that are small enough."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import prod, sqrt
from typing import ClassVar

import numpy as np

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.parameters import OneOf, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.tabular.constrained import legal_cells
from sfumato.tabular.counting_method import (
    MOST_CELLS,
    TOTAL,
    TableMethod,
    count_step,
    rows_about,
)
from sfumato.tabular.model import Model
from sfumato.tabular.simple_models import DenseModel, SignedModel, probabilities
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable

#: The label of the whole table in transcripts.
TABLE = "all columns together"
#: The plan tells the error of marginals of up to so many columns.
WAYS = 3


@dataclass(frozen=True, kw_only=True)
class Contingency(TableMethod[SyntheticTable]):
    """Release the joint counts of all columns as a synthetic table.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    repair
        How negative cells are removed. `"project"`: by the closest non-negative table. `"table"`:
        cells are clipped and rescaled. `"marginal"`: cells are kept, and each requested marginal is
        clipped and rescaled; marginals are more accurate but need not agree.

    Notes
    -----
    Privacy: a record falls into one cell, so noise of scale 1/ε on every cell (2/ε under
    replace-one) gives ε-DP; where the number of rows is private it is counted for a twentieth of
    the budget (docs/proofs/contingency.md).
    """

    proof: ClassVar[str] = "contingency.md"
    former_names: ClassVar[dict[str, str]] = {"clip": "repair"}

    repair: str = parameter(OneOf(("project", "table", "marginal")), "project")

    def check(self, public: TablePublic) -> None:
        """Raise where the whole table is too large."""
        super().check(public)
        cells = prod(public.sizes)
        if cells > MOST_CELLS:
            raise ValueError(
                f"the columns together have {cells:,} combinations of values; at most "
                f"{MOST_CELLS:,} are allowed; declare fewer columns or fewer bins, or release "
                "marginals instead"
            )

    def _steps(self, public: TablePublic) -> list[tuple[str, Fraction, CountNoise]]:
        """Return what is measured: its label, its share of the budget, its noise."""
        limit, relation = self.record_budget(public)
        part, total = self.total_share(public), self.total_noise(public)
        table = count_noise((prod(public.sizes),), limit.share(1 - part), relation)
        steps = [(TOTAL, part, total), (TABLE, 1 - part, table)]
        return [(label, share, noise) for label, share, noise in steps if noise is not None]

    def plan(self, public: TablePublic) -> Plan:
        """Return the noise on a cell, and what it adds up to in small marginals."""
        self.check(public)
        steps = [
            count_step(label, self.working_loss().share(share), [noise], public)
            for label, share, noise in self._steps(public)
        ]
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(*steps[:-1], self._with_marginals(steps[-1], public)),
            notes=self._size_notes(public),
            sizes=(Size(prod(public.sizes), "model cells"), *self.drawn_sizes(public)),
        )

    def _with_marginals(self, step: PlanStep, public: TablePublic) -> PlanStep:
        """Add what the noise of all cells does to marginals of the largest columns."""
        about = rows_about(public)
        if not about:
            return step
        sizes = sorted(public.sizes, reverse=True)[:WAYS]
        figures = dict(step.figures)
        words = []
        for ways, cells in enumerate(accumulate(sizes, lambda one, other: one * other), start=1):
            # A cell adds up cells(all)/cells noisy ones: nearly normal, of that many variances.
            spread = figures["standard_deviation"] * sqrt(figures["cells"] / cells)
            distance = min(0.5 * cells * spread * sqrt(2 / np.pi) / about, 1.0)
            figures[f"total_variation_{ways}_way"] = distance
            words.append(f"{100 * distance:.2g} %")
        error = f"of marginals with 1 to {len(sizes)} columns at most {', '.join(words)} misplaced"
        return PlanStep(
            what=step.what,
            loss=step.loss,
            noise=step.noise,
            error=f"{step.error}; {error}",
            figures=figures,
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for the number of rows, if it is private, and for all cells."""
        labels, shares, noises = zip(*self._steps(public), strict=True)
        # Columns with one value tell nothing, and arrays have few axes.
        columns = tuple(i for i, size in enumerate(public.sizes) if size > 1) or (0,)
        queries = {TOTAL: Marginal(()), TABLE: Marginal(columns, flat=True)}
        told = yield [
            Ask(part, noise, queries[label], label)
            for label, part, noise in zip(labels, budget.split(labels, shares), noises, strict=True)
        ]
        yield FINISH
        counts = told[-1].astype(np.float64)
        total = float(told[0][0] if public.rows is None else public.rows)
        columns, deviation = tuple(range(len(public.sizes))), noises[-1].standard_deviation
        table = NoisyTable(TABLE, columns, (0,) * len(columns), counts.size, deviation)
        return SyntheticTable(public, self._model(public, counts, total), total, [table])

    def _model(
        self,
        public: TablePublic,
        counts: np.ndarray[tuple[int], np.dtype[np.float64]],
        total: float,
    ) -> Model:
        """Return the model that treats negative cells as was asked for."""
        legal = legal_cells(public.rules)
        if self.repair == "marginal":
            return SignedModel(public.sizes, counts, total, legal)
        cells = np.zeros_like(counts)
        cells[legal] = probabilities(counts[legal], total, clip=self.repair == "table")
        return DenseModel(public.sizes, cells)
