"""What a survey will tell, before anybody is asked: margins, and how many must answer.

Everything here follows from public figures; margins are those of the worst case, whatever the
answers are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.local.choice import best_design
from sfumato.local.law import PureLaw, law_of
from sfumato.local.questionnaire import reason_for
from sfumato.local.shares import normal_quantile
from sfumato.local.survey import Item, Survey

__all__ = ["ItemPlan", "SurveyPlan", "plan_survey"]


@dataclass(frozen=True)
class ItemPlan:
    """What one question will tell.

    Parameters
    ----------
    item
        The question.
    spread
        The largest variance that one report gives an estimate, in units of its range.
    told_by
        The share of respondents who answer it.
    reason
        Why it is collected as it is.
    designs
        What each design would give: the standard deviation of a share, with the planned number
        of respondents.
    """

    item: Item
    spread: float
    told_by: float
    reason: str
    designs: dict[str, float]

    def margin(self, respondents: int, level: float = 0.95) -> float:
        """Return how far an estimate is off at most, so often as the level says.

        Parameters
        ----------
        respondents
            How many people answer the survey.
        level
            How often.
        """
        return normal_quantile(level) * math.sqrt(self.spread / (self.told_by * respondents))

    def respondents(self, margin: float, level: float = 0.95) -> int:
        """Return how many people must answer the survey for a margin.

        Parameters
        ----------
        margin
            The wanted margin: of a share, or of a mean as a share of its range.
        level
            How often it shall hold.
        """
        if not 0 < margin < 1:
            raise ValueError(
                "margin must be between 0 and 1, such as 0.03 for 3 percentage points; got "
                f"{margin:g}"
            )
        return math.ceil(self.spread * (normal_quantile(level) / margin) ** 2 / self.told_by)


@dataclass(frozen=True)
class SurveyPlan:
    """What a survey will tell and cost.

    Parameters
    ----------
    survey
        The survey.
    respondents
        About how many people will answer.
    items
        What each question will tell.
    """

    survey: Survey
    respondents: int
    items: tuple[ItemPlan, ...]

    def repeated(self, times: int) -> Any:
        """Return what a respondent has spent after answering so many times.

        Permanent questions cost once; where one question is drawn for each respondent it is
        drawn once, and the dearest course is told.
        """
        costs = [
            item.epsilon if item.permanent else item.epsilon * times for item in self.survey.items
        ]
        return max(costs) if self.survey.share == "sample" else sum(costs)

    def needed(self, margin: float) -> int:
        """Return how many people must answer for a margin on every question."""
        return max(plan.respondents(margin) for plan in self.items)

    def to_json(self, margin: float) -> dict[str, Any]:
        """Return a plain document.

        Parameters
        ----------
        margin
            The margin for which it says how many people must answer.
        """
        survey = self.survey
        return {
            "survey": survey.identity,
            "name": survey.name,
            "share": survey.share,
            "epsilon": str(survey.epsilon),
            "respondents": self.respondents,
            "wanted_margin": margin,
            "respondents_needed": self.needed(margin),
            "epsilon_after_10_times": str(self.repeated(10)),
            "questions": [
                {
                    "name": plan.item.name,
                    "answers": None if plan.item.bounds else len(plan.item.answers),
                    "epsilon": str(plan.item.epsilon),
                    "permanent": plan.item.permanent,
                    "design": type(plan.item.design).__name__,
                    "bits": round(plan.item.design.bits, 3),
                    "margin": plan.margin(self.respondents),
                    "respondents_needed": plan.respondents(margin),
                    "reason": plan.reason,
                    "deviations": plan.designs,
                }
                for plan in self.items
            ],
        }


def plan_survey(survey: Survey, respondents: int) -> SurveyPlan:
    """Return what a survey will tell.

    Parameters
    ----------
    survey
        The survey.
    respondents
        About how many people will answer.
    """
    part = 1 / len(survey.items) if survey.share == "sample" else 1.0
    many = max(1, round(part * respondents))
    items = tuple(
        ItemPlan(
            item,
            largest_spread(item),
            part,
            reason_for(item.design, many),
            {} if item.bounds else _designs(item, many),
        )
        for item in survey.items
    )
    return SurveyPlan(survey, respondents, items)


def largest_spread(item: Item) -> float:
    """Return the largest variance of an estimate from one report, for the population.

    For a mean it is in units of the range, and counts that numbers differ by up to the range.
    """
    design = item.design
    if item.bounds is not None:
        low, high = item.bounds
        middle, end = (float(design.variance(at, 1).sample) for at in ((low + high) / 2, high))
        # The noise on a number u off the middle is middle + βu²; with the spread of the numbers
        # that is middle + (β + 1)·E[u²] − E[u]², and u² is at most a quarter of the squared range.
        return max(middle, end + ((high - low) / 2) ** 2) / (high - low) ** 2
    law = law_of(design)
    if isinstance(law, PureLaw):
        shares = np.linspace(0.0, 1.0, 101)
        return float(law.spread(shares, population=True).max())
    # No one pair of figures describes a matrix: answers are taken as equally common.
    even = np.full(law.shape, 1 / law.shape[0])
    return float(law.spread(even, population=True).max())


def _designs(item: Item, respondents: int) -> dict[str, float]:
    return best_design(item.design.answers, item.epsilon, respondents).deviations
