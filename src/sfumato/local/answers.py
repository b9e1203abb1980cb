"""The possible answers of a question, as a parameter of designs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.privacy.parameters import Constraint, is_list, read_text

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
        if not is_list(value):
            raise TypeError
        answers = tuple(read_text(answer) for answer in value)
        if not answers or len(set(answers)) != len(answers) or len(answers) > MOST_ANSWERS:
            raise ValueError
        return answers
