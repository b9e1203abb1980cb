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
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, Loss, PureDP, pure_within
from sfumato.privacy.loss_check import record_limit
from sfumato.privacy.parameters import OneOf, OrNone, parameter
from sfumato.privacy.plan import Plan
from sfumato.regression.adassp import AdaSSPEstimator, solve_lifted
from sfumato.regression.boosted import BoostedEstimator
from sfumato.regression.design import Design
from sfumato.regression.estimator import Estimator, LinearFit, Said, Setting, answer_bound
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
from sfumato.regression.intervals import CLEAR, OUTSIDE, needed_loss
from sfumato.regression.knorm_regression import SQUARE, KNormEstimator, second_moments
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.multiples import Multiple
from sfumato.regression.objective_regression import ObjectiveEstimator
from sfumato.regression.preparation import (
    FEATURE_TAILS,
    LARGEST_FEATURES_SHARE,
    LARGEST_SHARE,
    RESPONSE_TAILS,
    SHARES,
    Preparation,
    scale_share,
    shell_noise,
)
from sfumato.regression.rows import RowRule, numeric

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
    ObjectiveEstimator(curvature=Fraction(1, 4)),
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
#: Long rows are weighed, which leaves the weights of a true linear model alone; clipping does not.
GRID = Grid(parts=(0.25, 0.5, 1.0), radii=(0.5, 1.0, 2.0), shapes=("weigh",))
#: What is tried with many records: all scales are paid for, and estimators look at them once.
FEW = Grid(parts=(1.0,), radii=(1.0, 2.0), shapes=("weigh",))
#: Scales of features are paid for where no more than this share of records may lie beyond a reach
#: unseen, in the noise of so many shells: more could lead a model astray wherever they are.
HIDDEN, USUAL_SHELLS = 0.03, 5
#: The target's tails are counted where the same noise hides no more than this share of them: half
#: of what lies beyond the interval that is looked for. Else it would not tell how they fall.
HIDDEN_RESPONSE = 1 / (2 * OUTSIDE)
#: Where nothing is known about the number of records before they are counted.
GUESS = 1000.0
#: The synthetic tables by which a plan says how good a fit will be: others than it was chosen on.
FRESH = range(100, 112)
#: The largest exponent that is worked out; beyond it a fit is useless anyway.
LARGEST = 50.0


@lru_cache(maxsize=4)
def _rehearsals(situation: Situation, goal: str) -> Rehearsals:
    """Return the synthetic tables of a situation, which are drawn once."""
    return Rehearsals(situation, goal, noise_length)


def noise_length(estimator: Any, setting: Setting) -> float:
    """Return how long the noise on Σ y·x is, where a record adds at most 1."""
    if isinstance(estimator, ObjectiveEstimator):
        return setting.dimension * float(estimator.primitive(setting).scale)
    if isinstance(estimator, KNormEstimator):
        return sqrt(setting.dimension) * estimator.deviation(setting)
    moments, noise = estimator.noise(setting)
    return float(sqrt(setting.dimension) * moments.widths(noise.standard_deviation).vector)


def _serves(estimator: Any, setting: Setting) -> bool:
    """Tell whether an estimator takes so small a budget."""
    try:
        estimator.check(setting)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def find_fit(situation: Situation, goal: str, grid: Grid, bound: float | None) -> Found:
    """Return the best way to fit in a situation."""
    guessing = replace(GUESSING, profile=situation.columns.profile)
    estimators = (guessing, *(GAUSSIAN if isinstance(situation.limit, GDP) else PURE))
    if situation.records > MANY:
        estimators = tuple(one for one in estimators[1:] if not hasattr(one, "residual_bound"))
        grid = grid.within(FEW)
    setting = situation.setting
    estimators = tuple(one for one in estimators if _serves(one, setting))
    usual = min(grid.radii, key=lambda radius: abs(radius - 1))
    guessed = situation.response == "paid" and not situation.tails and bound is None
    families = tuple(
        Candidate(
            one,
            usual,
            grid.shapes[0],
            part=max(grid.parts),
            # Each cuts where it does by itself if it was not asked how far answers reach.
            bound=float(getattr(one, "residual_bound", one.answer_bound)) if guessed else bound,
        )
        for one in estimators
    )
    return search(_rehearsals(situation, goal), families, grid)


