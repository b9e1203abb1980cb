"""Private sequences of symbols.

Sequences are checked and encoded when they are read, before any door, for the custodian's eyes.
From then on nothing but their codes is kept, nothing of them is shown, and only counting engines
see them.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import lzma
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.data.alphabet import MISSING, UNKNOWN, Alphabet
from sfumato.data.errors import DataError, Problem
from sfumato.data.public import ShowsPublic
from sfumato.data.sequence_reading import Coded, code_sequences, fault_words, first_of_each
from sfumato.data.sequences_public import SequencesPublic
from sfumato.engines.errors import without_values
from sfumato.engines.files import DAMAGED
from sfumato.engines.memory_sequences import MemorySequences
from sfumato.privacy.forks import refuse_broken_fork
from sfumato.privacy.guarantee import Relation, Unit

__all__ = ["Sequences", "SequencesPublic", "read_sequences"]

DIGEST_BLOCK = 2**24


class Sequences(ShowsPublic):
    """Private sequences of symbols.

    Parameters
    ----------
    sequences
        A list of lists of symbols, a two-dimensional array, or the list column of a pandas, Polars
        or PyArrow frame. Where every symbol of the alphabet is one character, a text stands for
        the sequence of its characters; otherwise texts are refused. Empty sequences count too.
    alphabet
        The symbols that may occur: a list of texts or of whole numbers, or a text whose characters
        are the symbols. Declared, never inferred from the data.
    unit
        `"sequence"`, or `"person"` if one person may have several of them.
    relation
        `"add_remove"`, or `"replace_one"`, which makes the number of sequences public.
    person
        With the unit person: one identifier per sequence, compared as text
        without surrounding blanks.
    max_sequences
        With the unit person: the most sequences used per person, the first ones in order.
    rows_about
        A public estimate of the number of sequences, for plans.

    Raises
    ------
    DataError
        If a sequence cannot be read or holds a symbol that was not declared. All problems are
        collected; each states the number of the sequence, never the value.
    """

    __slots__ = ("_dropped", "_engine", "_public")

    _dropped: int
    _engine: MemorySequences
    _public: SequencesPublic

    def __init__(
        self,
        sequences: Any,
        alphabet: Any,
        *,
        unit: str = "sequence",
        relation: str = "add_remove",
        person: Any = None,
        max_sequences: int | None = None,
        rows_about: int | None = None,
    ) -> None:
        refuse_broken_fork()
        declared = _declare_public(alphabet, unit, relation, person, max_sequences, rows_about)
        coded = code_sequences(sequences, Alphabet(declared.alphabet))
        self._take(coded, declared, person)

    @classmethod
    def _of(cls, engine: MemorySequences, public: SequencesPublic, dropped: int) -> Sequences:
        data = cls.__new__(cls)
        data._fill(engine, public, dropped)
        return data

    def _take(self, coded: Coded, declared: SequencesPublic, person: Any) -> None:
        """Keep so many sequences of each person as were declared."""
        dropped = 0
        if person is not None:
            within = first_of_each(person, len(coded.lengths), declared.contribution)
            coded, dropped = coded.kept(within), int(len(within) - within.sum())
        engine = MemorySequences(coded.codes, coded.lengths, alphabet=declared.symbols)
        counted = declared.relation is Relation.REPLACE_ONE
        self._fill(engine, replace(declared, rows=engine.rows) if counted else declared, dropped)

    def _fill(self, engine: MemorySequences, declared: SequencesPublic, dropped: int) -> None:
        object.__setattr__(self, "_engine", engine)
        object.__setattr__(self, "_dropped", dropped)
        object.__setattr__(self, "_public", declared)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("sequences cannot be changed; build new ones")

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences cannot be pickled; save a release of them instead")

    @property
    def public(self) -> SequencesPublic:
        """What is public about them."""
        return self._public

    @property
    def counts(self) -> MemorySequences:
        """The engine that counts in them. Private."""
        return self._engine

    @property
    def dropped_sequences(self) -> int:
        """How many sequences the contribution bound left out. For the custodian's eyes only."""
        return self._dropped

    def digest(self, key: bytes) -> bytes:
        """Return HMAC-SHA256 of the declaration and all codes, which binds a ledger to the data.

        Without the key it reveals nothing about the data, not even whether a guess is right.
        """
        if len(key) < 16:
            raise ValueError(f"the key must have at least 16 bytes; got {len(key)}")
        code = hmac.new(key, digestmod=hashlib.sha256)
        # A guess at the number of sequences says nothing about them.
        document = replace(self._public, rows_about=None).to_json()
        declared = json.dumps(document, sort_keys=True).encode()
        code.update(f"sfumato sequences 1 {len(declared)} {self._engine.rows} ".encode())
        code.update(declared)
        # The markers inside the text tell where each sequence begins and ends.
        text = self._engine.text
        for first in range(0, len(text), DIGEST_BLOCK):
            block = text[first : first + DIGEST_BLOCK]
            code.update(block.astype(block.dtype.newbyteorder("<"), copy=False).tobytes())
        return code.digest()


