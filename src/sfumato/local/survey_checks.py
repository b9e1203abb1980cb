"""What a survey must satisfy before anybody answers it or counts it.

A survey file comes from elsewhere. If its edges did not fit its answers, whether a client fails
would depend on the answer; so everything is checked before an answer is looked at.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from sfumato.local.design import Design
from sfumato.local.mean_response import NumberDesign
from sfumato.noise.exact import exact

if TYPE_CHECKING:
    from sfumato.local.survey import Item, Part, Survey

__all__ = ["SHARES", "check_item", "check_part", "check_survey"]

#: How the questions share a respondent's epsilon: a part for each, or all for one of them.
SHARES = ("split", "sample", "joint")


def check_part(part: Part) -> None:
    """Raise `ValueError` where a question is not sound."""
    texts = (part.name, part.ask, *part.answers)
    if not all(isinstance(text, str) for text in texts) or not part.name:
        raise ValueError("a question needs a name, a wording (ask) and answers, all of them text")
    if len(part.answers) < 2 or len(set(part.answers)) != len(part.answers):
        raise ValueError(f"the question {part.name!r} needs two or more different answers")
    if not part.edges:
        return
    if len(part.edges) != len(part.answers) + 1:
        raise ValueError(
            f"the question {part.name!r} has {len(part.answers)} ranges and needs "
            f"{len(part.answers) + 1} edges; got {len(part.edges)}"
        )
    rising = all(low < high for low, high in pairwise(part.edges))
    if not rising or not all(map(math.isfinite, part.edges)):
        raise ValueError(
            f"the edges of the question {part.name!r}, from low to high, must be finite and "
            "increasing"
        )


def check_item(item: Item) -> None:
    """Raise `ValueError` where a question and its design do not fit."""
    if not all(isinstance(text, str) for text in (item.name, item.ask)) or not item.name:
        raise ValueError("a question needs a name and a wording (ask), both text")
    if type(item.permanent) is not bool:
        raise ValueError(f"permanent of the question {item.name!r} must be true or false")
    if (item.bounds is None) == (not item.parts):
        raise ValueError(
            f"the question {item.name!r} must have either answers or the bounds of a number"
        )
    if item.bounds is None:
        _check_answers(item)
    else:
        _check_bounds(item, *item.bounds)


def _check_answers(item: Item) -> None:
    """Raise where a design collects other answers than a question has."""
    if not isinstance(item.design, Design):
        raise ValueError(f"the design of {item.name!r} does not collect answers")
    if item.design.answers != item.answers:
        raise ValueError(f"the design of {item.name!r} has other answers than the question")
    if len({part.name for part in item.parts}) != len(item.parts):
        raise ValueError(
            f"the questions that are reported together as {item.name!r} need other names"
        )


def _check_bounds(item: Item, low: float, high: float) -> None:
    """Raise where a design collects other numbers than a question asks for."""
    if not isinstance(item.design, NumberDesign):
        raise ValueError(f"the design of {item.name!r} does not collect numbers")
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"{item.name!r}: low must be less than high, and both finite")
    if (exact(low), exact(high)) != (item.design.low, item.design.high):
        raise ValueError(f"the design of {item.name!r} has other bounds than the question")


def check_survey(survey: Survey) -> None:
    """Raise `ValueError` where the questions of a survey do not fit together."""
    if not isinstance(survey.name, str):
        raise ValueError("the name of a survey must be a text")
    if survey.share not in SHARES:
        raise ValueError(f"share must be one of {', '.join(SHARES)}; got {survey.share!r}")
    if not survey.items:
        raise ValueError("a survey needs at least one question")
    asked = [part.name for item in survey.items for part in item.parts]
    asked += [item.name for item in survey.items if item.bounds is not None]
    reports = {item.name for item in survey.items}
    if len(set(asked)) != len(asked) or len(reports) != len(survey.items):
        raise ValueError("the questions of a survey must have different names")
    if survey.share == "joint" and len(survey.items) > 1:
        raise ValueError(
            "a survey with share = 'joint' must have one item, which holds all questions"
        )
    if survey.tables and survey.share != "split":
        raise ValueError("tables need share = 'split'")
    for pair in survey.tables:
        if len(set(pair)) != 2 or not set(pair) <= reports:
            raise ValueError("a table needs two different questions of the survey")
        if not all(survey.item(name).named for name in pair):
            raise ValueError("a table needs two questions whose reports are answers")
