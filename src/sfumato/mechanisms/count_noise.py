"""The noise that suits a budget: geometric, discrete Gaussian or normal.

This module chooses by the public type of the budget alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.normal import NormalNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ZCDP, Loss

__all__ = ["CountNoise", "count_noise", "measure_counts"]

CountNoise = GeometricNoise | GaussianNoise | NormalNoise


def count_noise(
    shape: tuple[int, ...], loss: Loss, relation: Relation, *, moves: int = 1
) -> CountNoise:
    """Return noise for integers of which one record moves a few by 1 each.

    Parameters
    ----------
    shape
        The public shape of the integers.
    loss
        The whole slice: Gaussian noise for a zero-concentrated or Gaussian loss, else geometric.
    relation
        What a neighbour is.
    moves
        How many of them one added or removed record changes at most, by 1 each. A replaced record
        must not move them further than 2·moves in L1 and √(2·moves) in L2.

    Notes
    -----
    Privacy: the L1 sensitivity and the squared L2 sensitivity are both `moves`, and twice that
    under replace-one; that this holds is proved on the page of whoever calls.
    """
    sensitivity = Fraction(moves * (2 if relation is Relation.REPLACE_ONE else 1))
    if isinstance(loss, ZCDP):
        return GaussianNoise(shape=shape, squared_sensitivity=sensitivity, rho=loss.rho)
    if isinstance(loss, GDP):
        return NormalNoise(shape=shape, squared_sensitivity=sensitivity, mu_squared=loss.mu_squared)
    return GeometricNoise(shape=shape, sensitivity=sensitivity, epsilon=loss.epsilon)


def measure_counts(
    budget: Budget, values: NDArray[np.int64], *, moves: int, label: str
) -> NDArray[np.int64]:
    """Add noise to integers of which one record moves a few by 1 each, and spend the whole slice.

    Parameters
    ----------
    budget
        The slice that is spent.
    values
        The private integers.
    moves
        As for `count_noise`.
    label
        The name of the answer in the transcript.
    """
    primitive = count_noise(values.shape, budget.remaining, budget.relation, moves=moves)
    noisy: NDArray[np.int64] = budget.measure(primitive, values, label=label)
    return noisy
