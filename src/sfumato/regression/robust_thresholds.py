"""Where rows and answers are best clipped, and how the loss is shared: chosen on synthetic data.

Only public numbers decide: how many records there are about, how many features, and ε. Synthetic
normal rows and answers are clipped in every way of a wide grid, get noise, and are fitted with the
noise ridge; what orders the answers best is taken (Nieminen, 2017, searches so on a grid that ends
where the best lies). Everything is remembered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.privacy.guarantee import Relation
from sfumato.regression.bayesian import Statistics, noise_ridge
from sfumato.regression.robust_statistics import Parts, joint

__all__ = ["PUBLISHED_SHARES", "Thresholds", "best_thresholds"]

Floats = NDArray[np.float64]

#: Thresholds that are tried, in standard deviations of entries and of answers.
ROWS = (0.03, 0.1, 0.3, 0.6, 1.0, 2.0)
ANSWERS = (0.15, 0.3, 0.6, 1.0, 1.5, 2.5)
#: How matrix, products and square share the loss, as parts of what one record adds to them.
SPLITS = tuple(
    Parts(Fraction(a, 100), Fraction(b, 100), Fraction(c, 100))
    for a, b, c in ((33, 57, 10), (20, 70, 10), (10, 80, 10), (50, 40, 10))
)
#: The published shares of ε, found by a search on 500 records and 10 features.
PUBLISHED_SHARES = Parts(Fraction(35, 100), Fraction(60, 100), Fraction(5, 100))
#: Correlations that differ by less than this are as good as one another.
NEARLY = 0.005
#: Sets of synthetic records, draws of noise for each, and the most records and features of a set.
SETS, DRAWS, MOST_ROWS, MOST_FEATURES = 6, 3, 500, 12


@dataclass(frozen=True)
class Thresholds:
    """Where rows and answers are clipped, and how the loss is shared. Public.

    Parameters
    ----------
    rows, answers
        Thresholds in standard deviations.
    split
        The proportion in which the three statistics share the loss.
    """

    rows: float
    answers: float
    split: Parts


def best_thresholds(
    records: float, dimension: int, epsilon: float, relation: Relation
) -> Thresholds:
    """Return the thresholds and the split that order synthetic answers best.

    Parameters
    ----------
    records
        How many records there are, about.
    dimension
        How many features there are.
    epsilon
        The loss of the statistics.
    relation
        What a neighbour is.
    """
    # Rounded, so that a noisy count does not start a new search for each release.
    size = 2 ** (round(2 * math.log2(max(records, 4.0))) / 2)
    loss = 2 ** (round(2 * math.log2(min(max(epsilon, 1e-9), 1e9))) / 2)
    return _search_thresholds(size, dimension, loss, relation)


@lru_cache(maxsize=256)
def _search_thresholds(
    records: float, dimension: int, epsilon: float, relation: Relation
) -> Thresholds:
    p = min(dimension, MOST_FEATURES)
    # The noise on a mean of so many features grows with their square.
    wanted = records * (p / dimension) ** 2
    rows = int(min(max(wanted, 2 * p), MOST_ROWS))
    generator = noise.generator(1)
    scores = np.zeros((len(ROWS), len(ANSWERS), len(SPLITS)))
    for _ in range(SETS):
        x = generator.standard_normal((rows, p))
        x *= math.sqrt(p) / np.linalg.norm(x, axis=1, keepdims=True)
        weights = generator.standard_normal(p) / math.sqrt(p)
        y = x @ weights + generator.standard_normal(rows)
        y -= y.mean()
        y /= max(float(y.std()), 1e-9)
        draws = [_Draw.of(p, generator) for _ in range(DRAWS)]
        for i, entry in enumerate(ROWS):
            clipped = np.clip(x / entry, -1, 1)
            for j, bound in enumerate(ANSWERS):
                true = Statistics.of(clipped, np.clip(y / bound, -1, 1))
                for k, split in enumerate(SPLITS):
                    scales = laplace_scales(p, split, epsilon, relation)
                    for draw in draws:
                        found = draw.on(true, wanted / rows, scales)
                        fitted = noise_ridge(found)
                        weight = np.linalg.solve(fitted.xx + 1e-9 * np.eye(p), fitted.xy)
                        scores[i, j, k] += _order(x @ weight, y)
    # Of those that are nearly as good the widest threshold for answers changes them least.
    # Rounded, so that the last digits, which machines disagree on, decide nothing.
    means = np.round(scores / (SETS * DRAWS), 9)
    good = means >= means.max() - NEARLY
    widest = max(np.flatnonzero(good.any(axis=(0, 2))).tolist())
    means[:, :widest] = means[:, widest + 1 :] = -np.inf
    best = np.unravel_index(int(np.argmax(means)), means.shape)
    return Thresholds(ROWS[int(best[0])], ANSWERS[int(best[1])], SPLITS[int(best[2])])


def _order(predicted: Floats, answers: Floats) -> float:
    """Return the correlation of predictions and answers; 0 where all predictions are alike."""
    apart = predicted - predicted.mean()
    size = math.sqrt(float(apart @ apart) * float(answers @ answers))
    return float(apart @ answers) / size if size > 0 else 0.0


def laplace_scales(
    dimension: int, split: Parts, epsilon: float, relation: Relation
) -> tuple[float, float, float]:
    """Return the scales of noise that is calibrated jointly, for rows and answers within ±1."""
    times = float(joint(split, relation)) / epsilon
    return (
        dimension * (dimension + 1) / 2 / float(split.matrix) * times,
        dimension / float(split.products) * times,
        times / float(split.square),
    )


@dataclass(frozen=True)
class _Draw:
    """Laplace noise of scale 1 for all statistics; used for every setting alike."""

    matrix: Floats
    products: Floats
    square: float

    @classmethod
    def of(cls, dimension: int, generator: np.random.Generator) -> _Draw:
        upper = np.triu(generator.laplace(size=(dimension, dimension)))
        matrix = upper + np.triu(upper, 1).T
        return cls(matrix, generator.laplace(size=dimension), float(generator.laplace()))

    def on(self, true: Statistics, times: float, scales: tuple[float, float, float]) -> Statistics:
        """Return the statistics of so many times the records, with noise of these scales."""
        return Statistics(
            times * true.xx + scales[0] * self.matrix,
            times * true.xy + scales[1] * self.products,
            times * true.yy + scales[2] * self.square,
            times * true.records,
            scales,
        )
