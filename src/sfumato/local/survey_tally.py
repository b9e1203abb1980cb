"""The collector's side of a survey: lines of reports in, counts out, in constant memory.

Tallies of parts of a survey add up, and one can be written to a file and taken up again. It holds
nothing but counts of reports, which are private already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
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
from sfumato.local.tally import Tally
from sfumato.local.tally_file import checked_tally
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
            tally = self._counted([found for _, found in good])
        except (ValueError, TypeError, OverflowError):
            # One of them is no report of its design: they are looked at one by one.
            good = [line for line in good if self._sound(*line, skip=skip)]
            tally = self._counted([found for _, found in good])
        return replace(
            tally, lines=self.lines + len(good), wrong=self.wrong + len(block) - len(good)
        )

    def _line(self, number: int, line: str) -> dict[str, Any]:
        """Return the reports of one line, which are of the right questions."""
        found = read_line(number, line, self.survey.identity)
        expected = self.reports.keys()
        if self.survey.share == "sample":
            if len(found) != 1 or not found.keys() <= expected:
                raise WrongLine(number, "it must hold the report of one question")
        elif found.keys() != expected:
            raise WrongLine(number, "it must hold one report of each question")
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

    def _counted(self, lines: list[dict[str, Any]]) -> SurveyTally:
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
            raise ValueError("only tallies of one survey add up; these are of different ones")
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
            raise ValueError(f"of {name!r} the mean is asked, not the shares of answers")
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
            raise ValueError(f"of {name!r} the shares of answers are asked, not a mean")
        found: MeanEstimate = item.design.mean(self.counts[name], self.reports[name])
        return found

    def table(self, first: str, second: str) -> ShareTable:
        """Return the table of two questions, which the survey was made to tell."""
        for pair, counts in zip(self.survey.tables, self.tables, strict=True):
            if pair == (first, second):
                items = [self.survey.item(name) for name in pair]
                laws = AxisLaws(tuple(law_of(item.design) for item in items))
                named = {item.name: item.answers for item in items}
                return table_of_counts(laws, counts, self.lines, named)
        raise ValueError(f"this survey was not made to tell a table of {first!r} and {second!r}")

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
            found = checked_tally(survey, document)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the tally lacks something: {error}") from None
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
