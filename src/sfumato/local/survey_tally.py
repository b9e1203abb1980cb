"""The collector's side of a survey: lines of reports in, counts out, in constant memory.

Tallies of parts of a survey add up, and one can be written to a file and taken up again. It holds
nothing but counts of reports, which are private already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.local.axes import AxisLaws, FlatLaw
from sfumato.local.contingency import ShareTable, table_of_counts
from sfumato.local.estimation import Estimator, estimate
from sfumato.local.law import law_of
from sfumato.local.reports import MeanEstimate
from sfumato.local.shares import Shares
from sfumato.local.survey import Item, Survey
from sfumato.local.tally import Tally, whole_counts
from sfumato.local.wire import WrongLine, read_line
from sfumato.privacy.documents import read_json

__all__ = ["SurveyTally"]

#: The format of the file.
TALLY = "sfumato tally 1"
#: Lines that are counted at a time.
BLOCK = 4096

Counts = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class SurveyTally:
    """What all lines of a survey say together.

    Parameters
    ----------
    survey
        The survey.
    lines
        How many lines were counted: respondents, if each sent one.
    wrong
        How many were left out because they could not be read.
    reports
        How many reports each item has.
    counts
        What they add up to: how many support each answer, or for a mean their sum and that of
        their squares.
    tables
        For each pair of questions of which a table is wanted, how often each pair of reports
        was made.
    """

    survey: Survey
    lines: int
    wrong: int
    reports: dict[str, int]
    counts: Counts
    tables: tuple[NDArray[np.int64], ...]

    @classmethod
    def empty(cls, survey: Survey) -> SurveyTally:
        """Return the tally of no lines."""
        zeros = {item.name: _no_counts(item) for item in survey.items}
        tables = tuple(
            np.zeros([len(survey.item(name).answers) for name in pair], dtype=np.int64)
            for pair in survey.tables
        )
        return cls(survey, 0, 0, dict.fromkeys(zeros, 0), zeros, tables)

    def add(self, lines: Iterable[str], *, skip: bool = False) -> SurveyTally:
        """Return the tally with more lines in it.

        Parameters
        ----------
        lines
            Lines of reports, a line for each respondent.
        skip
            Leave out lines that cannot be read, and count them, instead of refusing all.
        """
        tally: SurveyTally = self
        block: list[tuple[int, str]] = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                block.append((number, line))
            if len(block) == BLOCK:
                tally, block = tally._block(block, skip=skip), []
        return tally._block(block, skip=skip)

    def _block(self, block: list[tuple[int, str]], *, skip: bool) -> SurveyTally:
        """Return the tally with a block of lines in it."""
        good: list[tuple[int, dict[str, Any]]] = []
        for number, line in block:
            try:
                good.append((number, self._line(number, line)))
            except WrongLine:
                if not skip:
                    raise
        try:
            tally = self._count_lines([found for _, found in good])
        except (ValueError, TypeError, OverflowError):
            # One of them is no report of its design: they are looked at one by one.
            good = [line for line in good if self._sound(*line, skip=skip)]
            tally = self._count_lines([found for _, found in good])
        return replace(
            tally, lines=self.lines + len(good), wrong=self.wrong + len(block) - len(good)
        )

    def _line(self, number: int, line: str) -> dict[str, Any]:
        """Return the reports of one line, which are of the right questions."""
        found = read_line(number, line, self.survey.identity)
        expected = self.reports.keys()
        if self.survey.share == "sample":
            if len(found) != 1 or not found.keys() <= expected:
                raise WrongLine(number, "it must contain the report of one question")
        elif found.keys() != expected:
            raise WrongLine(number, "it must contain one report of each question")
        return found

    def _sound(self, number: int, found: dict[str, Any], *, skip: bool) -> bool:
        """Tell whether all reports of a line are reports of their designs."""
        for name, report in found.items():
            try:
                self.survey.item(name).design.encode([report])
            except (ValueError, TypeError, OverflowError) as error:
                if not skip:
                    raise WrongLine(number, f"{name}: {error}") from None
                return False
        return True

    def _count_lines(self, lines: list[dict[str, Any]]) -> SurveyTally:
        """Return the tally with the reports of lines that are known to be good."""
        counts, reports = dict(self.counts), dict(self.reports)
        encoded = {}
        for item in self.survey.items:
            said = [line[item.name] for line in lines if item.name in line]
            if said:
                encoded[item.name] = compact = item.design.encode(said)
                counts[item.name] = counts[item.name] + item.design.support(compact)
                reports[item.name] += len(said)
        tables = tuple(
            table + _pairs([encoded[name].rows for name in pair], table.shape) if lines else table
            for pair, table in zip(self.survey.tables, self.tables, strict=True)
        )
        return replace(self, counts=counts, reports=reports, tables=tables)

    def __add__(self, other: SurveyTally) -> SurveyTally:
        """Return the tally of both."""
        if not isinstance(other, SurveyTally):
            return NotImplemented
        if self.survey.identity != other.survey.identity:
            raise ValueError(
                "only tallies of the same survey can be added; these are of different surveys"
            )
        return SurveyTally(
            self.survey,
            self.lines + other.lines,
            self.wrong + other.wrong,
            {name: many + other.reports[name] for name, many in self.reports.items()},
            {name: found + other.counts[name] for name, found in self.counts.items()},
            tuple(mine + theirs for mine, theirs in zip(self.tables, other.tables, strict=True)),
        )

    def tally(self, name: str) -> Tally:
        """Return the reports of one question, counted."""
        item = self.survey.item(name)
        if item.bounds is not None:
            raise ValueError(f"the question {name!r} collects a mean; use mean({name!r})")
        return Tally(item.design, self.counts[name], self.reports[name])

    def shares(self, name: str, estimator: Estimator = "inverse") -> Shares:
        """Return the shares of the answers to a question, with intervals.

        Parameters
        ----------
        name
            The question.
        estimator
            How they are estimated.
        """
        return estimate(self.tally(name), estimator)

    def mean(self, name: str) -> MeanEstimate:
        """Return the mean of a number, with its margin."""
        item = self.survey.item(name)
        if item.bounds is None:
            raise ValueError(f"the question {name!r} collects answers; use shares({name!r})")
        found: MeanEstimate = item.design.mean(self.counts[name], self.reports[name])
        return found

    def estimates(self, level: float, estimator: Estimator) -> dict[str, Any]:
        """Return all estimates as a plain document.

        Parameters
        ----------
        level
            The coverage of each interval.
        estimator
            How shares are estimated.
        """
        questions: dict[str, Any] = {}
        for item in self.survey.items:
            if not self.reports[item.name]:
                questions[item.name] = {"reports": 0}
            elif item.bounds is not None:
                mean = self.mean(item.name)
                margin = None if mean.margin != mean.margin else mean.margin
                questions[item.name] = {"mean": mean.mean, "margin": margin}
            else:
                lines = self.shares(item.name, estimator).lines(level)
                questions[item.name] = {
                    "reports": self.reports[item.name],
                    "shares": [
                        {
                            "answer": line.answer,
                            "share": line.share,
                            "low": line.low,
                            "high": line.high,
                        }
                        for line in lines
                    ],
                }
        return {
            "survey": self.survey.identity,
            "lines": self.lines,
            "wrong": self.wrong,
            "level": level,
            "estimator": str(estimator),
            "questions": questions,
        }

    def table(self, first: str, second: str) -> ShareTable:
        """Return the table of two questions, which the survey was made to tell."""
        for pair, counts in zip(self.survey.tables, self.tables, strict=True):
            if pair == (first, second):
                items = [self.survey.item(name) for name in pair]
                laws = AxisLaws(tuple(law_of(item.design) for item in items))
                named = {item.name: item.answers for item in items}
                return table_of_counts(laws, counts, self.lines, named)
        raise ValueError(
            f"this survey has no table of {first!r} and {second!r}; name it in `tables` of the "
            "questionnaire"
        )

    def joint(self) -> ShareTable:
        """Return the table of all questions of a joint survey."""
        (item,) = self.survey.items
        named = {part.name: part.answers for part in item.parts}
        shape = tuple(map(len, named.values()))
        law = FlatLaw(law_of(item.design), shape)
        return table_of_counts(law, self.counts[item.name], self.reports[item.name], named)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "format": TALLY,
            "survey": self.survey.identity,
            "lines": self.lines,
            "wrong": self.wrong,
            "reports": self.reports,
            "counts": {name: found.tolist() for name, found in self.counts.items()},
            "tables": [table.tolist() for table in self.tables],
        }

    @classmethod
    def from_json(cls, survey: Survey, document: Any) -> SurveyTally:
        """Return the tally that `to_json` wrote, or refuse what is none of this survey."""
        if not isinstance(document, dict) or document.get("format") != TALLY:
            raise ValueError(f"this is not a tally of the format {TALLY!r}")
        try:
            found = check_tally(survey, document)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the tally is incomplete: {error}") from None
        return cls(survey, *found)

    def save(self, path: str | Path) -> Path:
        """Write the tally to a file."""
        place = Path(path)
        place.write_text(json.dumps(self.to_json()) + "\n", encoding="utf-8")
        return place

    @classmethod
    def read(cls, survey: Survey, path: str | Path) -> SurveyTally:
        """Read a tally from a file."""
        try:
            document = read_json(Path(path))
        except ValueError as failure:
            raise ValueError(f"this is not a tally: {failure}") from None
        return cls.from_json(survey, document)


def _no_counts(item: Item) -> NDArray[Any]:
    """Return the counts of no reports; the sums for a mean are Python's whole numbers."""
    if item.bounds is not None:
        return np.array([0, 0], dtype=object)
    return np.zeros(len(item.answers), dtype=np.int64)


