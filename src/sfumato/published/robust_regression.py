"""Robust regression with thresholds and means that are those of the private data.

Nieminen, "Differentially Private Robust Linear Regression", 2017; Honkela, Das, Nieminen, Dikmen
and Kaski, "Efficient differentially private learning improves drug sensitivity prediction", 2018.

Printed: sums of products of clipped rows with Laplace noise are ε-DP, which holds for public
thresholds. As it was run, rows are centred by their exact means and clipped at multiples of exact
standard deviations, and the noise follows these thresholds.

It fails because all of them are private. Two rows whose responses are 0, against 0 and 1: the
first data set gets no noise on its responses at all, and the loss is infinite at ε = 1
(docs/refuted.md: robust-regression). `RobustLinearRegression` has public thresholds. The fit that
the published results rest on is here as well: a variational one that stops before it converges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.noise.private_scale import perturb_laplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss, Measure, PureDP, convert, pure_within
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.primitive import Change, Primitive, require_array
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.published.queries import PublishedInput, PublishedSums
from sfumato.regression.bayesian import RATE, SHAPE, Statistics
from sfumato.regression.model import RegressionModel
from sfumato.regression.robust_regression import RobustLinearRegression
from sfumato.regression.robust_statistics import Parts
from sfumato.regression.robust_thresholds import PUBLISHED_SHARES

__all__ = [
    "PUBLISHED_THRESHOLDS",
    "PublishedStatistics",
    "advi_compat",
    "describe_step",
    "fit_as_published",
]

Floats = NDArray[np.float64]

#: The label in transcripts.
STATISTICS = "statistics"
#: Answers are multiples of 2 to this power.
EXPONENT = -40
#: The published thresholds for 500 records and 10 features, by ε.
PUBLISHED_THRESHOLDS = {
    0.1: (0.1, 0.1),
    0.2: (0.2, 1.6),
    0.5: (0.1, 0.2),
    1.0: (0.1, 0.5),
    2.0: (0.1, 0.3),
    5.0: (0.1, 0.9),
    10.0: (0.1, 1.1),
}
#: The steps of the variational fit, their size, and what the size is divided by.
STEPS, STEP, WINDOW, OFFSET = 5000, 1e-3, 10, 0.1


def published_thresholds(epsilon: float) -> tuple[float, float]:
    """Return the published thresholds for the nearest ε, of 500 records and 10 features."""
    nearest = min(PUBLISHED_THRESHOLDS, key=lambda known: abs(math.log(known / epsilon)))
    return PUBLISHED_THRESHOLDS[nearest]


@dataclass(frozen=True, kw_only=True)
class PublishedStatistics(Primitive):
    """Add Laplace noise of a private scale, and say means and thresholds as they are: not private.

    Parameters
    ----------
    dimension
        How many features there are.
    epsilon
        What the paper says that it costs.

    Notes
    -----
    Privacy: none. Means and thresholds of a neighbour differ, and are said.
    """

    kind: ClassVar[str] = "statistics as published"

    dimension: int
    epsilon: Fraction

    def cost(self, measure: Measure) -> Loss:
        """Return what the paper claims."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input has a scale for each statistic."""
        if not isinstance(value, PublishedInput) or len(value.statistics) != len(value.scales):
            raise ValueError("the input must be a PublishedInput(statistics, scales, told)")

    def sample(self, value: PublishedInput) -> tuple[Floats, Floats]:
        """Return the noisy statistics, and what is told."""
        noisy = [
            item if scale == 0 else math.ldexp(int(_perturbed(item, scale)), EXPONENT)
            for item, scale in zip(value.statistics, value.scales, strict=True)
        ]
        return np.array(noisy), np.array(value.told)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a number for each statistic, and for all that is told."""
        noisy, told = output
        p = self.dimension
        # Products of two features, of a feature and the answer, and the square of the answer.
        require_array(noisy, np.float64, (p * (p + 1) // 2 + p + 1,))
        # Means of features and answer, the usual length of a row, and how many there are.
        require_array(told, np.float64, (p + 3,))

    def log_probability(self, value: PublishedInput, output: tuple[Floats, Floats]) -> float:
        """Return the log-density of an output: −∞ where something else is told."""
        noisy, told = output
        if tuple(told.tolist()) != value.told:
            return -math.inf
        total = 0.0
        for item, scale, said in zip(value.statistics, value.scales, noisy.tolist(), strict=True):
            if scale == 0:
                total += 0.0 if said == item else -math.inf
            else:
                total -= abs(said - item) / scale + math.log(2 * scale)
        return total

    def change(self, value: PublishedInput, neighbour: PublishedInput) -> Change:
        """Tell that nothing hides the thresholds."""
        norm = "whether the means and thresholds are the same"
        return Change(0 if value.told == neighbour.told else math.inf, 1, norm)


def _perturbed(item: float, scale: float) -> Any:
    return perturb_laplace(item, Fraction(scale), grid_exponent=EXPONENT)


def describe_step(loss: Loss) -> PlanStep:
    """Return the one step of the published pipeline."""
    return PlanStep(
        what="statistics of clipped rows, with means and thresholds as they are",
        loss=loss,
        noise="Laplace, of a private scale",
        error="not private",
        figures={"margin": 0.0},
    )


def _sums(method: RobustLinearRegression, public: TablePublic) -> PublishedSums:
    """Return what the pipeline asked as it was run."""
    limit, _ = method.record_budget(public)
    epsilon = pure_within(limit)
    rows, answers = published_thresholds(float(epsilon))
    return PublishedSums(
        design=method.design(public),
        epsilon=epsilon,
        shares=PUBLISHED_SHARES if method.moment_shares is None else Parts(*method.moment_shares),
        rows=rows if method.clip is None else float(Fraction(method.clip)),
        answers=answers if method.bound is None else float(Fraction(method.bound)),
    )


def fit_as_published(
    method: RobustLinearRegression, public: TablePublic, budget: Budget
) -> Program[RegressionModel]:
    """Ask for the statistics, and return the model.

    Parameters
    ----------
    method
        The method with its settings.
    public, budget
        As for every program.
    """
    query = _sums(method, public)
    primitive = PublishedStatistics(dimension=query.design.dimension, epsilon=query.epsilon)
    noisy, told = yield Ask(budget, primitive, query, STATISTICS)
    yield FINISH
    p = query.design.dimension
    xx = np.zeros((p, p))
    upper = p * (p + 1) // 2
    xx[np.triu_indices(p)] = noisy[:upper]
    xx = xx + np.triu(xx, 1).T
    statistics = Statistics(xx, noisy[upper:-1], float(noisy[-1]), float(told[-1]))
    (weights,) = advi_compat([statistics], noise.generator(p))
    means, middle, usual = told[:p], float(told[p]), float(told[p + 1])
    own = weights / usual if usual > 0 else np.zeros(p)
    return RegressionModel(
        public,
        query.design,
        own,
        offset=middle - float(means @ own),
        about="It was found by a variational fit of noisy statistics that stops early, as "
        "published, and is not private.",
    )


def advi_compat(
    problems: Sequence[Statistics], generator: np.random.Generator, *, steps: int = STEPS
) -> Floats:
    """Return the weights that the published fit ends with, a row a problem.

    Parameters
    ----------
    problems
        Statistics of one dimension each; they are fitted side by side.
    generator
        Where the draws come from.
    steps
        How many steps are made.
    """
    xx = np.stack([problem.xx for problem in problems])
    xy = np.stack([problem.xy for problem in problems])
    yy = np.array([problem.yy for problem in problems])
    records = np.array([problem.records for problem in problems])
    many, p = xy.shape
    # The mean u and log-deviation w of (log λ₀, log λ, β).
    state = np.zeros((2, many, p + 2))
    seen = np.zeros((WINDOW, *state.shape))
    gradient = np.empty_like(state)
    for step in range(steps):
        draw = generator.standard_normal((many, p + 2))
        width = np.exp(state[1])
        place = state[0] + width * draw
        # Far out the exponentials overflow in the original too; they are cut where nothing changes.
        prior, precision = np.exp(np.clip(place[:, :2].T, -500, 500))
        weights = place[:, 2:]
        product = np.einsum("kij,kj->ki", xx, weights)
        rest = ((product - 2 * xy) * weights).sum(axis=1) + yy
        size = (weights**2).sum(axis=1)
        gradient[0, :, 0] = SHAPE - RATE * prior + p / 2 - prior * size / 2
        gradient[0, :, 1] = SHAPE - RATE * precision + records / 2 - precision * rest / 2
        gradient[0, :, 2:] = -prior[:, None] * weights - precision[:, None] * (product - xy)
        gradient[1] = gradient[0] * draw * width + 1
        seen[step % WINDOW] = gradient**2
        state += STEP * gradient / np.sqrt(seen.sum(axis=0) + OFFSET)
    return state[0, :, 2:]
