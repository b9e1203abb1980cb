"""Neighbouring answers of one client."""

from __future__ import annotations

from typing import Any

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.local.own import AnswerPublic, OwnAnswer


def report_pairs(public: AnswerPublic) -> list[Pair]:
    """Return the first answer beside the second, and beside the last."""
    first, *others = public.answers
    chosen = dict.fromkeys([others[0], others[-1]]) if others else {}
    return [
        Pair(f"one answer, and another ({number})", OwnAnswer(first, public), OwnAnswer(b, public))
        for number, b in enumerate(chosen, 1)
    ]


def random_report_pair(public: AnswerPublic, generator: Any) -> Pair:
    """Return two random answers."""
    here, there = (public.answers[int(n)] for n in generator.integers(0, len(public.answers), 2))
    return Pair("random answers", OwnAnswer(here, public), OwnAnswer(there, public))


register("report", PairMaker(report_pairs, random_report_pair))
