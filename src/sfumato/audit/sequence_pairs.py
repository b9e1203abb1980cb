"""Neighbouring sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.data.sequences import Sequences, SequencesPublic
from sfumato.engines.memory_sequences import MemorySequences
from sfumato.privacy.guarantee import Relation

Codes = list[int]

#: Longer than the length to which any audited method cuts.
LONG = 40


def sequences_of(public: SequencesPublic, codes: Sequence[Sequence[int]]) -> Sequences:
    """Return sequences that hold the given codes."""
    engine = MemorySequences.of(codes, alphabet=public.symbols)
    counted = public.relation is Relation.REPLACE_ONE
    return Sequences._of(engine, replace(public, rows=engine.rows) if counted else public, 0)


def _mix_sequences(symbols: int, count: int) -> list[Codes]:
    """Return sequences of lengths from 0 that run through the symbols, out of step."""
    return [
        [(place * (row + 1) + row) % symbols for place in range(row % 6)] for row in range(count)
    ]


def sequence_pairs(public: SequencesPublic) -> list[Pair]:
    """Return sequences that differ in one unit: none and one, all equal and one, mixed and one.

    The one is long and repeats one symbol, which moves one count furthest; or runs through all
    symbols; or is empty. A unit of up to m sequences adds all m of them.
    """
    symbols = public.symbols
    first, last = [0, 0], [symbols - 1]
    long, other = [symbols - 1] * LONG, [0] * LONG
    through = [place % symbols for place in range(max(4, min(symbols, LONG)))]
    mixed = _mix_sequences(symbols, 12)

    def made(name: str, here: list[Codes], there: list[Codes]) -> Pair:
        return Pair(name, sequences_of(public, here), sequences_of(public, there))

    if public.relation is Relation.REPLACE_ONE:
        return [
            made("one sequence, replaced", [first], [last]),
            made("one empty sequence, replaced by a long one", [[]], [long]),
            made("all equal, one replaced by a long one", [first] * 6, [*[first] * 5, long]),
            made("all long, one replaced by an empty one", [long] * 4, [*[long] * 3, []]),
            made("all long, one replaced by another long one", [other] * 4, [*[other] * 3, long]),
            made("mixed, one replaced", mixed, [*mixed[:-1], through]),
        ]
    unit = public.contribution
    return [
        made("no sequences, and a long one", [], [long] * unit),
        made("no sequences, and an empty one", [], [[]] * unit),
        made("all equal, and one more", [first] * 6, [first] * (6 + unit)),
        made("all equal, and a long one", [first] * 6, [first] * 6 + [long] * unit),
        made("mixed, and one of all symbols", mixed, mixed + [through] * unit),
        made("mixed, and an empty one", mixed, mixed + [[]] * unit),
    ]


def random_sequence_pair(public: SequencesPublic, generator: Any) -> Pair:
    """Return random sequences and neighbours that differ in one unit, anywhere among them."""

    def drawn(count: int) -> list[Codes]:
        lengths = generator.integers(0, 9, count)
        return [generator.integers(0, public.symbols, int(length)).tolist() for length in lengths]

    here = drawn(int(generator.integers(1, 15)))
    place = int(generator.integers(0, len(here)))
    if public.relation is Relation.REPLACE_ONE:
        there = [*here[:place], *drawn(1), *here[place + 1 :]]
        name = "random, one replaced"
    else:
        unit = drawn(int(generator.integers(1, public.contribution + 1)))
        there = [*here[:place], *unit, *here[place:]]
        name = "random, and one"
    return Pair(name, sequences_of(public, here), sequences_of(public, there))


register("sequences", PairMaker(sequence_pairs, random_sequence_pair))
