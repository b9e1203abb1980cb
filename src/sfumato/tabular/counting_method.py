"""What all methods share that count in tables: pure or Gaussian noise, and their plans."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np

from sfumato.data.table import Table, TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, ApproxDP, Loss, Number, PureDP
from sfumato.privacy.loss_check import record_limit
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, SHARE, OneOf, OrNone, parameter
from sfumato.privacy.plan import Plan, PlanStep, Size
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.release import Release
from sfumato.tabular.constrained import (
    fill_in_check,
    fill_in_plan,
    fill_in_program,
    leave_out,
)
from sfumato.tabular.discovery import (
    discover_in_check,
    discover_in_plan,
    discover_in_program,
    joint_loss,
    try_most_values,
)
from sfumato.tabular.noisy_tables import NoisyTables

#: The most cells of all tables together; beyond it a release is neither useful nor small.
MOST_CELLS = 2**25
#: A plan lists this many tables one by one; more are summed up.
MOST_LINES = 12


#: Where the number of rows is private and one figure needs it, it gets this share of the budget.
TOTAL_SHARE = Fraction(1, 20)
#: The label of that count in transcripts.
TOTAL = "number of rows"

#: What every method for tables does first: columns that follow from others are left out, and the
#: values of open columns are found.
PREPARING: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "check": (fill_in_check, discover_in_check),
    "plan": (fill_in_plan, discover_in_plan),
    "program": (fill_in_program, discover_in_program),
}

ReleaseT = TypeVar("ReleaseT", bound=Release)


@lru_cache(maxsize=256)
def _concentrated_loss(limit: ApproxDP) -> ZCDP:
    """Return the largest ρ that implies (ε, δ); copies of a method need not search again."""
    return ZCDP.within(limit)


@dataclass(frozen=True, kw_only=True)
class TableMethod(Method[Table, ReleaseT]):
    """A method for tables that is pure, or counts in zCDP where a delta is given.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta), with less noise if many
        tables are released; otherwise the guarantee is pure.
    discover_share
        Share of epsilon for finding the values of all columns that are declared with
        `values = "discover"`.
    """

    kind: ClassVar[str] = "table"
    discovers: ClassVar[bool] = True
    #: Whether its release is of synthetic rows, in which columns may be filled in.
    fills_in: ClassVar[bool] = True

    delta: Number | None = parameter(OrNone(DELTA), None)
    discover_share: Number = parameter(SHARE, Fraction(1, 10))

    def __init_subclass__(cls, **options: Any) -> None:
        # So no method sees a column before its values are found, whichever way it goes.
        for name, (filling, discovering) in PREPARING.items():
            if name in vars(cls):
                setattr(cls, name, filling(discovering(vars(cls)[name])))
        super().__init_subclass__(**options)

    @discover_in_check
    def check(self, public: TablePublic) -> None:
        """Raise `ValueError` where the parameters do not fit the public part; costs nothing."""
        super().check(public)

    def trials(self, public: TablePublic) -> list[tuple[Method[Any, Any], Any]]:
        """Return what is tried before booking; where values are to be found, also the most."""
        return [*super().trials(public), *try_most_values(self, public)]

    def budget_loss(self, public: TablePublic) -> Loss:
        """Return the working loss, or a joint one where values of columns are to be found."""
        return joint_loss(self, leave_out(self, public)[0])

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        if self.delta is None:
            return PureDP(self.epsilon)
        return ApproxDP(self.epsilon, self.delta)

    def working_loss(self) -> Loss:
        """Return ε, or the largest ρ that implies (ε, δ)."""
        limit = self.loss()
        return _concentrated_loss(limit) if isinstance(limit, ApproxDP) else limit

    def counted_loss(self, public: TablePublic) -> Loss:
        """Return the loss for one unit in the measure of all noise, once values are known."""
        return self.working_loss()

    def record_budget(self, public: TablePublic) -> tuple[Loss, Relation]:
        """Return the loss for one record, and its relation, in which noise is added."""
        return record_limit(self.counted_loss(public), public)

    def total_noise(self, public: TablePublic) -> CountNoise | None:
        """Return the noise on the number of rows, for methods that count it; none if public."""
        if public.rows is not None:
            return None
        limit, relation = self.record_budget(public)
        return count_noise((1,), limit.share(TOTAL_SHARE), relation)

    def total_share(self, public: TablePublic) -> Fraction:
        """Return the share of the budget that the number of rows takes in such methods."""
        return TOTAL_SHARE if public.rows is None else Fraction(0)

    def drawn_sizes(self, public: TablePublic) -> tuple[Size, ...]:
        """Return what a synthetic table is made of, as far as it is public."""
        about = rows_about(public) or 0
        return (
            Size(sum(public.sizes), "declared values"),
            Size(about * len(public.sizes), "synthetic values"),
        )

    def _size_notes(self, public: TablePublic) -> tuple[str, ...]:
        """Return what should be said about the number of rows, as far as it is public."""
        about = rows_about(public)
        if about is None:
            return ("Declare rows_about in the schema to see errors as shares of all rows.",)
        if self.delta is not None and Fraction(self.delta) * about > Fraction(1, 10):
            return (
                f"delta = {float(Fraction(self.delta)):.2g} is not far below one in {about:,} "
                "rows; choose a smaller one.",
            )
        return ()


@dataclass(frozen=True, kw_only=True)
class CountingMethod(TableMethod[NoisyTables]):
    """Release noisy counts for some combinations of columns.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta); otherwise the guarantee
        is pure.
    repair
        How negative counts are removed. `"consistent"`: by non-negative tables that agree with each
        other. `"clip"`: they are set to 0, and each table is rescaled separately, as often
        published.
    """

    proof: ClassVar[str] = "marginals.md"
    fills_in: ClassVar[bool] = False

    repair: str = parameter(OneOf(("consistent", "clip")), "consistent")

    @abstractmethod
    def sets(self, public: TablePublic) -> tuple[tuple[int, ...], ...]:
        """Return the columns of each table that will be released, increasing."""

    def check(self, public: TablePublic) -> None:
        """Raise where a column is unknown or the tables are too large together."""
        super().check(public)
        cells = sum(prod(shape) for shape in self._shapes(public))
        if cells > MOST_CELLS:
            raise ValueError(
                f"the tables would have {cells:,} cells; at most {MOST_CELLS:,} are allowed; "
                "choose fewer columns per table, or declare fewer bins"
            )

    def _shapes(self, public: TablePublic) -> list[tuple[int, ...]]:
        sizes = public.sizes
        return [tuple(sizes[column] for column in columns) for columns in self.sets(public)]

    def noises(self, public: TablePublic) -> list[CountNoise]:
        """Return the noise on each table; every table gets the same share of the budget."""
        limit, relation = self.record_budget(public)
        shapes = self._shapes(public)
        share = limit.share(Fraction(1, len(shapes)))
        return [count_noise(shape, share, relation) for shape in shapes]

    def program(self, public: TablePublic, budget: Budget) -> Program[NoisyTables]:
        """Ask for all tables at once."""
        sets, noises = self.sets(public), self.noises(public)
        labels = [table_label(public, columns) for columns in sets]
        measured = yield [
            Ask(part, noise, Marginal(columns), label)
            for part, noise, columns, label in zip(
                budget.split(labels), noises, sets, labels, strict=True
            )
        ]
        yield FINISH
        return NoisyTables(public, sets, measured, noises, repair=self.repair)

    def plan(self, public: TablePublic) -> Plan:
        """Return what each table will cost and how good it will be, before it is spent."""
        self.check(public)
        sets, noises = self.sets(public), self.noises(public)
        share = self.working_loss().share(Fraction(1, len(sets)))
        if len(sets) <= MOST_LINES:
            steps = [
                count_step(table_label(public, columns), share, [noise], public)
                for columns, noise in zip(sets, noises, strict=True)
            ]
        else:
            what = f"{len(sets)} tables of up to {max(map(len, sets))} columns"
            steps = [count_step(what, self.working_loss(), noises, public)]
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=tuple(steps),
            notes=self._notes(public),
            sizes=(Size(sum(prod(noise.shape) for noise in noises), "cells"),),
        )

    def _notes(self, public: TablePublic) -> tuple[str, ...]:
        known = "Noise on a cell stays within ± its margin 19 times in 20; repair makes it less."
        return (known, *self._size_notes(public))


def rows_about(public: TablePublic) -> int | None:
    """Return the number of rows as far as it is public or declared."""
    return public.rows if public.rows is not None else public.rows_about


def table_label(public: TablePublic, columns: tuple[int, ...]) -> str:
    """Return the name of a table in transcripts and plans."""
    names = [public.columns[column] for column in columns]
    # A name that holds the sign, or looks like a list itself, could make two tables look alike.
    plain = not any("×" in name or name.startswith("[") for name in names)
    return " × ".join(names) if plain else json.dumps(names)


def count_step(
    what: str,
    loss: Loss,
    noises: Sequence[CountNoise],
    public: TablePublic,
    least: Sequence[CountNoise] | None = None,
) -> PlanStep:
    """Return one line of a plan, for one table or for several.

    Parameters
    ----------
    what, loss
        What is counted, and at what loss.
    noises
        The noise on each table; the most that there may be where it is not fixed.
    public
        What is public about the table of rows.
    least
        The least noise that there may be, if it is not fixed.
    """
    cells = [prod(noise.shape) for noise in noises]
    widest = max(margin(noise) for noise in noises)
    figures: dict[str, float] = {
        "cells": float(sum(cells)),
        "standard_deviation": max(noise.standard_deviation for noise in noises),
        "margin": widest,
    }
    about = rows_about(public)
    error = f"± {widest:,.4g} per cell"
    if about:
        # Half the expected sum of absolute noise: an upper bound on the expected total variation.
        distance = sum(
            0.5 * size * mean_absolute(noise) for size, noise in zip(cells, noises, strict=True)
        )
        figures["total_variation"] = min(distance / len(noises) / about, 1.0)
        error += f", at most {100 * figures['total_variation']:.2g} % of all rows misplaced"
    smallest = min(noise.standard_deviation for noise in least or noises)
    if least is not None:
        figures["least_standard_deviation"] = smallest
    low, high = f"{smallest:,.4g}", f"{figures['standard_deviation']:,.4g}"
    between = f"± {high}" if low == high else f"between ± {low} and ± {high}"
    spread = f"{sum(cells):,} cells, each {between} (1 s.d.)"
    return PlanStep(what=what, loss=loss, noise=spread, error=error, figures=figures)


def mean_absolute(noise: CountNoise) -> float:
    """Return the mean absolute noise on a cell."""
    if noise.kind == "geometric noise":
        rate: Any = float(1 / noise.scale)  # type: ignore[union-attr]
        # 2q/(1−q²) = 1/sinh(rate).
        return float(1 / np.sinh(min(rate, 700.0)))
    return noise.standard_deviation * float(np.sqrt(2 / np.pi))
