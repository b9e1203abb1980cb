"""Trying to refute the promises: record and replay, forced extremes, and sampled lower bounds.

The package can be called itself: `sfumato.audit(method, data)` is `sfumato.audit.audit(method,
data)`, and does what the command `sfumato audit` does.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from sfumato.audit.neighbours import Pair, canonical_pairs, random_pair
from sfumato.audit.replaying import ReplayFindings, examine
from sfumato.audit.sampling import AuditResult, sample_loss
from sfumato.audit.verdict import Audit, PairAudit, audit

__all__ = [
    "Audit",
    "AuditResult",
    "Pair",
    "PairAudit",
    "ReplayFindings",
    "audit",
    "canonical_pairs",
    "examine",
    "random_pair",
    "sample_loss",
]


class _Callable(ModuleType):
    """A module whose name is also the verb: people write `sf.audit(…)`."""

    def __call__(self, *arguments: Any, **options: Any) -> Audit:
        return audit(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
