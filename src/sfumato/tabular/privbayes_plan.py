"""The plan of a PrivBayes release: what it costs and how good it will be, from public facts."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from sfumato.data.table import TablePublic
from sfumato.mechanisms.count_noise import count_noise, margin
from sfumato.privacy.loss import zero
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.tabular.counting_method import mean_absolute
from sfumato.tabular.round_plan import held_error
from sfumato.tabular.structure import CellGrowth, DegreeGrowth, NetworkGrowth, Node

if TYPE_CHECKING:
    from sfumato.tabular.privbayes import PrivBayes

__all__ = ["plan_of"]

_UNKNOWN = "the number of rows is private and rows_about is not declared"


def plan_of(method: PrivBayes, public: TablePublic, about: int | None) -> Plan:
    """Return the plan of a release.

    Parameters
    ----------
    method
        The method.
    public
        What is public about the table.
    about
        The number of rows as far as it is public or declared.
    """
    steps = []
    counted = method.counts_rows(public)
    if counted:
        steps.append(_rows_step(method, public))
    known = about is not None or not method.needs_rows(public)
    growth = method.growth(public, about) if known else None
    network = _network_step(method, public, growth, known)
    rest = 1 - (method.rows_share if counted else Fraction(0))
    if network.loss != zero(type(network.loss)):
        rest -= method.network_part
    steps += [network, _tables_step(method, public, growth, rest, about, known)]
    return Plan(
        method=method.name,
        guarantee=method.guarantee(public),
        steps=tuple(steps),
        notes=(
            "The error of a marginal is that of the noise, where one table holds its columns; the "
            "error of what the network leaves out is additional and not known in advance.",
            *method._size_notes(public),
        ),
        sizes=method.drawn_sizes(public),
    )


def _rows_step(method: PrivBayes, public: TablePublic) -> PlanStep:
    """Return the line about the number of rows."""
    noise = method.rows_noise(public)
    off = margin(noise)
    return PlanStep(
        what="the number of rows, to size the tables",
        loss=method.working_loss().share(method.rows_share),
        noise=f"± {noise.standard_deviation:,.4g} (1 s.d.)",
        error=f"± {off:,.4g}",
        figures={"margin": off},
    )


def _network_step(
    method: PrivBayes, public: TablePublic, growth: NetworkGrowth | None, known: bool
) -> PlanStep:
    """Return the line about the choice of the network."""
    columns = method.columns(public)
    number = len(columns.members)
    if number <= 2 or (known and growth is None):
        why = "there is nothing to choose" if number <= 2 else "no column is given a parent"
        loss = zero(type(method.working_loss()))
        return PlanStep(
            what="the network", loss=loss, noise="none", error=why, figures={"margin": math.inf}
        )
    loss = method.working_loss().share(method.network_part)
    if growth is None:
        error, short, spread = f"not known: {_UNKNOWN}", math.inf, "private choices"
    else:
        many = _most_candidates(growth, number)
        score = method.scoring(public, growth)
        # One candidate stands for all: of two values, or of the largest table that is allowed.
        sample = [Node(0, ((1, 0),))] * many
        rows = public.rows if not method.published else (public.rows or 0)
        choice = method.choice(public, score, sample, method.network_part / (number - 1), rows)
        # P(a choice falls short by t) ≤ candidates · exp(−rate · t), solved for 1/20.
        short = math.log(20 * many) / float(choice.rate) / score.steps
        error = f"each at most {short:,.4g} rows of score {score.letter} short, 19 times in 20"
        spread = f"{choice.law}, {number - 1} choices among up to {many:,}"
    return PlanStep(
        what="the network", loss=loss, noise=spread, error=error, figures={"margin": short}
    )


def _most_candidates(growth: NetworkGrowth, number: int) -> int:
    """Return about how many candidates the largest choice has."""
    if isinstance(growth, DegreeGrowth):
        return max(
            (number - size) * comb(size, min(growth.degree, size)) for size in range(1, number)
        )
    nodes = [Node(column, ()) for column in range(number - 1)]
    return len(growth.candidates(nodes))


def _tables_step(
    method: PrivBayes,
    public: TablePublic,
    growth: NetworkGrowth | None,
    share: Fraction,
    about: int | None,
    known: bool,
) -> PlanStep:
    """Return the line about the tables."""
    columns = method.columns(public)
    sizes = [levels[0] for levels in columns.sizes] or [1]
    tables, cells, what = len(sizes), max(sizes), f"{len(sizes)} tables of one column"
    if isinstance(growth, DegreeGrowth):
        tables, cells = len(sizes) - growth.degree, 2 ** (growth.degree + 1)
        what = f"{tables} tables of degree {growth.degree}, {cells:,} cells each"
    elif isinstance(growth, CellGrowth):
        cells = max(growth.limit, *sizes)
        what = f"up to {tables} tables of up to {cells:,} cells each"
    elif not known:
        what = f"up to {tables} tables"
    limit, relation = method.record_budget(public)
    noise = count_noise((1,), limit.share(share / tables), relation)
    figures: dict[str, float] = {
        "cells": float(cells),
        "standard_deviation": noise.standard_deviation,
        "margin": margin(noise),
    }
    error = f"± {figures['margin']:,.4g} per cell"
    if known and about:
        held = [
            held_error(tuple(sizes), ways, cells, mean_absolute(noise), about) for ways in (1, 2, 3)
        ]
        figures |= {f"ways_{ways}": value for ways, value in enumerate(held, start=1)}
        shares = " / ".join(f"{100 * value:.2g}" for value in held)
        error += f"; {shares} % of rows misplaced in 1- / 2- / 3-way marginals"
    return PlanStep(
        what=what,
        loss=method.working_loss().share(share),
        noise=f"each cell ± {noise.standard_deviation:,.4g} (1 s.d.)",
        error=error,
        figures=figures,
    )