def _pairs(rows: list[NDArray[Any]], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return how often each pair of reports was made."""
    places = np.ravel_multi_index(tuple(part.astype(np.int64) for part in rows), shape)
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)


# What a tally file must satisfy before it is believed.
#
# A file of counts is worth as many reports as it says, so that it is read with care: every number
# is a count, and all of them fit together as those of real reports do. A tally that passes may
# still be made up; who adds one trusts who made it.


Parts = tuple[int, int, dict[str, int], dict[str, NDArray[Any]], tuple[NDArray[np.int64], ...]]


def check_tally(survey: Survey, document: Mapping[str, Any]) -> Parts:
    """Return the lines, wrong lines, reports, counts and tables of a tally file, or refuse it.

    Parameters
    ----------
    survey
        The survey of which it must be a tally.
    document
        What the file says.
    """
    if document["survey"] != survey.identity:
        raise ValueError("the tally belongs to another survey")
    lines, wrong = _count("lines", document["lines"]), _count("wrong", document["wrong"])
    names = {item.name for item in survey.items}
    if set(document["reports"]) != names or set(document["counts"]) != names:
        raise ValueError("the questions of the tally do not match those of its survey")
    reports = {
        item.name: _count("reports", document["reports"][item.name]) for item in survey.items
    }
    told = sum(reports.values()) if survey.share == "sample" else set(reports.values())
    if told != (lines if survey.share == "sample" else {lines}):
        raise ValueError(f"the numbers of reports do not match the {lines} lines of the tally")
    counts = {
        item.name: _counts(item, document["counts"][item.name], reports[item.name])
        for item in survey.items
    }
    return lines, wrong, reports, counts, _tables(survey, document["tables"], counts)


def _count(what: str, given: Any) -> int:
    """Return a number of lines or reports, or refuse it."""
    if type(given) is not int or given < 0:
        raise ValueError(f"{what} of a tally must be whole numbers of at least 0")
    return given


def _counts(item: Item, given: Any, reports: int) -> NDArray[Any]:
    """Return the counts of one question, or refuse them."""
    if item.bounds is None:
        try:
            return Tally(item.design, whole_counts(given, (len(item.answers),)), reports).counts
        except ValueError as error:
            raise ValueError(f"{item.name}: {error}") from None
    if not isinstance(given, list) or len(given) != 2:
        raise ValueError(f"{item.name}: a mean needs two sums, of reports and of their squares")
    first, second = (_count("sums", each) for each in given)
    most = item.design.primitive.reports - 1
    # Reports from 0 to `most`: Σy ≤ Σy² ≤ most·Σy, and (Σy)² ≤ n·Σy².
    if first > most * reports or not first <= second <= most * first or first**2 > reports * second:
        raise ValueError(f"{item.name}: {reports} reports cannot have these sums")
    return np.array([first, second], dtype=object)


def _tables(
    survey: Survey, given: Any, counts: dict[str, NDArray[Any]]
) -> tuple[NDArray[np.int64], ...]:
    """Return the tables of pairs of questions, whose sums are the counts of each question."""
    if not isinstance(given, list) or len(given) != len(survey.tables):
        raise ValueError(f"the tally must have the {len(survey.tables)} tables of its survey")
    tables = []
    for (first, second), found in zip(survey.tables, given, strict=True):
        shape = (len(counts[first]), len(counts[second]))
        table = whole_counts(found, shape)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        if not np.array_equal(rows, counts[first]) or not np.array_equal(columns, counts[second]):
            raise ValueError(f"the table of {first} and {second} does not add up to their counts")
        tables.append(table)
    return tuple(tables)
