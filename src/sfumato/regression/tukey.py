"""TukeyEM: least squares on many batches of records, and a model that lies deep among theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.mechanisms.deep_point import DeepPoint, NestedBoxes
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ApproxDP, Loss, pure_within
from sfumato.privacy.parameters import OrNone, Whole, parameter
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.regression.batches import GRID, LARGEST, RIDGE, to_grid
from sfumato.regression.estimator import LinearFit, Setting
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.queries import BatchModels
from sfumato.regression.rows import RowRule

__all__ = ["TukeyEM", "TukeyEstimator"]

Floats = NDArray[np.float64]

DEEP = "deep model"
#: Records that a batch should have for each feature, and how many batches are of use.
RECORDS_PER_FEATURE = 2
MOST_BATCHES = 4000
#: How many batches are planned where nothing is known about the number of records.
UNKNOWN = 1000
FAILED = (
    "The models of single batches of records were too far apart to release one among them, so all "
    "weights are 0 and every prediction is the same. More records, a larger epsilon or fewer "
    "columns would help; `BoostedAdaSSP` needs less."
)


@dataclass(frozen=True, kw_only=True)
class TukeyEstimator:
    """A deep point among the least-squares models of batches.

    Parameters
    ----------
    batches
        How many batches the rows are dealt out into; by default as many as leave two records a
        feature, at most 4,000.
    answer_bound
        Where answers are cut, in standard deviations: far out, since nothing depends on it.
    """

    batches: int | None = None
    answer_bound: float = 8.0

    name: ClassVar[str] = "TukeyEM"
    needs_delta: ClassVar[bool] = False

    def _batches(self, setting: Setting) -> int:
        if self.batches is not None:
            return self.batches
        if setting.records is None:
            return UNKNOWN
        many = setting.records / (RECORDS_PER_FEATURE * setting.dimension)
        return min(max(int(many), 1), MOST_BATCHES)

    def noise(self, setting: Setting) -> DeepPoint:
        """Return the mechanism that says a model."""
        limit = setting.limit
        return DeepPoint(
            points=self._batches(setting),
            dimension=setting.dimension,
            bound=LARGEST,
            moved=2 if setting.relation is Relation.REPLACE_ONE else 1,
            epsilon=pure_within(limit),
            delta=limit.delta if isinstance(limit, ApproxDP) else Fraction(0),
        )

    def hopeless(self, setting: Setting) -> int:
        """Return how many batches are needed at least, or 0 where there may be enough. Public."""
        deep = self.noise(setting)
        if deep.tested:
            # The test needs room for so many steps below the level that is asked for.
            needed = 4 * (deep.threshold + 1) * deep.moved
        else:
            # The middle third must outweigh the whole domain.
            domain = deep.dimension * math.log(2 * deep.bound + 1)
            needed = math.ceil(3 * domain / float(deep.rate))
        return needed if deep.points < needed else 0

    def check(self, setting: Setting) -> None:
        """Raise where there are certainly too few records."""
        if self.batches is None and setting.records is None:
            return
        needed = self.hopeless(setting)
        if needed:
            wanted = needed * RECORDS_PER_FEATURE * setting.dimension
            raise ValueError(
                f"TukeyEM needs at least {needed:,} batches with this budget, which is about "
                f"{wanted:,} records for {setting.dimension:,} features; these data give "
                f"{self._batches(setting):,}. Use another method, or a larger epsilon"
            )

    def steps(self, setting: Setting) -> tuple[PlanStep, ...]:
        """Return the one step that there is."""
        deep = self.noise(setting)
        # The choice falls short of the deepest by t with probability V·e^(−rt) at most, where V is
        # how many times larger the boxes are: a factor of e a coordinate is usual.
        short = (math.log(20) + setting.dimension) / float(deep.rate)
        tested = (
            f"a test that the models lie within {deep.threshold * deep.moved:,} batches of one "
            "another, then a choice by depth"
            if deep.tested
            else "a choice by depth among all models on a grid"
        )
        return (
            PlanStep(
                what=f"one model among those of {deep.points:,} batches",
                loss=setting.limit,
                noise=tested,
                error=f"about {min(short, deep.points / 2):,.4g} batches from their middle; "
                "nothing at all where the test fails",
                figures={"margin": short},
            ),
        )

    def fit(self, rule: RowRule, setting: Setting, budget: Budget) -> Program[LinearFit]:
        """Ask for a model that lies deep among those of the batches, if there are enough of them.

        Where there are not, or where the test fails, all weights are 0.
        """
        said = None
        if not self.hopeless(setting):
            deep = self.noise(setting)
            said = yield Ask(budget, deep, BatchModels(rule, deep.points), DEEP)
        if said is None:
            return LinearFit(weights=np.zeros(setting.dimension), notes=(FAILED,))
        return LinearFit(weights=said / GRID)

    def rehearse(self, setting: Setting, x: Floats, y: Floats, generator: Any) -> LinearFit:
        """Return the weights that synthetic public rows would have got."""
        deep = self.noise(setting)
        models = to_grid(_least_squares(x, y, generator.permutation(len(x)), deep.points))
        if self.hopeless(setting) or generator.random() >= deep.passing(models):
            return LinearFit(weights=np.zeros(setting.dimension), notes=(FAILED,))
        boxes, rate = NestedBoxes(models, LARGEST), float(deep.rate)
        # A depth of k counts e^(rk), made up of a share for each box that a point lies in.
        volumes = boxes.volumes[deep.level :]
        logs = np.array([math.log(many) + rate * level for level, many in enumerate(volumes)])
        logs[1:] += math.log(-math.expm1(-rate))
        shares = np.exp(logs - logs.max())
        level = deep.level + int(generator.choice(shares.size, p=shares / shares.sum()))
        low, high = boxes.corner(level, high=False), boxes.corner(level, high=True)
        return LinearFit(weights=generator.uniform(low, high) / GRID)


def _least_squares(x: Floats, y: Floats, order: NDArray[np.int64], batches: int) -> Floats:
    """Return a least-squares model of each batch of public rows, in floating point."""
    found = np.zeros((batches, x.shape[1]))
    for number, part in enumerate(np.array_split(order, batches)):
        matrix = x[part].T @ x[part] + RIDGE * np.eye(x.shape[1])
        found[number] = np.linalg.solve(matrix, x[part].T @ y[part])
    return found


@dataclass(frozen=True, kw_only=True)
class TukeyEM(LinearMethod):
    """Release a linear model by TukeyEM (Amin, Joseph, Ribero and Vassilvitskii, 2023).

    Records are divided into batches, a least-squares model is fitted to each batch, and a model of
    high Tukey depth among them is released. It needs many records, about 1,000 per column; the
    declared bounds then hardly matter. Parameters not listed here are those of every linear method
    (`LinearMethod`).

    Parameters
    ----------
    bound
        Where the target is clipped, in multiples of its spread. Default: eight standard deviations.
    delta
        If given, half of epsilon is for a test that the models of the batches are close together;
        if it fails, only its result is released. Without delta there is no test, and far more
        batches are needed.
    batches
        Number of batches. Default: as many as leave two records per feature in each batch.

    Notes
    -----
    Privacy: one record is in one batch and changes one model, or two where it is replaced; the
    exponential mechanism chooses a point of high depth after a test that this choice hardly depends
    on single models (docs/proofs/tukey-em.md).
    """

    proof: ClassVar[str] = "tukey-em.md"
    example: ClassVar[dict[str, Any]] = {"batches": 800}

    batches: int | None = parameter(OrNone(Whole(1, 100_000)), None)

    def working_loss(self) -> Loss:
        """Return ε, or (ε, δ): what a test may fail at has no Gaussian loss."""
        return self.loss()

    def estimator(self, public: TablePublic) -> TukeyEstimator:
        """Return TukeyEM with these settings."""
        return TukeyEstimator(batches=self.batches)
