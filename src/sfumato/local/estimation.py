"""From a tally of reports to the shares of the answers.

Post-processing of reports that are already private. Reports that support answers are inverted in
time linear in the number of answers; only a design matrix of no particular form is factored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.local.law import MatrixLaw, PureLaw, law_of
from sfumato.local.shares import Shares
from sfumato.local.simplex import likeliest, on_simplex
from sfumato.local.tally import Tally

__all__ = ["Estimator", "estimate", "shares_of_counts"]

Estimator = Literal["inverse", "project", "em"]


def estimate(tally: Tally, estimator: Estimator = "inverse") -> Shares:
    """Return the shares of the answers, with variances and intervals.

    Parameters
    ----------
    tally
        The reports, counted.
    estimator
        `"inverse"` for unbiased shares, some of which may be negative; `"project"` for the closest
        shares that are not; `"em"` for the likeliest ones, offered where a report is one answer.

    Notes
    -----
    Privacy: post-processing of reports that are already private.
    """
    return shares_of_counts(
        law_of(tally.design), tally.counts, tally.reports, tally.design.answers, estimator
    )


def shares_of_counts(
    law: PureLaw | MatrixLaw,
    counts: ArrayLike,
    reports: int,
    answers: Sequence[Any] | None = None,
    estimator: Estimator = "inverse",
) -> Shares:
    """Return the shares of the answers from how many reports support each.

    Parameters
    ----------
    law
        The law of the reports.
    counts
        How many reports support each answer; under a matrix, how many gave each.
    reports
        How many reports there are.
    answers
        What the answers are called; by default their numbers.
    estimator
        As for `estimate`.
    """
    if estimator not in ("inverse", "project", "em"):
        raise ValueError(f"estimator must be one of 'inverse', 'project', 'em'; got {estimator!r}")
    names = tuple(str(answer) for answer in (range(law.shape[0]) if answers is None else answers))
    found = np.asarray(counts, dtype=np.float64)
    if reports == 0:
        nothing = np.full(law.shape, np.nan)
        return Shares(names, nothing, nothing, 0, law, estimator)
    unbiased = law.shares(found / reports)
    if estimator == "inverse":
        estimates = unbiased
    elif estimator == "project":
        estimates = on_simplex(unbiased)
    else:
        estimates = likeliest(law, found)
    return Shares(names, estimates, unbiased, reports, law, estimator)
