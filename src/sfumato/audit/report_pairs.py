"""Neighbouring answers, or numbers, of one client."""

from __future__ import annotations

from typing import Any

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.local.client_data import AnswerPublic, NumberPublic, OwnAnswer, OwnNumber


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


def number_pairs(public: NumberPublic) -> list[Pair]:
    """Return the lowest number beside the highest, and the other way round."""
    low, high = OwnNumber(public.low, public), OwnNumber(public.high, public)
    return [Pair("the lowest number, and the highest", low, high), Pair("turned", high, low)]


def random_number_pair(public: NumberPublic, generator: Any) -> Pair:
    """Return two random numbers."""
    width = public.high - public.low
    steps = (int(step) for step in generator.integers(0, public.steps + 1, 2))
    here, there = (OwnNumber(public.low + width * step / public.steps, public) for step in steps)
    return Pair("random numbers", here, there)


register("number", PairMaker(number_pairs, random_number_pair))
