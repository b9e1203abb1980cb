"""Choosing how a model is fitted on synthetic tables of the same public size.

Every candidate goes through what it would do to private records: what is paid beforehand, rows,
noise, fit. Nothing private enters, and the generator is seeded: who knows the public facts knows
the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, Loss, PureDP
from sfumato.regression.design import Design
from sfumato.regression.estimator import Setting
from sfumato.regression.intervals import IntervalChoice, Shells, Tails, count_farthest
from sfumato.regression.preparation import (
    BEYOND,
    DECLARED_SPREAD,
    FEATURE_TAILS,
    FEATURES,
    LEAST_SPREAD,
    RESPONSE,
    RESPONSE_TAILS,
    paid_shares,
    shell_noise,
    split_tails,
    sum_noise,
    widening,
)
from sfumato.regression.rows import Shape, numeric

__all__ = ["Candidate", "Found", "Grid", "Rehearsals", "Situation", "search"]

Floats = NDArray[np.float64]

#: Synthetic tables have at most so many records, unless that is too few for each feature; and at
#: most so many numbers. Noise is smaller in proportion.
MOST_RECORDS, MOST_NUMBERS = 1500, 200_000
#: So many records for each feature: with fewer, a table would show how a fit with few records
#: errs, rather than how noise does.
FOR_A_FEATURE = 12
#: So many more records are predicted.
TESTED = 500
#: On which of them settings are looked for, and on which the best of each family are compared.
SEARCHED, COMPARED = range(8), range(8, 24)
#: What a wider bound may cost in a score before a narrower one is taken.
NEARLY = {"error": 0.01, "order": 0.003}
#: With more records than this little is left to choose, and the first tables do for both.
MANY = 200_000
#: Where they are cut if nothing was asked about tails, in spreads.
USUAL_BOUND = 3.0
#: An estimator that cuts residuals cuts answers at so many spreads, or further out.
FAR = 4.0


#: How long the noise on a sum of rows is that an estimator adds in a setting, in records.
NoiseLength = Callable[[Any, Setting], float]


@dataclass(frozen=True)
class Candidate:
    """One way to fit: an estimator, where it cuts answers, and what becomes of long rows.

    Parameters
    ----------
    estimator
        What finds the weights.
    radius, shape
        As in a rule of rows, the radius as a multiple of the usual length.
    part
        Where answers are cut, or residuals if an estimator cuts them instead, as a part of the
        distance beyond which few of them lie.
    bound
        The same in spreads, where the custodian fixed it.
    """

    estimator: Any
    radius: float
    shape: Shape
    part: float = 1.0
    bound: float | None = None

    def bounded(self, setting: Setting, noise_length: NoiseLength) -> Any:
        """Return the estimator with its bound, which follows from the tails of answers.

        Cutting answers at B takes from their sums what the records beyond B have in excess of it;
        noise adds B times its length. Their sum is least where as many records lie beyond B as the
        noise is long. A residual is seldom larger than an answer, so the same distance will do.
        """
        bound = USUAL_BOUND if self.bound is None else self.bound
        if self.bound is None and setting.tails is not None:
            few = BEYOND * noise_length(self.estimator, setting)
            bound = self.part * setting.tails.reach(few, setting.records or 1.0)
        if not hasattr(self.estimator, "residual_bound"):
            return replace(self.estimator, answer_bound=bound)
        if hasattr(self.estimator, "rounds"):
            return replace(self.estimator, residual_bound=bound, answer_bound=max(FAR, bound))
        return replace(self.estimator, residual_bound=bound)


@dataclass(frozen=True)
class Situation:
    """All public facts that a choice is made of.

    Parameters
    ----------
    columns
        The columns that explain.
    relation, limit
        What a neighbour is, and the whole budget, for one record.
    records
        About how many records there are.
    count
        Whether they are counted privately.
    response, features
        Whether their scales are `"paid"` for or `"declared"`.
    tails
        Whether it is paid for how far they reach, where their scales are.
    """

    columns: Columns
    relation: Relation
    limit: Loss
    records: float
    count: bool
    response: str
    features: str
    tails: bool = False

    @property
    def simulated(self) -> int:
        """How many records a synthetic table has."""
        size = max(self.columns.dimension, 1)
        most = min(max(MOST_RECORDS, FOR_A_FEATURE * size), max(MOST_NUMBERS // size, 100))
        return int(min(max(self.records, 8), most))

    def scaled(self, part: Fraction) -> Loss:
        """Return a part of the budget, as much larger as synthetic tables are smaller."""
        factor = Fraction(max(self.records, 1.0) / self.simulated).limit_denominator(10**6)
        if isinstance(self.limit, GDP):
            return GDP(self.limit.share(part).mu_squared * factor**2)
        assert isinstance(self.limit, PureDP)
        return PureDP(self.limit.share(part).epsilon * factor)

    @property
    def shares(self) -> dict[str, Fraction]:
        """The share of the budget that each part costs that is paid for."""
        return paid_shares(
            int(self.records),
            self.limit,
            self.relation,
            count=self.count,
            response=self.response == "paid",
            columns=int(self.columns.numbers.sum()) if self.features == "paid" else 0,
            tails=self.tails,
        )

    @property
    def rest(self) -> Fraction:
        """The share of the budget that the fit gets."""
        return 1 - sum(self.shares.values(), Fraction(0))

    @property
    def setting(self) -> Setting:
        """What an estimator knows of a synthetic table."""
        return Setting(
            dimension=self.columns.dimension,
            relation=self.relation,
            limit=self.scaled(self.rest),
            records=float(self.simulated),
        )


@dataclass(frozen=True)
class Grid:
    """What is tried: bounds on answers, radii of rows, and what is done to longer ones.

    Parameters
    ----------
    parts
        Where answers are cut, as parts of the distance beyond which few of them lie.
    radii, shapes
        As in a rule of rows; in multiples of the usual length.
    """

    parts: tuple[float, ...]
    radii: tuple[float, ...]
    shapes: tuple[Shape, ...]

    def within(self, other: Grid) -> Grid:
        """Return another grid, but for what is fixed here."""
        return Grid(
            self.parts if len(self.parts) == 1 else other.parts,
            self.radii if len(self.radii) == 1 else other.radii,
            self.shapes if len(self.shapes) == 1 else other.shapes,
        )


class Rehearsals:
    """Synthetic tables on which candidates are compared, prepared for one situation.

    Parameters
    ----------
    situation
        The public facts.
    goal
        `"error"`: squared errors count; `"order"`: how well records are put in order.
    noise_length
        How long the noise of an estimator is.
    """

    def __init__(self, situation: Situation, goal: str, noise_length: NoiseLength) -> None:
        self.situation, self.goal, self.noise_length = situation, goal, noise_length
        self.setting = situation.setting
        self._intervals = self._choices()
        self._tables: dict[int, tuple[MadeUp, Floats, Floats, float, float, Tails | None]] = {}
        self._rows: dict[tuple[int, float, str], tuple[Floats, Floats, Floats]] = {}

    @property
    def compared(self) -> range:
        """The tables on which the best of each family are compared."""
        return SEARCHED if self.situation.records > MANY else COMPARED

    def _slice(self, name: str) -> Loss:
        """Return what one column of a part may cost."""
        situation = self.situation
        many = int(situation.columns.numbers.sum()) if name == FEATURES else 1
        return situation.scaled(situation.shares[name] / max(many, 1))

    def _choices(self) -> dict[str, IntervalChoice]:
        """Return the choice that is made for one column of each part that is paid for."""
        return {
            name: IntervalChoice(self._slice(name), self.situation.relation)
            for name in (RESPONSE, FEATURES)
            if name in self.situation.shares
        }

    def _count_tails(
        self, name: str, values: Floats, middles: Floats, halves: Floats, generator: Any
    ) -> list[Tails]:
        """Return how far columns of public values reach, as noisy counts would tell."""
        coarse = name == FEATURE_TAILS
        shells = [Shells(*scale, coarse) for scale in zip(middles, halves, strict=True)]
        numbers = (one.numbers(column) for one, column in zip(shells, values.T, strict=True))
        exact = count_farthest(shells, numbers, len(values))
        law = shell_noise(exact.size, self._slice(name), len(shells), self.situation.relation)
        deviation = float(law.standard_deviation)
        drawn = generator.normal(0.0, deviation, exact.size)
        return split_tails(shells, exact + drawn, deviation)

    def _table(self, number: int) -> tuple[MadeUp, Floats, Floats, float, float, Tails | None]:
        """Return a synthetic table, the scales of its features and answers, and how far they reach.

        All as they would be found: declared, or paid for.
        """
        if number not in self._tables:
            situation, generator = self.situation, noise.generator(2000 + number)
            rows, shares = situation.simulated, situation.shares
            made = MadeUp.draw(situation.columns, rows + TESTED, number)
            numbers = situation.columns.numbers
            centre, spread = np.zeros(numbers.size), np.where(numbers, DECLARED_SPREAD, 1.0)
            if FEATURES in self._intervals:
                for column in np.flatnonzero(numbers):
                    values = made.features[:rows, column]
                    found = pick_interval(self._intervals[FEATURES], values, generator)
                    centre[column], spread[column] = found[0], max(found[1], LEAST_SPREAD)
            if FEATURE_TAILS in shares:
                scales = (made.features[:rows, numbers], centre[numbers], spread[numbers])
                tails = self._count_tails(FEATURE_TAILS, *scales, generator)
                few = BEYOND * sum_noise(numbers.size, self.setting.limit, situation.relation)
                spread[numbers] *= [widening(one, rows, few, self._radius(1.0)) for one in tails]
            middle, half, reach = 0.0, DECLARED_SPREAD, None
            if RESPONSE in self._intervals:
                answers = made.answers[:rows]
                middle, half = pick_interval(self._intervals[RESPONSE], answers, generator)
                half = max(half, LEAST_SPREAD)
                if RESPONSE_TAILS in shares:
                    scale = (answers[:, None], np.array([middle]), np.array([half]))
                    reach = self._count_tails(RESPONSE_TAILS, *scale, generator)[0]
            self._tables[number] = made, centre, spread, middle, half, reach
        return self._tables[number]

    def _radius(self, multiple: float) -> float:
        """Return a multiple of the usual length of rows."""
        columns = self.situation.columns
        return multiple * float(np.sqrt(max(len(columns.sizes) + columns.intercept, 1)))

    def _prepare_rows(
        self, number: int, radius: float, shape: str
    ) -> tuple[Floats, Floats, Floats]:
        """Return rows to learn from, their weights, and rows to predict."""
        key = (number, radius, shape)
        if key not in self._rows:
            made, centre, spread, *_ = self._table(number)
            # A feature that a record does not have stays 0; numbers alone have a centre.
            x = (made.features - centre) / spread / self._radius(radius)
            learnt = x[: self.situation.simulated]
            length = np.sqrt(np.sum(learnt * learnt, axis=1))
            shortened = np.minimum(1.0, 1.0 / np.maximum(length, 1e-12))
            weights = shortened if shape == "weigh" else np.ones_like(shortened)
            self._rows[key] = learnt * shortened[:, None], weights, x[self.situation.simulated :]
        return self._rows[key]

    def score(self, candidate: Candidate, tables: range) -> float:
        """Return how good a candidate is on average over some of the synthetic tables."""
        mean = np.mean([self._score(candidate, number) for number in tables])
        # Rounded, so that the last digits, which machines disagree on, decide nothing.
        return round(float(mean), 9)

    def score_without_noise(self) -> float:
        """Return how good least squares would be without noise and cuts."""
        found = []
        for number in self.compared:
            made, rows = self._table(number)[0], self.situation.simulated
            weights = np.linalg.lstsq(made.features[:rows], made.answers[:rows], rcond=None)[0]
            found.append(self._judge_guesses(made.features[rows:] @ weights, made.answers[rows:]))
        return float(np.mean(found))

    def _score(self, candidate: Candidate, number: int) -> float:
        made, _, _, middle, half, tails = self._table(number)
        x, weights, tested = self._prepare_rows(number, candidate.radius, candidate.shape)
        setting = replace(self.setting, tails=tails)
        estimator = candidate.bounded(setting, self.noise_length)
        bound = min(estimator.answer_bound * half, 1.0 + abs(middle))
        answers = np.clip((made.answers[: len(x)] - middle) / bound, -1.0, 1.0) * weights
        generator = noise.generator(3000 + number)
        fit = estimator.rehearse(setting, x, answers, generator)
        return self._judge_guesses(middle + bound * (tested @ fit.weights), made.answers[len(x) :])

    def _judge_guesses(self, guesses: Floats, truth: Floats) -> float:
        """Return how good guesses are; they are cut to the declared range as a model's are."""
        if self.goal == "order":
            return _agreement(guesses, truth)
        left = float(np.mean((np.clip(guesses, -1.0, 1.0) - truth) ** 2))
        # Logarithms: tables of all kinds count alike, and a model that is far off counts as such.
        return -float(np.log(max(left, 1e-12) / max(float(np.var(truth)), 1e-12)))


