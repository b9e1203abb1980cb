"""The reports of many respondents at once, from a table of their answers.

For rehearsals of a survey, and for a custodian who wants to hand on reports and not answers. Each
row is one person, who makes one line of reports; all lines of one question are drawn together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato import noise
from sfumato.local.survey import Item, Survey
from sfumato.local.wire import line_of

__all__ = ["lines_of"]


def lines_of(survey: Survey, frame: Any) -> Iterator[str]:
    """Return a line of reports for each row of a table, without its end.

    Parameters
    ----------
    survey
        The survey.
    frame
        A Polars frame with a column for each question, named as it is.
    """
    asked = [part.name for item in survey.items for part in item.parts] + [
        item.name for item in survey.items if not item.parts
    ]
    missing = [name for name in asked if name not in frame.columns]
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
