"""Taking a table in: every column encoded, every problem collected, contributions bounded.

The same code serves every engine, chunk by chunk, so that they cannot disagree about a value. A
chunk leaves nothing behind but codes, row numbers of problems and, where contributions are
bounded, the persons' identifiers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import Coding, Discover, Encoded, Fault
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.memory import CodeTable, code_type
from sfumato.engines.reading import MISSING_TEXT, UNREADABLE, Text, Wholes
from sfumato.engines.texts import CODE, Texts

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Intake", "IntakeRules", "RowCheck", "Taken", "take", "within_bound"]

NOBODY = (
    "the row has no identifier of its person",
    "Fill in the identifier, or remove the row.",
)
VIOLATED = (
    'Correct the row, or declare violations = "keep" for this constraint; synthetic rows satisfy '
    "it in any case."
)
ROUNDED = (
    "the identifier is stored in floating point, which cannot distinguish whole numbers beyond "
    "2**53",
    "Store the identifiers as whole numbers or as text.",
)


@dataclass(frozen=True)
class RowCheck:
    """A declared constraint that every row must satisfy.

    Parameters
    ----------
    words
        The constraint in words.
    columns
        The numbers of its columns.
    allows
        Which rows satisfy it, given the codes of its columns. It looks at each row by itself.
    """

    words: str
    columns: tuple[int, ...]
    allows: Callable[[Sequence[NDArray[Any]]], NDArray[np.bool_]]


@dataclass(frozen=True, kw_only=True)
class IntakeRules:
    """What is taken from a table: which columns, how they are coded, how much of one person.

    Parameters
    ----------
    codings
        The coding of each column that is used, by name, in order.
    person
        The column that says whose row it is, if contributions are bounded.
    max_rows
        How many rows of one person are kept: the first ones in file order.
    checks
        What every row must satisfy.
    """

    codings: Mapping[str, Coding]
    person: str | None = None
    max_rows: int | None = None
    checks: tuple[RowCheck, ...] = ()

    def __post_init__(self) -> None:
        if (self.person is None) != (self.max_rows is None):
            raise ValueError("person and max_rows must be given together")

    @property
    def needed(self) -> list[str]:
        """The names of all columns that are read."""
        extra = [self.person] if self.person and self.person not in self.codings else []
        return [*self.codings, *extra]

    @property
    def sizes(self) -> list[int]:
        """The domain sizes, in column order."""
        return [coding.size for coding in self.codings.values()]

    def check_names(self, present: Sequence[str]) -> None:
        """Refuse a table in which a needed column is absent or there twice."""
        remedy = "Add it, or declare the data without it; names are case-sensitive."
        if len(present) == 1 and any(mark in present[0] for mark in ";\t|"):
            remedy = (
                "The first line is read as one column; give the separator of fields with "
                "--separator, or separator=… in Python."
            )
        counted = Counter(present)
        problems = [
            Problem(
                field=name,
                wrong="the table has no such column",
                remedy=remedy,
            )
            if not counted[name]
            else Problem(
                field=name,
                wrong="the table has several columns with this name",
                remedy="Give every column a distinct name.",
            )
            for name in self.needed
            if counted[name] != 1
        ]
        if problems:
            raise DataError(problems)


@dataclass(frozen=True)
class Taken:
    """A table taken in: its codes, and how many rows were dropped. Both private."""

    table: CodeTable
    dropped: int


@dataclass
class Intake:
    """The state of taking one table in, over its chunks."""

    rules: IntakeRules
    rows: int = 0
    #: The texts met in columns whose values nobody listed, by the number of the column. Private.
    texts: dict[int, Texts] = field(init=False)
    _found: dict[tuple[str, str], tuple[Fault, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        codings = enumerate(self.rules.codings.values())
        self.texts = {number: Texts() for number, coding in codings if isinstance(coding, Discover)}

    @property
    def types(self) -> list[np.dtype[Any]]:
        """The type of each column's codes."""
        sizes = enumerate(self.rules.sizes)
        return [CODE if number in self.texts else code_type(size) for number, size in sizes]

    def encode(
        self, columns: Mapping[str, pl.Series]
    ) -> tuple[list[NDArray[Any]], pl.Series | None]:
        """Return the codes of the next rows, and whose they are."""
        length = len(next(iter(columns.values())))
        encoded = [
            self._note_fault(name, self._encode(number, coding, columns[name]))
            for number, (name, coding) in enumerate(self.rules.codings.items())
        ]
        codes = [one.codes for one in encoded]
        self._check_rows(encoded)
        persons = self._persons(columns[self.rules.person]) if self.rules.person else None
        self.rows += length
        return codes, persons

    def _encode(self, number: int, coding: Coding, series: pl.Series) -> Encoded:
        """Encode the next rows of one column."""
        if isinstance(coding, Discover):
            return self.texts[number].encode(coding, series)
        return coding.encode(series)

    def _note_fault(self, name: str, encoded: Encoded) -> Encoded:
        """Remember the first row and the number of each kind of fault."""
        for fault in encoded.faults:
            first, count = self.rows + int(fault.rows[0]) + 1, len(fault.rows)
            if (name, fault.wrong) in self._found:
                _, first, before = self._found[name, fault.wrong]
                count += before
            self._found[name, fault.wrong] = (fault, first, count)
        return encoded

    def _check_rows(self, encoded: Sequence[Encoded]) -> None:
        """Note the rows that violate a constraint; a row without all its codes is faulty anyway."""
        for check in self.rules.checks:
            mine = [encoded[column] for column in check.columns]
            violated = ~check.allows([one.codes for one in mine])
            for fault in (fault for one in mine for fault in one.faults):
                violated[fault.rows] = False
            if violated.any():
                rows = np.flatnonzero(violated).astype(np.int64)
                wrong = f"the row violates the declared constraint: {check.words}"
                self._note_fault("", Encoded(mine[0].codes, (Fault(wrong, VIOLATED, rows),)))

    def _persons(self, series: pl.Series) -> pl.Series:
        """Return whose rows they are, as trimmed text."""
        text = Text.read(series)
        trimmed = text.values.str.strip_chars()
        words = trimmed.is_in([*MISSING_TEXT, UNREADABLE]).fill_null(False).to_numpy()
        name = self.rules.person or ""
        faults = []
        absent = np.flatnonzero(text.missing | np.asarray(words, dtype=np.bool_))
        if len(absent):
            faults.append(Fault(*NOBODY, absent.astype(np.int64)))
        # Only what was no text begins with a blank, so that a text of digits stays what it is.
        typed = text.values.str.starts_with(" ").fill_null(False).to_numpy()
        rounded = np.flatnonzero(typed & Wholes.read(text.values).rounded)
        if len(rounded):
            faults.append(Fault(*ROUNDED, rounded.astype(np.int64)))
        self._note_fault(name, Encoded(np.zeros(0, dtype=np.uint8), tuple(faults)))
        return trimmed.fill_null("")

    def finish(self) -> None:
        """Raise one error with everything that was found, if anything was."""
        problems = [
            Problem(field=name or None, row=first, more=count - 1, wrong=wrong, remedy=fault.remedy)
            for (name, wrong), (fault, first, count) in self._found.items()
        ]
        if problems:
            raise DataError(problems)


def within_bound(persons: pl.Series, most: int) -> NDArray[np.bool_]:
    """Return which rows are among the first `most` of their person. Looks at nothing else."""
    import polars as pl

    frame = pl.DataFrame({"person": persons}).with_row_index("place")
    # Within a group Polars always keeps the order of the rows.
    first = frame.group_by("person").agg(pl.col("place").head(most))
    within = np.zeros(len(persons), dtype=np.bool_)
    within[first["place"].explode().to_numpy()] = True
    return within


def take(columns: Mapping[str, pl.Series], rules: IntakeRules) -> Taken:
    """Encode a table that is in memory.

    Parameters
    ----------
    columns
        Every needed column, all of the same length.
    rules
        What to take.
    """
    intake = Intake(rules)
    codes, persons = intake.encode(columns)
    intake.finish()
    dropped = 0
    if persons is not None and rules.max_rows is not None:
        kept = within_bound(persons, rules.max_rows)
        codes = [column[kept] for column in codes]
        dropped = int(len(kept) - kept.sum())
    return Taken(CodeTable(codes, rules.sizes, texts=intake.texts), dropped)
