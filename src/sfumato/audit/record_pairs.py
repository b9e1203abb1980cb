"""Neighbouring records of one client: answers to several questions."""

from __future__ import annotations

from typing import Any

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.local.client_data import OwnRecord, RecordPublic


def record_pairs(public: RecordPublic) -> list[Pair]:
    """Return the first answers to all questions beside the last ones, and the other way round."""
    first = OwnRecord({name: answers[0] for name, answers in public.questions}, public)
    last = OwnRecord({name: answers[-1] for name, answers in public.questions}, public)
    return [
        Pair("one record, and another (1)", first, last),
        Pair("one record, and another (2)", last, first),
    ]


def random_record_pair(public: RecordPublic, generator: Any) -> Pair:
    """Return two random records."""

    def drawn() -> OwnRecord:
        answers = {
            name: options[int(generator.integers(len(options)))]
            for name, options in public.questions
        }
        return OwnRecord(answers, public)

    return Pair("random records", drawn(), drawn())


register("record", PairMaker(record_pairs, random_record_pair))
