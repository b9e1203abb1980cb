"""Trying to refute the promises: record and replay, forced extremes, and sampled lower bounds.

The package can be called itself: `sfumato.audit(method, pair, trials=…)` is
`sfumato.audit.audit(method, pair, trials=…)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from sfumato.audit.neighbours import Pair, canonical_pairs, random_pair
from sfumato.audit.replaying import ReplayFindings, examine
from sfumato.audit.sampling import AuditResult, audit

__all__ = [
    "AuditResult",
    "Pair",
    "ReplayFindings",
    "audit",
    "canonical_pairs",
    "examine",
    "random_pair",
]


class _Callable(ModuleType):
    """A module whose name is also the verb: people write `sf.audit(…)`."""

    def __call__(self, *arguments: Any, **options: Any) -> AuditResult:
        return audit(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
