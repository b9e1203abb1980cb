"""The noise that suits a budget: geometric, discrete Gaussian or normal.

This module chooses by the public type of the budget alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.normal import NormalNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ZCDP, Loss, pure_within
from sfumato.privacy.program import Ask, Query

__all__ = ["CountNoise", "ask_counts", "count_noise", "margin"]

CountNoise = GeometricNoise | GaussianNoise | NormalNoise


def count_noise(
    shape: tuple[int, ...], loss: Loss, relation: Relation, *, moves: int = 1, largest: int = 1
) -> CountNoise:
    """Return noise for integers of which one record moves a few.

    Parameters
    ----------
    shape
        The public shape of the integers.
    loss
        The whole slice: Gaussian noise for a zero-concentrated or Gaussian loss, else geometric.
    relation
        What a neighbour is.
    moves
        By how much one added or removed record changes all of them together: how many of them, if
        it is by 1 each.
    largest
        By how much it changes a single one at most. A replaced record must not move them further
        than 2·moves in L1 and √(2·moves·largest) in L2.

    Notes
    -----
    Privacy: the L1 sensitivity is m = `moves`. Where no number moves by more than `largest`, the
    sum of squares is at most m·`largest`, the squared L2 sensitivity. Both are twice that under
    replace-one. That a record moves them no further is proved on the page of whoever calls.
    """
    sensitivity = Fraction(moves * (2 if relation is Relation.REPLACE_ONE else 1))
    squared = sensitivity * largest
    if isinstance(loss, ZCDP):
        return GaussianNoise(shape=shape, squared_sensitivity=squared, rho=loss.rho)
    if isinstance(loss, GDP):
        return NormalNoise(shape=shape, squared_sensitivity=squared, mu_squared=loss.mu_squared)
    return GeometricNoise(shape=shape, sensitivity=sensitivity, epsilon=pure_within(loss))


def ask_counts(
    budget: Budget,
    query: Query,
    shape: tuple[int, ...],
    *,
    moves: int = 1,
    largest: int = 1,
    label: str,
) -> Ask:
    """Return the request for noisy integers of which one record moves a few; it spends the slice.

    Parameters
    ----------
    budget
        The slice that is spent.
    query
        What is counted: its answer is an array of integers.
    shape
        The shape of that array.
    moves, largest
        As for `count_noise`.
    label
        The name of the answer in the transcript.
    """
    noise = count_noise(shape, budget.remaining, budget.relation, moves=moves, largest=largest)
    return Ask(budget, noise, query, label)


def margin(noise: CountNoise, cells: int = 1) -> float:
    """Return the 95 % margin of a sum of noisy cells: 19 sums in 20 are off by no more.

    Parameters
    ----------
    noise
        The noise on each cell.
    cells
        How many cells are added up.
    """
    if cells == 1 and isinstance(noise, GeometricNoise):
        # P(|X| > t) = 2q^(t+1)/(1+q) for a whole number t, q = e^(−1/scale).
        rate = float(1 / noise.scale)
        return float(max(0, math.ceil(math.log(40 / (1 + math.exp(-rate))) / rate - 1)))
    return 1.959963984540054 * noise.standard_deviation * math.sqrt(cells)