def read_sequences(
    path: str | Path,
    alphabet: Any,
    *,
    separator: str | None = None,
    skip_lines: int = 0,
    unit: str = "sequence",
    relation: str = "add_remove",
    person: Any = None,
    max_sequences: int | None = None,
    rows_about: int | None = None,
) -> Sequences:
    """Read private sequences from a text file (plain, .gz or .xz), one sequence per line.

    Parameters
    ----------
    path
        The file, in UTF-8. An empty line is an empty sequence.
    alphabet
        As for `Sequences`; whole numbers are compared as they are written without leading zeros.
    separator
        The separator of symbols: one character, or by default blanks and tabs, as many as
        there are.
    skip_lines
        The number of lines to skip at the start of the file.
    unit, relation, max_sequences, rows_about
        As for `Sequences`.
    person
        With the unit person: `"first"` if the first field of each line is the identifier, or
        one identifier per line.

    Raises
    ------
    DataError
        As for `Sequences`; each problem states its line. Also if the file cannot be read.
    """
    refuse_broken_fork()
    declared = _declare_public(alphabet, unit, relation, person, max_sequences, rows_about)
    file = SequenceFile(Path(path), separator=separator, skip_lines=skip_lines)
    leading = isinstance(person, str) and person == FIRST
    coded, persons = file.read(Alphabet(declared.alphabet), leading=leading)
    data = Sequences.__new__(Sequences)
    data._take(coded, declared, persons if leading else person)
    return data


def _declare_public(
    alphabet: Any,
    unit: str,
    relation: str,
    person: Any,
    max_sequences: int | None,
    rows_about: int | None,
) -> SequencesPublic:
    """Return what is declared, before anything is read; the number of sequences stands as 0."""
    whose = Unit.parse(unit)
    if whose is Unit.PERSON and (person is None or max_sequences is None):
        raise ValueError(
            'the unit "person" needs person, the identifier of each sequence\'s person, and '
            "max_sequences, the most sequences used per person"
        )
    if whose is not Unit.PERSON and (person is not None or max_sequences is not None):
        raise ValueError(
            f'person and max_sequences need unit = "person"; got unit = "{whose}"; leave them '
            "out, or set that unit"
        )
    return SequencesPublic(
        alphabet=Alphabet.of(alphabet).symbols,
        unit=whose,
        relation=Relation.parse(relation),
        contribution=1 if max_sequences is None else max_sequences,
        rows=0 if Relation.parse(relation) is Relation.REPLACE_ONE else None,
        rows_about=rows_about,
    )


# Files of sequences, one sequence per line.
#
# A file is read as bytes and cut into symbols by one rule. What is not UTF-8 or has no code is
# named by its line, never by what it says.


FIRST = "first"
"""Says that the first field of each line names the person."""

MARK = b"\xef\xbb\xbf"
"""What some programs put before the first character of a UTF-8 file."""


