"""All reports that a design can make, with their exact probabilities, for small designs.

Public: it looks at a design, never at an answer.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from sfumato.local.law import Floats, checked_matrix

__all__ = ["MOST_OUTCOMES", "outcomes_of"]

#: The most reports, times answers, that are listed.
MOST_OUTCOMES = 1 << 20


def outcomes_of(design: Any) -> Floats:
    """Return the probability of every report (row) given every true answer (column).

    Parameters
    ----------
    design
        A design, or a matrix that is returned as it is once it is checked.

    Notes
    -----
    Where reports are answers this is the design matrix. Otherwise every report is listed, which is
    refused where there are too many: a unary report of 17 answers is one of 131,072.
    """
    if not hasattr(design, "answers"):
        return checked_matrix(design)
    if design.matrix is not None:
        return checked_matrix(design.matrix)
    primitive = design.primitive
    most = MOST_OUTCOMES // design.k
    reports = list(islice(primitive.outputs(), most + 1))
    if len(reports) > most:
        raise ValueError(
            f"{type(design).__name__} of {design.k:,} answers has too many reports to list, so "
            "single answers are not guessed exactly; compare fewer answers, or use loss='shares'"
        )
    found = [
        [float(primitive.probability(answer, report)) for answer in range(design.k)]
        for report in reports
    ]
    return checked_matrix(found)
