"""What is paid for before a model is fitted: how many records, where they lie, how far they spread.

Means and spreads of private columns are private. A rule of rows is made either of declared bounds
or of what was chosen here, from slices of the budget; nothing else may enter it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, PureDP, pure_within
from sfumato.privacy.program import Ask, Program
from sfumato.regression.design import Design
from sfumato.regression.estimator import Said
from sfumato.regression.intervals import COUNTED, IntervalChoice, Shells, Tails, needed_loss
from sfumato.regression.queries import IntervalScores
from sfumato.regression.rows import RowRule, Shape, numeric
from sfumato.regression.tail_queries import ShellCounts

__all__ = ["Preparation"]

Floats = NDArray[np.float64]

COUNT, RESPONSE, FEATURES = "count", "response", "features"
RESPONSE_TAILS, FEATURE_TAILS = "response tails", "feature tails"
#: Shares of the budget, for what is paid.
SHARES = {
    COUNT: Fraction(1, 50),
    RESPONSE: Fraction(1, 10),
    FEATURES: Fraction(1, 10),
    RESPONSE_TAILS: Fraction(1, 20),
    FEATURE_TAILS: Fraction(1, 10),
}
#: With a public number of records the share of the response is chosen so that it is found,
#: between these two.
LEAST_SHARE, LARGEST_SHARE = Fraction(1, 20), Fraction(1, 3)
#: The same for the scales of all features; where more is needed they are not paid for.
LARGEST_FEATURES_SHARE = Fraction(1, 5)
#: Where it is not paid for, a number is taken to spread by this part of half its declared range.
DECLARED_SPREAD = 1 / 3
#: Tails of features are followed to where so many times fewer records lie than noise hides.
HIDDEN_TAIL = 10.0
#: Rows are shortened, and answers cut, where so many records lie beyond, times the noise on their
#: sums in records.
BEYOND = 3.0
#: A tail is long where records are seen beyond so many spreads, and its end is seen where no more
#: than this share of them is hidden.
LONG, ENDED = 8.0, 0.005
#: A spread is never taken to be less than this part of half the declared range.
LEAST_SPREAD = 2.0**-12


def scale_share(about: int, columns: int, limit: Loss, relation: Relation) -> Fraction:
    """Return the share with which the scales of columns are found: less with more records. Public.

    Parameters
    ----------
    about
        About how many records there are, at least 1.
    columns
        How many columns share it.
    limit, relation
        The whole budget for one record, and what a neighbour is.
    """
    wanted = Fraction(round(needed_loss(relation))) / (about * pure_within(limit))
    if not isinstance(limit, PureDP):
        # Concentrated and Gaussian losses grow with the square of ε.
        wanted *= wanted
    return max((columns * wanted).limit_denominator(1000), LEAST_SHARE)


@dataclass(frozen=True)
class Preparation:
    """Which of the number of records, the response's and the features' scales are paid for.

    Parameters
    ----------
    public
        What is public about the table.
    design
        Which features records have.
    limit, relation
        The whole budget for one record, and what a neighbour is.
    count
        Whether records are counted: where their number is private.
    response, features
        `"paid"` or `"declared"`.
    tails
        Whether it is paid for how far the response and the features reach, where their scales are.
    """

    public: TablePublic
    design: Design
    limit: Loss
    relation: Relation
    count: bool
    response: str
    features: str
    tails: bool = False

    @property
    def shares(self) -> dict[str, Fraction]:
        """The share of the budget that each paid part costs."""
        about = self.public.rows if self.public.rows is not None else self.public.rows_about
        return paid_shares(
            about,
            self.limit,
            self.relation,
            count=self.count,
            response=self.response == "paid",
            columns=len(self.columns),
            tails=self.tails,
        )

    @property
    def rest(self) -> Fraction:
        """The share of the budget that is left for the fit."""
        return 1 - sum(self.shares.values(), Fraction(0))

    @property
    def columns(self) -> list[int]:
        """The features whose centre and spread are paid for."""
        if self.features != "paid":
            return []
        return np.flatnonzero(numeric(self.public, self.design)).tolist()

    def slice(self, name: str) -> Loss:
        """Return what a part may cost, for one record."""
        return self.limit.share(self.shares[name])

    @property
    def counting(self) -> CountNoise:
        """The noise on the number of records, of which one is one."""
        return count_noise((1,), self.slice(COUNT), self.relation)

    def choice(self, name: str) -> IntervalChoice:
        """Return the choice that is made for one column of a part."""
        return IntervalChoice(self._slice_of_one(name), self.relation)

    def _slice_of_one(self, name: str) -> Loss:
        """Return what one column of a part may cost."""
        many = max(len(self.columns), 1) if name == FEATURES else 1
        return self.slice(name).share(Fraction(1, many))

    def counting_shells(self, name: str, shells: Sequence[Shells]) -> CountNoise:
        """Return the noise on the shells of columns, in which a record counts once or twice."""
        many = sum(one.ends.size for one in shells)
        return shell_noise(many, self.slice(name), len(shells), self.relation)

    def ask(self, budget: Budget) -> Program[Said]:
        """Pay for the parts, and return what was said."""
        said: dict[str, Any] = {}
        for name, share in self.shares.items():
            asks = self._asks(name, budget.take(share, name), said)
            answers = yield asks
            said |= dict(zip((ask.label for ask in asks), answers, strict=True))
        return said

    def _asks(self, name: str, part: Budget, said: Said) -> list[Ask]:
        """Return what is asked for one part."""
        if name == COUNT:
            return [Ask(part, self.counting, Marginal(()), COUNT)]
        columns = {RESPONSE: self.design.response.column}
        if name in (FEATURES, FEATURE_TAILS):
            owners = self.design.owner[self.columns].tolist()
            columns = {
                feature_label(feature): self.design.columns[owner]
                for feature, owner in zip(self.columns, owners, strict=True)
            }
        if name in (RESPONSE, FEATURES):
            choice = self.choice(name)
            return [
                Ask(part, choice.primitive, IntervalScores(choice, column), label)
                for label, column in columns.items()
            ]
        shells = tuple(self._shells(label, said) for label in columns)
        query = ShellCounts(shells, tuple(columns.values()))
        return [Ask(part, self.counting_shells(name, shells), query, name)]

    def _shells(self, label: str, said: Said) -> Shells:
        """Return the shells around the interval that was chosen under a label."""
        choice = self.choice(RESPONSE if label == RESPONSE else FEATURES)
        middle, half = choice.read(int(said[label]))
        return Shells(middle, max(half, LEAST_SPREAD), coarse=label != RESPONSE)

    def _tails(self, name: str, labels: Sequence[str], said: Said) -> list[Tails]:
        """Return how far columns reach, as it was said."""
        shells = [self._shells(label, said) for label in labels]
        deviation = float(self.counting_shells(name, shells).standard_deviation)
        return split_tails(shells, np.asarray(said[name], dtype=np.float64), deviation)

    def response_tails(self, said: Said) -> Tails | None:
        """Return how far the response reaches; None where it was not asked."""
        if RESPONSE_TAILS not in said:
            return None
        return self._tails(RESPONSE_TAILS, [RESPONSE], said)[0]

    def records(self, said: Said) -> float | None:
        """Return how many records there are, as far as is public by now; at least 1."""
        if self.public.rows is not None:
            return float(max(self.public.rows, 1))
        return float(max(int(said[COUNT][0]), 1)) if self.count and COUNT in said else None

    def rule(self, said: Said, *, bound: float, radius: float, shape: Shape) -> RowRule:
        """Return the rule of rows.

        Parameters
        ----------
        said
            What was said to the parts that were paid for.
        bound
            Where answers are cut, in spreads of the response.
        radius
            Where rows are shortened, as a multiple of their usual length.
        shape
            What is done to rows that are longer.
        """
        numbers = numeric(self.public, self.design)
        centre = np.zeros(self.design.dimension)
        spread = np.where(numbers, DECLARED_SPREAD, 1.0)
        for feature in self.columns:
            chosen = int(said[feature_label(feature)])
            centre[feature], half = self.choice(FEATURES).read(chosen)
            spread[feature] = max(half, LEAST_SPREAD)
        if FEATURE_TAILS in self.shares:
            labels = [feature_label(feature) for feature in self.columns]
            rest = self.limit.share(self.rest)
            few = BEYOND * sum_noise(self.design.dimension, rest, self.relation)
            spread[self.columns] *= [
                widening(tails, self.records(said), few, usual_radius(self.design, 1.0))
                for tails in self._tails(FEATURE_TAILS, labels, said)
            ]
        middle, half = 0.0, DECLARED_SPREAD
        if self.response == "paid":
            middle, half = self.choice(RESPONSE).read(int(said[RESPONSE]))
        return RowRule(
            design=self.design,
            centre=centre,
            spread=spread,
            radius=usual_radius(self.design, radius),
            shape=shape,
            response_centre=middle,
            # No answer is further from the centre than that.
            response_bound=min(bound * max(half, LEAST_SPREAD), 1.0 + abs(middle)),
        )


def paid_shares(
    about: int | None,
    limit: Loss,
    relation: Relation,
    *,
    count: bool,
    response: bool,
    columns: int,
    tails: bool,
) -> dict[str, Fraction]:
    """Return the share of the budget that each part costs that is paid for. Public.

    Parameters
    ----------
    about
        About how many records there are, if it is known.
    limit, relation
        The whole budget for one record, and what a neighbour is.
    count, response, tails
        What is paid for; tails of columns alone whose scales are.
    columns
        How many features' scales are paid for.
    """
    features = columns > 0
    paid = {
        COUNT: count,
        RESPONSE: response,
        FEATURES: features,
        RESPONSE_TAILS: response and tails,
        FEATURE_TAILS: features and tails,
    }
    shares = dict(SHARES)
    if about:
        shares[RESPONSE] = min(scale_share(about, 1, limit, relation), LARGEST_SHARE)
        if tails and features:
            found = scale_share(about, columns, limit, relation)
            shares[FEATURES] = min(found, LARGEST_FEATURES_SHARE)
    return {name: shares[name] for name, wanted in paid.items() if wanted}


def shell_noise(shells: int, limit: Loss, columns: int, relation: Relation) -> CountNoise:
    """Return the noise on so many shells of so many columns, in some of which a record counts."""
    return count_noise((shells,), limit, relation, moves=min(columns, COUNTED))


def split_tails(shells: Sequence[Shells], counts: Floats, deviation: float) -> list[Tails]:
    """Return the tails of each column, from the counts of all their shells."""
    ends = np.cumsum([one.ends.size for one in shells])
    parts = np.split(counts, ends[:-1])
    return [Tails(one.ends, part, deviation) for one, part in zip(shells, parts, strict=True)]


def sum_noise(dimension: int, limit: Loss, relation: Relation) -> float:
    """Return about how long the noise on a sum of rows is, in records. Public."""
    deviation = float(count_noise((1,), limit, relation).standard_deviation)
    return deviation * (dimension if isinstance(limit, PureDP) else sqrt(dimension))


def widening(tails: Tails, records: float | None, few: float, radius: float) -> float:
    """Return what a feature's spread is multiplied by, so that its tail stays within a few spreads.

    A linear model is judged where its features are large as well, and rows that are shortened say
    too little of what is there. A column whose records reach further than those of a normal one
    would, for as few records as can be told, is scaled by its reach; others are left alone, also
    where shells are too coarse by a factor of 2. A column is scaled by its root mean square at the
    least: noise on its weight then adds no more to squared errors than that on any other. No more
    records than noise amounts to have rows that it alone makes too long: what is lost by weighing
    them falls with the noise. Where a long tail is seen and its end is hidden, the column is scaled
    by its declared range.

    Parameters
    ----------
    tails
        How far the feature reaches.
    records
        How many records there are.
    few
        How many of them noise amounts to.
    radius
        How long a row may be, in spreads.
    """
    many = max(records or 1.0, 1.0)
    hidden = tails.hidden()
    unseen = max(hidden / HIDDEN_TAIL, 1.0)
    reach, share = tails.reach(unseen, many), unseen / many
    least = max(sqrt(tails.mean_square(many)), tails.reach(max(few, 1.0), many) / radius)
    if hidden > ENDED * many and tails.reach(hidden, many) > LONG:
        return round(max(float(tails.ends[-1]) * DECLARED_SPREAD, least), 3)
    if share >= 1 / 4:
        return round(least, 3)
    # So far out that a double knows no nearer to 1.
    normal = NormalDist().inv_cdf(1 - max(share, 2.0**-50) / 2)
    # Rounded, since machines disagree on the last digits.
    return round(max(reach / (2 * normal), least), 3)


def usual_radius(design: Design, multiple: float) -> float:
    """Return a multiple of the usual length of rows, whose columns each spread by about 1."""
    return multiple * float(np.sqrt(max(len(design.factors) + design.intercept, 1)))


def feature_label(feature: int) -> str:
    """Return the label under which the interval of a feature is chosen."""
    return f"feature {feature}"
