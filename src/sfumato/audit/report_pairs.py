"""Neighbouring answers of one client."""

from __future__ import annotations

from typing import Any

from sfumato.audit.neighbours import Pair, register
from sfumato.local.own import AnswerPublic, OwnAnswer


@register("report")
def report_pairs(method: Any, public: AnswerPublic) -> list[Pair]:
    """Return the first answer beside the second, and beside the last."""
    first, *others = public.answers
    chosen = dict.fromkeys([others[0], others[-1]]) if others else {}
    return [
        Pair(f"one answer, and another ({number})", OwnAnswer(first, public), OwnAnswer(b, public))
        for number, b in enumerate(chosen, 1)
    ]