@lru_cache(maxsize=256)
def score_without_noise(situation: Situation, goal: str) -> float:
    """Return how good a fit without noise would be."""
    return _rehearsals(situation, goal).score_without_noise()


@lru_cache(maxsize=256)
def score_best_fit(
    situation: Situation, goal: str, grid: Grid, bound: float | None
) -> tuple[float, ...]:
    """Return how good the best way to fit is on tables that had no say in choosing it, sorted."""
    candidate = find_fit(situation, goal, grid, bound).candidate
    rehearsals = _rehearsals(situation, goal)
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
        are set. `"paid"`: they are found privately, and how far columns reach beyond, for a tenth
        to a third of the budget each. `"declared"`: they are computed from the declared ranges.
        `"auto"`: paid for where the number of records and the budget suffice to find them.
    bound
        Where the target is clipped, in multiples of its spread; estimators that clip residuals clip
        them there. Default: where as few records lie beyond as the noise amounts to; with few
        records and a small budget, what the estimator's own method does.
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
    private; where answers are clipped follows from noisy counts; each estimator has its own proof
    (docs/proofs/linear-regression.md).
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
            GRID.parts if self.bound is None else (1.0,),
            GRID.radii if self.radius is None else (float(Fraction(self.radius)),),
            GRID.shapes if self.rows is None else (self.rows,),
        )

    @property
    def _fixed_bound(self) -> float | None:
        return None if self.bound is None else float(Fraction(self.bound))

    def budget_loss(self, public: TablePublic) -> Loss:
        """Return ε or μ² where a delta is given, whichever does better on synthetic tables.

        ε-DP implies (ε, δ)-DP. Gaussian noise grows more slowly with the number of columns, but
        starts from more.
        """
        working = self.working_loss()
        if self.delta is None:
            return working
        ways = (working, PureDP(self.epsilon))
        scores = [self._judge_loss(public, loss) for loss in ways]
        return ways[int(np.argmax(scores))]

    def record_budget(self, public: TablePublic) -> tuple[Loss, Relation]:
        """Return the loss for one record, and its relation, in which the budget is opened."""
        return record_limit(self.budget_loss(public), public)

    def _judge_loss(self, public: TablePublic, loss: Loss) -> float:
        """Return how good the best way to fit within a loss is on synthetic tables."""
        about = _rows_about(public)
        limit, design = record_limit(loss, public)[0], self.design(public)
        arm = self._arm(public, design, limit)
        return self._found(
            public, design, None if about is None else float(about), arm, limit
        ).score

    def _situation(
        self,
        public: TablePublic,
        design: Design,
        records: float | None,
        arm: tuple[str, str],
        limit: Loss,
    ) -> Situation:
        """Return the public facts; numbers of records are powers of √2, so that few differ."""
        about = max(GUESS if records is None else records, 1.0)
        return Situation(
            columns=Columns.of(public, design),
            relation=record_limit(limit, public)[1],
            limit=limit,
            records=float(round(2 ** (round(2 * log2(about)) / 2))),
            count=public.rows is None,
            response=arm[0],
            features=arm[1],
            tails=self._tails(public, arm[1], limit),
        )

    def _arm(self, public: TablePublic, design: Design, limit: Loss) -> tuple[str, str]:
        """Return whether the scales of the target and of the features are paid for. Public.

        Those that would be found are: found scales suit all tables, declared ones those that fill
        their declared ranges. Where the target's would perhaps not be found, synthetic tables tell.
        """
        about = _rows_about(public)
        features = self._features(public, design, limit)
        if self.response != "auto" or about is None:
            return "paid" if self.response == "auto" else self.response, features
        needed = needed_loss(record_limit(limit, public)[1])
        if about * pure_within(limit.share(LARGEST_SHARE)) >= needed:
            return "paid", features
        arms = (("paid", features), ("declared", features))
        return max(
            arms, key=lambda arm: self._found(public, design, float(about), arm, limit).score
        )

    def _features(self, public: TablePublic, design: Design, limit: Loss) -> str:
        """Return whether the scales of features are paid for: where they and tails can be told."""
        about = _rows_about(public)
        relation, many = record_limit(limit, public)[1], int(numeric(public, design).sum())
        if self.features != "auto" or not many or about is None:
            return "declared" if self.features == "auto" else self.features
        found = scale_share(max(about, 1), many, limit, relation) <= LARGEST_FEATURES_SHARE
        hidden = _hidden(limit.share(SHARES[FEATURE_TAILS]), relation, many)
        return "paid" if found and hidden <= HIDDEN * about else "declared"

    def _tails(self, public: TablePublic, features: str, limit: Loss) -> bool:
        """Return whether tails are paid for: where noise would not hide the target's. Public."""
        about = _rows_about(public)
        if about is None or features == "paid":
            return True
        relation = record_limit(limit, public)[1]
        return _hidden(limit.share(SHARES[RESPONSE_TAILS]), relation) <= HIDDEN_RESPONSE * about

    def _found(
        self,
        public: TablePublic,
        design: Design,
        records: float | None,
        arm: tuple[str, str],
        limit: Loss,
    ) -> Found:
        situation = self._situation(public, design, records, arm, limit)
        return find_fit(situation, self.goal, self._grid, self._fixed_bound)

    def preparation(self, public: TablePublic) -> Preparation:
        """Return what is paid for before the fit."""
        limit, relation = self.record_budget(public)
        design = self.design(public)
        response, features = self._arm(public, design, limit)
        return Preparation(
            public=public,
            design=design,
            limit=limit,
            relation=relation,
            count=public.rows is None,
            response=response,
            features=features,
            tails=self._tails(public, features, limit),
        )

    def estimator(self, public: TablePublic) -> Estimator:
        """Return what finds the weights, as far as is known before anything is counted."""
        return self.chosen(public, self._planned(public))

    def chosen(self, public: TablePublic, setting: Setting) -> Estimator:
        """Return what finds the weights for so many records and such tails."""
        estimator: Any = self._candidate(public, setting.records).bounded(setting, noise_length)
        if getattr(estimator, "profile", None) is not None:
            # Synthetic tables have no codes outside the order of a number; the design may.
            profile = second_moments(public, self.design(public))
            estimator = replace(estimator, profile=profile)
        return estimator  # type: ignore[no-any-return]

    def _candidate(self, public: TablePublic, records: float | None) -> Candidate:
        design, limit = self.design(public), self.record_budget(public)[0]
        return self._found(
            public, design, records, self._arm(public, design, limit), limit
        ).candidate

    def rule(self, public: TablePublic, said: Said, estimator: Estimator) -> RowRule:
        """Return what becomes of a record."""
        candidate = self._candidate(public, self.setting(public, said).records)
        return self.preparation(public).rule(
            said,
            bound=answer_bound(estimator),
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
        limit = self.record_budget(public)[0]
        arm = self._arm(public, design, limit)
        found = self._found(public, design, records, arm, limit)
        situation = self._situation(public, design, records, arm, limit)
        shares = [
            self._explained_share(score)
            for score in score_best_fit(situation, self.goal, self._grid, self._fixed_bound)
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
        if self.delta is not None and isinstance(limit, PureDP):
            notes.append("Noise is that of pure ε, which does better here; the delta is not used.")
        return notes


def _rows_about(public: TablePublic) -> int | None:
    """Return the number of rows, or what was declared about it, or nothing. Public."""
    return public.rows if public.rows is not None else public.rows_about


def _hidden(limit: Loss, relation: Relation, columns: int = 1) -> float:
    """Return how many records noise would hide in the tail of a column, of so many."""
    deviation = shell_noise(1, limit, columns, relation).standard_deviation
    return CLEAR * sqrt(USUAL_SHELLS) * float(deviation)


def _percent(share: float) -> str:
    """Return a share in words for a plan."""
    return "less than −100%" if share < -1 else f"{share:.0%}".replace("-", "−")
