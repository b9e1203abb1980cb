"""Randomised answers for a survey, drawn where the answer is. One file; it needs Python alone.

A survey file carries whole numbers with which random words of 64 bits are compared: there is no
floating point in what decides a report. From the same words this file draws the same reports as the
library and as the JavaScript client; js/vectors.json holds examples.

    python sfumato_local.py survey.json --answer smoking=never --answer sleep=7.5 --allow 4

It never trusts the survey file: a law that is not one for all answers of its question, or that
costs more than the file says, is refused before anything is drawn.
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

WORD = 1 << 64
#: Numbers of answers, steps and so on are whole numbers that every language holds exactly.
MOST = (1 << 53) - 1
#: Bits after the point where an exponential is compared with a ratio of whole numbers.
PRECISION = 256
#: No ratio of two probabilities out of 2^64 reaches e to this power.
LARGEST = 128

MEMORY = "sfumato memory 1"
SHARES = ("split", "sample", "joint")

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


def fraction(text: Any, digits: int = 300) -> Fraction:
    """Return a fraction such as 1/2 that is given as text; nothing else is one."""
    form = rf"[0-9]{{1,{digits}}}(/0*[1-9][0-9]{{0,{digits - 1}}})?"
    if not isinstance(text, str) or len(text) > 2 * digits + 1 or not re.fullmatch(form, text):
        raise ValueError("a privacy loss must be a fraction such as '1/2', given as text")
    return Fraction(text)


def _count(number: Any) -> bool:
    """Tell whether something is a whole number from 1 on."""
    return isinstance(number, int) and number is not True and 1 <= number <= MOST


def _real(number: Any) -> bool:
    """Tell whether something is a finite number, with room for differences."""
    return type(number) in (int, float) and bool(-1e300 <= number <= 1e300)


def _names(listed: Any) -> bool:
    return isinstance(listed, list) and all(isinstance(name, str) for name in listed)


def _rising(numbers: list[Any]) -> bool:
    return all(before < after for before, after in pairwise(numbers))


def inputs(question: dict[str, Any]) -> int:
    """Return how many numbers `encode` can make of an answer; 0 if the question is not whole."""
    if "parts" in question:
        parts = question["parts"]
        if not isinstance(parts, list) or not parts or not all(map(_listed, parts)):
            return 0
        return math.prod(map(inputs, parts))
    if "answers" not in question:
        low, high, steps = (question.get(key, "") for key in ("low", "high", "steps"))
        whole = _real(low) and _real(high) and low < high and _count(steps)
        return int(steps) + 1 if whole else 0
    answers = question["answers"]
    if not _names(answers) or len(set(answers)) != len(answers):
        return 0
    if "edges" in question:
        edges = question["edges"]
        if not isinstance(edges, list) or len(edges) != len(answers) + 1:
            return 0
        if not all(map(_real, edges)) or not _rising(edges):
            return 0
    return len(answers)


def _listed(part: Any) -> bool:
    """Tell whether a part has a list of answers, as `encode` expects of it."""
    return isinstance(part, dict) and "answers" in part and "parts" not in part


def _whole(text: Any, least: int, most: int) -> int:
    """Return a whole number that is given as text, if it lies where it must."""
    if isinstance(text, str) and re.fullmatch("[0-9]{1,20}", text) and least <= int(text) <= most:
        return int(text)
    raise ValueError(f"a whole number of a law is not one from {least} to {most}")


def _share(text: Any) -> int:
    """Return a threshold: a share of 2^64 that is neither nothing nor all."""
    return _whole(text, 1, WORD - 1)


def _odds(threshold: Any, outside: int, inside: int) -> tuple[int, int]:
    """Return how likely one of the outcomes inside is against one of those outside."""
    return _share(threshold) * outside, (WORD - _share(threshold)) * inside


def _pieces(ends: Any, columns: int) -> list[list[int]]:
    """Return the weights of a matrix whose columns all share out 2^64 among the same reports."""
    if not isinstance(ends, list) or len(ends) != columns:
        raise ValueError("the matrix does not have a column for each answer")
    weights = []
    for column in ends:
        if not isinstance(column, list) or not column or len(column) != len(ends[0]):
            raise ValueError("the columns of the matrix are not equally long")
        whole = [0, *(_whole(end, 0, WORD) for end in column)]
        weights.append([after - before for before, after in pairwise(whole)])
        if whole[-1] != WORD or min(weights[-1]) < 0:
            raise ValueError("a column of the matrix does not rise to 2^64")
    return weights


def ratios(question: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the ratios of the probabilities of a report, for any two answers, as whole numbers.

    A law that is not one for exactly the answers of its question is refused: what its numbers say
    would not be what is drawn.
    """
    law, many = question["law"], inputs(question)
    number = "answers" not in question and "parts" not in question
    fits = many > 0 and law.get("answers", many) == many and many <= MOST
    if not fits or type(law.get("answers", many)) is not int:
        raise ValueError("the law is not one for the answers")
    match law["kind"]:
        case "randomised response" if "answers" in law:
            return [_odds(law.get("threshold"), many - 1, 1)] if many > 1 else []
        case "unary response" if "answers" in law:
            held, other = _share(law.get("held")), _share(law.get("other"))
            return [(held * (WORD - other), other * (WORD - held))]
        case "subset response" if "answers" in law and _count(size := law.get("size")):
            if size < many:
                return [_odds(law.get("threshold"), many - size, size)]
            if size == many:
                return []
        case "hadamard response" if _count(order := law.get("order")):
            if order > many and order & (order - 1) == 0:
                return [_odds(law.get("threshold"), 1, 1)]
        case "hash response":
            width = _share(law.get("width"))
            return [_odds(law.get("threshold"), WORD - width, width)]
        case "matrix response":
            rows = zip(*_pieces(law.get("ends"), many), strict=True)
            return [(max(row), min(row)) for row in rows if max(row) > 0]
        case "bit of a number" if number:
            low = _share(law.get("least"))
            high = low + _whole(law.get("rise"), 0, WORD) * question["steps"]
            if high < WORD:
                return [(high, low), (WORD - low, WORD - high)]
        case "place of a number" if number and _count(window := law.get("window")):
            steps = law.get("steps")
            if type(steps) is int and steps + 1 == many and steps + window <= MOST:
                return [_odds(law.get("threshold"), steps, window)]
    raise ValueError("the law is not one for the answers")


