"""What goes over the wire: a public survey file to clients, and one line of reports back.

A survey file says how each report is drawn, in whole numbers alone, so that a client needs no
exponential and no floating point. A line names its survey and holds one report a question. Neither
ever holds a true answer.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

from sfumato.mechanisms.local_hadamard import HadamardResponseLaw
from sfumato.mechanisms.local_hash import HashResponse
from sfumato.mechanisms.local_matrix import MatrixResponseLaw
from sfumato.mechanisms.local_number import BitOfNumber, PlaceOfNumber
from sfumato.mechanisms.local_response import LocalResponse
from sfumato.mechanisms.local_subset import SubsetResponse
from sfumato.mechanisms.local_unary import UnaryResponse
from sfumato.mechanisms.randomized import Randomized

__all__ = ["SURVEY", "WrongLine", "line_of", "read_line", "wire_law"]

#: The format of survey files.
SURVEY = "sfumato survey 1"
#: A line is at most this long: the reports of a million bits.
LONGEST = 1 << 22


class WrongLine(ValueError):
    """A line of reports cannot be read.

    Parameters
    ----------
    number
        Which line it is, from 1.
    why
        What is wrong with it; reports are no secrets.
    """

    def __init__(self, number: int, why: str) -> None:
        self.number = number
        super().__init__(f"line {number}: {why}")


def wire_law(primitive: LocalResponse, *, named: bool) -> dict[str, Any]:
    """Return how a client draws the reports of a primitive, in whole numbers.

    Parameters
    ----------
    primitive
        The law.
    named
        Whether a report is told by the name of the answer, and not by its number.
    """
    law: dict[str, Any]
    match primitive:
        case Randomized():
            law = {"answers": primitive.answers, "threshold": str(primitive.threshold)}
        case UnaryResponse():
            held, other = primitive.thresholds
            law = {"answers": primitive.answers, "held": str(held), "other": str(other)}
        case SubsetResponse():
            law = {
                "answers": primitive.answers,
                "size": primitive.size,
                "threshold": str(primitive.threshold),
            }
        case HadamardResponseLaw():
            law = {"order": primitive.order, "threshold": str(primitive.threshold)}
        case HashResponse():
            law = {"width": str(primitive.width), "threshold": str(primitive.threshold)}
        case MatrixResponseLaw():
            law = {"ends": [list(map(str, accumulate(column))) for column in primitive.weights]}
        case BitOfNumber():
            law = {"least": str(primitive.least), "rise": str(primitive.rise)}
        case PlaceOfNumber():
            law = {
                "steps": primitive.answers,
                "window": primitive.window,
                "threshold": str(primitive.threshold),
            }
        case _:
            raise ValueError(f"clients cannot draw reports of the kind {primitive.kind!r}")
    return {"kind": primitive.kind, **law, **({"named": True} if named else {})}


def line_of(survey: str, reports: dict[str, Any]) -> str:
    """Return one respondent's line, without its end.

    Parameters
    ----------
    survey
        The identity of the survey.
    reports
        A report for each question that was asked.
    """
    return json.dumps({"q": survey, "r": reports}, ensure_ascii=False, separators=(",", ":"))


def read_line(number: int, line: str, survey: str) -> dict[str, Any]:
    """Return the reports of a line, by their questions, or raise `WrongLine`.

    Parameters
    ----------
    number
        Which line it is, from 1.
    line
        The line.
    survey
        The identity of the survey; a line of another one is refused.
    """
    if len(line) > LONGEST:
        raise WrongLine(number, f"it is longer than {LONGEST:,} characters")
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise WrongLine(number, "it is not JSON") from None
    if not isinstance(document, dict) or set(document) != {"q", "r"}:
        raise WrongLine(number, 'it must be {"q": survey, "r": {question: report}}')
    if document["q"] != survey:
        raise WrongLine(number, f"it belongs to another survey than {survey}")
    reports = document["r"]
    if not isinstance(reports, dict):
        raise WrongLine(number, "its reports must be named by their questions")
    return reports
