"""What is public about sequences: declared by the custodian, never read off the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.alphabet import Alphabet, Symbol
from sfumato.data.public import Public
from sfumato.engines.coding import Generator
from sfumato.engines.memory_sequences import MemorySequences
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.notebook import list_some

if TYPE_CHECKING:
    from sfumato.data.sequences import Sequences

__all__ = ["SequencesPublic"]

#: How many symbols a synthetic sequence has on average.
MADE_UP_LENGTH = 5
#: And at most, so that no rehearsal takes long.
MADE_UP_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class SequencesPublic(Public):
    """What is public about sequences.

    Parameters
    ----------
    alphabet
        The declared symbols, in the order of their codes: all text or all whole numbers.
    unit, relation, contribution, rows_about
        As declared; the unit is a sequence or a person.
    rows
        The number of sequences, only under replace-one.
    """

    kind = "sequences"
    made_by = "sf.Sequences(list, alphabet=[…])"
    read_by = "sf.read_sequences(path, alphabet=[…])"
    __repr__ = Public.__repr__
    bound = "max_sequences"

    alphabet: tuple[Symbol, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alphabet", Alphabet.of(self.alphabet).symbols)
        if self.unit not in (Unit.SEQUENCE, Unit.PERSON):
            raise ValueError(f"the unit of sequences must be sequence or person; got {self.unit}")
        if self.unit is Unit.SEQUENCE and self.contribution != 1:
            raise ValueError(
                'with unit = "sequence" the contribution must be 1; got contribution = '
                f'{self.contribution}; use unit = "person"'
            )

    @classmethod
    def example(cls, relation: Relation | None, max_rows: int | None) -> SequencesPublic:
        """Return an alphabet of two symbols."""
        return cls(
            alphabet=("a", "b"),
            unit=Unit.SEQUENCE if max_rows is None else Unit.PERSON,
            relation=relation or Relation.ADD_REMOVE,
            contribution=max_rows or 1,
        )

    def brief(self) -> str:
        """Return the size of the alphabet, the unit and the relation."""
        return f"{self.symbols} symbols, {super().brief()}"

    def facts(self) -> list[tuple[str, object]]:
        """Return the alphabet, and what is public about data of any kind."""
        return [
            ("alphabet", list_some(map(str, self.alphabet))),
            ("symbols", f"{self.symbols:,}"),
            *super().facts(),
        ]

    def assumptions(self) -> tuple[str, ...]:
        """Return what a guarantee takes as public knowledge, in words."""
        words = [f"the alphabet of {self.symbols} symbols"]
        if self.unit is Unit.PERSON:
            words.append("which sequences belong to one person is told by identifiers")
        return (*words, *super().assumptions())

    @property
    def symbols(self) -> int:
        """The number of symbols."""
        return len(self.alphabet)

    @cached_property
    def _lookup(self) -> Alphabet:
        return Alphabet(self.alphabet)

    def code(self, symbol: Symbol) -> int:
        """Return the code of a symbol."""
        found = int(self._lookup.of_objects([symbol])[0])
        if found < 0:
            raise ValueError(f"{symbol!r} is not in the alphabet of {self.symbols} symbols")
        return found

    def codes(self, string: Iterable[Symbol]) -> tuple[int, ...]:
        """Return the codes of some symbols; a text is taken by characters if all symbols are."""
        if isinstance(string, str) and not self._lookup.characters:
            raise ValueError(
                "a string of symbols can be text only if every symbol is one character; give a "
                f"list of symbols, such as {list(self.alphabet[:2])!r}"
            )
        return tuple(self.code(symbol) for symbol in string)

    def label(self, code: int) -> Symbol:
        """Return the symbol that a code stands for."""
        if not 0 <= code < self.symbols:
            raise ValueError(f"codes must be 0 to {self.symbols - 1}; got {code}")
        return self.alphabet[code]

    def labels(self, codes: Iterable[int]) -> tuple[Symbol, ...]:
        """Return the symbols that some codes stand for."""
        return tuple(self.label(code) for code in codes)

    def make_synthetic(self, rows: int, generator: Generator) -> Sequences:
        """Return as many sequences of random symbols and lengths, for rehearsals.

        Lengths are geometric with an average of five symbols.

        Privacy: a function of what is public and of the generator.
        """
        from sfumato.data.sequences import Sequences

        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        going_on = np.log(MADE_UP_LENGTH / (MADE_UP_LENGTH + 1))
        drawn = np.log1p(-np.asarray(generator.random(rows))) / going_on
        lengths = np.minimum(np.floor(drawn), MADE_UP_LONGEST).astype(np.int64)
        zeros = np.zeros(int(lengths.sum()), dtype=np.int64)
        symbols = np.asarray(generator.integers(zeros, self.symbols))
        engine = MemorySequences(symbols, lengths, alphabet=self.symbols)
        # It goes by the same public facts, the number of rows included, however many it has.
        return Sequences._of(engine, self, 0)

    def _document(self) -> dict[str, Any]:
        return {"alphabet": list(self.alphabet)}

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> SequencesPublic:
        return cls(
            alphabet=tuple(document["alphabet"]),
            unit=Unit.parse(document["unit"]),
            relation=Relation.parse(document["relation"]),
            contribution=document["contribution"],
            rows=document["rows"],
            rows_about=document["rows_about"],
        )