def cost(question: dict[str, Any]) -> float:
    """Return what a report of a question really costs, computed from its law alone."""
    return max((_log(max(pair), min(pair)) for pair in ratios(question)), default=0.0)


def _log(above: int, below: int) -> float:
    if below == 0:
        return math.inf
    return math.log1p((above - below) / below) if above < 2 * below else math.log(above / below)


def exponential_below(epsilon: Fraction) -> int:
    """Return a whole number just below e^ε · 2^256, or below e^128 · 2^256 if ε is larger.

    All terms of the series are positive and everything is rounded down.
    """
    small = min(epsilon, Fraction(LARGEST)) / LARGEST
    power = (small.numerator << PRECISION) // small.denominator
    term = total = 1 << PRECISION
    for place in range(1, PRECISION):
        term = (term * power >> PRECISION) // place
        total += term
    for _ in range(LARGEST.bit_length() - 1):
        total = total * total >> PRECISION
    return total


def check_cost(question: dict[str, Any]) -> None:
    """Refuse a question whose law does not fit it, or costs more than the survey file says."""
    name, law = question.get("name"), question.get("law")
    if not isinstance(law, dict) or str(law.get("kind")) not in DRAW:
        raise ValueError(f"{name}: unknown law; update this file, and do not answer till then")
    try:
        found, bound = ratios(question), exponential_below(fraction(question.get("epsilon")))
    except ValueError as error:
        raise ValueError(f"{name}: {error}; do not answer") from None
    if not _nameable(question):
        raise ValueError(f"{name}: its reports have no names; do not answer")
    for pair in found:
        # Two-sided: a report that is rarer where it is true tells as much.
        if max(pair) << PRECISION > min(pair) * bound:
            raise ValueError(f"{name}: a report costs more than the survey says; do not answer")