@dataclass(frozen=True)
class SequenceFile:
    """A text file of sequences, plain, .gz or .xz.

    Parameters
    ----------
    path
        Where it is.
    separator
        What stands between two symbols; `None` for blanks and tabs.
    skip_lines
        How many lines at the head are not looked at.
    """

    path: Path
    separator: str | None = None
    skip_lines: int = 0

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise FileNotFoundError(f"there is no file {str(self.path)!r}")
        mark = self.separator
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in "\r\n \0"):
            raise ValueError(
                f"separator must be one ASCII character, or None for blanks and tabs; got {mark!r}"
            )
        if type(self.skip_lines) is not int or self.skip_lines < 0:
            raise ValueError(
                f"skip_lines must be a whole number of at least 0; got {self.skip_lines!r}"
            )

    def read(self, alphabet: Alphabet, *, leading: bool) -> tuple[Coded, list[str]]:
        """Return all sequences as codes, and whose each is if their lines begin with that."""
        from sfumato.engines.token_kernels import cut_lines

        words = self._words(alphabet)
        data = self._unpack()
        self._check_text(data)
        text = np.frombuffer(data, dtype=np.uint8)[self._body(data) :]
        lines = int(np.count_nonzero(text == 10)) + int(len(text) > 0 and text[-1] != 10)
        flat = np.frombuffer(b"".join(words), dtype=np.uint8)
        ends = np.cumsum([len(word) for word in words])
        codes, lengths, first = cut_lines(
            text, flat, ends, lines, -1 if self.separator is None else ord(self.separator), leading
        )
        coded = Coded(codes, lengths)
        self._check_symbols(coded, alphabet)
        return coded, self._persons(text, first, words) if leading else []

    def _words(self, alphabet: Alphabet) -> list[bytes]:
        """Return the symbols as the file writes them, or say which of them it cannot."""
        apart = " \t" if self.separator is None else self.separator
        for symbol in alphabet.symbols:
            text = str(symbol)
            if any(mark in text for mark in apart) or text.strip(" \t") != text:
                raise ValueError(
                    f"the symbol {text!r} cannot occur in this file, where {apart!r} separates "
                    "symbols; use another separator, or another name for the symbol"
                )
        return [str(symbol).encode() for symbol in alphabet.symbols]

    def _unpack(self) -> bytes:
        data = without_values(self._bytes, DAMAGED, self._damage_error)
        if not data:
            raise DataError(
                Problem(
                    wrong=f"{self.path.name} is empty",
                    remedy="Check the path; for no sequences at all write Sequences([], alphabet).",
                )
            )
        return data

    def _bytes(self) -> bytes:
        suffix = self.path.suffix.lower()
        if suffix == ".gz":
            with gzip.open(self.path) as file:
                return file.read()
        if suffix == ".xz":
            with lzma.open(self.path) as file:
                return file.read()
        return self.path.read_bytes()

    def _damage_error(self) -> Problem:
        return Problem(
            wrong=f"{self.path.name} cannot be unpacked",
            remedy="It may be damaged or cut short; write it again.",
        )

    def _check_text(self, data: bytes) -> None:
        """Refuse bytes that are not UTF-8, and line breaks that are not LF or CRLF."""
        place = _first_not_text(data)
        if place is None and data.count(b"\r") != data.count(b"\r\n"):
            place = next(
                n for n, byte in enumerate(data) if byte == 13 and data[n + 1 : n + 2] != b"\n"
            )
        if place is not None:
            raise DataError(
                Problem(
                    wrong=f"line {data.count(10, 0, place) + 1} of {self.path.name} is not text in "
                    "UTF-8 whose lines end in LF or CRLF",
                    remedy="Convert the file to UTF-8.",
                )
            )

    def _body(self, data: bytes) -> int:
        """Return where the first line that is looked at begins."""
        place = len(MARK) if data.startswith(MARK) else 0
        for number in range(self.skip_lines):
            place = data.find(b"\n", place) + 1
            if not place:
                raise DataError(
                    Problem(
                        wrong=f"skip_lines = {self.skip_lines}, and {self.path.name} has "
                        f"{number + 1} lines",
                        remedy="Skip only the lines before the first sequence.",
                    )
                )
        return place

    def _check_symbols(self, coded: Coded, alphabet: Alphabet) -> None:
        """Refuse symbols without a code, and with a separator empty fields."""
        problems = []
        for fault, rows in coded.faults().items():
            wrong, remedy = fault_words(fault, alphabet)
            if fault == MISSING:
                wrong, remedy = (
                    "a symbol is empty",
                    "Remove a doubled separator, or one at the start or end of the line.",
                )
            if fault == UNKNOWN:
                remedy = (
                    "Correct the line; add a symbol to the alphabet only if it is public "
                    "knowledge. Check --separator, --skip-lines and --unit person if most lines "
                    "fail."
                )
            assert fault in (MISSING, UNKNOWN)
            problems.append(self._at(rows, wrong, remedy))
        if problems:
            raise DataError(problems)

    def _at(self, rows: NDArray[np.int64], wrong: str, remedy: str) -> Problem:
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        line = int(rows[0]) + 1 + self.skip_lines
        return Problem(wrong=f"{self.path.name}, line {line}{more}: {wrong}", remedy=remedy)

    def _persons(
        self, text: NDArray[np.uint8], first: NDArray[np.int64], words: list[bytes]
    ) -> list[str]:
        """Return the first field of every line; all of them symbols are hardly identifiers."""
        absent = np.flatnonzero(first[:, 0] == first[:, 1])
        if len(absent):
            raise DataError(
                self._at(
                    absent,
                    "the line has no identifier of its person",
                    "Fill in the identifier, or remove the line.",
                )
            )
        data = text.tobytes()
        persons = [data[low:high] for low, high in first.tolist()]
        if persons and set(persons) <= set(words):
            raise DataError(
                Problem(
                    wrong=f"every line of {self.path.name} begins with a symbol of the alphabet; "
                    "it must begin with the identifier of its person",
                    remedy="Put the identifier before the symbols of each line. If it is there "
                    "already, change the identifiers so that they differ from all symbols.",
                )
            )
        return [person.decode() for person in persons]


def _first_not_text(data: bytes) -> int | None:
    """Return the place of the first byte that is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as failure:
        return failure.start
    return None
