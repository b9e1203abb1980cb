"""Turn private data of almost any shape into something safe to publish.

The public names are listed in `sfumato.catalogue` and imported when they are first used; everything
else may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.catalogue import PUBLIC_NAMES

if TYPE_CHECKING:
    from sfumato import audit
    from sfumato.data.errors import DataError
    from sfumato.data.schema import Schema
    from sfumato.data.table import Table, read_table
    from sfumato.privacy.guarantee import Guarantee
    from sfumato.privacy.ledger import BudgetExceeded, Ledger
    from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
    from sfumato.privacy.method import Method
    from sfumato.privacy.plan import Plan
    from sfumato.privacy.release import Release
    from sfumato.privacy.saved import load, verify
    from sfumato.rehearsal import rehearse
    from sfumato.report.page import save_report
    from sfumato.tabular.aim import AIM
    from sfumato.tabular.contingency import Contingency
    from sfumato.tabular.fourier import Fourier
    from sfumato.tabular.histogram import Histogram
    from sfumato.tabular.independent import Independent
    from sfumato.tabular.majority import Majority
    from sfumato.tabular.marginals import Marginals
    from sfumato.tabular.mst import MST
    from sfumato.tabular.mwem import MWEM
    from sfumato.tabular.private_erm import PrivateERM
    from sfumato.tabular.privbayes import PrivBayes
    from sfumato.tabular.privgene import PrivGene
    from sfumato.tabular.questions import Questions
    from sfumato.tabular.synthesizer import Synthesizer

__version__ = "0.1.0"

__all__ = [
    "AIM",
    "MST",
    "MWEM",
    "ZCDP",
    "ApproxDP",
    "BudgetExceeded",
    "Contingency",
    "DataError",
    "Fourier",
    "Guarantee",
    "Histogram",
    "Independent",
    "Ledger",
    "Majority",
    "Marginals",
    "Method",
    "Plan",
    "PrivBayes",
    "PrivGene",
    "PrivateERM",
    "PureDP",
    "Questions",
    "Release",
    "Schema",
    "Synthesizer",
    "Table",
    "__version__",
    "audit",
    "load",
    "read_table",
    "rehearse",
    "save_report",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    place = PUBLIC_NAMES.get(name)
    if place is None:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    module, _, attribute = place.partition(":")
    # A package of the same name (audit) is found as such once imported; it is callable itself.
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
