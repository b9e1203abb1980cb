"""The robust regression as it was run: kept to be compared with and refuted, never for privacy.

Rows are centred by their exact private means and clipped at multiples of private standard
deviations, and the noise follows these thresholds. All of them leave as they are. A response that
is 0 throughout gets no noise at all, so that a neighbour is told apart for certain (Nieminen,
"Differentially Private Robust Linear Regression", 2017; Honkela and others, 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.noise.heavy import perturb_laplace
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.primitive import Change, Primitive, require_array
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.regression.advi_compat import advi_compat
from sfumato.regression.bayesian import Statistics
from sfumato.regression.model import RegressionModel
from sfumato.regression.published_queries import PublishedInput, PublishedSums
from sfumato.regression.robust_thresholds import PUBLISHED_THRESHOLDS

__all__ = [
    "PublishedStatistics",
    "fit_as_published",
    "published_thresholds",
    "step",
]

Floats = NDArray[np.float64]

#: The label in transcripts.
STATISTICS = "statistics"
#: Answers are multiples of 2 to this power.
EXPONENT = -40


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


def step(loss: Loss) -> PlanStep:
    """Return the one step of the published pipeline."""
    return PlanStep(
        what="statistics of clipped rows, with means and thresholds as they are",
        loss=loss,
        noise="Laplace, of a private scale",
        error="not private",
        figures={"margin": 0.0},
    )


def fit_as_published(
    query: PublishedSums, public: TablePublic, budget: Budget
) -> Program[RegressionModel]:
    """Ask for the statistics, and return the model.

    Parameters
    ----------
    query
        The pipeline with its settings.
    public, budget
        As for every program.
    """
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
