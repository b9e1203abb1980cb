"""The possible answers of a question, as a parameter of designs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.privacy.parameters import Constraint

__all__ = ["MOST_ANSWERS", "Answers"]

#: The most answers that a design takes.
MOST_ANSWERS = 1 << 24


@dataclass(frozen=True)
class Answers(Constraint):
    """The possible answers, or how many there are."""

    allowed = "a non-empty list of distinct answers, or how many there are"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the answers; where only their number is given they are called 0, 1, 2, …."""
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= MOST_ANSWERS:
                raise ValueError
            return tuple(map(str, range(value)))
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise TypeError
        answers = tuple(value)
        if not answers or not all(isinstance(answer, str) for answer in answers):
            raise TypeError
        if len(set(answers)) != len(answers) or len(answers) > MOST_ANSWERS:
            raise ValueError
        return answers
