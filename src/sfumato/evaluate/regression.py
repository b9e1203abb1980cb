"""How well a released regression predicts the private rows it was made of, or others.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato import noise
from sfumato.data.table import Table
from sfumato.evaluate.paired_counts import keep_released_columns
from sfumato.evaluate.warning import WARNING
from sfumato.regression.design import Design, centres
from sfumato.regression.model import RegressionModel, fine_features
from sfumato.sections import Text

__all__ = ["WARNING", "ClassErrors", "NumberErrors", "evaluate"]

Floats = NDArray[np.float64]

#: The level of the intervals that are tried, where a model has them.
LEVEL = 0.95
#: Rows that are predicted at once.
BLOCK = 2**18
#: How many steps the fit of classes without noise takes at most, and the curvature added to it.
STEPS, RIDGE = 50, 1e-6


@dataclass(frozen=True)
class NumberErrors:
    """How far predictions of numbers are off. Not private.

    Parameters
    ----------
    target
        The column that is predicted.
    rows
        How many rows were predicted.
    error
        The root of the mean squared error, in the column's own units.
    absolute_error
        The mean absolute error.
    guess_error
        The root of the mean squared error of always guessing the mean.
    private_error
        That of a least-squares fit to these very rows, without noise: as good as it gets.
    explained
        R²: the share of the variance that the model explains; below 0 it is worse than the mean.
    spearman
        The rank correlation of predictions and truth; 0 where either is constant.
    covered
        The share of rows whose 95 % interval holds the truth; `None` where a model has none.
    """

    target: str
    rows: int
    error: float
    absolute_error: float
    guess_error: float
    private_error: float
    explained: float
    spearman: float
    covered: float | None

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {"private": False, "warning": WARNING, **asdict(self)}

    def blocks(self) -> list[Text]:
        """Return the same for people."""
        lines = [
            f"Predicting {self.target} for {self.rows:,} private rows: off by {self.error:,.4g} "
            f"(root mean square) or {self.absolute_error:,.4g} on average; guessing the mean is "
            f"off by {self.guess_error:,.4g}, the best model of its kind, without noise, by "
            f"{self.private_error:,.4g}.",
            f"It explains {100 * self.explained:.1f} % of the variance; ranks of predictions and "
            f"truth have a correlation of {self.spearman:.3f}.",
        ]
        if self.covered is not None:
            share = 100 * self.covered
            lines.append(f"The 95 % intervals contain the truth for {share:.1f} % of the rows.")
        return [Text(line) for line in lines]


@dataclass(frozen=True)
class ClassErrors:
    """How often predictions of two classes are wrong. Not private.

    Parameters
    ----------
    target
        The column that is predicted.
    rows
        How many rows were predicted.
    error
        The share of rows that are wrong.
    majority_error
        The same for the better of the two guesses that look at no column.
    private_error
        The same for a logistic fit to these very rows, without noise.
    ranked
        How often, of a positive and another row, the positive one is taken to be likelier (the
        area under the ROC curve); one half where there is only one class.
    """

    target: str
    rows: int
    error: float
    majority_error: float
    private_error: float
    ranked: float

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {"private": False, "warning": WARNING, **asdict(self)}

    def blocks(self) -> list[Text]:
        """Return the same for people."""
        return [
            Text(
                f"Predicting {self.target} for {self.rows:,} private rows: "
                f"{100 * self.error:.1f} % wrong; {100 * self.majority_error:.1f} % by guessing "
                f"what is more frequent, {100 * self.private_error:.1f} % by a model without noise."
            ),
            Text(
                "Of a positive and another row the positive one is taken to be likelier in "
                f"{100 * self.ranked:.1f} % of the cases."
            ),
        ]


def evaluate(table: Table, release: RegressionModel) -> NumberErrors | ClassErrors:
    """Compare what a model predicts with the truth. Not private.

    Parameters
    ----------
    table
        The private table; rows outside the training data make a stricter test.
    release
        The model.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    table = keep_released_columns(table, release)
    return _classes(table, release) if release.positive is not None else _numbers(table, release)


