"""One of several questions, chosen evenly without looking, answered through its own response.

The primitive runs where the answers are, on one person's own record. Which question is told is
public; it says nothing, because it does not depend on the record (docs/proofs/local-records.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.local_hash import HashResponse
from sfumato.mechanisms.local_response import LocalResponse, require_rows
from sfumato.mechanisms.local_subset import SubsetResponse
from sfumato.mechanisms.local_unary import UnaryResponse
from sfumato.mechanisms.randomized import Randomized
from sfumato.noise.choices import WordChoices
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_whole

__all__ = ["OneQuestion"]

Records = NDArray[np.int64]

#: The responses a question may have.
RESPONSES: dict[str, type[LocalResponse]] = {
    Randomized.kind: Randomized,
    UnaryResponse.kind: UnaryResponse,
    SubsetResponse.kind: SubsetResponse,
    HashResponse.kind: HashResponse,
}


@dataclass(frozen=True, kw_only=True)
class OneQuestion(Primitive):
    """Choose one question evenly, and say what its response says of its answer.

    Parameters
    ----------
    answers
        How many answers each question has.
    responses
        The kind of each question's response.
    set_sizes
        How many answers the sets of each question have, for subset selection; else 0.
    epsilon
        The loss for one record replaced by any other.

    Notes
    -----
    The input is the numbers of one person's answers, as a tuple, or an int64 array with a row for
    each client. The output is the question and its report; for many clients the question of each,
    and then for each question the reports of those who told it, in order.

    Privacy: P(question u, report y) = P_u(y | answer to u)/s, and each P_u is ε-DP
    (docs/proofs/local-records.md).
    """

    kind: ClassVar[str] = "one question of several"

    answers: tuple[int, ...]
    responses: tuple[str, ...]
    set_sizes: tuple[int, ...]
    epsilon: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")
        lengths = {len(self.answers), len(self.responses), len(self.set_sizes)}
        if not self.answers or len(lengths) != 1:
            raise ValueError("every question needs a number of answers and a response")
        unknown = [kind for kind in self.responses if kind not in RESPONSES]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a response; there are {', '.join(RESPONSES)}")
        for question in range(len(self.answers)):
            # A response that would cost more than epsilon is refused now, and not by a draw.
            self.response(question)

    def response(self, question: int) -> LocalResponse:
        """Return the response of one question."""
        kind, answers = RESPONSES[self.responses[question]], self.answers[question]
        if kind is SubsetResponse:
            size = self.set_sizes[question]
            return SubsetResponse(answers=answers, epsilon=self.epsilon, size=size)
        return kind(answers=answers, epsilon=self.epsilon)

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is one answer's number for each question."""
        if isinstance(value, np.ndarray):
            proper = value.dtype == np.int64 and value.ndim == 2
            proper = proper and value.shape[1] == len(self.answers)
            inside = proper and bool(((value >= 0) & (value < np.array(self.answers))).all())
        else:
            proper = isinstance(value, tuple) and len(value) == len(self.answers)
            inside = proper and all(
                type(number) is int and 0 <= number < size
                for number, size in zip(value, self.answers, strict=True)
            )
        if not inside:
            raise ValueError("a record has the number of an answer for each question")

    def sample(self, value: tuple[int, ...] | Records) -> Any:
        """Draw a question, then the report of its answer."""
        if isinstance(value, np.ndarray):
            return self._sample_all(value)
        choices = WordChoices()
        question = choices.uniform(len(self.answers))
        return question, self.response(question).draw(value[question], choices)

    def _sample_all(self, records: Records) -> tuple[NDArray[Any], ...]:
        """Draw a question for each client, then the reports of each question's clients."""
        questions = len(self.answers)
        chosen = noise.uniform_integers(len(records), bound=questions)
        reports = (
            self.response(number).draw_all(np.ascontiguousarray(records[chosen == number, number]))
            for number in range(questions)
        )
        return (chosen, *reports)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a question and its report, or those of many."""
        chosen, *reports = output
        questions = len(self.answers)
        if not isinstance(chosen, np.ndarray):
            require_whole(chosen, 0, questions - 1)
            (report,) = reports
            self.response(chosen).rows([report])
            return
        require_rows(chosen, np.dtype(np.int64))
        if chosen.min(initial=0) < 0 or chosen.max(initial=0) >= questions:
            raise ValueError(f"questions have numbers from 0 to {questions - 1}")
        told = np.bincount(chosen, minlength=questions).tolist()
        for number, (many, rows) in enumerate(zip(told, reports, strict=True)):
            self.response(number).check_rows(rows)
            if len(rows) != many:
                raise ValueError("every question has a report of each client who told it")

    def log_probability(self, value: tuple[int, ...] | Records, output: Any) -> float:
        """Return the log-probability of a question and its report, or of those of many."""
        evenly = -math.log(len(self.answers))
        if not isinstance(value, np.ndarray):
            question, report = output
            return evenly + self.response(question).log_law(value[question], report)
        chosen, *reports = output
        total = evenly * len(value)
        for number, rows in enumerate(reports):
            held = np.ascontiguousarray(value[chosen == number, number])
            total += self.response(number).log_probability(held, rows)
        return total

    def change(self, value: tuple[int, ...] | Records, neighbour: Any) -> Change:
        """Count the clients whose records differ; any difference of one record is allowed."""
        here, there = np.atleast_2d(np.asarray(value)), np.atleast_2d(np.asarray(neighbour))
        apart = int((here != there).any(axis=1).sum())
        return Change(Fraction(apart), Fraction(1), "clients whose records differ")

    def extremes(self, value: tuple[int, ...] | Records, neighbour: Any) -> list[Any]:
        """Return for each question that differs the reports that attain the bound."""
        if isinstance(value, np.ndarray):
            return []
        found = []
        for number, (here, there) in enumerate(zip(value, neighbour, strict=True)):
            if here != there:
                response = self.response(number)
                found += [(number, report) for report in response.extremes(here, there)]
        return found
