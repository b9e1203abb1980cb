"""Fourier: all marginals of a few columns, through noisy Walsh–Hadamard coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, pi, prod, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.consistency import Family, consistent_counts
from sfumato.mechanisms.count_noise import CountNoise
from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.projection import project_simplex
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, pure_within
from sfumato.privacy.parameters import OneOf, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.tabular.counting_method import (
    MOST_CELLS,
    TOTAL,
    TableMethod,
    count_step,
    rows_about,
)
from sfumato.tabular.marginals import MOST_TABLES
from sfumato.tabular.noisy_tables import NoisyTables, within_possible
from sfumato.tabular.queries import WalshCoefficients
from sfumato.tabular.simple_models import clip_counts
from sfumato.tabular.walsh import Coefficients, bits_of

#: More coefficients than this are neither useful nor small.
MOST_COEFFICIENTS = 2**22
#: The label of the coefficients in transcripts.
COEFFICIENTS = "coefficients"


@dataclass(frozen=True, kw_only=True)
class Fourier(TableMethod["FourierTables"]):
    """Release all tables of `ways` columns through noisy Fourier coefficients.

    The tables share coefficients, so fewer noisy values are needed than for separate tables.
    Columns of more than two values are encoded in binary and padded to a power of two; the noise in
    the padding is discarded. The method suits binary columns.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    ways
        Number of columns per released table.
    repair
        How negative counts are removed. `"project"`: by the closest non-negative table, for each
        table separately. `"clip"`: each table is clipped and rescaled, as often published.
        `"consistent"`: by non-negative tables that agree with each other, which takes longer.

    Notes
    -----
    Privacy: each of K coefficients is a sum of ±1 over the records, so one record added or removed
    moves all by 1, and one replaced moves those of odd overlap by 2: geometric noise of scale K/ε,
    or Gaussian noise of variance K/2ρ (docs/proofs/fourier.md). Barak, Chaudhuri, Dwork, Kale,
    McSherry and Talwar (2007).
    """

    proof: ClassVar[str] = "fourier.md"
    fills_in: ClassVar[bool] = False

    ways: int = parameter(Whole(1), 2)
    repair: str = parameter(OneOf(("project", "clip", "consistent")), "project")

    def layout(self, public: TablePublic) -> Coefficients:
        """Return which coefficients are measured."""
        return Coefficients(public.sizes, min(self.ways, len(public.sizes)))

    def sets(self, public: TablePublic) -> tuple[tuple[int, ...], ...]:
        """Return the columns of each released table, increasing."""
        return tuple(combinations(range(len(public.sizes)), min(self.ways, len(public.sizes))))

    def check(self, public: TablePublic) -> None:
        """Raise where there are too many tables, coefficients or cells."""
        super().check(public)
        columns, layout = len(public.sizes), self.layout(public)
        tables = comb(columns, layout.ways)
        what = f"ways = {self.ways} of {columns} columns"
        if tables > MOST_TABLES or layout.number_of_sets > 2 * MOST_TABLES:
            raise ValueError(
                f"{what} gives {tables:,} tables; at most {MOST_TABLES:,} are allowed; choose "
                "fewer ways"
            )
        if layout.count > MOST_COEFFICIENTS:
            raise ValueError(
                f"{what} needs {layout.count:,} coefficients; at most {MOST_COEFFICIENTS:,} are "
                "allowed; choose fewer ways, declare fewer bins, or use Marginals"
            )
        sizes = [2**bits for bits in layout.bits]
        cells = sum(prod(sizes[column] for column in columns) for columns in self.sets(public))
        if cells > MOST_CELLS:
            raise ValueError(
                f"{what} gives tables of {cells:,} cells; at most {MOST_CELLS:,} are allowed; "
                "choose fewer ways, or declare fewer bins"
            )

    def coefficient_noise(self, public: TablePublic) -> CountNoise | None:
        """Return the noise on the coefficients; none where no column has two values."""
        limit, relation = self.record_budget(public)
        layout = self.layout(public)
        if layout.count == 0:
            return None
        share = limit.share(1 - self.total_share(public))
        # Add/remove: all change by 1. Replace-one: at most so many change, by 2 each.
        moved, step = layout.count, 1
        if relation is Relation.REPLACE_ONE:
            moved, step = layout.most_changed, 2
        shape = (layout.count,)
        if isinstance(share, ZCDP):
            squares = Fraction(moved * step * step)
            return GaussianNoise(shape=shape, squared_sensitivity=squares, rho=share.rho)
        return GeometricNoise(
            shape=shape, sensitivity=Fraction(moved * step), epsilon=pure_within(share)
        )

    def _steps(self, public: TablePublic) -> list[tuple[str, Fraction, CountNoise]]:
        """Return what is measured: its label, its share of the budget, its noise."""
        part = self.total_share(public)
        total, coefficients = self.total_noise(public), self.coefficient_noise(public)
        steps = [(TOTAL, part, total), (COEFFICIENTS, 1 - part, coefficients)]
        return [(label, share, noise) for label, share, noise in steps if noise is not None]

    def plan(self, public: TablePublic) -> Plan:
        """Return the noise on a coefficient, and on a cell of the tables."""
        self.check(public)
        steps = []
        for label, share, noise in self._steps(public):
            loss = self.working_loss().share(share)
            if label == TOTAL:
                steps.append(count_step(label, loss, [noise], public))
            else:
                steps.append(self._coefficient_step(noise, public, share))
        notes = []
        padded = [
            name
            for name, size in zip(public.columns, public.sizes, strict=True)
            if size != 2 ** bits_of(size)
        ]
        if padded:
            notes.append(
                f"{', '.join(padded)}: the size is no power of two, so coefficients are spent on "
                "codes that do not occur."
            )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=(*notes, *self._size_notes(public)),
            sizes=(Size(int(sum(step.figures.get("cells", 0.0) for step in steps)), "cells"),),
        )

    def _coefficient_step(
        self, noise: CountNoise, public: TablePublic, share: Fraction
    ) -> PlanStep:
        sets, sizes, deviation = self.sets(public), public.sizes, noise.standard_deviation
        spread = [
            (prod(sizes[c] for c in columns), _cell_deviation(sizes, columns, deviation))
            for columns in sets
        ]
        widest = 1.959963984540054 * max(deviation for _, deviation in spread)
        figures = {
            "coefficients": float(self.layout(public).count),
            "cells": float(sum(cells for cells, _ in spread)),
            "standard_deviation": noise.standard_deviation,
            "margin": widest,
        }
        error = f"± {widest:,.4g} per cell"
        about = rows_about(public)
        if about:
            moved = sum(0.5 * cells * deviation * sqrt(2 / pi) for cells, deviation in spread)
            figures["total_variation"] = min(moved / len(sets) / about, 1.0)
            error += f", at most {100 * figures['total_variation']:.2g} % of all rows misplaced"
        return PlanStep(
            what=f"coefficients of {len(sets)} tables of {self.layout(public).ways} columns",
            loss=self.working_loss().share(share),
            noise=f"{self.layout(public).count:,} coefficients, each ± "
            f"{noise.standard_deviation:,.4g} (1 s.d.)",
            error=error,
            figures=figures,
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[FourierTables]:
        """Ask for the number of rows, if it is private, and for all coefficients."""
        layout, steps = self.layout(public), self._steps(public)
        queries = {TOTAL: Marginal(()), COEFFICIENTS: WalshCoefficients(layout)}
        told = yield [
            Ask(budget.take(share, label), noise, queries[label], label)
            for label, share, noise in steps
        ]
        yield FINISH
        said = {label: noisy for (label, _, _), noisy in zip(steps, told, strict=True)}
        total = float(said[TOTAL][0] if public.rows is None else public.rows)
        known = said[COEFFICIENTS] if layout.count else np.zeros(0)
        sets = self.sets(public)
        tables = layout.tables(sets, total, known.astype(np.float64))
        noise = self.coefficient_noise(public)
        return FourierTables(public, sets, tables, total, noise, repair=self.repair)


def _cell_deviation(sizes: Sequence[int], columns: Iterable[int], deviation: float) -> float:
    """Return the deviation of a cell of a marginal: as many coefficients as padded cells."""
    cells = prod(2 ** bits_of(sizes[column]) for column in columns)
    return float(deviation * sqrt(cells - 1) / cells)


class FourierTables(NoisyTables):
    """Counts for all combinations of a few columns, made of noisy coefficients.

    Parameters
    ----------
    public
        What is public about the table.
    sets
        The columns of each released table, increasing.
    tables
        What the noisy coefficients say of each; negatives included.
    total
        The number of rows, public or noisy.
    noise
        The noise on each coefficient.
    repair
        What is done with negative counts.
    """

    def __init__(
        self,
        public: TablePublic,
        sets: Sequence[tuple[int, ...]],
        tables: Sequence[NDArray[np.float64]],
        total: float,
        noise: CountNoise | None,
        *,
        repair: str,
    ) -> None:
        self.public = public
        self.sets = tuple(sets)
        self.repair = repair
        self._deviation = 0.0 if noise is None else noise.standard_deviation
        size = max(total, 0.0)
        if repair == "consistent":
            family = Family(self.sets, public.sizes, (1.0,) * len(self.sets))
            self._keep(consistent_counts(family, tables, size, self._even()))
        else:
            mend = clip_counts if repair == "clip" else project_simplex
            pairs = zip(tables, self._even(), strict=True)
            self._keep([within_possible(mend, table, size, even) for table, even in pairs])

    def _margin(self, number: int, wanted: frozenset[int]) -> float:
        # The marginal of fewer columns is made of fewer coefficients, whichever table it is in.
        return 1.959963984540054 * _cell_deviation(self._sizes, wanted, self._deviation)

    def _repair_words(self) -> str:
        """Say what was done with negative counts."""
        if self.repair == "project":
            return (
                "each table was then moved as little as possible until it held no negative counts, "
                "so that tables need not agree with each other"
            )
        return super()._repair_words()
