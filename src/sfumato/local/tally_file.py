"""What a tally file must satisfy before it is believed.

A file of counts is worth as many reports as it says, so that it is read with care: every number is
a count, and all of them fit together as those of real reports do. A tally that passes may still be
made up; who adds one trusts who made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.local.survey import Item, Survey
from sfumato.local.tally import Tally, whole_counts

__all__ = ["checked_tally"]

Parts = tuple[int, int, dict[str, int], dict[str, NDArray[Any]], tuple[NDArray[np.int64], ...]]


def checked_tally(survey: Survey, document: Mapping[str, Any]) -> Parts:
    """Return the lines, wrong lines, reports, counts and tables of a tally file, or refuse it.

    Parameters
    ----------
    survey
        The survey of which it must be a tally.
    document
        What the file says.
    """
    if document["survey"] != survey.identity:
        raise ValueError("the tally is that of another survey")
    lines, wrong = _count("lines", document["lines"]), _count("wrong", document["wrong"])
    names = {item.name for item in survey.items}
    if set(document["reports"]) != names or set(document["counts"]) != names:
        raise ValueError("the tally does not have the questions that its survey has")
    reports = {
        item.name: _count("reports", document["reports"][item.name]) for item in survey.items
    }
    told = sum(reports.values()) if survey.share == "sample" else set(reports.values())
    if told != (lines if survey.share == "sample" else {lines}):
        raise ValueError(
            f"the tally has {lines} lines, and other numbers of reports than they make"
        )
    counts = {
        item.name: _counts(item, document["counts"][item.name], reports[item.name])
        for item in survey.items
    }
    return lines, wrong, reports, counts, _tables(survey, document["tables"], counts)


def _count(what: str, given: Any) -> int:
    """Return a number of lines or reports, or refuse it."""
    if type(given) is not int or given < 0:
        raise ValueError(f"{what} of a tally must be whole numbers, none below zero")
    return given


def _counts(item: Item, given: Any, reports: int) -> NDArray[Any]:
    """Return the counts of one question, or refuse them."""
    if item.bounds is None:
        try:
            return Tally(item.design, whole_counts(given, (len(item.answers),)), reports).counts
        except ValueError as error:
            raise ValueError(f"{item.name}: {error}") from None
    if not isinstance(given, list) or len(given) != 2:
        raise ValueError(f"{item.name}: a mean has two sums, of reports and of their squares")
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