def _numbers(table: Table, release: RegressionModel) -> NumberErrors:
    response = release.design.response
    codes = table.counts.codes(response.column)
    middles, _, _ = centres(table.public.schema.columns[response.column].coding)
    # What is missing has a code beyond the numbers, and is not judged.
    there = codes < len(middles)
    truth = middles[np.where(there, codes, 0)][there]
    if not truth.size:
        return NumberErrors(release.target, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)
    told = np.concatenate([release.predict(frame) for frame in _frames(table)])[there]
    guess = _root(truth - truth.mean())
    error = _root(told - truth)
    return NumberErrors(
        target=release.target,
        rows=len(truth),
        error=error,
        absolute_error=float(np.abs(told - truth).mean()),
        guess_error=guess,
        private_error=_root(_least_squares(table, release.design, truth, there) - truth),
        explained=1 - (error / guess) ** 2 if guess > 0 else 0.0,
        spearman=spearman(told, truth),
        covered=_coverage(table, release, truth, there),
    )


def _classes(table: Table, release: RegressionModel) -> ClassErrors:
    truth = release.design.response.units[table.counts.codes(release.design.response.column)] > 0
    if not truth.size:
        return ClassErrors(release.target, 0, 0.0, 0.0, 0.0, 0.5)
    frames = list(_frames(table))
    told = np.concatenate([release.predict(frame) for frame in frames])
    likely = np.concatenate([release.probability(frame) for frame in frames])
    share = float(truth.mean())
    return ClassErrors(
        target=release.target,
        rows=len(truth),
        error=float(np.mean(told != truth)),
        majority_error=min(share, 1 - share),
        private_error=float(np.mean((_logistic(table, release.design, truth) > 0) != truth)),
        ranked=area_under_curve(likely, truth),
    )


def _frames(table: Table) -> Any:
    """Yield the private rows as frames, for models that predict frames."""
    counts = table.counts
    columns = [counts.codes(column) for column in range(len(counts.sizes))]
    for first in range(0, counts.rows, BLOCK):
        part = [codes[first : first + BLOCK] for codes in columns]
        yield table.public.frame(part, noise.generator(0))


def _coverage(
    table: Table, release: RegressionModel, truth: Floats, there: NDArray[np.bool_]
) -> float | None:
    """Return the share of rows whose interval holds the truth, where a model has intervals."""
    if release.covariance is None or release.deviation is None:
        return None
    found = [release.interval(frame, LEVEL) for frame in _frames(table)]
    low = np.concatenate([part.low for part in found])[there]
    high = np.concatenate([part.high for part in found])[there]
    return float(np.mean((low <= truth) & (truth <= high)))


def _features(table: Table, design: Design) -> Floats:
    """Return the features of all rows, from −1 to 1. Private."""
    codes = [table.counts.codes(column) for column in design.columns]
    return fine_features(table.public, design, codes, table.counts.rows)


def _least_squares(table: Table, design: Design, truth: Floats, there: NDArray[np.bool_]) -> Floats:
    """Return the predictions of a least-squares fit to these very rows. Not private."""
    features = _features(table, design)[there]
    fit, *_ = np.linalg.lstsq(features.T @ features, features.T @ truth, rcond=1e-12)
    return np.asarray(features @ fit)


def _logistic(table: Table, design: Design, truth: NDArray[np.bool_]) -> Floats:
    """Return the scores of a logistic fit to these very rows, by Newton's method. Not private."""
    features = _features(table, design)
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        chances = 0.5 + 0.5 * np.tanh(features @ weights / 2)
        slope = features.T @ (chances - truth) + RIDGE * weights
        curved = features.T @ (features * (chances * (1 - chances))[:, None])
        curved += RIDGE * np.eye(len(weights))
        step, *_ = np.linalg.lstsq(curved, slope, rcond=1e-12)
        # Classes that can be told apart fully have no finite fit: long steps are cut short.
        step *= min(1.0, 10 / max(float(np.abs(step).max()), 1e-300))
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(features @ weights)


def _root(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def area_under_curve(likely: Floats, truth: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, ties counted as a half."""
    from scipy.stats import rankdata

    positive = int(truth.sum())
    others = len(truth) - positive
    if not positive or not others:
        return 0.5
    total = float(rankdata(likely)[truth].sum())
    return (total - positive * (positive + 1) / 2) / (positive * others)


# How well predictions fit answers: order, concordance and squares.
#
# Plain functions of two columns of numbers. NOT PRIVATE where the answers are: such figures are
# for the custodian's eyes and never part of a release.


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
