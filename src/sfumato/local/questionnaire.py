"""A questionnaire: the TOML file in which a survey is written down, before anybody is asked.

It says what is asked, which answers there are, what all answers of one respondent may cost, and how
the questions share it. From it the survey file is made. All of it is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import isfinite, prod
from pathlib import Path
from typing import Any

from sfumato.data.public import check_count
from sfumato.engines.coding.base import read_double
from sfumato.local.choice import best_design, best_mean
from sfumato.local.design import Design
from sfumato.local.hadamard import HadamardResponse
from sfumato.local.local_hash import LocalHash
from sfumato.local.matrix_response import LaplaceResponse
from sfumato.local.mean_response import MeanResponse, NumberDesign, PiecewiseMean
from sfumato.local.randomized import RandomizedResponse
from sfumato.local.subset import SubsetSelection
from sfumato.local.survey import SHARES, Item, Part, Survey, combine_parts
from sfumato.local.unary import UnaryEncoding
from sfumato.noise.exact import briefly, exact
from sfumato.privacy.documents import read_toml
from sfumato.privacy.parameters import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    Constraint,
    OneOf,
    Text,
    read_text,
)

__all__ = ["Question", "Questionnaire"]

#: Whom a survey is planned for where nothing is said.
RESPONDENTS = 10_000
#: The most answers of a question, and combinations of answers of a joint survey.
MOST_COMBINATIONS = 1 << 16

_SURVEY = {"name", "epsilon", "share", "respondents_about", "tables"}
_QUESTION = {
    "name", "ask", "answers", "low", "high", "bins", "mean", "permanent", "weight", "design",
}  # fmt: skip


class AnswerTexts(Constraint):
    """The answers of a question."""

    allowed = "a list of two or more different texts"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the answers."""
        if not isinstance(value, list):
            raise TypeError
        answers = tuple(read_text(answer) for answer in value)
        if len(answers) < 2 or len(set(answers)) != len(answers):
            raise ValueError
        return answers


@dataclass(frozen=True)
class Question:
    """One question as it is written down.

    Parameters
    ----------
    name, ask
        What it is called, and what people are asked.
    part
        Its answers; `None` where the mean of a number is wanted.
    bounds
        From where to where such a number goes.
    permanent
        Whether the first report stays for good.
    weight
        Its share of epsilon, beside those of the others.
    design
        The name of a design, or `"auto"`.
    """

    name: str
    ask: str
    part: Part | None
    bounds: tuple[float, float] | None
    permanent: bool
    weight: Fraction
    design: str


