"""Randomised answers for a survey, drawn where the answer is. One file; it needs Python alone.

A survey file carries whole numbers with which random words of 64 bits are compared: there is no
floating point in what decides a report. From the same words this file draws the same reports as the
library and as the JavaScript client; js/vectors.json holds examples.

    python sfumato_local.py survey.json --answer smoking=never --answer sleep=7.5
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
import os
import secrets
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

WORD = 1 << 64

Word = Callable[[], int]


def system_word() -> int:
    """Return a random word of 64 bits from the system."""
    return secrets.randbits(64)


def uniform(bound: int, word: Word) -> int:
    """Return one of 0, …, bound − 1, all alike: the remainder of the first word up to the fence."""
    fence = WORD - WORD % bound - 1
    drawn = word()
    while drawn > fence:
        drawn = word()
    return drawn % bound


def _randomised(law: dict[str, Any], value: int, word: Word) -> int:
    if law["answers"] == 1 or word() < int(law["threshold"]):
        return value
    other = uniform(law["answers"] - 1, word)
    return other + (other >= value)


def _unary(law: dict[str, Any], value: int, word: Word) -> str:
    held, other = int(law["held"]), int(law["other"])
    thresholds = (held if answer == value else other for answer in range(law["answers"]))
    return "".join("1" if word() < threshold else "0" for threshold in thresholds)


def _subset(law: dict[str, Any], value: int, word: Word) -> list[int]:
    held = law["size"] == law["answers"] or word() < int(law["threshold"])
    others = law["answers"] - 1
    chosen: set[int] = set()
    for last in range(others - law["size"] + held, others):
        drawn = uniform(last + 1, word)
        chosen.add(last if drawn in chosen else drawn)
    named = {other + (other >= value) for other in chosen}
    return sorted(named | {value} if held else named)


def _hadamard(law: dict[str, Any], value: int, word: Word) -> int:
    speaks = word() < int(law["threshold"])
    row, rest = value + 1, uniform(law["order"] // 2, word)
    lowest = row & -row
    below = rest & (lowest - 1)
    number = ((rest - below) << 1) | below
    return number if ((row & number).bit_count() % 2 == 0) == speaks else number | lowest


def _hash(law: dict[str, Any], value: int, word: Word) -> str:
    width = int(law["width"])
    step = uniform(WORD, word)
    inside = word() < int(law["threshold"])
    place = uniform(width, word) if inside else width + uniform(WORD - width, word)
    return f"{step:016x}{(place - step * value) % WORD:016x}"


def _matrix(law: dict[str, Any], value: int, word: Word) -> int:
    return bisect.bisect_right([int(end) for end in law["ends"][value]], word())


def _bit(law: dict[str, Any], value: int, word: Word) -> int:
    return int(word() < int(law["least"]) + int(law["rise"]) * value)


def _place(law: dict[str, Any], value: int, word: Word) -> int:
    if word() < int(law["threshold"]):
        return value + uniform(law["window"], word)
    other = uniform(law["steps"], word)
    window: int = law["window"]
    return other if other < value else other + window


DRAW: dict[str, Callable[[dict[str, Any], int, Word], Any]] = {
    "randomised response": _randomised,
    "unary response": _unary,
    "subset response": _subset,
    "hadamard response": _hadamard,
    "hash response": _hash,
    "matrix response": _matrix,
    "bit of a number": _bit,
    "place of a number": _place,
}


def _odds(threshold: Any, outside: int, inside: int) -> float:
    """Return how much likelier one of the outcomes inside is than one of those outside."""
    if outside == 0:
        return 1.0
    return _ratio(int(threshold) * outside, (WORD - int(threshold)) * inside)


def _ratio(above: int, below: int) -> float:
    return above / below if above > 0 and below > 0 else math.inf


def cost(question: dict[str, Any]) -> float:
    """Return what a report of a question really costs, computed from its law alone."""
    law = question["law"]
    match law["kind"]:
        case "randomised response":
            found = _odds(law["threshold"], law["answers"] - 1, 1)
        case "unary response":
            held, other = int(law["held"]), int(law["other"])
            found = _ratio(held * (WORD - other), other * (WORD - held))
        case "subset response":
            found = _odds(law["threshold"], law["answers"] - law["size"], law["size"])
        case "hadamard response":
            found = _odds(law["threshold"], 1, 1)
        case "hash response":
            found = _odds(law["threshold"], WORD - int(law["width"]), int(law["width"]))
        case "matrix response":
            columns = [
                [int(end) - int(before) for before, end in zip([0, *ends], ends, strict=False)]
                for ends in law["ends"]
            ]
            found = max(_ratio(max(row), min(row)) for row in zip(*columns, strict=True))
        case "bit of a number":
            low = int(law["least"])
            high = low + int(law["rise"]) * question["steps"]
            found = max(_ratio(high, low), _ratio(WORD - low, WORD - high))
        case "place of a number":
            found = _odds(law["threshold"], law["steps"], law["window"])
        case _:
            raise ValueError(f"unknown law: {law['kind']}; update this file")
    return max(math.log(found), 0.0)


def check_cost(question: dict[str, Any]) -> None:
    """Refuse a question whose law costs more than the survey file says."""
    if not cost(question) <= float(Fraction(question["epsilon"])) * (1 + 1e-9) + 1e-12:
        raise ValueError(
            f"{question['name']}: a report costs more than the survey says; do not answer"
        )


def encode(question: dict[str, Any], answer: Any) -> int:
    """Return the number of an answer among those of a question; what was given is never shown."""
    if "parts" in question:
        number = 0
        for part in question["parts"]:
            given = answer.get(part["name"]) if isinstance(answer, dict) else None
            number = number * len(part["answers"]) + encode(part, given)
        return number
    if "answers" in question and "edges" not in question:
        if answer not in question["answers"]:
            raise ValueError(f"{question['name']}: not one of the answers")
        return int(question["answers"].index(answer))
    if isinstance(answer, bool) or not isinstance(answer, int | float) or math.isnan(answer):
        raise ValueError(f"{question['name']}: not a number")
    if "edges" in question:
        return sum(1 for edge in question["edges"][1:-1] if answer >= edge)
    share = (answer - question["low"]) / (question["high"] - question["low"])
    scaled = share * question["steps"] + 0.5
    step: int = math.floor(min(max(scaled, 0), question["steps"]))
    return step


def perturb(question: dict[str, Any], answer: Any, word: Word = system_word) -> Any:
    """Return the report of one answer, which leaves this function only randomised."""
    law = question["law"]
    check_cost(question)
    said = DRAW[law["kind"]](law, encode(question, answer), word)
    return question["answers"][said] if law.get("named") else said


class Respondent:
    """One person's side of surveys: what was said before, and what it cost.

    Parameters
    ----------
    memory
        The file in which it is kept.
    allow
        The privacy loss that all reports together may reach.
    """

    def __init__(self, memory: str | Path, allow: Any) -> None:
        self.path = Path(memory)
        self.allow = Fraction(allow)

    @property
    def memory(self) -> dict[str, Any]:
        """What is remembered: reports that are permanent, and what was spent."""
        if not self.path.exists():
            return {"format": "sfumato memory 1", "chosen": {}, "reports": {}, "spent": "0"}
        return dict(json.loads(self.path.read_text(encoding="utf-8")))

    def _keep(self, memory: dict[str, Any]) -> None:
        draft = self.path.with_name(self.path.name + ".new")
        with open(draft, "w", encoding="utf-8", opener=_own) as file:
            json.dump(memory, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)

    def answer(
        self, survey: dict[str, Any], answers: dict[str, Any], word: Word = system_word
    ) -> str:
        """Return the line to send: one report for each question that is asked of this person.

        A permanent question is answered once; after that the same report is sent again, whatever
        the answer is now, and costs nothing. Everything else is booked before it is drawn.
        """
        check(survey)
        memory = self.memory
        asked = _asked(survey, memory, word)
        fresh = [one for one in asked if not (one["permanent"] and one["id"] in memory["reports"])]
        # Whatever can be refused is refused before anything is booked.
        for one in fresh:
            check_cost(one)
            encode(one, _of(one, answers))
        spent = sum((Fraction(one["epsilon"]) for one in fresh), Fraction(memory["spent"]))
        if spent > self.allow:
            raise ValueError(f"this would cost {spent} in all, and {self.allow} is allowed")
        memory["spent"] = str(spent)
        self._keep(memory)
        said = {}
        for one in asked:
            if one in fresh:
                report = perturb(one, _of(one, answers), word)
            else:
                report = memory["reports"][one["id"]]
            said[one["name"]] = report
            if one["permanent"]:
                memory["reports"][one["id"]] = report
        self._keep(memory)
        line = {"q": survey["id"], "r": said}
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def check(survey: Any) -> None:
    """Refuse what is no survey file of this format."""
    if not isinstance(survey, dict) or survey.get("format") != "sfumato survey 1":
        raise ValueError("this is not a survey file of the format 'sfumato survey 1'")


def _asked(survey: dict[str, Any], memory: dict[str, Any], word: Word) -> list[dict[str, Any]]:
    """Return the questions that this person answers: all, or the one that chance chose for good."""
    questions: list[dict[str, Any]] = survey["questions"]
    if survey["share"] != "sample":
        return questions
    if survey["id"] not in memory["chosen"]:
        memory["chosen"][survey["id"]] = questions[uniform(len(questions), word)]["name"]
    return [one for one in questions if one["name"] == memory["chosen"][survey["id"]]]


def _of(question: dict[str, Any], answers: dict[str, Any]) -> Any:
    """Return the answer to a question; one of several parts looks for those itself."""
    return answers if "parts" in question else answers.get(question["name"])


def _own(path: str, flags: int) -> int:
    """Open a file that its owner alone may read."""
    return os.open(path, flags, 0o600)


def main() -> None:
    """Answer a survey on the command line."""
    parser = argparse.ArgumentParser(description="Print the randomised answers to a survey.")
    parser.add_argument("survey", help="the survey file, survey.json")
    parser.add_argument("--answer", action="append", default=[], metavar="QUESTION=ANSWER")
    parser.add_argument("--memory", default="sfumato-memory.json", help="what was said before")
    parser.add_argument("--allow", required=True, help="the loss that all reports may reach")
    given = parser.parse_args()
    survey = json.loads(Path(given.survey).read_text(encoding="utf-8"))
    answers: dict[str, Any] = dict(pair.split("=", 1) for pair in given.answer)
    for question in survey["questions"]:
        for part in question.get("parts", [question]):
            if ("edges" in part or "low" in part) and part["name"] in answers:
                answers[part["name"]] = float(answers[part["name"]])
    print(Respondent(given.memory, given.allow).answer(survey, answers))


if __name__ == "__main__":
    main()
