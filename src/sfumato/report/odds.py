"""What a privacy loss means: how far a belief can move, and how well a test can do.

For a pure loss ε the odds of any two neighbouring data sets move by a factor of at most e^ε,
whatever is known beside. For (ε, δ) the exact statement is about tests (Wasserman and Zhou, 2010;
Kairouz, Oh and Viswanath, 2015): whoever raises a false alarm in a share a of cases is right in at
most min(e^ε·a + δ, 1 − e^−ε·(1 − δ − a)). Figures are rounded outward.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.privacy.guarantee import Guarantee, Relation
from sfumato.privacy.loss import GDP, ZCDP, ApproxDP, Joint, PureDP
from sfumato.sections import Beside, Block, Grid, Picture, Text
from sfumato.sections.drawing import ACCENT, FILL, INK, PALE, SOFT

BELIEFS = (0.001, 0.01, 0.1, 0.5, 0.9)
ALARMS = (0.001, 0.01, 0.05, 0.1, 0.2)
#: A reader of ρ alone is owed a figure; this δ is far below one in any population.
SMALL_DELTA = "1e-9"


def belief_bounds(prior: float, epsilon: float) -> tuple[float, float]:
    """Return how far a belief can fall and rise under a pure loss."""
    factor = math.exp(min(epsilon, 700.0))
    low = prior / (prior + factor * (1 - prior))
    high = factor * prior / (1 - prior + factor * prior) if factor < 1e300 else 1.0
    return low, high


def best_power(alarm: float, epsilon: float, delta: float) -> float:
    """Return how often the best test with a rate of false alarms is right."""
    factor = math.exp(min(epsilon, 700.0))
    return min(1.0, factor * alarm + delta, 1 - (1 - delta - alarm) / factor)


def percent_up(share: float) -> str:
    """Return a share as a percentage, rounded up."""
    return _percent(share, math.ceil)


def percent_down(share: float) -> str:
    """Return a share as a percentage, rounded down."""
    return _percent(share, math.floor)


def _percent(share: float, rounding: Any) -> str:
    scaled = share * 100
    digits = 1 if scaled >= 1 else 3
    # What exact arithmetic would leave as it is must not grow by a rounding error of the double.
    value = rounding(round(scaled * 10**digits, 6)) / 10**digits
    return f"{min(value, 100.0):.{digits}f} %"


def odds_blocks(guarantee: Guarantee) -> tuple[Block, ...]:
    """Return what the loss means, in words, a table and a picture."""
    loss = guarantee.loss
    if isinstance(loss, PureDP):
        return _beliefs(guarantee, float(loss.epsilon))
    approximate = loss.approximate(SMALL_DELTA) if isinstance(loss, ZCDP | GDP | Joint) else loss
    return _tests(guarantee, approximate)


def _claim(guarantee: Guarantee) -> str:
    """Return what an onlooker would like to find out about one unit."""
    among = guarantee.relation is Relation.ADD_REMOVE
    if guarantee.contribution == 1:
        return f"one {guarantee.unit} is {'among these data' if among else 'a certain one'}"
    what = "are among these data" if among else "are certain ones and no others"
    return f"the records of one {guarantee.unit} {what}"


def _beliefs(guarantee: Guarantee, epsilon: float) -> tuple[Block, ...]:
    rows = []
    for prior in BELIEFS:
        low, high = belief_bounds(prior, epsilon)
        rows.append((f"{prior:.1%}".replace("%", " %"), percent_down(low), percent_up(high)))
    intro = (
        f"Suppose somebody who already knows everything else about these data believes, with some "
        f"probability, that {_claim(guarantee)}. However they use this release, their belief ends "
        "up within these bounds. Most onlookers know far less, and learn far less."
    )
    picture = Picture(
        "odds",
        lambda figure: _draw_beliefs(figure, epsilon),
        f"How far any belief can move at ε = {epsilon:.4g}: from the value on the horizontal axis "
        "to anywhere within the shaded band. The dashed line is no change at all.",
        (4.6, 3.4),
    )
    grid = Grid(
        ("belief before", "after, at least", "after, at most"), tuple(rows), numbers=(0, 1, 2)
    )
    return Text(intro), Beside(grid, picture)


def _draw_beliefs(figure: Any, epsilon: float) -> None:
    axis = figure.subplots()
    prior = np.linspace(0.0, 1.0, 101)
    bounds = np.array([belief_bounds(float(p), epsilon) for p in prior])
    axis.fill_between(prior, bounds[:, 0], bounds[:, 1], color=FILL, alpha=0.55, linewidth=0)
    axis.plot(prior, bounds[:, 0], color=INK, linewidth=1)
    axis.plot(prior, bounds[:, 1], color=INK, linewidth=1)
    axis.plot(prior, prior, color=ACCENT, linewidth=1, linestyle="--")
    _unit_square(axis, "belief before seeing the release", "belief after")


def _tests(guarantee: Guarantee, loss: ApproxDP) -> tuple[Block, ...]:
    epsilon, delta = float(loss.epsilon), float(loss.delta)
    intro = (
        f"Suppose somebody who already knows everything else about these data builds the best "
        f"possible test of whether {_claim(guarantee)}. If the test raises a "
        "false alarm as often as the first column says, it is right no more often than the second "
        "column says. A test that merely guesses has the same figure in both columns."
    )
    if isinstance(guarantee.loss, ZCDP | GDP):
        intro += f" (For this table it was turned into ε = {epsilon:.4g} at δ = {SMALL_DELTA}.)"
    rows = tuple(
        (f"{alarm:.1%}".replace("%", " %"), percent_up(best_power(alarm, epsilon, delta)))
        for alarm in ALARMS
    )
    picture = Picture(
        "odds",
        lambda figure: _draw_tests(figure, epsilon, delta),
        f"The best that any test can do at ε = {epsilon:.4g}, δ = {delta:.2g}: no test lies above "
        "the shaded region. The dashed line is guessing.",
        (4.6, 3.4),
    )
    grid = Grid(("false alarms", "right, at most"), rows, numbers=(0, 1))
    return Text(intro), Beside(grid, picture)


def _draw_tests(figure: Any, epsilon: float, delta: float) -> None:
    axis = figure.subplots()
    alarm = np.linspace(0.0, 1.0, 101)
    power = np.array([best_power(float(a), epsilon, delta) for a in alarm])
    axis.fill_between(alarm, alarm, power, color=FILL, alpha=0.55, linewidth=0)
    axis.plot(alarm, power, color=INK, linewidth=1)
    axis.plot(alarm, alarm, color=ACCENT, linewidth=1, linestyle="--")
    _unit_square(axis, "share of false alarms", "share found out")


def _unit_square(axis: Any, across: str, up: str) -> None:
    ticks = np.linspace(0, 1, 6)
    texts = [f"{tick:.0%}" for tick in ticks]
    axis.set_xticks(ticks, texts)
    axis.set_yticks(ticks, texts)
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1.01)
    axis.set_xlabel(across, color=SOFT)
    axis.set_ylabel(up, color=SOFT)
    axis.grid(color=PALE, linewidth=0.8)
    axis.set_axisbelow(True)
