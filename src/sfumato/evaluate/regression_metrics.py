"""How well predictions fit answers: order, concordance and squares.

Plain functions of two columns of numbers. NOT PRIVATE where the answers are: such figures are for
the custodian's eyes and never part of a release.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["concordance", "concordance_weight", "r_squared", "spearman", "weighted_concordance"]

Floats = NDArray[np.float64]


def _columns(predicted: ArrayLike, answers: ArrayLike) -> tuple[Floats, Floats]:
    """Return both columns without the rows whose answer is missing."""
    first = np.asarray(predicted, dtype=np.float64).ravel()
    second = np.asarray(answers, dtype=np.float64).ravel()
    if first.shape != second.shape:
        raise ValueError(f"there are {first.size} predictions and {second.size} answers")
    known = ~np.isnan(second)
    return first[known], second[known]


def spearman(predicted: ArrayLike, answers: ArrayLike) -> float:
    """Return Spearman's rank correlation, ties by their mean rank; 0 where a column is constant."""
    from scipy.stats import rankdata

    first, second = _columns(predicted, answers)
    if first.size < 2:
        return 0.0
    ranks, others = rankdata(first), rankdata(second)
    ranks, others = ranks - ranks.mean(), others - others.mean()
    size = math.sqrt(float(ranks @ ranks) * float(others @ others))
    return float(ranks @ others) / size if size > 0 else 0.0


def r_squared(predicted: ArrayLike, answers: ArrayLike) -> float:
    """Return which share of the answers' squares around their mean is explained."""
    first, second = _columns(predicted, answers)
    apart = second - second.mean() if second.size else second
    whole = float(apart @ apart)
    left = float(((second - first) ** 2).sum())
    return 1 - left / whole if whole > 0 else 0.0


def concordance(predicted: ArrayLike, answers: ArrayLike, deviation: float) -> float:
    """Return the probabilistic concordance index: how likely pairs are ordered as predicted.

    A pair counts with the probability that its answers, each with normal noise of this standard
    deviation, have the predicted order; a tie counts one half (Costello and others, 2014).

    Parameters
    ----------
    predicted, answers
        One of each for every record; a missing answer is left out.
    deviation
        The standard deviation, above 0.
    """
    from scipy.special import erf

    if not deviation > 0:
        raise ValueError(f"deviation must be positive; got {deviation!r}")
    first, second = _columns(predicted, answers)
    n = first.size
    if n < 2:
        return 0.5
    order = np.sign(first[:, None] - first[None, :])
    likely = 0.5 * (1 + order * erf((second[:, None] - second[None, :]) / (2 * deviation)))
    return float(likely[np.triu_indices(n, 1)].mean())


def concordance_weight(
    answers: ArrayLike,
    deviation: float,
    generator: np.random.Generator,
    *,
    permutations: int = 1000,
) -> float:
    """Return how far the best order stands out from chance, in standard deviations of chance."""
    known = np.asarray(answers, dtype=np.float64).ravel()
    known = known[~np.isnan(known)]
    best = concordance(known, known, deviation)
    chance = np.array(
        [
            concordance(generator.permutation(known.size), known, deviation)
            for _ in range(permutations)
        ]
    )
    spread = float(chance.std(ddof=1))
    return abs(best - float(chance.mean())) / spread if spread > 0 else 0.0


def weighted_concordance(values: ArrayLike, weights: ArrayLike) -> float:
    """Return the mean of concordance indices of several responses, by their weights."""
    first, second = _columns(values, weights)
    total = float(second.sum())
    return float(first @ second) / total if total > 0 else 0.5
