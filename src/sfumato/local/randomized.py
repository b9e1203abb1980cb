"""Randomised response over a list of answers: perturb on the client, estimate at the collector."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.local.own import AnswerPublic, OwnAnswer
from sfumato.mechanisms.randomized import Randomized
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import LocalMethod
from sfumato.privacy.parameters import Names, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.transcript import Transcript


@dataclass(frozen=True)
class Estimate:
    """How many people hold an answer, as far as the reports tell.

    Parameters
    ----------
    answer
        The answer.
    count
        The unbiased estimate; it can be negative.
    margin
        19 times in 20 the randomisation alone puts the estimate no further off.
    """

    answer: str
    count: float
    margin: float


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(LocalMethod[OwnAnswer, Any]):
    """Collect one of several answers from each person without ever learning a true one.

    Parameters
    ----------
    epsilon
        Privacy loss for one answer replaced by any other.
    answers
        The possible answers.

    Notes
    -----
    Privacy: the truth is told with probability e^ε/(e^ε + k − 1), else another answer is chosen
    evenly; ε-DP for the report (docs/proofs/randomized-response.md).

    Examples
    --------
    >>> survey = RandomizedResponse(epsilon=1, answers=["yes", "no"])
    >>> report = survey.perturb("yes")
    >>> report in ("yes", "no")
    True
    """

    kind: ClassVar[str] = "report"
    proof: ClassVar[str] = "randomized-response.md"

    answers: Any = parameter(Names())

    @property
    def public(self) -> AnswerPublic:
        """What is public about each report."""
        return AnswerPublic(self.answers)

    def own(self, value: str) -> OwnAnswer:
        """Return one client's answer as private data."""
        return OwnAnswer(value, self.public)

    def _primitive(self) -> Randomized:
        loss = self.loss()
        assert isinstance(loss, PureDP)
        return Randomized(answers=len(self.answers), epsilon=loss.epsilon)

    def plan(self, public: AnswerPublic) -> Plan:
        """Return how often the truth is told."""
        truth = math.exp(self._primitive().log_probability(0, 0))
        step = PlanStep(
            what="one report",
            loss=self.loss(),
            noise=f"the truth is told with probability {truth:.3g}",
            error="see estimate: it depends on how many report",
            figures={"truth": truth},
        )
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(step,))

    def _measure(self, data: OwnAnswer, budget: Budget) -> None:
        budget.measure(self._primitive(), data.number, label="report")

    def _build(self, public: AnswerPublic, transcript: Transcript) -> str:
        number: int = transcript["report"]
        return public.answers[number]

    def estimate(self, reports: Iterable[str]) -> list[Estimate]:
        """Return how many people hold each answer, estimated from all reports.

        Parameters
        ----------
        reports
            What `perturb` returned on the clients.

        Notes
        -----
        Privacy: post-processing of reports that are already private.
        """
        found = Counter(reports)
        strange = sorted(str(report) for report in found if report not in self.answers)
        if strange:
            raise ValueError(f"{strange[0]!r} is not one of the answers of this survey")
        total = sum(found.values())
        primitive = self._primitive()
        truth = math.exp(primitive.log_probability(0, 0))
        other = math.exp(primitive.log_probability(0, 1)) if len(self.answers) > 1 else 0.0
        estimates = []
        for answer in self.answers:
            count = (found[answer] - other * total) / (truth - other)
            holders = min(max(count, 0.0), float(total))
            variance = holders * truth * (1 - truth) + (total - holders) * other * (1 - other)
            margin = 1.96 * math.sqrt(variance) / (truth - other)
            estimates.append(Estimate(answer, count, margin))
        return estimates
