"""The default linear regression: the estimator that does best on synthetic tables of this size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import exp, log2, sqrt
from statistics import median
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.privacy.loss import GDP
from sfumato.privacy.parameters import OneOf, OrNone, parameter
from sfumato.privacy.plan import Plan
from sfumato.regression.adassp import AdaSSPEstimator, solve_lifted
from sfumato.regression.boosted import BoostedEstimator
from sfumato.regression.design import Design
from sfumato.regression.estimator import Estimator, LinearFit, Said, Setting
from sfumato.regression.estimator_choice import (
    MANY,
    Candidate,
    Columns,
    Found,
    Grid,
    Rehearsals,
    Situation,
    search,
)
from sfumato.regression.knorm_regression import SQUARE, KNormEstimator, second_moments
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.multiples import Multiple
from sfumato.regression.objective_regression import ObjectiveEstimator
from sfumato.regression.preparation import Preparation
from sfumato.regression.rows import RowRule

# K-norm noise on second moments, fitted with a ridge as large as the noise asks for.
#
# The same is measured as in `sfumato.regression.knorm_regression`; it is fitted as AdaSSP is,
# which leaves weights alone that are large beside the noise in every direction. Post-processing
# only.


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RidgedKNormEstimator(KNormEstimator):
    """K-norm noise on second moments and a ridge.

    Parameters
    ----------
    matrix, profile, answer_bound
        As in `KNormEstimator`.
    ridge
        The smallest eigenvalue that the noisy matrix is lifted to, in multiples of √p and of the
        noise on a square.
    """

    matrix: bool = True
    ridge: float = 1.0

    @property
    def name(self) -> str:
        """What it is called, in words."""
        return "K-norm noise on second moments, and a ridge"

    def _fitted(self, setting: Setting, noisy: Floats) -> LinearFit:
        """Return the weights, from the noisy weighed sums of rows of length at most 1."""
        if not self.matrix:
            return super()._fitted(setting, noisy)
        size = setting.dimension
        linear, beside = self._beside(size, setting.relation)
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = noisy[size:] / beside
        matrix = matrix + np.triu(matrix, 1).T
        # The noise on a square, from that on a sum Σ y·x.
        deviation = self.deviation(setting) * linear / SQUARE
        floor = self.ridge * sqrt(size) * deviation
        return LinearFit(solve_lifted(matrix, noisy[:size] / linear, floor))


__all__ = ["LinearRegression"]

#: Where the search among pure estimators begins, and where among those for a delta.
GUESSING = KNormEstimator(matrix=False)
PURE: tuple[Any, ...] = (
    ObjectiveEstimator(),
    KNormEstimator(matrix=True),
    RidgedKNormEstimator(ridge=0.5),
    RidgedKNormEstimator(ridge=2.0),
)
GAUSSIAN: tuple[Any, ...] = (
    AdaSSPEstimator(),
    AdaSSPEstimator(balance=100.0),
    BoostedEstimator(rounds=10, residual_bound=0.5),
    BoostedEstimator(rounds=3, residual_bound=1.0),
)
GRID = Grid(
    bounds=(0.1, 0.4, 1.0, 2.0, 3.0, 6.0),
    radii=(0.5, 1.0, 2.0),
    shapes=("weigh", "clip"),
)
#: What is tried with many records: all scales are paid for, and estimators look at them once.
FEW = Grid(bounds=(1.0, 3.0), radii=(1.0, 2.0), shapes=("weigh",))
#: Where nothing is known about the number of records before they are counted.
GUESS = 1000.0
#: The synthetic tables by which a plan says how good a fit will be: others than it was chosen on.
FRESH = range(100, 112)
#: Differences below this are not worth a word.
VISIBLE = 0.01
#: The largest exponent that is worked out; beyond it a fit is useless anyway.
LARGEST = 50.0


@lru_cache(maxsize=4)
def _rehearsals(situation: Situation, goal: str) -> Rehearsals:
    """Return the synthetic tables of a situation, which are drawn once."""
    return Rehearsals(situation, goal)


def _serves(estimator: Any, setting: Setting) -> bool:
    """Tell whether an estimator takes so small a budget."""
    try:
        estimator.check(setting)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def find_fit(situation: Situation, goal: str, grid: Grid) -> Found:
    """Return the best way to fit in a situation."""
    guessing = replace(GUESSING, profile=situation.columns.profile)
    estimators = (guessing, *(GAUSSIAN if isinstance(situation.limit, GDP) else PURE))
    if situation.records > MANY:
        estimators = tuple(one for one in estimators[1:] if not hasattr(one, "residual_bound"))
        grid = grid.within(FEW)
    setting = situation.setting
    estimators = tuple(one for one in estimators if _serves(one, setting))
    usual = min(grid.radii, key=lambda radius: abs(radius - 1))
    families = tuple(Candidate(one, usual, grid.shapes[0]) for one in estimators)
    if len(grid.bounds) == 1:
        families = tuple(family.with_bound(grid.bounds[0]) for family in families)
    return search(_rehearsals(situation, goal), families, grid)


@lru_cache(maxsize=256)
def score_without_noise(situation: Situation, goal: str) -> float:
    """Return how good a fit without noise would be."""
    return _rehearsals(situation, goal).score_without_noise()


@lru_cache(maxsize=256)
def score_best_fit(situation: Situation, goal: str, grid: Grid) -> tuple[float, ...]:
    """Return how good the best way to fit is on tables that had no say in choosing it, sorted."""
    candidate, rehearsals = find_fit(situation, goal, grid).candidate, _rehearsals(situation, goal)
    tables = FRESH[: len(rehearsals.compared)]
    return tuple(sorted(rehearsals.score(candidate, range(n, n + 1)) for n in tables))


@dataclass(frozen=True, kw_only=True)
class LinearRegression(LinearMethod):
    """Release a linear model of one column given the others; the recommended regression.

    The best estimator and its settings (clipping of the target, length of rows, scales of columns)
    are chosen by trials on synthetic tables with the same number of records and columns and the
    same budget. The plan lists the choice and its accuracy in the trials.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table (row or person).
    target
        The column to predict, of numbers or dates. A record with a missing target counts as a row
        of zeros.
    delta
        If given, the guarantee is (epsilon, delta) and Gaussian noise may be used; otherwise the
        guarantee is pure.
    goal
        What estimators are compared by. `"error"`: how close predictions are to the target.
        `"order"`: how well they rank records.
    categories
        `"indicators"`: one weight per category. `"places"`: one weight per column, for the position
        of the category in the declared list.
    intercept
        Whether the model has a constant term.
    response, features
        How the centre and spread of the target (`response`) and of the other columns (`features`)
        are set. `"paid"`: they are chosen privately, for a tenth of the budget each. `"declared"`:
        they are computed from the declared ranges. `"auto"`: the better one on synthetic tables.
    bound
        Where the target is clipped, in multiples of its spread; estimators that clip residuals clip
        them there. Default: the best value on synthetic tables.
    radius
        Maximum length of a row of features, in multiples of the usual length. Default: the best
        value on synthetic tables.
    rows
        What happens to a record whose row is too long. `"weigh"`: the record gets less weight.
        `"clip"`: its row is shortened and its target is unchanged. Default: the better one on
        synthetic tables.

    Notes
    -----
    Privacy: the choice depends on public facts only, and on the noisy number of records if that is
    private; each estimator has its own proof (docs/proofs/linear-regression.md).
    """

    proof: ClassVar[str] = "linear-regression.md"

    goal: str = parameter(OneOf(("error", "order")), "error")
    response: str = parameter(OneOf(("auto", "paid", "declared")), "auto")
    radius: Any = parameter(OrNone(Multiple()), None)
    rows: Any = parameter(OrNone(OneOf(("weigh", "clip"))), None)

    @property
    def _grid(self) -> Grid:
        """What is tried: what the custodian fixed is not."""
        return Grid(
            GRID.bounds if self.bound is None else (float(Fraction(self.bound)),),
            GRID.radii if self.radius is None else (float(Fraction(self.radius)),),
            GRID.shapes if self.rows is None else (self.rows,),
        )

    def _situation(
        self, public: TablePublic, design: Design, records: float | None, arm: tuple[str, str]
    ) -> Situation:
        """Return the public facts; numbers of records are powers of √2, so that few differ."""
        limit, relation = self.record_budget(public)
        about = max(GUESS if records is None else records, 1.0)
        return Situation(
            columns=Columns.of(public, design),
            relation=relation,
            limit=limit,
            records=float(round(2 ** (round(2 * log2(about)) / 2))),
            count=public.rows is None,
            response=arm[0],
            features=arm[1],
        )

    def _arm(self, public: TablePublic, design: Design) -> tuple[str, str]:
        """Return whether the scales of the target and of the features are paid for. Public."""
        about = public.rows if public.rows is not None else public.rows_about
        if about is None:
            # Nothing is known that could tell: the target's scale alone is nearly always worth it.
            response = "paid" if self.response == "auto" else self.response
            return response, "declared" if self.features == "auto" else self.features
        if about > MANY:
            return self._settled("paid", self.response), self._settled("paid", self.features)
        limit, _ = self.record_budget(public)
        # Scales of features that are found badly are worse than declared ones, now and then by far.
        worth = self._features(public, design, limit)
        arms = [
            (response, features)
            for response in (("paid", "declared") if self.response == "auto" else (self.response,))
            for features in {"declared": None, worth: None}
            if self.features in ("auto", features)
            and ((response, features) != ("declared", "paid") or "auto" not in self._paid)
        ]
        return max(arms, key=lambda arm: self._found(public, design, float(about), arm).score)

    @staticmethod
    def _settled(default: str, given: str) -> str:
        return default if given == "auto" else given

    @property
    def _paid(self) -> tuple[str, str]:
        return self.response, self.features

    def _found(
        self, public: TablePublic, design: Design, records: float | None, arm: tuple[str, str]
    ) -> Found:
        return find_fit(self._situation(public, design, records, arm), self.goal, self._grid)

    def preparation(self, public: TablePublic) -> Preparation:
        """Return what is paid for before the fit."""
        limit, relation = self.record_budget(public)
        design = self.design(public)
        response, features = self._arm(public, design)
        return Preparation(
            public=public,
            design=design,
            limit=limit,
            relation=relation,
            count=public.rows is None,
            response=response,
            features=features,
        )

    def estimator(self, public: TablePublic) -> Estimator:
        """Return what finds the weights, as far as is known before anything is counted."""
        return self.chosen(public, self._planned(public))

    def chosen(self, public: TablePublic, setting: Setting) -> Estimator:
        """Return what finds the weights for so many records."""
        estimator: Any = self._candidate(public, setting.records).estimator
        if getattr(estimator, "profile", None) is not None:
            # Synthetic tables have no codes outside the order of a number; the design may.
            profile = second_moments(public, self.design(public))
            estimator = replace(estimator, profile=profile)
        return estimator  # type: ignore[no-any-return]

    def _candidate(self, public: TablePublic, records: float | None) -> Candidate:
        design = self.design(public)
        return self._found(public, design, records, self._arm(public, design)).candidate

    def rule(self, public: TablePublic, said: Said, estimator: Estimator) -> RowRule:
        """Return what becomes of a record."""
        candidate = self._candidate(public, self.setting(public, said).records)
        return self.preparation(public).rule(
            said,
            bound=float(candidate.estimator.answer_bound),
            radius=candidate.radius,
            shape=candidate.shape,
        )

    def plan(self, public: TablePublic) -> Plan:
        """Return what is paid for, what the estimator measures, and why it was chosen."""
        plan = super().plan(public)
        return replace(plan, notes=(*plan.notes, *self._reasons(public)))

    def _explained_share(self, score: float) -> float:
        """Return a score as a share of what could be told; below 0 a guess does better."""
        return score if self.goal == "order" else 1 - exp(min(-score, LARGEST))

    def _reasons(self, public: TablePublic) -> list[str]:
        """Return what was chosen, in sentences."""
        design, records = self.design(public), self._planned(public).records
        arm = self._arm(public, design)
        found = self._found(public, design, records, arm)
        situation = self._situation(public, design, records, arm)
        shares = [
            self._explained_share(score)
            for score in score_best_fit(situation, self.goal, self._grid)
        ]
        middle, best = median(shares), score_without_noise(situation, self.goal)
        what = "of the order of records" if self.goal == "order" else "of the target's variance"
        notes = [
            f"Chosen on synthetic tables of about {situation.records:,.0f} records: "
            f"{found.candidate.estimator.name}. On {len(shares)} others it told from "
            f"{_percent(shares[0])} to {_percent(shares[-1])} {what}, {_percent(middle)} in the "
            f"middle; without noise about {_percent(self._explained_share(best))} could be told."
        ]
        if records is None:
            notes.append(
                "How many records there are is not known: they are counted first, and the choice "
                "is made for that number. Declare rows_about for a plan that fits."
            )
        if found.score <= 0 or middle <= 0:
            notes.append("For so few records and so small a budget no model is worth its price.")
        elif shares[0] < 0:
            notes.append(
                "At worst it did worse than guessing the mean: with so small a budget a fit can "
                "come out useless, and it costs the same. More records, fewer columns or a larger "
                "ε help."
            )
        if self.delta is not None and records is not None and records <= MANY:
            pure = replace(self, delta=None)
            other = pure._found(public, design, records, pure._arm(public, design))
            better = self._explained_share(other.score) - self._explained_share(found.score)
            if better >= VISIBLE and other.score > 0:
                notes.append(
                    "Without a delta, under pure ε, it would do better here, by "
                    f"{100 * better:.0f} percentage points: leave delta out."
                )
        return notes


def _percent(share: float) -> str:
    """Return a share in words for a plan."""
    return "less than −100%" if share < -1 else f"{share:.0%}".replace("-", "−")