def pick_interval(choice: IntervalChoice, values: Floats, generator: Any) -> tuple[float, float]:
    """Return the middle and half width of an interval that would be chosen for public values."""
    scores = choice.scores(np.ones(values.size, dtype=np.int64), np.sort(values))
    # Permute-and-flip is the largest of the scores with exponential noise.
    drawn = scores * float(choice.primitive.rate) + generator.standard_exponential(scores.size)
    return choice.read(int(np.argmax(drawn)))


def _agreement(first: Floats, second: Floats) -> float:
    """Return Spearman's rank correlation, 0 where one is constant."""
    ranks = [_ranks(values) for values in (first, second)]
    centred = [rank - rank.mean() for rank in ranks]
    size = float(np.sqrt((centred[0] @ centred[0]) * (centred[1] @ centred[1])))
    return float(centred[0] @ centred[1]) / size if size > 0 else 0.0


def _ranks(values: Floats) -> Floats:
    """Return ranks, averaged over ties."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which.ravel()])


@dataclass(frozen=True)
class Found:
    """The best candidate of a search.

    Parameters
    ----------
    candidate
        The best one.
    score
        How good it was on synthetic tables: the mean rank correlation, or the mean logarithm of how
        many times smaller its squared error was than the target's variance.
    """

    candidate: Candidate
    score: float


def search(rehearsals: Rehearsals, families: tuple[Candidate, ...], grid: Grid) -> Found:
    """Return the best candidate: each family is improved in turns, then all are compared anew.

    Parameters
    ----------
    rehearsals
        The synthetic tables.
    families
        Where the search begins.
    grid
        What is tried.
    """
    improved = [_improve_candidate(rehearsals, start, grid) for start in families]
    found = [Found(best, rehearsals.score(best, rehearsals.compared)) for best in improved]
    return max(found, key=lambda one: one.score)


def _improve_candidate(rehearsals: Rehearsals, start: Candidate, grid: Grid) -> Candidate:
    """Return a candidate whose bound, radius and shape do better, one after the other."""
    best = _widen_bound(rehearsals, start, grid)
    score = rehearsals.score(best, SEARCHED)
    for radius in grid.radii:
        for shape in grid.shapes:
            way = replace(best, radius=radius, shape=shape)
            other = rehearsals.score(way, SEARCHED)
            # Within what tables differ by chance, rows of the usual length are kept.
            if other > score + NEARLY[rehearsals.goal]:
                best, score = way, other
    return _widen_bound(rehearsals, best, grid)


def _widen_bound(rehearsals: Rehearsals, start: Candidate, grid: Grid) -> Candidate:
    """Return a candidate with the widest of the bounds that do nearly as well as the best.

    A narrow bound explains something else than the mean of a skewed target, which synthetic tables
    of few records hardly show and real ones of many do.
    """
    ways = [replace(start, part=part) for part in sorted(grid.parts)]
    scores = [rehearsals.score(way, SEARCHED) for way in ways]
    enough = max(scores) - NEARLY[rehearsals.goal]
    return [way for way, score in zip(ways, scores, strict=True) if score >= enough][-1]


# Synthetic tables: columns and targets that nobody has, drawn from a fixed law.
#
# Columns are skewed, off the middle of their declared range and correlated; targets can be told
# well or hardly, with long tails or without. Nothing private enters.


#: What share of a synthetic target its columns explain, and whether the rest has a long tail.
KINDS = (
    (0.2, True),
    (0.8, False),
    (0.5, True),
    (0.95, False),
    (0.2, False),
    (0.8, True),
    (0.5, False),
    (0.95, True),
)
#: Declared ranges are often far wider than what is in them: spreads go from this part of half the
#: range to the second, each order of magnitude alike.
NARROWEST, WIDEST = 0.005, 0.35


@dataclass(frozen=True)
class Columns:
    """Which columns explain: 1 for a number, else the number of categories.

    Parameters
    ----------
    sizes
        One for each column.
    intercept
        Whether the model has a constant.
    """

    sizes: tuple[int, ...]
    intercept: bool

    @classmethod
    def of(cls, public: TablePublic, design: Design) -> Columns:
        """Return the columns of a design; codes outside the order of a number are left out."""
        numbers = numeric(public, design)
        sizes, first = [], 0
        for factor in design.factors:
            many = len(factor.names)
            sizes.append(1 if numbers[first] else max(many, 2))
            first += many
        return cls(tuple(sizes), design.intercept)

    @property
    def numbers(self) -> NDArray[np.bool_]:
        """Which features are numbers."""
        many = [1 if size <= 2 else size for size in self.sizes]
        found = np.repeat(np.array(self.sizes, dtype=np.int64) == 1, many)
        return np.append(found, np.zeros(int(self.intercept), dtype=np.bool_))

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return len(self.numbers)

    @property
    def profile(self) -> tuple[float, ...]:
        """How large the second moments of features are taken to be."""
        found = [value for k in self.sizes for value in ([1.0] if k <= 2 else [1.0 / k] * k)]
        return tuple(found + [1.0] * self.intercept)


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Features and answers from −1 to 1 of records that nobody has; the last ones are predicted.

    Parameters
    ----------
    features, answers
        One row and one number for each record.
    """

    features: Floats
    answers: Floats

    @classmethod
    def draw(cls, columns: Columns, rows: int, number: int) -> MadeUp:
        """Return one of the synthetic tables."""
        explained, tailed = KINDS[number % len(KINDS)]
        generator = noise.generator(1000 + number)
        features = _features(columns, rows, generator)
        centred = features - features.mean(axis=0)
        scaled = centred / np.maximum(centred.std(axis=0), 1e-9)
        signal = scaled @ generator.standard_normal(columns.dimension)
        rest = generator.standard_normal(rows)
        if tailed:
            rest = np.exp(0.7 * rest)
        told = np.sqrt(explained) * _standard(signal) + np.sqrt(1 - explained) * _standard(rest)
        middle, spread = generator.uniform(-0.6, 0.3), _draw_spread(generator)
        if not columns.intercept:
            # Who asks for a model without a constant has centred columns.
            features, middle = centred, 0.0
        return cls(features, np.clip(middle + spread * told, -1.0, 1.0))


