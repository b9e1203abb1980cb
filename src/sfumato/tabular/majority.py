"""Majority: the classifier that gives the same answer to everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Accepted
from sfumato.mechanisms.count_noise import CountNoise, count_noise, margin
from sfumato.privacy.budget import Budget
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.classifier import Classifier, ClassifyingMethod

LABEL = "positive minus negative"


@dataclass(frozen=True, kw_only=True)
class Majority(ClassifyingMethod):
    """Release which of two classes has more records; a baseline.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    target
        The column to predict.
    positive
        The values of the target that are positive; all others are negative.

    Notes
    -----
    Privacy: the number of positive records minus that of the others changes by 1 when a record is
    added and by at most 2 when one is replaced, so geometric noise of scale 1/ε (or 2/ε) on it is
    ε-DP; its sign decides (docs/proofs/majority.md).
    """

    proof: ClassVar[str] = "majority.md"
    small: ClassVar[str] = "one number"

    def noise(self, public: TablePublic) -> CountNoise:
        """Return the noise on the difference."""
        limit, relation = self.record_budget(public)
        return count_noise((1,), limit, relation)

    def plan(self, public: TablePublic) -> Plan:
        """Return how far apart the two classes must be to be told apart."""
        self.check(public)
        noise = self.noise(public)
        off = margin(noise)
        step = PlanStep(
            what=f"which is more frequent among {self.target}",
            loss=self.loss(),
            noise=f"± {noise.standard_deviation:,.4g} (1 s.d.) on the difference",
            error=f"right 19 times in 20 if the classes differ by {off:,.4g} records",
            figures={"margin": off, "standard_deviation": noise.standard_deviation},
        )
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,))

    def program(self, public: TablePublic, budget: Budget) -> Program[Classifier]:
        """Ask for the number of positive records minus that of the others."""
        task = self.task(public)
        signs = np.where(task.positive, 1, -1).tolist()
        query = Accepted((task.target,), (tuple(range(len(signs))),), tuple(signs))
        told = yield Ask(budget, self.noise(public), query, LABEL)
        difference = int(told[0])
        weights = np.zeros(task.features.dimension)
        # The sign alone decides; the difference itself is in the transcript and is told as well.
        weights[-1] = float(np.sign(difference))
        return Classifier(
            public,
            task,
            weights,
            f"It gives every record the same answer: there are about {abs(difference):,} "
            f"{'more' if difference > 0 else 'fewer'} records that are so than others.",
        )
