"""The questions of a survey, and how a true answer becomes a number.

What is wrong with an answer is told without showing it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.local.survey_checks import check_part

__all__ = ["Part", "combined", "grid_step", "real_number"]

#: What stands between the answers of a joint question.
BETWEEN = " | "


@dataclass(frozen=True)
class Part:
    """A question with a list of answers, alone or as part of a joint one.

    Parameters
    ----------
    name, ask
        What it is called, and what people are asked.
    answers
        The possible answers.
    edges
        Where the answers are ranges of a number: their ends, rising.
    """

    name: str
    ask: str
    answers: tuple[str, ...]
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_part(self)

    def number(self, answer: Any) -> int:
        """Return the number of an answer, or refuse it without showing it."""
        if self.edges:
            value = real_number(self.name, answer)
            return sum(value >= edge for edge in self.edges[1:-1])
        if answer not in self.answers:
            listed = ", ".join(self.answers[:20]) + (" …" if len(self.answers) > 20 else "")
            raise ValueError(
                f"{self.name}: the answer must be one of {listed}; what was given is not shown "
                "because it is private"
            )
        return self.answers.index(answer)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        document = {"name": self.name, "ask": self.ask, "answers": list(self.answers)}
        return {**document, "edges": list(self.edges)} if self.edges else document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Part:
        """Return the part that `to_json` wrote."""
        return cls(
            document["name"],
            document["ask"],
            tuple(document["answers"]),
            tuple(map(float, document.get("edges", ()))),
        )


def real_number(name: str, answer: Any) -> float:
    """Return a number that was given for an answer, or refuse it without showing it."""
    if isinstance(answer, bool) or not isinstance(answer, int | float) or answer != answer:
        raise ValueError(f"{name}: the answer must be a number; what was given is not shown")
    try:
        return float(answer)
    except OverflowError:
        return math.inf if answer > 0 else -math.inf


def combined(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """Return all combinations of answers, the last part's fastest."""
    answers = [""]
    for place, part in enumerate(parts):
        between = BETWEEN if place else ""
        answers = [f"{before}{between}{answer}" for before in answers for answer in part.answers]
    return tuple(answers)


def grid_step(value: float, bounds: tuple[float, float], steps: int) -> int:
    """Return the step of a grid that is nearest to a number; what lies beyond is moved inside."""
    low, high = bounds
    scaled = (value - low) / (high - low) * steps + 0.5
    return math.floor(min(max(scaled, 0), steps))
