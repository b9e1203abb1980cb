"""From a tally of reports to the shares of the answers.

Post-processing of reports that are already private. Reports that support answers are inverted in
time linear in the number of answers; only a design matrix of no particular form is factored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.local.law import Floats, MatrixLaw, PureLaw, law_of
from sfumato.local.reports import Reports
from sfumato.local.shares import Shares
from sfumato.local.simplex import climb_likelihood, likeliest, on_simplex
from sfumato.local.tally import Tally
from sfumato.mechanisms.local_hadamard import HadamardResponseLaw
from sfumato.mechanisms.local_hash import HashResponse
from sfumato.mechanisms.local_subset import SubsetResponse
from sfumato.mechanisms.local_unary import UnaryResponse

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


# The likeliest shares from reports that support several answers: every report is looked at.
#
# How many reports support each answer is enough for unbiased shares, not for the likeliest ones.
# Post-processing of reports that are already private.


#: The most distinct reports, times answers, that are looked at together: 256 MiB of doubles.
MOST_CELLS = 1 << 25


def supports_of(design: Any, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each report (row) which answers (columns) it supports.

    Parameters
    ----------
    design
        The design the reports were made with.
    rows
        Its compact reports.
    """
    primitive, k = design.primitive, design.k
    answers = np.arange(k, dtype=np.uint64)
    if isinstance(primitive, UnaryResponse):
        packed = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
        bits = np.unpackbits(packed, axis=1, count=k, bitorder="little")
        return np.asarray(bits, dtype=np.bool_)
    if isinstance(primitive, SubsetResponse):
        found = np.zeros((len(rows), k), dtype=np.bool_)
        np.put_along_axis(found, rows.astype(np.intp), True, axis=1)
        return found
    if isinstance(primitive, HashResponse):
        # Sums and products of words are taken modulo 2⁶⁴, as the design takes them.
        places = rows[:, :1] * answers + rows[:, 1:]
        return np.asarray(places < np.uint64(primitive.width))
    if isinstance(primitive, HadamardResponseLaw):
        common = rows.astype(np.uint64)[:, None] & (answers + np.uint64(1))
        return np.asarray(np.bitwise_count(common) % 2 == 0)
    if design.matrix is not None:
        return np.asarray(rows[:, None] == answers)
    raise ValueError(f"estimate needs a design with answers; got {type(design).__name__}")


def likeliest_of_reports(design: Any, reports: Reports | Iterable[Any]) -> Shares:
    """Return the shares under which reports are likeliest, for designs that support answers.

    Parameters
    ----------
    design
        The design the reports were made with.
    reports
        What `perturb_all` or `encode` returned, or plain reports.

    Notes
    -----
    A report is e^ε times as likely where it supports the true answer as where it does not, so its
    likelihood is ∝ 1 + (e^ε − 1)·(the shares it supports, summed). That is climbed by expectation
    maximisation in time and room reports × answers; more than 33 million of them are refused.

    Privacy: post-processing of reports that are already private.
    """
    compact = reports if isinstance(reports, Reports) else design.encode(reports)
    law = law_of(design)
    if not isinstance(law, PureLaw):
        raise ValueError("reports of a design matrix are answers; use estimate(…, 'em')")
    rows, copies = np.unique(compact.rows, axis=0, return_counts=True)
    if rows.shape[0] * design.k > MOST_CELLS:
        raise ValueError(
            f"{rows.shape[0]:,} distinct reports of {design.k:,} answers are too many for this "
            "estimator; use estimate(…, 'project')"
        )
    unbiased = np.full(design.k, np.nan)
    if not len(compact):
        return Shares(design.answers, unbiased, unbiased, 0, law, "em")
    unbiased = law.shares(design.support(compact) / len(compact))
    if design.k == 1:
        return Shares(design.answers, unbiased, unbiased, len(compact), law, "em")
    found = climb_likelihood(_likelihoods(design, rows), copies.astype(np.float64))
    return Shares(design.answers, found, unbiased, len(compact), law, "em")


def _likelihoods(design: Any, rows: NDArray[Any]) -> Floats:
    """Return how likely each report is for each answer, up to a factor of its own."""
    lie = math.exp(-design.realised_epsilon)
    return np.where(supports_of(design, rows), 1.0, lie)
