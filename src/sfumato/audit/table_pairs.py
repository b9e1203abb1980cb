"""Neighbouring tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.data.table import Table, TablePublic
from sfumato.engines.intake import Taken
from sfumato.engines.memory import CodeTable, code_type
from sfumato.engines.texts import CODE, FIRST, Texts
from sfumato.privacy.guarantee import Relation

#: The texts of columns whose values nobody listed.
TEXTS = ("a", "b", "c")


def table_of(public: TablePublic, rows: Sequence[Sequence[int]]) -> Table:
    """Return a table that holds the given codes; of columns that nobody listed, of these texts."""
    array = np.array(rows, dtype=np.int64).reshape(len(rows), len(public.sizes))
    texts = {number: Texts(TEXTS) for number in public.undiscovered}
    columns: list[NDArray[Any]] = [
        (array[:, number] + FIRST).astype(CODE)
        if number in texts
        else array[:, number].astype(code_type(size))
        for number, size in enumerate(public.sizes)
    ]
    return Table._of(public.schema, Taken(CodeTable(columns, public.sizes, texts=texts), 0))


def _sizes(public: TablePublic) -> list[int]:
    """Return how many codes, or texts, the rows of a pair have in each column."""
    open_ones = public.undiscovered
    return [len(TEXTS) if n in open_ones else size for n, size in enumerate(public.sizes)]


def _mix_rows(public: TablePublic, rows: int) -> list[list[int]]:
    """Return rows that run through the codes of every column, out of step."""
    return [
        [(row * (number + 1)) % size for number, size in enumerate(_sizes(public))]
        for row in range(rows)
    ]


def table_pairs(public: TablePublic) -> list[Pair]:
    """Return tables that differ in one unit: empty and one, all equal and one different, mixed.

    A unit of up to m rows adds all m of them, all equal, which moves counts furthest.
    """
    first = [0] * len(public.sizes)
    last = [size - 1 for size in _sizes(public)]
    mixed = _mix_rows(public, 12)
    if public.relation is Relation.REPLACE_ONE:
        return [
            Pair("one row, replaced", table_of(public, [first]), table_of(public, [last])),
            Pair(
                "all equal, one replaced",
                table_of(public, [first] * 6),
                table_of(public, [first] * 5 + [last]),
            ),
            Pair(
                "mixed, one replaced",
                table_of(public, mixed),
                table_of(public, [*mixed[1:], last]),
            ),
        ]
    unit = public.contribution
    return [
        Pair("empty, and one", table_of(public, []), table_of(public, [last] * unit)),
        Pair(
            "all equal, and one different",
            table_of(public, [first] * 6),
            table_of(public, [first] * 6 + [last] * unit),
        ),
        Pair(
            "all equal, and one more",
            table_of(public, [first] * 6),
            table_of(public, [first] * (6 + unit)),
        ),
        Pair("mixed, and one", table_of(public, mixed), table_of(public, mixed + [last] * unit)),
    ]


def random_table_pair(public: TablePublic, generator: Any) -> Pair:
    """Return a random table and a neighbour that differs in one unit, anywhere in it."""

    def drawn(rows: int) -> list[list[int]]:
        columns = [generator.integers(0, size, rows).tolist() for size in _sizes(public)]
        return [list(row) for row in zip(*columns, strict=True)]

    rows = drawn(int(generator.integers(1, 15)))
    place = int(generator.integers(0, len(rows)))
    if public.relation is Relation.REPLACE_ONE:
        other = [*rows[:place], *drawn(1), *rows[place + 1 :]]
        return Pair("random, one replaced", table_of(public, rows), table_of(public, other))
    unit = drawn(int(generator.integers(1, public.contribution + 1)))
    other = [*rows[:place], *unit, *rows[place:]]
    return Pair("random, and one", table_of(public, rows), table_of(public, other))


register("table", PairMaker(table_pairs, random_table_pair))