def _nameable(question: dict[str, Any]) -> bool:
    """Tell whether every report has a name, where reports are told by their names."""
    law, names = question["law"], question.get("answers")
    if "named" not in law:
        return True
    match law["kind"]:
        case "randomised response":
            many = law["answers"]
        case "matrix response":
            many = len(law["ends"][0])
        case _:
            return False
    return law["named"] is True and _names(names) and len(names or []) == many


def encode(question: dict[str, Any], answer: Any) -> int:
    """Return the number of an answer among those of a question; what was given is never shown."""
    if "parts" in question:
        number = 0
        for part in question["parts"]:
            given = answer.get(part["name"]) if isinstance(answer, dict) else None
            number = number * len(part["answers"]) + encode(part, given)
        return number
    if "answers" in question and "edges" not in question:
        if not isinstance(answer, str) or answer not in question["answers"]:
            raise ValueError(f"{question['name']}: not one of the answers")
        return int(question["answers"].index(answer))
    if isinstance(answer, bool) or not isinstance(answer, int | float) or answer != answer:
        raise ValueError(f"{question['name']}: not a number")
    # However large a number is, it counts as the end on its side.
    answer = float(min(max(answer, -1e301), 1e301))
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
        self.path = Path(memory).resolve()
        self.allow = Fraction(allow)

    @property
    def memory(self) -> dict[str, Any]:
        """What is remembered: reports that are permanent, and what was spent."""
        if not self.path.exists():
            return {"format": MEMORY, "chosen": {}, "reports": {}, "spent": "0"}
        try:
            memory = json.loads(self.path.read_text(encoding="utf-8"))
            sound = memory["format"] == MEMORY and fraction(memory["spent"], 4000) >= 0
            sound = sound and all(isinstance(memory[key], dict) for key in ("chosen", "reports"))
        except (ValueError, TypeError, KeyError):
            sound = False
        if not sound:
            raise ValueError(
                f"{self.path} does not hold what this client remembers ({MEMORY}); nothing was "
                "sent. Name another file, or put this one back as it was"
            )
        return dict(memory)

    def _keep(self, memory: dict[str, Any]) -> None:
        """Write the memory whole or not at all, for its owner's eyes alone."""
        handle, draft = tempfile.mkstemp(prefix=f"{self.path.name}.", dir=self.path.parent)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                json.dump(memory, file, ensure_ascii=False)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except BaseException:
            os.unlink(draft)
            raise
        if os.name == "posix":
            # The new name is on the disk only when its directory is.
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def answer(
        self, survey: dict[str, Any], answers: dict[str, Any], word: Word = system_word
    ) -> str:
        """Return the line to send: one report for each question that is asked of this person.

        A permanent question is answered once; after that the same report is sent again, whatever
        the answer is now, and costs nothing. Everything else is booked before it is drawn. Every
        question needs an answer, whichever is drawn, except permanent ones that were answered.
        """
        check(survey)
        with _alone(self.path):
            memory = self.memory
            reports = memory["reports"]
            # What a person may have left out must not depend on what chance draws next.
            for one in survey["questions"]:
                if not (one["permanent"] and one["id"] in reports):
                    encode(one, _of(one, answers))
            asked = self._asked(survey, memory, word)
            fresh = {
                one["name"] for one in asked if not (one["permanent"] and one["id"] in reports)
            }
            costs = (fraction(one["epsilon"]) for one in asked if one["name"] in fresh)
            spent = sum(costs, fraction(memory["spent"], 4000))
            if spent > self.allow:
                raise ValueError(f"this would cost {spent} in all, and {self.allow} is allowed")
            memory["spent"] = str(spent)
            fraction(memory["spent"], 4000)
            self._keep(memory)
            said = {}
            for one in asked:
                if one["name"] in fresh:
                    said[one["name"]] = perturb(one, _of(one, answers), word)
                else:
                    said[one["name"]] = reports[one["id"]]
                if one["permanent"]:
                    reports[one["id"]] = said[one["name"]]
            self._keep(memory)
        line = {"q": survey["id"], "r": said}
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"))

    def _asked(
        self, survey: dict[str, Any], memory: dict[str, Any], word: Word
    ) -> list[dict[str, Any]]:
        """Return the questions that this person answers: all, or the one that chance chose."""
        questions: list[dict[str, Any]] = survey["questions"]
        if survey["share"] != "sample":
            return questions
        if survey["id"] not in memory["chosen"]:
            memory["chosen"][survey["id"]] = questions[uniform(len(questions), word)]["name"]
            # Kept at once: a choice made anew after a refusal would ask another question.
            self._keep(memory)
        asked = [one for one in questions if one["name"] == memory["chosen"][survey["id"]]]
        if not asked:
            raise ValueError("the question that was drawn before is none of this survey")
        return asked


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other programs from the same memory: two at once would book, and draw, past another."""
    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise ValueError(
            f"another program is answering with {path}; nothing was sent. Try again when it is "
            f"done. If none runs any more, one broke off: remove {lock}"
        ) from None
    try:
        os.close(handle)
        yield
    finally:
        lock.unlink()


def check(survey: Any) -> None:
    """Refuse what is no survey file of this format, or costs more than it says."""
    if not isinstance(survey, dict) or survey.get("format") != "sfumato survey 1":
        raise ValueError("this is not a survey file of the format 'sfumato survey 1'")
    questions = survey.get("questions", ())
    whole = isinstance(survey.get("id"), str) and isinstance(questions, list) and questions
    if not whole or survey.get("share") not in SHARES or not all(map(_is_question, questions)):
        raise ValueError("the survey file is not whole; do not answer")
    if len({one["name"] for one in questions}) != len(questions):
        raise ValueError("two questions of the survey have one name; do not answer")
    for one in questions:
        check_cost(one)
    costs = [fraction(one["epsilon"]) for one in questions]
    booked = max(costs) if survey["share"] == "sample" else sum(costs, Fraction(0))
    if booked > fraction(survey.get("epsilon")):
        raise ValueError("the questions cost more than the survey says in all; do not answer")


def _is_question(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("id"), str)
        and isinstance(one.get("name"), str)
        and isinstance(one.get("permanent"), bool)
    )


def _of(question: dict[str, Any], answers: dict[str, Any]) -> Any:
    """Return the answer to a question; one of several parts looks for those itself."""
    return answers if "parts" in question else answers.get(question["name"])


def _read(question: dict[str, Any], text: str) -> Any:
    """Return an answer of the command line: a number where one is asked."""
    if "edges" not in question and "low" not in question:
        return text
    try:
        return float(text)
    except ValueError:
        # It is refused later, and not shown.
        return None


def main() -> None:
    """Answer a survey on the command line."""
    parser = argparse.ArgumentParser(description="Print the randomised answers to a survey.")
    parser.add_argument("survey", help="the survey file, survey.json")
    parser.add_argument("--answer", action="append", default=[], metavar="QUESTION=ANSWER")
    parser.add_argument("--memory", default="sfumato-memory.json", help="what was said before")
    parser.add_argument("--allow", required=True, help="the loss that all reports may reach")
    given = parser.parse_args()
    try:
        survey = json.loads(Path(given.survey).read_text(encoding="utf-8"))
        check(survey)
        texts = {name: text for name, _, text in (pair.partition("=") for pair in given.answer)}
        parts = [part for one in survey["questions"] for part in one.get("parts", [one])]
        answers = {
            part["name"]: _read(part, texts[part["name"]])
            for part in parts
            if part["name"] in texts
        }
        print(Respondent(given.memory, given.allow).answer(survey, answers))
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