def _draw_spread(generator: Any) -> float:
    """Return how far a synthetic column spreads."""
    return float(np.exp(generator.uniform(np.log(NARROWEST), np.log(WIDEST))))


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-9))


def _features(columns: Columns, rows: int, generator: Any) -> Floats:
    """Return the features of synthetic records: numbers from −1 to 1, and categories."""
    many = len(columns.sizes)
    shared = max(1, many // 3)
    loads = generator.choice([0.3, 1.0]) * generator.standard_normal((shared, many))
    latent = generator.standard_normal((rows, shared)) @ loads / np.sqrt(shared)
    latent += generator.standard_normal((rows, many))
    parts = []
    for size, column in zip(columns.sizes, latent.T, strict=True):
        values = _standard(column)
        if size == 1 and generator.random() < 0.3:
            # A long tail to the right, as amounts have.
            wide = _draw_spread(generator) * np.exp(generator.uniform(0.5, 1.5) * values)
            parts.append(np.clip(wide - 1, -1, 1)[:, None])
        elif size == 1:
            middle, spread = generator.uniform(-0.5, 0.5), _draw_spread(generator)
            parts.append(np.clip(middle + spread * values, -1, 1)[:, None])
        elif size == 2:
            parts.append(np.where(values > generator.uniform(-1, 1), 1.0, -1.0)[:, None])
        else:
            edges = np.sort(generator.uniform(-2, 2, size - 1))
            parts.append(np.eye(size)[np.searchsorted(edges, values)])
    parts += [np.ones((rows, 1))] * columns.intercept
    return np.concatenate(parts, axis=1)


def example_table(relation: Relation | None, max_rows: int | None) -> TablePublic:
    """Return the public part of a small table whose last column is a number."""
    dose = {"kind": "real", "low": 0, "high": 1, "bits": 6}
    return TablePublic.example(relation, max_rows, {"smokes": ["no", "yes"], "dose": dose})