@dataclass(frozen=True)
class Questionnaire:
    """What a survey asks, and what it may cost each respondent.

    Parameters
    ----------
    name
        What the survey is called.
    epsilon
        The privacy loss of all answers of one respondent together, each time they answer.
    share
        How the questions share it.
    questions
        What is asked.
    respondents
        About how many people will answer. Public; it only guides the choice of designs.
    tables
        Pairs of questions of which a table is wanted.
    """

    name: str
    epsilon: Fraction
    share: str
    questions: tuple[Question, ...]
    respondents: int = RESPONDENTS
    tables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> Questionnaire:
        """Read a questionnaire file.

        Parameters
        ----------
        path
            A TOML file with a section [survey] and one [[question]] for each question.
        """
        document = read_toml(Path(path))
        try:
            return cls.of(document)
        except ValueError as error:
            raise ValueError(f"{Path(path).name}: {error}") from None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Questionnaire:
        """Return the questionnaire of a document, or say what is wrong with it."""
        _refuse_unknown("the file", document, {"survey", "question"})
        survey = document.get("survey")
        asked = document.get("question")
        if not isinstance(survey, dict) or not isinstance(asked, list) or not asked:
            raise ValueError("it needs a section [survey] and at least one [[question]]")
        _refuse_unknown("[survey]", survey, _SURVEY)
        share = survey.get("share", "split")
        OneOf(SHARES)("share", share)
        respondents = survey.get("respondents_about", RESPONDENTS)
        check_count("respondents_about", respondents, least=1)
        questions = tuple(_question(entry) for entry in asked)
        names = [question.name for question in questions]
        if len(set(names)) != len(names):
            raise ValueError("the questions must have different names")
        tables = _tables(survey.get("tables", []), names, share)
        return cls(
            Text()("[survey] name", survey.get("name", "survey")),
            _epsilon(survey.get("epsilon")),
            share,
            questions,
            respondents,
            tables,
        )

    def survey(self) -> Survey:
        """Return the survey: the questions, each with the design that collects it."""
        items = self._joint() if self.share == "joint" else self._apart()
        return Survey(self.name, self.share, items, self.tables)

    def _apart(self) -> tuple[Item, ...]:
        """Return an item for each question, with its share of epsilon or all of it."""
        whole = sum((question.weight for question in self.questions), Fraction(0))
        items = []
        for question in self.questions:
            share = question.weight / whole if self.share == "split" else Fraction(1)
            many = self.respondents
            if self.share == "sample":
                many = max(1, many // len(self.questions))
            items.append(self._item(question, self.epsilon * share, many))
        return tuple(items)

    def _item(self, question: Question, epsilon: Fraction, respondents: int) -> Item:
        if question.part is None:
            assert question.bounds is not None
            bounds = question.bounds
            number = mean_design(question.design, epsilon, bounds)
            return Item(question.name, question.ask, number, question.permanent, bounds=bounds)
        # Only reports that are answers can be counted together in a table.
        tabled = any(question.name in pair for pair in self.tables)
        named = "RandomizedResponse" if tabled and question.design == "auto" else question.design
        design = design_for(named, question.part.answers, epsilon, respondents)
        return Item(question.name, question.ask, design, question.permanent, (question.part,))

    def _joint(self) -> tuple[Item, ...]:
        """Return the one item of all questions together."""
        parts = tuple(question.part for question in self.questions if question.part is not None)
        if len(parts) < len(self.questions):
            raise ValueError("a joint survey cannot collect means; use bins instead of mean = true")
        cells = prod(len(part.answers) for part in parts)
        if cells > MOST_COMBINATIONS:
            raise ValueError(
                f"a joint survey allows at most {MOST_COMBINATIONS:,} combinations of answers; got "
                f"{cells:,}"
            )
        if len({question.permanent for question in self.questions}) > 1:
            raise ValueError("in a joint survey either all questions or none must be permanent")
        wished = {question.design for question in self.questions} - {"auto"}
        if len(wished) > 1:
            raise ValueError("all questions of a joint survey must have the same design")
        design = design_for(
            (wished or {"auto"}).pop(), combine_parts(parts), self.epsilon, self.respondents
        )
        name, ask = " × ".join(part.name for part in parts), " ".join(part.ask for part in parts)
        return (Item(name, ask, design, self.questions[0].permanent, parts),)

    def with_epsilon(self, epsilon: Any) -> Questionnaire:
        """Return the same questionnaire with another loss."""
        return replace(self, epsilon=_epsilon(epsilon))


def _refuse_unknown(where: str, found: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(found) - known)
    if unknown:
        raise ValueError(
            f"{where} has an unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}"
        )


def _epsilon(value: Any) -> Fraction:
    try:
        epsilon = exact(value)
    except (TypeError, ValueError):
        raise ValueError("[survey] needs epsilon, a positive number; there is no default") from None
    if epsilon <= 0:
        raise ValueError(f"epsilon must be positive; got {briefly(value)}")
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ValueError(f"epsilon must be from 1e-15 to 1e15; got {briefly(value)}")
    return epsilon


def _question(entry: Any) -> Question:
    """Return one question of the file."""
    name = entry.get("name") if isinstance(entry, dict) else None
    name = Text()("the name of every [[question]]", name)
    where = f"question {briefly(name)}"
    _refuse_unknown(where, entry, _QUESTION)
    permanent, mean = entry.get("permanent", False), entry.get("mean", False)
    if type(permanent) is not bool or type(mean) is not bool:
        raise ValueError(f"{where}: permanent and mean must be true or false")
    try:
        weight = exact(entry.get("weight", 1))
    except (TypeError, ValueError):
        weight = Fraction(0)
    if not SMALLEST_EPSILON <= weight <= LARGEST_EPSILON:
        raise ValueError(f"{where}: weight must be a number from 1e-15 to 1e15")
    ask, bounds = Text()(f"{where}: ask", entry.get("ask", name)), _bounds(where, entry)
    part: Part | None = None
    if "answers" in entry:
        if bounds is not None or mean or "bins" in entry:
            raise ValueError(f"{where}: give either answers, or low and high for a number")
        part = Part(name, ask, _answers(where, entry["answers"]))
    elif bounds is None:
        raise ValueError(f"{where}: give either answers, or low and high for a number")
    elif not mean:
        part = _ranges(where, name, ask, bounds, entry.get("bins"))
    design = entry.get("design", "auto")
    wanted = bounds if part is None else None
    design = Text()(f"{where}: design", design)
    return Question(name, ask, part, wanted, permanent, weight, design)


def _answers(where: str, given: Any) -> tuple[str, ...]:
    answers: tuple[str, ...] = AnswerTexts()(f"{where}: answers", given)
    if len(given) > MOST_COMBINATIONS:
        raise ValueError(
            f"{where}: at most {MOST_COMBINATIONS:,} answers are allowed; got {len(given):,}"
        )
    return answers


def _bounds(where: str, entry: Mapping[str, Any]) -> tuple[float, float] | None:
    if "low" not in entry and "high" not in entry:
        return None
    low, high = entry.get("low"), entry.get("high")
    if not all(type(end) in (int, float) for end in (low, high)):
        raise ValueError(f"{where}: low and high must both be numbers")
    ends = read_double(f"{where}: low", low), read_double(f"{where}: high", high)
    if not ends[0] < ends[1] or not isfinite(ends[1] - ends[0]):
        raise ValueError(f"{where}: low must be less than high, and both finite")
    return ends


def _ranges(where: str, name: str, ask: str, bounds: tuple[float, float], bins: Any) -> Part:
    """Return a number as a question for one of several ranges."""
    if type(bins) is not int or not 2 <= bins <= MOST_COMBINATIONS:
        raise ValueError(
            f"{where}: a number needs bins, from 2 to {MOST_COMBINATIONS:,}, or mean = true"
        )
    low, high = bounds
    edges = tuple(low + (high - low) * place / bins for place in range(bins + 1))
    answers = tuple(f"{start:.6g} to {end:.6g}" for start, end in pairwise(edges))
    if len(set(answers)) != len(answers):
        raise ValueError(f"{where}: too many bins: their edges are equal in double precision")
    return Part(name, ask, answers, edges)


def _tables(wanted: Any, names: Sequence[str], share: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of questions of which a table is wanted."""
    good = isinstance(wanted, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(name in names for name in pair)
        and pair[0] != pair[1]
        for pair in wanted
    )
    if not good:
        raise ValueError("tables must be a list of pairs of question names")
    if wanted and share != "split":
        raise ValueError(
            "tables need share = 'split'; a joint survey always has the table of all questions, "
            "and with 'sample' each person answers one question"
        )
    return tuple((first, second) for first, second in wanted)


# Which design collects a question of a questionnaire: one that was named, or the best.


#: The designs for a list of answers, by the names that a questionnaire gives them.
DESIGNS: dict[str, type[Design]] = {
    kind.__name__: kind
    for kind in (
        RandomizedResponse,
        UnaryEncoding,
        SubsetSelection,
        HadamardResponse,
        LocalHash,
        LaplaceResponse,
    )
}
#: The designs for the mean of a number.
MEANS: dict[str, type[NumberDesign]] = {
    kind.__name__: kind for kind in (MeanResponse, PiecewiseMean)
}


def design_for(name: str, answers: tuple[str, ...], epsilon: Fraction, respondents: int) -> Design:
    """Return the design of a question.

    Parameters
    ----------
    name
        What the questionnaire calls it; `"auto"` for the one of least mean variance.
    answers
        The possible answers.
    epsilon
        What the question may cost.
    respondents
        About how many report.
    """
    if name == "auto":
        design: Design = best_design(answers, epsilon, respondents).design
        return design
    if name not in DESIGNS:
        raise ValueError(f"design must be one of auto, {', '.join(DESIGNS)}; got {briefly(name)}")
    return DESIGNS[name](epsilon=epsilon, answers=answers)


def mean_design(name: str, epsilon: Fraction, bounds: tuple[float, float]) -> NumberDesign:
    """Return the design of a number of which the mean is wanted.

    Parameters
    ----------
    name
        What the questionnaire calls it; `"auto"` for the one whose largest variance is least.
    epsilon
        What the question may cost.
    bounds
        From where to where the number goes.
    """
    low, high = map(exact, bounds)
    if name == "auto":
        return best_mean(low, high, epsilon)
    if name not in MEANS:
        raise ValueError(
            f"the design of a mean must be auto, {' or '.join(MEANS)}; got {briefly(name)}"
        )
    return MEANS[name](epsilon=epsilon, low=low, high=high)


def reason_for(design: Any, respondents: int) -> str:
    """Return how a design compares with the others, in a sentence."""
    if isinstance(design, NumberDesign):
        return f"{type(design).__name__}: {design.plan(design.public).steps[0].noise}"
    choice = best_design(design.answers, design.exact_epsilon(), respondents)
    if type(choice.design) is type(design):
        return choice.reason
    return f"{type(design).__name__} as the questionnaire wants it; {choice.reason}"
