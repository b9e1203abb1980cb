"""From sequences as they are given to one array of codes and the length of each: total parsing.

Nothing is guessed. What cannot be read is collected and named by the number of its sequence, never
by its value, and nothing that a library says about the data is passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.alphabet import MISSING, NESTED, UNKNOWN, WRONG_TYPE, Alphabet, Codes
from sfumato.data.errors import DataError, Problem
from sfumato.data.frames import column_of
from sfumato.engines.arrow import from_arrow
from sfumato.engines.intake import Intake, IntakeRules, within_bound

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Coded", "code_sequences", "first_of_each"]

Lengths = NDArray[np.int64]

ABSENT, NO_SEQUENCE, NO_CHARACTERS = -5, -6, -7

FAULTS = {
    UNKNOWN: (
        "*a symbol of the sequence is not in the alphabet",
        "Correct the sequence; add a symbol to the alphabet only if it is public knowledge. "
        "Symbols are compared exactly.",
    ),
    MISSING: (
        "the sequence holds a missing value",
        "Remove it, or make it a symbol of the alphabet.",
    ),
    NESTED: (
        "the sequence holds a list where a symbol should be",
        "Give every sequence as one flat list of symbols.",
    ),
    ABSENT: ("the sequence is missing", "Remove it; write an empty sequence as an empty list."),
    NO_SEQUENCE: (
        "a sequence must be a list; this is a single value",
        "Give every sequence as a list of symbols.",
    ),
    NO_CHARACTERS: (
        "a sequence must be a list; text is allowed only if every symbol of the alphabet is one "
        "character",
        "Split it into a list of symbols.",
    ),
}


@dataclass(frozen=True)
class Coded:
    """Sequences as codes: those of all one after the other, and how many each has. Private."""

    codes: Codes
    lengths: Lengths

    def faults(self) -> dict[int, NDArray[np.int64]]:
        """Return for each fault found in a symbol the sequences that have it, from 0."""
        places = np.flatnonzero(self.codes < 0)
        ends = np.cumsum(self.lengths)
        rows = np.searchsorted(ends, places, side="right")
        return {
            int(fault): np.unique(rows[self.codes[places] == fault])
            for fault in np.unique(self.codes[places])
        }

    def kept(self, within: NDArray[np.bool_]) -> Coded:
        """Return some of the sequences."""
        return Coded(self.codes[np.repeat(within, self.lengths)], self.lengths[within])


def fault_words(fault: int, alphabet: Alphabet) -> tuple[str, str]:
    """Return what is wrong and the remedy, in words without a value."""
    if fault == WRONG_TYPE:
        return (
            f"a value of the sequence is not of the alphabet's type, {alphabet.sort}",
            f"Declare the alphabet as the data are, or give the symbols as {alphabet.sort}.",
        )
    return FAULTS[fault]


def code_sequences(sequences: Any, alphabet: Alphabet) -> Coded:
    """Return sequences of any accepted kind as codes, or raise one error with all problems."""
    reader = _Reader(alphabet)
    coded = reader.read(sequences)
    found = {**coded.faults(), **{f: np.array(rows) for f, rows in reader.rows.items()}}
    problems = []
    for fault, rows in sorted(found.items(), key=lambda item: int(item[1][0])):
        wrong, remedy = fault_words(fault, alphabet)
        problems.append(
            Problem(wrong=wrong, remedy=remedy, row=int(rows[0]) + 1, more=len(rows) - 1)
        )
    if problems:
        raise DataError(problems)
    return coded


@dataclass
class _Reader:
    """The state of reading sequences: which of them are none."""

    alphabet: Alphabet
    rows: dict[int, list[int]] = field(default_factory=dict)

    def read(self, sequences: Any) -> Coded:
        """Return sequences given as a list, an array or a column."""
        import polars as pl

        _refuse_no_list(sequences)
        if isinstance(sequences, pl.Series):
            return self._column(sequences)
        module = type(sequences).__module__.split(".")[0]
        if module == "pandas" and type(sequences.dtype).__name__ == "ArrowDtype":
            sequences, module = sequences.array.__arrow_array__(), "pyarrow"
        if module == "pyarrow":
            # Polars before 1.34 panics when it opens what came from these.
            large = str(sequences.type).startswith("large_list")
            return (
                self._read_list(sequences.to_pylist())
                if large
                else self._column(from_arrow(sequences))
            )
        if isinstance(sequences, np.ndarray) and not isinstance(sequences, np.ma.MaskedArray):
            return self._array(sequences)
        listed = sequences.tolist() if hasattr(sequences, "tolist") else list(sequences)
        return self._read_list(listed)

    def _column(self, column: pl.Series) -> Coded:
        """Return a Polars column of lists, or of texts whose characters are symbols."""
        import polars as pl

        if isinstance(column.dtype, pl.Array):
            column = column.arr.to_list()
        if not isinstance(column.dtype, pl.List):
            if column.dtype in (pl.Categorical, pl.Enum):
                column = column.cast(pl.String)
            return self._read_list(column.to_list())
        self._note(ABSENT, np.flatnonzero(column.is_null().to_numpy()))
        lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
        # Polars makes a null of an empty list; only those with symbols are opened.
        flat = column.filter(pl.Series(lengths > 0)).explode()
        return Coded(self._values(flat), lengths)

    def _values(self, flat: pl.Series) -> Codes:
        """Return the codes of the values of all lists."""
        import polars as pl

        if flat.dtype in (pl.Categorical, pl.Enum):
            flat = flat.cast(pl.String)
        if flat.dtype == pl.String:
            return self.alphabet.of_texts(flat)
        if flat.dtype in (pl.Int128, pl.Object) or not flat.dtype.is_integer():
            return self.alphabet.of_objects(flat.to_list())
        codes = self.alphabet.of_wholes(flat.fill_null(0).to_numpy())
        codes[flat.is_null().to_numpy()] = MISSING
        return codes

    def _array(self, array: NDArray[Any]) -> Coded:
        """Return a NumPy array: one row a sequence, or one object a sequence."""
        if array.ndim == 1:
            return self._read_list(array.tolist())
        if array.ndim != 2:
            raise DataError(
                Problem(
                    wrong=f"an array of sequences must have 2 axes; got {array.ndim}",
                    remedy="Give a two-dimensional array, or a list of lists.",
                )
            )
        lengths = np.full(len(array), array.shape[1], dtype=np.int64)
        flat = array.reshape(-1)
        if flat.dtype.kind in "iu":
            return Coded(self.alphabet.of_wholes(flat), lengths)
        return Coded(self.alphabet.of_objects(flat.tolist()), lengths)

    def _read_list(self, sequences: list[Any]) -> Coded:
        """Return a list of sequences of any kinds."""
        if self.alphabet.characters and all(isinstance(s, str) for s in sequences):
            lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
            return Coded(self.alphabet.of_characters("".join(sequences)), lengths)
        # Arrays of different types would be joined in a type that none of them has.
        whole = sequences and all(_is_whole_array(s) for s in sequences)
        if whole and len({s.dtype for s in sequences}) == 1:
            lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
            return Coded(self.alphabet.of_wholes(np.concatenate(sequences)), lengths)
        items = list(self._items(sequences))
        lengths = np.fromiter(map(len, items), dtype=np.int64, count=len(items))
        return Coded(self.alphabet.of_objects(list(chain.from_iterable(items))), lengths)

    def _items(self, sequences: list[Any]) -> Iterator[list[Any] | tuple[Any, ...]]:
        """Yield every sequence as a list; what is none is noted and stands as an empty one."""
        for number, sequence in enumerate(sequences):
            if isinstance(sequence, list | tuple):
                yield sequence
            elif isinstance(sequence, str):
                yield (
                    list(sequence)
                    if self.alphabet.characters
                    else self._none(NO_CHARACTERS, number)
                )
            elif _is_missing(sequence):
                yield self._none(ABSENT, number)
            elif isinstance(sequence, bytes | Mapping | Set) or not _is_list(sequence):
                yield self._none(NO_SEQUENCE, number)
            else:
                yield sequence.tolist() if hasattr(sequence, "tolist") else list(sequence)

    def _none(self, fault: int, number: int) -> list[Any]:
        self._note(fault, [number])
        return []

    def _note(self, fault: int, rows: Iterable[int]) -> None:
        for row in rows:
            self.rows.setdefault(fault, []).append(int(row))


def first_of_each(person: Any, sequences: int, most: int) -> NDArray[np.bool_]:
    """Return which sequences are among the first ones of their person.

    Parameters
    ----------
    person
        One identifier for each sequence: a list, an array or a column.
    sequences
        How many sequences there are.
    most
        How many of one person are kept.
    """
    if isinstance(person, str | bytes | Mapping | Set) or not isinstance(person, Iterable):
        raise DataError(
            Problem(
                wrong="person must be a list of identifiers, one per sequence; got "
                f"{type(person).__name__}",
                remedy="Give a list or a column.",
            )
        )
    listed: Any = person if hasattr(person, "__len__") else list(person)
    if len(listed) != sequences:
        raise DataError(
            Problem(
                wrong="person must have one identifier per sequence, and has "
                f"{'more' if len(listed) > sequences else 'fewer'}",
                remedy="Give both in the same order and number.",
            )
        )
    if not sequences:
        return np.zeros(0, dtype=np.bool_)
    intake = Intake(IntakeRules(codings={}, person="person", max_rows=most))
    _, persons = intake.encode({"person": column_of(listed)})
    intake.finish()
    assert persons is not None
    return within_bound(persons, most)


def _is_whole_array(sequence: Any) -> bool:
    """Return whether a sequence is a plain array of whole numbers."""
    return type(sequence) is np.ndarray and sequence.ndim == 1 and sequence.dtype.kind in "iu"


def _is_list(sequence: Any) -> bool:
    """Return whether something can be read symbol by symbol."""
    return isinstance(sequence, Iterable) and getattr(sequence, "ndim", 1) == 1


def _is_missing(sequence: Any) -> bool:
    return (
        sequence is None
        or type(sequence).__name__ in ("NAType", "NaTType", "NullType")
        or (isinstance(sequence, float) and sequence != sequence)
    )


def _refuse_no_list(sequences: Any) -> None:
    """Refuse what is not a list of sequences, saying what to give instead."""
    if isinstance(sequences, str | bytes | Path):
        raise DataError(
            Problem(
                wrong="sequences must be a list of sequences, not one text or a path",
                remedy="Put a single sequence into a list; read a file with read_sequences(path, "
                "alphabet).",
            )
        )
    # The class is asked, because a lazy frame warns when its columns are.
    if any(hasattr(type(sequences), name) for name in ("columns", "column_names", "collect")):
        raise DataError(
            Problem(
                wrong="sequences must be one column of lists, not a whole frame",
                remedy='Give its column: frame["name"].',
            )
        )
    if isinstance(sequences, Mapping | Set) or not isinstance(sequences, Iterable):
        raise DataError(
            Problem(
                wrong="sequences must be a list of lists, an array or a column of lists; got "
                f"{type(sequences).__name__}",
                remedy="Give one list of symbols per sequence.",
            )
        )
