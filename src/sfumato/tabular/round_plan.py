"""Plans of methods that choose and measure tables in rounds, from public facts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log, sqrt

import numpy as np

from sfumato.data.table import TablePublic
from sfumato.mechanisms.choose import choose_within
from sfumato.mechanisms.count_noise import count_noise, margin
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.tabular.counting_method import (
    MOST_LINES,
    TableMethod,
    count_step,
    mean_absolute,
    rows_about,
)
from sfumato.tabular.growing_model import Count
from sfumato.tabular.synthetic import SyntheticTable

__all__ = [
    "choices_step",
    "dependence_step",
    "held_error",
    "one_way_steps",
    "round_plan",
    "rounds_step",
    "rows_step",
    "unknown_step",
]

Synthetic = TableMethod[SyntheticTable]


def held_error(
    sizes: tuple[int, ...], ways: int, cells: float, absolute: float, rows: int
) -> float:
    """Return the expected total variation, from noise alone, of a marginal that a table holds.

    Parameters
    ----------
    sizes
        The domain size of each column.
    ways
        How many typical columns the marginal has.
    cells
        The cells of the table.
    absolute
        The mean absolute noise on a cell.
    rows
        The number of rows.
    """
    typical = float(np.mean(sizes)) ** ways
    inside = min(typical, cells)
    # A cell of the marginal adds up cells/inside noisy cells.
    return float(min(0.5 * inside * absolute * sqrt(cells / inside) / max(rows, 1), 1.0))


def rows_step(method: Synthetic, public: TablePublic, share: Fraction) -> PlanStep:
    """Return the line about the number of rows."""
    limit, relation = method.record_budget(public)
    noise = count_noise((1,), limit.share(share), relation)
    off = margin(noise)
    return PlanStep(
        what="the number of rows, to size the tables",
        loss=method.counted_loss(public).share(share),
        noise=f"± {noise.standard_deviation:,.4g} (1 s.d.)",
        error=f"± {off:,.4g}",
        figures={"margin": off},
    )


def dependence_step(
    method: Synthetic, public: TablePublic, share: Fraction, off: float
) -> PlanStep:
    """Return the line about how strongly columns depend on each other."""
    return PlanStep(
        what="how strongly columns depend on each other, to size the tables",
        loss=method.counted_loss(public).share(share),
        noise="one number, the mean over pairs of columns",
        error=f"± {100 * off:,.2g} % of the rows",
        figures={"margin": off},
    )


def one_way_steps(
    method: Synthetic,
    public: TablePublic,
    counts: Sequence[Count],
    bounds: tuple[Sequence[Count], Sequence[Count]] | None = None,
) -> list[PlanStep]:
    """Return the lines about the tables of one column: one for each, or one for many.

    Parameters
    ----------
    method, public
        The method, and what is public about the table.
    counts
        The tables.
    bounds
        The same tables with the least and with the most noise that they may have, where that is
        not fixed.
    """
    working = method.counted_loss(public)
    least, most = bounds or (None, counts)
    if len(counts) > MOST_LINES:
        lines = {f"{len(counts)} tables of one column": list(range(len(counts)))}
    else:
        lines = {count.label: [place] for place, count in enumerate(counts)}
    return [
        count_step(
            what,
            working.share(Fraction(sum(counts[place].share for place in places))),
            [most[place].noise for place in places],
            public,
            None if least is None else [least[place].noise for place in places],
        )
        for what, places in lines.items()
    ]


def choices_step(
    method: Synthetic,
    public: TablePublic,
    rounds: int,
    share: Fraction,
    candidates: int,
    weight: int = 1,
) -> PlanStep:
    """Return the line about the choices of all rounds, whose largest weight may be above 1."""
    limit, relation = method.record_budget(public)
    moved = Fraction(weight * (2 if relation is Relation.REPLACE_ONE else 1))
    choice = choose_within(limit.share(share / rounds), max(candidates, 1), moved)
    # P(a choice falls short by t) ≤ candidates · exp(−rate·t), solved for 1/20.
    short = log(20 * choice.candidates) / max(float(choice.rate), 1e-300)
    return PlanStep(
        what=f"which {rounds} combinations to count",
        loss=method.counted_loss(public).share(share),
        noise=f"{rounds} private choices among up to {candidates:,}",
        error=f"each at most {short:,.4g} rows short of the best, 19 times in 20",
        figures={"margin": short},
    )


def rounds_step(
    method: Synthetic, public: TablePublic, rounds: int, share: Fraction, cells: float
) -> PlanStep:
    """Return the line about the tables of all rounds."""
    limit, relation = method.record_budget(public)
    noise = count_noise((1,), limit.share(share / rounds), relation)
    figures = {
        "cells": float(cells),
        "standard_deviation": noise.standard_deviation,
        "margin": margin(noise),
    }
    error = f"± {figures['margin']:,.4g} per cell"
    about = rows_about(public)
    if about:
        # A table of two typical columns, or of three for three; larger ones carry more noise.
        typical = [min(cells, float(np.mean(public.sizes)) ** max(ways, 2)) for ways in (1, 2, 3)]
        held = [
            held_error(public.sizes, ways, size, mean_absolute(noise), about)
            for ways, size in enumerate(typical, start=1)
        ]
        figures |= {f"ways_{ways}": value for ways, value in enumerate(held, start=1)}
        # Two digits, and 100 in full.
        shares = " / ".join(f"{float(f'{100 * value:.2g}'):g}" for value in held)
        error += f"; about {shares} % of rows misplaced in typical 1- / 2- / 3-way tables"
    return PlanStep(
        what=f"{rounds} table{'s' * (rounds > 1)} of up to {round(cells):,} cells"
        + " each" * (rounds > 1),
        loss=method.counted_loss(public).share(share),
        noise=f"each cell ± {noise.standard_deviation:,.4g} (1 s.d.)",
        error=error,
        figures=figures,
    )


def round_plan(
    method: Synthetic, public: TablePublic, steps: Sequence[PlanStep], *notes: str
) -> Plan:
    """Return a plan of some steps, with what should be said about all such plans."""
    return Plan(
        method=method.name,
        guarantee=method.guarantee(public),
        steps=tuple(steps),
        notes=(
            "Errors are those of the noise, where a table holds the columns; the error of what no "
            "table holds is additional and not known in advance.",
            *notes,
            *method._size_notes(public),
        ),
        sizes=method.drawn_sizes(public),
    )


def unknown_step(method: Synthetic, public: TablePublic, share: Fraction) -> PlanStep:
    """Return the line that stands for everything that the number of rows decides."""
    return PlanStep(
        what="tables of one column, then further ones in rounds",
        loss=method.counted_loss(public).share(share),
        noise="follows from the number of rows",
        error="not known: the number of rows is private, and rows_about is not declared",
        figures={"margin": float("inf")},
    )
