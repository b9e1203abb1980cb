"""Local collection: answers are never collected in the clear, each client randomises its own.

The methods are imported when they are first used. Type checkers and editors read all names in
`__init__.pyi`, which `make derive` writes.
"""

from __future__ import annotations

from typing import Any

from sfumato.catalogue import LOCAL_METHODS, load_name
from sfumato.local.choice import Choice, best_design
from sfumato.local.compare import Compared, compare
from sfumato.local.contingency import ShareTable
from sfumato.local.design import Design, Variances
from sfumato.local.estimation import estimate, likeliest_of_reports
from sfumato.local.measures import (
    Measure,
    chi_squared,
    correlation,
    entropy,
    g_squared,
    log_odds_ratio,
    mutual_information,
    odds_ratio,
)
from sfumato.local.posterior import guess_answers, posterior
from sfumato.local.record_reports import RecordReports, RecordTally
from sfumato.local.reports import Estimate, MeanEstimate, Reports
from sfumato.local.shares import Shares
from sfumato.local.tally import Tally

__all__ = [
    *LOCAL_METHODS,
    "Choice",
    "Compared",
    "Design",
    "Estimate",
    "MeanEstimate",
    "Measure",
    "RecordReports",
    "RecordTally",
    "Reports",
    "ShareTable",
    "Shares",
    "Tally",
    "Variances",
    "best_design",
    "chi_squared",
    "compare",
    "correlation",
    "entropy",
    "estimate",
    "g_squared",
    "guess_answers",
    "likeliest_of_reports",
    "log_odds_ratio",
    "mutual_information",
    "odds_ratio",
    "posterior",
]


def __getattr__(name: str) -> Any:
    """Import a method when it is first used."""
    return load_name(__name__, LOCAL_METHODS, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
