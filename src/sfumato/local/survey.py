"""A survey whose every question is collected by randomised response: what both sides agree on.

A survey is public. Its file tells clients how to draw their reports, and the collector how to read
them; both sides check that it says what the designs say. Nothing here holds an answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.local.survey_checks import SHARES, check_item, check_part, check_survey
from sfumato.local.wire import SURVEY, wire_law
from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.documents import read_json
from sfumato.privacy.registry import resolve

__all__ = ["SHARES", "Item", "Part", "Survey"]

#: The laws whose reports are answers, told by their names.
NAMED = ("randomised response", "matrix response")


@dataclass(frozen=True)
class Item:
    """One report of a survey: a question, or several that are told together.

    Parameters
    ----------
    parts
        The questions; a number of which the mean is wanted has none.
    design
        How the answer is randomised.
    permanent
        Whether the first report stays for good.
    name, ask
        What it is called, and what people are asked.
    bounds
        For a number of which the mean is wanted: from where to where it goes.
    """

    name: str
    ask: str
    design: Any
    permanent: bool
    parts: tuple[Part, ...] = ()
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_item(self)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs."""
        epsilon: Fraction = self.design.loss().epsilon
        return epsilon

    @property
    def steps(self) -> int:
        """The steps of the grid on which a number is told."""
        return int(self.design.primitive.answers)

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers of all parts together; none for a mean."""
        if len(self.parts) == 1:
            return self.parts[0].answers
        return combine_parts(self.parts)

    @property
    def named(self) -> bool:
        """Whether a report is told by the name of an answer."""
        return self.design.primitive.kind in NAMED

    def number(self, answers: Mapping[str, Any]) -> int:
        """Return the number of the true answer, which is private, from all answers of a person."""
        missing = [part.name for part in self.parts if part.name not in answers]
        if missing or (not self.parts and self.name not in answers):
            raise ValueError(
                f"{(missing or [self.name])[0]!r} is not answered; answer every question, and "
                "offer an answer such as 'no answer', since whether a person answers must not "
                "depend on the answer"
            )
        if self.bounds is not None:
            return grid_step(real_number(self.name, answers[self.name]), self.bounds, self.steps)
        number = 0
        for part in self.parts:
            number = number * len(part.answers) + part.number(answers[part.name])
        return number

    @cached_property
    def identity(self) -> str:
        """A name that only the same question with the same law has."""
        document = self._document()
        return digest(canonical({key: document[key] for key in sorted(document)}))[:16]

    def _document(self) -> dict[str, Any]:
        parameters = self.design.parameters()
        if self.parts:
            parameters.pop("answers")
        document: dict[str, Any] = {
            "name": self.name,
            "ask": self.ask,
            "permanent": self.permanent,
            "epsilon": str(self.epsilon),
            "design": self.design.name,
            "parameters": parameters,
            "law": wire_law(self.design.primitive, named=self.named),
        }
        if self.bounds is not None:
            low, high = self.bounds
            return {**document, "low": low, "high": high, "steps": self.steps}
        if len(self.parts) > 1:
            document["parts"] = [part.to_json() for part in self.parts]
            return {**document, "answers": list(self.answers)}
        return {**document, **self.parts[0].to_json()}

    def to_json(self) -> dict[str, Any]:
        """Return what clients and the collector need to know."""
        return {"id": self.identity, **self._document()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Item:
        """Return the item that `to_json` wrote; its law must be that of its design."""
        bounds = (float(document["low"]), float(document["high"])) if "low" in document else None
        parts: tuple[Part, ...] = ()
        parameters = dict(document["parameters"])
        if bounds is None:
            parts = tuple(map(Part.from_json, document.get("parts", [document])))
            parameters["answers"] = list(
                parts[0].answers if len(parts) == 1 else combine_parts(parts)
            )
        design = resolve(document["design"]).from_parameters(parameters)
        item = cls(document["name"], document["ask"], design, document["permanent"], parts, bounds)
        if item.to_json() != dict(document):
            raise ValueError(
                f"the question {item.name!r} of the survey file does not match its design; write "
                "the file again with `sfumato collect plan`"
            )
        return item


@dataclass(frozen=True)
class Survey:
    """All questions of a survey, with how they are told.

    Parameters
    ----------
    name
        What it is called.
    share
        `"split"`, `"sample"` or `"joint"`.
    items
        One for each report.
    tables
        Pairs of questions of which a table is wanted.
    """

    name: str
    share: str
    items: tuple[Item, ...]
    tables: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_survey(self)

    @property
    def epsilon(self) -> Fraction:
        """What one respondent's line costs at most: all reports, or the dearest of them."""
        costs = [item.epsilon for item in self.items]
        return max(costs) if self.share == "sample" else sum(costs, Fraction(0))

    @cached_property
    def identity(self) -> str:
        """A name that only the same survey has."""
        told: dict[str, Any] = {"name": self.name, "share": self.share}
        told["items"] = [item.identity for item in self.items]
        if self.tables:
            told["tables"] = [list(pair) for pair in self.tables]
        return digest(canonical(told))[:16]

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of all questions, those that are told together one by one."""
        named = ([part.name for part in item.parts] or [item.name] for item in self.items)
        return tuple(name for names in named for name in names)

    @property
    def numbers(self) -> frozenset[str]:
        """The questions that are answered by a number."""
        means = {item.name for item in self.items if item.bounds}
        return frozenset(means | {p.name for item in self.items for p in item.parts if p.edges})

    def read_answers(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return answers as they were typed, with numbers where numbers are asked."""
        return {
            name: _parse_number(name, text) if name in self.numbers else text
            for name, text in texts.items()
        }

    def item(self, name: str) -> Item:
        """Return the item of a name."""
        for item in self.items:
            if item.name == name:
                return item
        known = ", ".join(item.name for item in self.items)
        raise ValueError(f"{name!r} is not a question of this survey; it has {known}")

    def to_json(self) -> dict[str, Any]:
        """Return the survey file's document."""
        return {
            "format": SURVEY,
            "id": self.identity,
            "name": self.name,
            "share": self.share,
            "epsilon": str(self.epsilon),
            "tables": [list(pair) for pair in self.tables],
            "questions": [item.to_json() for item in self.items],
        }

    @classmethod
    def from_json(cls, document: Any) -> Survey:
        """Return the survey that `to_json` wrote, or refuse what is none."""
        if not isinstance(document, dict) or document.get("format") != SURVEY:
            raise ValueError(f"this is not a survey file of the format {SURVEY!r}")
        try:
            survey = cls(
                document["name"],
                document["share"],
                tuple(map(Item.from_json, document["questions"])),
                tuple((first, second) for first, second in document["tables"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the survey file is incomplete: {error}") from None
        if str(survey.epsilon) != document.get("epsilon"):
            raise ValueError(
                f"the survey file has epsilon = {document.get('epsilon')}; its questions have a "
                f"total of {survey.epsilon}"
            )
        if survey.identity != document.get("id"):
            raise ValueError("the survey file was changed: its questions do not match its id")
        if survey.to_json() != document:
            raise ValueError(
                "the survey file was changed: it has entries that its questions do not have"
            )
        return survey

    def save(self, path: str | Path) -> Path:
        """Write the survey file."""
        place = Path(path)
        text = json.dumps(self.to_json(), ensure_ascii=False, indent=1)
        place.write_text(text + "\n", encoding="utf-8")
        return place

    @classmethod
    def read(cls, path: str | Path) -> Survey:
        """Read a survey file."""
        try:
            document = read_json(Path(path))
        except ValueError as failure:
            raise ValueError(f"this is not a survey file: {failure}") from None
        return cls.from_json(document)


# The questions of a survey, and how a true answer becomes a number.
#
# What is wrong with an answer is told without showing it.


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


def _parse_number(name: str, text: str) -> float:
    """Return the number that an answer is; what it is instead is never shown."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}: the answer must be a number; it is not shown") from None


def real_number(name: str, answer: Any) -> float:
    """Return a number that was given for an answer, or refuse it without showing it."""
    if isinstance(answer, bool) or not isinstance(answer, int | float) or answer != answer:
        raise ValueError(f"{name}: the answer must be a number; what was given is not shown")
    try:
        return float(answer)
    except OverflowError:
        return math.inf if answer > 0 else -math.inf


def combine_parts(parts: tuple[Part, ...]) -> tuple[str, ...]:
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
