"""One person's side of surveys: permanent answers, and what all of it cost that person.

What was said before is kept in a file of the person's own. A permanent question is answered once:
later the same report is sent again whatever the answer is by then, so that it costs nothing and
tells nothing, not even that the answer changed. The file is on the disk before a report leaves, and
one program at a time reads it, draws and writes it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import noise
from sfumato.local.survey import Item, Survey
from sfumato.local.survey_answers import SurveyAnswers
from sfumato.local.wire import line_of
from sfumato.noise.choices import WordChoices
from sfumato.privacy.arguments import LedgerLike, open_ledger
from sfumato.privacy.documents import read_json

__all__ = ["Respondent"]

#: The format of the file.
MEMORY = "sfumato memory 1"
#: For how long to wait for another program that answers with the same memory, in seconds.
PATIENCE = 10.0
#: How often to look whether it is done.
PAUSE = 0.02


class Respondent:
    """One person who answers surveys.

    Parameters
    ----------
    memory
        The file of what was said before, for this person alone; it is made where there is none. It
        holds reports, not answers. Whoever loses it answers anew, and pays anew.
    ledger
        The person's own account or the path of its file, with `unit="person"` and
        `relation="replace_one"`. Without one nobody keeps the sum.
    """

    def __init__(self, memory: str | Path, ledger: LedgerLike = None) -> None:
        # Through whatever link it is named, one memory has one lock.
        self.path = Path(memory).resolve()
        self.ledger = open_ledger(ledger)

    def __repr__(self) -> str:
        return f"Respondent({str(self.path)!r})"

    def answer(self, survey: Survey, answers: Mapping[str, Any]) -> str:
        """Return the line to send: a report for each question that is asked of this person.

        Parameters
        ----------
        survey
            The survey.
        answers
            An answer for each question. They leave this function only randomised.

        Raises
        ------
        ValueError
            If an answer is none of its question, or if another program goes on answering with the
            same memory. Nothing is booked then.
        """
        with self._alone():
            memory = self._memory()
            asked = self._asked(survey, memory)
            fresh = _fresh(asked, memory)
            drawn = SurveyAnswers.to(fresh).perturb(answers, self.ledger) if fresh else {}
            kept: dict[str, Any] = memory["reports"]
            kept |= {item.identity: drawn[item.name] for item in fresh if item.permanent}
            self._keep(memory)
        said = {
            item.name: drawn[item.name] if item.name in drawn else kept[item.identity]
            for item in asked
        }
        return line_of(survey.identity, said)

    def cost(self, survey: Survey) -> Fraction:
        """Return what answering a survey would cost this person now."""
        with self._alone():
            memory = self._memory()
            asked = self._asked(survey, memory)
        return sum((item.epsilon for item in _fresh(asked, memory)), Fraction(0))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the memory: two programs at once would draw two permanent reports.

        The file of the lock is made or found in one step, on every system and on shared drives; the
        stand-alone client uses the same one. A program that is killed leaves it behind.
        """
        lock = self.path.with_name(self.path.name + ".lock")
        until = time.monotonic() + PATIENCE
        while True:
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                break
            except FileExistsError:
                if time.monotonic() > until:
                    raise ValueError(
                        f"another program is using {self.path}; nothing was sent. Try again when "
                        "it has finished. If no such program runs, an earlier one was "
                        f"interrupted: remove {lock}"
                    ) from None
            time.sleep(PAUSE)
        try:
            yield
        finally:
            lock.unlink()

    def _asked(self, survey: Survey, memory: dict[str, Any]) -> tuple[Item, ...]:
        """Return the items that this person answers: all, or the one chance chose for good."""
        if survey.share != "sample":
            return survey.items
        chosen: dict[str, str] = memory["chosen"]
        if survey.identity not in chosen:
            place = WordChoices().uniform(len(survey.items))
            chosen[survey.identity] = survey.items[place].name
            # Kept at once: a choice that is made anew would ask another question.
            self._keep(memory)
        return (survey.item(chosen[survey.identity]),)

    def _memory(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"format": MEMORY, "chosen": {}, "reports": {}}
        try:
            memory = read_json(self.path)
        except ValueError:
            memory = None
        if (
            isinstance(memory, dict)
            and memory.get("format") == MEMORY
            and all(isinstance(memory.get(part), dict) for part in ("chosen", "reports"))
        ):
            return memory
        raise ValueError(f"{self.path} is not a memory file of a respondent ({MEMORY})")

    def _keep(self, memory: dict[str, Any]) -> None:
        """Write the file whole or not at all, for its owner's eyes alone."""
        draft = self.path.with_name(self.path.name + ".new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(memory, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)
        if os.name == "posix":
            # The new name is on the disk only when its directory is.
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _fresh(asked: tuple[Item, ...], memory: Mapping[str, Any]) -> tuple[Item, ...]:
    """Return the items of which a report has to be drawn."""
    return tuple(
        item for item in asked if not (item.permanent and item.identity in memory["reports"])
    )


# The reports of many respondents at once, from a table of their answers.
#
# For rehearsals of a survey, and for a custodian who wants to hand on reports and not answers.
# Each row is one person, who makes one line of reports; all lines of one question are drawn
# together.


def lines_of(survey: Survey, frame: Any) -> Iterator[str]:
    """Return a line of reports for each row of a table, without its end.

    Parameters
    ----------
    survey
        The survey.
    frame
        A Polars frame with a column for each question, named as it is.
    """
    missing = [name for name in survey.questions if name not in frame.columns]
    if missing:
        raise ValueError(f"the table has no column for the question {missing[0]!r}")
    rows = len(frame)
    if survey.share != "sample":
        reports = {item.name: _reports(item, frame) for item in survey.items}
        for place in range(rows):
            said = {name: column[place] for name, column in reports.items()}
            yield line_of(survey.identity, said)
        return
    chosen = noise.uniform_integers(rows, bound=len(survey.items))
    places = [np.flatnonzero(chosen == number) for number in range(len(survey.items))]
    told: list[tuple[str, Any]] = [("", None)] * rows
    for item, own in zip(survey.items, places, strict=True):
        for place, report in zip(own.tolist(), _reports(item, frame[own]), strict=True):
            told[place] = (item.name, report)
    for name, report in told:
        yield line_of(survey.identity, {name: report})


def read_people(survey: Survey, path: Path) -> Any:
    """Return the answers of synthetic people, one per row, from a CSV or Parquet file.

    What is no number where one is asked is refused by its column and row, never by its value.

    Parameters
    ----------
    survey
        The survey.
    path
        The file, with a column for each question.
    """
    import polars as pl

    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path)
        frame = pl.read_csv(path, infer_schema=False)
    except pl.exceptions.PolarsError:
        raise ValueError(f"{path.name} cannot be read as a table") from None
    for name in survey.numbers & set(frame.columns):
        parsed = frame[name].cast(pl.Float64, strict=False)
        wrong = parsed.is_null() & frame[name].is_not_null()
        if wrong.any():
            raise ValueError(
                f"column {name!r}, row {wrong.arg_max()}: the answer must be a number; it is not "
                "shown (rows are counted from 0)"
            )
        frame = frame.with_columns(parsed)
    return frame


def _reports(item: Item, frame: Any) -> list[Any]:
    """Return the reports of one question for all rows."""
    columns = [part.name for part in item.parts] or [item.name]
    numbers = []
    for row, answers in enumerate(frame.select(columns).iter_rows(named=True), start=1):
        try:
            numbers.append(item.number(answers))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
    if item.bounds is not None:
        # Here the design itself finds the nearest step of its grid.
        values = np.array(frame[item.name].to_list(), dtype=np.float64)
        return list(item.design.perturb_all(values).plain())
    return list(item.design.perturb_all(np.array(numbers, dtype=np.int64)).plain())
