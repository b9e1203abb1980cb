"""Private sequences of symbols.

Sequences are checked and encoded when they are read, before any door, for the custodian's eyes.
From then on nothing but their codes is kept, nothing of them is shown, and only counting engines
see them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from sfumato.data.alphabet import Alphabet
from sfumato.data.public import ShowsPublic
from sfumato.data.sequence_files import FIRST, SequenceFile
from sfumato.data.sequence_reading import Coded, coded_sequences, first_of_each
from sfumato.data.sequences_public import SequencesPublic
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
        are the symbols. Declared, never read off the data.
    unit
        `"sequence"`, or `"person"` if one person may have several of them.
    relation
        `"add_remove"`, or `"replace_one"`, which makes the number of sequences public.
    person
        With the unit person: whose each sequence is, one identifier for each, compared as text
        without surrounding blanks.
    max_sequences
        With the unit person: how many sequences of one person are used, the first ones in order.
    rows_about
        A public guess at the number of sequences, for plans.

    Raises
    ------
    DataError
        If a sequence cannot be read or holds a symbol that was not declared. All problems are
        collected; they are named by the number of the sequence, never by value.
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
        declared = _declared(alphabet, unit, relation, person, max_sequences, rows_about)
        coded = coded_sequences(sequences, Alphabet(declared.alphabet))
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
        raise AttributeError("sequences do not change; build others")

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences are not pickled; save a release of them instead")

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

        Without the key it tells nothing about the data, not even whether a guess is right.
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
    """Read private sequences from a text file (plain, .gz or .xz), one sequence a line.

    Parameters
    ----------
    path
        The file, in UTF-8. An empty line is an empty sequence.
    alphabet
        As for `Sequences`; whole numbers are compared as they are written without leading zeros.
    separator
        What stands between two symbols: one character, or by default blanks and tabs, as many as
        there are.
    skip_lines
        How many lines at the head of the file are not looked at.
    unit, relation, max_sequences, rows_about
        As for `Sequences`.
    person
        With the unit person: `"first"` if the first field of each line says whose it is, or one
        identifier for each line.

    Raises
    ------
    DataError
        As for `Sequences`; problems are named by the line. Also if the file cannot be read.
    """
    refuse_broken_fork()
    declared = _declared(alphabet, unit, relation, person, max_sequences, rows_about)
    file = SequenceFile(Path(path), separator=separator, skip_lines=skip_lines)
    leading = isinstance(person, str) and person == FIRST
    coded, persons = file.read(Alphabet(declared.alphabet), leading=leading)
    data = Sequences.__new__(Sequences)
    data._take(coded, declared, persons if leading else person)
    return data


def _declared(
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
            'the unit "person" needs person, which says whose each sequence is, and max_sequences, '
            "how many of one person are used"
        )
    if whose is not Unit.PERSON and (person is not None or max_sequences is not None):
        raise ValueError(
            f'person and max_sequences are for unit = "person"; got unit = "{whose}"; leave them '
            "out, or protect persons"
        )
    return SequencesPublic(
        alphabet=Alphabet.of(alphabet).symbols,
        unit=whose,
        relation=Relation.parse(relation),
        contribution=1 if max_sequences is None else max_sequences,
        rows=0 if Relation.parse(relation) is Relation.REPLACE_ONE else None,
        rows_about=rows_about,
    )
