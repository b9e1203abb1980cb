"""How well a released regression predicts the private rows it was made of, or others.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import Table
from sfumato.evaluate.regression_metrics import spearman
from sfumato.evaluate.sides import released_columns
from sfumato.evaluate.warning import WARNING
from sfumato.regression.design import Design, centres
from sfumato.regression.model import RegressionModel
from sfumato.regression.own_units import fine_features

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


def evaluate(table: Table, release: RegressionModel) -> NumberErrors | ClassErrors:
    """Compare what a model predicts with the truth. Not private.

    Parameters
    ----------
    table
        The private table; rows that the model was not made of make a stricter test.
    release
        The model.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    table = released_columns(table, release)
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
        covered=_covered(table, release, truth, there),
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
        ranked=_ranked(likely, truth),
    )


def _frames(table: Table) -> Any:
    """Yield the private rows as frames, for models that predict frames."""
    counts = table.counts
    columns = [counts.codes(column) for column in range(len(counts.sizes))]
    for first in range(0, counts.rows, BLOCK):
        part = [codes[first : first + BLOCK] for codes in columns]
        yield table.public.frame(part, noise.generator(0))


def _covered(
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


def _ranked(likely: Floats, truth: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, ties counted as a half."""
    from scipy.stats import rankdata

    positive = int(truth.sum())
    others = len(truth) - positive
    if not positive or not others:
        return 0.5
    total = float(rankdata(likely)[truth].sum())
    return (total - positive * (positive + 1) / 2) / (positive * others)
