"""Independent: noisy histograms of single columns, from which each is drawn on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.mechanisms.graphical import Measured, fit
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import ZCDP
from sfumato.privacy.parameters import OneOf, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.tabular.binning import BinningMethod, combine_known
from sfumato.tabular.constrained import structural_zeros
from sfumato.tabular.counting_method import count_step
from sfumato.tabular.model import FittedModel, Model
from sfumato.tabular.noisy_tables import common_total, relative_variances
from sfumato.tabular.one_way import columns_to_count, require_countable, shares_by_size
from sfumato.tabular.simple_models import ProductModel, probabilities
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable


@dataclass(frozen=True, kw_only=True)
class Independent(BinningMethod):
    """Release a synthetic table whose columns are drawn independently of each other.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    split
        How the budget is split over the columns. `"sizes"`: larger domains get more, which
        minimises the total expected error. `"equal"`: all columns get the same.
    repair
        How negative counts are removed. `"project"`: by the closest non-negative histogram.
        `"clip"`: counts are clipped and rescaled, as often published.
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
    Privacy: a record falls into one cell of each histogram, and the histograms' slices add up to
    the budget; the shares depend on the declared sizes alone (docs/proofs/independent.md).
    """

    proof: ClassVar[str] = "independent.md"

    split: str = parameter(OneOf(("sizes", "equal")), "sizes")
    repair: str = parameter(OneOf(("project", "clip")), "project")

    def check(self, public: TablePublic) -> None:
        """Raise where the columns have too many values to be counted."""
        super().check(public)
        require_countable(self.about(public))

    def counted_columns(self, public: TablePublic) -> tuple[int, ...]:
        """Return the columns that are counted: those with more than one value, or the first."""
        return columns_to_count(public.sizes)

    def shares(self, public: TablePublic) -> list[Fraction]:
        """Return the share of the budget that each counted column gets."""
        sizes = [public.sizes[column] for column in self.counted_columns(public)]
        if self.split == "equal":
            return [Fraction(1, len(sizes))] * len(sizes)
        return shares_by_size(sizes, gaussian=isinstance(self.working_loss(), ZCDP))

    def noises(self, public: TablePublic) -> list[CountNoise]:
        """Return the noise on each counted histogram."""
        limit, relation = self.record_budget(public)
        return [
            count_noise((public.sizes[column],), limit.share(share), relation)
            for column, share in zip(self.counted_columns(public), self.shares(public), strict=True)
        ]

    def _plan_table(self, public: TablePublic) -> Plan:
        steps: list[PlanStep] = [
            count_step(public.columns[column], self.working_loss().share(share), [noise], public)
            for column, share, noise in zip(
                self.counted_columns(public), self.shares(public), self.noises(public), strict=True
            )
        ]
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=(
                "Columns are sampled independently: all associations are lost, and the resulting "
                "error is not known in advance.",
                *self._size_notes(public),
            ),
            sizes=self.drawn_sizes(public),
        )

    def _table_program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        columns, noises = self.counted_columns(public), self.noises(public)
        names = [public.columns[column] for column in columns]
        slices = budget.split(names, self.shares(public))
        told = yield [
            Ask(part, noise, Marginal((column,)), name)
            for part, noise, column, name in zip(slices, noises, columns, names, strict=True)
        ]
        yield FINISH
        counts = [
            combine_known(public, column, noisy.astype(np.float64), noise.standard_deviation)
            for column, noisy, noise in zip(columns, told, noises, strict=True)
        ]
        if public.rows is None:
            total = common_total(counts, relative_variances(noises))
        else:
            total = float(public.rows)
        model = [np.ones(size) / size for size in public.sizes]
        for column, noisy in zip(columns, counts, strict=True):
            model[column] = probabilities(noisy, total, clip=self.repair == "clip")
        joined: Model = ProductModel(model)
        if zeros := structural_zeros(public.rules):
            # The columns as they were measured, and as independent as constraints let them be.
            rows = max(total, 1.0)
            known = [Measured((c,), one * rows, 1.0) for c, one in enumerate(model)]
            joined = FittedModel(fit(public.sizes, known, rows, zeros=zeros))
        tables = [
            NoisyTable(name, (column,), (0,), public.sizes[column], noise.standard_deviation)
            for name, column, noise in zip(names, columns, noises, strict=True)
        ]
        return SyntheticTable(public, joined, total, tables)
