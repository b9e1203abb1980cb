"""Perturbed statistics of clipped rows, and the fits that can be made of them.

The estimator has public settings only; it measures once, all statistics together, and fits from
what was said (docs/proofs/robust-regression.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from sfumato import noise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import pure_within
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.regression.bayesian import (
    Posterior,
    Statistics,
    fit_with_fixed_precisions,
    gibbs,
    noise_ridge,
    repair_matrix,
)
from sfumato.regression.estimator import LinearFit, Setting
from sfumato.regression.robust_statistics import Box, joint
from sfumato.regression.robust_thresholds import Thresholds
from sfumato.regression.rows import ROW, RowRule

__all__ = ["ENGINES", "STATISTICS", "RobustEstimator"]

Floats = NDArray[np.float64]

#: The label in transcripts.
STATISTICS = "statistics"
#: How weights are fitted to noisy statistics.
ENGINES = ("noise_aware", "gibbs", "fixed")


@dataclass(frozen=True)
class RobustEstimator:
    """Rows clipped to a box, their statistics with noise, and a Bayesian fit.

    Parameters
    ----------
    filled
        How many entries of a row may differ from 0.
    thresholds
        Where rows and answers are clipped, and how the loss is shared.
    engine
        `"noise_aware"`, `"gibbs"` or `"fixed"`.
    longest
        How many times its usual length a row has at most; None where every row has a length of 1.
    cautious
        Whether the noise is as wide as published, which spends less than it may; the split is then
        that of the published shares of ε.
    """

    filled: int
    thresholds: Thresholds
    engine: str = "noise_aware"
    longest: float | None = None
    cautious: bool = False

    @property
    def name(self) -> str:
        """What it is called, in words."""
        return "noise on sums of clipped rows"

    @property
    def needs_delta(self) -> bool:
        """Whether its budget must be one with a delta: no."""
        return False

    @property
    def answer_bound(self) -> float:
        """Where answers are cut, in standard deviations."""
        return self.thresholds.answers

    @property
    def entry(self) -> int:
        """The threshold of an entry, in whole units."""
        return min(max(int(self.thresholds.rows * self._usual), 1), ROW)

    @property
    def _usual(self) -> float:
        """The usual size of an entry that is not 0, in units."""
        return ROW / math.sqrt(self.filled) / (self.longest or 1.0)

    def box(self, setting: Setting) -> Box:
        """Return which statistics are measured."""
        return Box.of(setting.dimension, self.filled, self.entry, self.thresholds.split)

    def noise(self, setting: Setting) -> GeometricNoise:
        """Return the noise on them."""
        epsilon = pure_within(setting.limit)
        if self.cautious:
            # The published scales add up bounds that are never attained together: they are those
            # of a smaller loss.
            epsilon *= min(joint(self.thresholds.split, setting.relation), Fraction(1))
        return self.box(setting).noise(epsilon, setting.relation)

    def check(self, setting: Setting) -> None:
        """Raise where the box does not fit."""
        self.box(setting)

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return what is measured."""
        box, law = self.box(setting), self.noise(setting)
        matrix, products, square = (math.sqrt(2) * scale for scale in box.scales(law))
        return (
            PlanStep(
                what=f"{law.shape[0]:,} sums of products of clipped rows",
                loss=setting.limit,
                noise=f"± {matrix:,.4g}, {products:,.4g} and {square:,.4g} (1 s.d.) on each of the "
                "matrix, the products and the square, of which one record adds at most 1",
                error="the error is larger with fewer records",
                figures={"margin": products},
            ),
        )

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask for all statistics at once, and return the weights."""
        said = yield Ask(budget, self.noise(setting), self.box(setting).query(rule), STATISTICS)
        yield FINISH
        return self.fit_weights(self.statistics(setting, said))

    def statistics(self, setting: Setting, said: NDArray[np.int64]) -> Statistics:
        """Return the noisy statistics, for rows and answers of 1 at their thresholds."""
        records = 1.0 if setting.records is None else setting.records
        return self.box(setting).read(said, self.noise(setting), records)

    def fit_weights(self, statistics: Statistics) -> LinearFit:
        """Return the weights of rows of length 1 that noisy statistics speak for."""
        posterior = self._posterior(statistics)
        # An entry of a row is that many thresholds.
        turn = ROW / self.entry
        aware = self.engine == "noise_aware"
        note = (
            "The intervals take the noise into account."
            if aware
            else "How sure the weights are was computed as if there were no noise."
        )
        return LinearFit(
            posterior.mean * turn,
            posterior.covariance * turn**2 if aware else None,
            posterior.deviation if aware else None,
            (note,),
        )

    def _posterior(self, statistics: Statistics) -> Posterior:
        if self.engine == "noise_aware":
            # Of all entries, 0 or not, the mean square is smaller.
            rows = self.entry / self._usual * math.sqrt(statistics.dimension / self.filled)
            return noise_aware(statistics, Clipped(rows, self.thresholds.answers, self.longest))
        if self.engine == "gibbs":
            return gibbs(noise_ridge(statistics), noise.generator(statistics.dimension))
        return fit_with_fixed_precisions(statistics)

    def rehearse(
        self, setting: Setting, x: Floats, y: Floats, generator: np.random.Generator
    ) -> LinearFit:
        """Return the weights that synthetic public rows would have got."""
        entry, p = self.entry / ROW, setting.dimension
        true = Statistics.of(np.clip(x, -entry, entry) / entry, y)
        scales = self.box(setting).scales(self.noise(setting))
        upper = np.triu(generator.laplace(0.0, scales[0], (p, p)))
        return self.fit_weights(
            Statistics(
                true.xx + upper + np.triu(upper, 1).T,
                true.xy + generator.laplace(0.0, scales[1], p),
                true.yy + generator.laplace(0.0, scales[2]),
                len(y),
                scales,
            )
        )


# A posterior that knows the noise on its statistics: public post-processing.
#
# Statistics of rows and answers that were clipped to ±1 and measured with Laplace noise are
# brought back to the scale of what was clipped, and the weights get a posterior that takes three
# errors into account: that records are a sample, that the products Σ y x carry noise, and that the
# matrix Σ x xᵀ carries noise, which the weights multiply (Bernstein and Sheldon, 2019, sample all
# of this; here the matrix is shrunk and the rest integrated on a line, so that nothing is drawn).
# How wide clipping was is known in advance only about, and told better by the noisy statistics
# themselves.


#: Shares of the answers' variance that rows may explain: an even grid of log-odds.
EXPLAINED = 1 / (1 + np.exp(-np.linspace(-6.0, 5.0, 23)))
#: How large off-diagonal entries and departures on the diagonal may be, as shares of the diagonal.
SPREADS = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5])
#: No eigenvalue of the matrix is taken for less than this share of its diagonal.
FLOOR = 0.05
#: How sure the standard deviations of entries and answers are: that of their logarithms.
UNSURE_OF_ROWS, UNSURE_OF_ANSWERS = 0.7, 0.3
GRID = np.linspace(-4.0, 4.0, 161)
#: How sure it is, as a share, what remains of a known mean square where entries are clipped.
UNSURE_OF_SHAPE = 0.5
#: What is left of an answer is never taken for less than this part of its variance.
LEAST_LEFT = 0.1
#: Rounds in which the noise that the weights multiply follows the weights.
ROUNDS = 5


@dataclass(frozen=True)
class Clipped:
    """How wide clipping is, about. Public.

    Parameters
    ----------
    rows, answers
        The threshold of the entries of rows, and of the answers, in standard deviations.
    longest
        How many times its usual length a row has at most; None where all rows have one length, so
        that the mean square of their entries is known.
    """

    rows: float
    answers: float
    longest: float | None = None


def noise_aware(statistics: Statistics, clipped: Clipped) -> Posterior:
    """Return the posterior of the weights of unclipped rows, for the unclipped answer.

    Parameters
    ----------
    statistics
        Statistics of rows and answers within ±1, and the scales of the noise on them.
    clipped
        How wide the clipping was.
    """
    records = max(statistics.records, 1.0)
    variances = [2 * scale**2 for scale in statistics.scales]
    mean_square = float(np.trace(statistics.xx)) / statistics.dimension / records
    blur = math.sqrt(variances[0] / statistics.dimension) / records
    if clipped.longest is None:
        rows = _Scale.known(1 / clipped.rows, mean_square, blur)
    else:
        around = UNSURE_OF_ROWS * GRID
        around = np.minimum(around, math.log(clipped.longest))
        rows = _Scale.of(1 / clipped.rows, around, mean_square, blur, records)
    blur = math.sqrt(variances[2]) / records
    around = UNSURE_OF_ANSWERS * GRID
    answers = _Scale.of(1 / clipped.answers, around, statistics.yy / records, blur, records)
    matrix, off, on = _shrink_matrix(statistics.xx, records, rows, variances[0])
    turn = 1 / (rows.gain * answers.gain)
    model = _Model(
        matrix=matrix,
        linear=statistics.xy * turn,
        blur=variances[1] * turn**2,
        off=off,
        on=on,
        # How much less a clipped record tells than an unclipped one.
        loss=rows.moment * answers.moment * turn**2 / (rows.square * answers.square),
        total=answers.square,
        records=records,
    )
    return model.posterior()


@dataclass(frozen=True)
class _Scale:
    """How far numbers spread that were clipped to ±1, as their noisy mean square tells.

    Parameters
    ----------
    square
        Their mean square before clipping.
    moment
        Their mean square after it.
    gain
        By how much clipping shrinks their products with others.
    """

    square: float
    moment: float
    gain: float

    @classmethod
    def known(cls, deviation: float, mean_square: float, blur: float) -> _Scale:
        """Return the scale of entries whose mean square before clipping is known.

        They need not be normal: indicators are 0 mostly, and what remains of their square is less.
        The gain follows its root, which is right for normal entries and for indicators alike, but
        for a factor between 0.8 and 1.
        """
        normal = float(second_moment(deviation))
        trust = (UNSURE_OF_SHAPE * normal) ** 2
        found = normal + trust / (trust + blur**2) * (mean_square - normal)
        moment = min(max(found, 1e-3 * normal), 1.0, deviation**2)
        shrunk = float(gain(deviation)) * math.sqrt(moment / normal)
        return cls(deviation**2, moment, min(shrunk, 1.0))

    @classmethod
    def of(
        cls, about: float, around: Floats, mean_square: float, blur: float, records: float
    ) -> _Scale:
        """Return the scale, averaged over all that are likely.

        Parameters
        ----------
        about, around
            The standard deviation in advance, and the logarithms of others beside it, one for each
            place of a standard normal grid.
        mean_square
            The noisy mean square of the clipped numbers.
        blur
            The standard deviation of the noise on it.
        records
            Over how many records it is a mean.
        """
        spreads = about * np.exp(around)
        moments, gains = second_moment(spreads), gain(spreads)
        # A square below 1 varies by less than its mean times one minus it.
        sampled = moments * (1 - moments) / records
        width = np.sqrt(blur**2 + np.maximum(sampled, 1e-12))
        fit = -np.sqrt(2) * np.abs(mean_square - moments) / width - np.log(width)
        fit -= GRID**2 / 2
        likely = np.exp(fit - fit.max())
        likely /= likely.sum()
        return cls(float(likely @ spreads**2), float(likely @ moments), float(likely @ gains))


def _shrink_matrix(
    noisy: Floats, records: float, rows: _Scale, variance: float
) -> tuple[Floats, float, float]:
    """Return the matrix of unclipped rows, and how unsure its entries are, off and on the diagonal.

    Entries are drawn towards a multiple of the unit matrix the more, the less they stand out from
    the noise.
    """
    p = len(noisy)
    diagonal = np.diag(noisy)
    level = records * rows.moment
    kept_on, on = _kept_share(diagonal - level, variance, level)
    kept_off, off = _kept_share(noisy[np.triu_indices(p, 1)], variance, level)
    matrix = kept_off * (noisy + noisy.T) / 2
    np.fill_diagonal(matrix, level + kept_on * (diagonal - level))
    # One factor for all entries keeps the matrix one; heavy clipping makes correlations of normal
    # entries smaller by up to a third, which it leaves as they are.
    turn = rows.square / rows.moment
    return repair_matrix(matrix * turn, FLOOR * level * turn), off * turn**2, on * turn**2


def _kept_share(values: Floats, variance: float, level: float) -> tuple[float, float]:
    """Return which share of noisy values is kept, and the variance that remains of each."""
    own = (SPREADS * level) ** 2
    whole = own + variance + 1e-12 * level**2 + 1e-300
    fit = -0.5 * (values**2).sum() / whole - 0.5 * len(values) * np.log(whole)
    likely = np.exp(fit - fit.max())
    likely /= likely.sum()
    return float(likely @ (own / whole)), float(likely @ (own * variance / whole))


@dataclass(frozen=True)
class _Model:
    """Noisy linear statistics c of weights β: c ~ N(Sβ, V(β)), β ~ N(0, τ²I).

    Parameters
    ----------
    matrix
        S.
    linear
        c.
    blur
        The variance of the noise on each entry of c.
    off, on
        The variance that the entries of S still have, off and on the diagonal.
    loss
        How much less a record tells than one that is not clipped; at least 1.
    total
        The variance of an answer.
    records
        How many there are.
    """

    matrix: Floats
    linear: Floats
    blur: float
    off: float
    on: float
    loss: float
    total: float
    records: float

    def posterior(self) -> Posterior:
        """Return the posterior, averaged over the share of the variance that rows explain."""
        p = len(self.linear)
        unit = np.eye(p)
        spread = EXPLAINED * self.total * self.records / np.trace(self.matrix)
        sampled = np.maximum(self.loss - EXPLAINED, 0.0) * self.total
        base = sampled[:, None, None] * self.matrix + self.blur * unit
        prior = spread[:, None, None] * (self.matrix @ self.matrix)
        prior = prior + base + spread[:, None, None] * ((p - 1) * self.off + self.on) * unit
        _, sizes = np.linalg.slogdet(prior)
        solved = np.linalg.solve(prior, np.broadcast_to(self.linear, (len(spread), p))[..., None])
        fit = -0.5 * sizes - 0.5 * (self.linear @ solved[..., 0].T)
        # Even odds for every share: the grid is one of log-odds.
        likely = np.exp(fit - fit.max()) * EXPLAINED * (1 - EXPLAINED)
        likely /= likely.sum()
        means, covariances = self._given(base, spread)
        mean = likely @ means
        apart = means - mean
        covariance = np.einsum("k,kij->ij", likely, covariances)
        covariance += np.einsum("k,ki,kj->ij", likely, apart, apart)
        return Posterior(mean, (covariance + covariance.T) / 2, self._deviation(mean, covariance))

    def _deviation(self, mean: Floats, covariance: Floats) -> float:
        """Return the standard deviation of what is left of an answer.

        It is what the whole variance has above what the weights explain, and never taken for less
        than a small part of it: both are noisy.
        """
        second = np.outer(mean, mean) + covariance
        explained = float((second * self.matrix).sum()) / self.records
        return math.sqrt(max(self.total - explained, LEAST_LEFT * self.total))

    def _given(self, base: Floats, spread: Floats) -> tuple[Floats, Floats]:
        """Return means and covariances for each prior; the noise that β multiplies follows β."""
        p = len(self.linear)
        second = spread[:, None, None] * np.eye(p)
        for _ in range(ROUNDS):
            squares = np.einsum("kii->ki", second)
            wide = self.off * second
            here = self.off * squares.sum(axis=1)[:, None] + (self.on - 2 * self.off) * squares
            noise = base + wide + here[..., None] * np.eye(p)
            turned = np.linalg.solve(noise, np.broadcast_to(self.matrix, noise.shape))
            precision = self.matrix @ turned + np.eye(p) / spread[:, None, None]
            covariances = np.linalg.inv(precision)
            means = np.einsum("kij,kjl,l->ki", covariances, turned.transpose(0, 2, 1), self.linear)
            second = covariances + means[:, :, None] * means[:, None, :]
        return means, np.asarray(covariances, dtype=np.float64)


# What clipping does to second moments of bell-shaped numbers, and how to undo it: public maths.
#
# A number with standard deviation s that is clipped to ±1 keeps the second moment m(s), and its
# products with other numbers of a joint normal law shrink by the gain, the share of it that is not
# clipped (Price, 1958). Statistics of clipped numbers are brought back to the scale of those that
# were clipped with these two functions; where numbers are not normal it is an approximation.


def gain(deviation: Floats | float) -> Floats:
    """Return the share of a normal number of this standard deviation that lies within ±1."""
    return np.asarray(erf(1 / (np.asarray(deviation) * math.sqrt(2))), dtype=np.float64)


def second_moment(deviation: Floats | float) -> Floats:
    """Return the mean square of a normal number that is clipped to ±1."""
    spread = np.asarray(deviation, dtype=np.float64)
    inside = gain(spread)
    density = np.exp(-0.5 / spread**2) / math.sqrt(2 * math.pi)
    return np.asarray(spread**2 * inside - 2 * spread * density + (1 - inside))
