"""Files of sequences, one sequence a line.

A file is read as bytes and cut into symbols by one rule. What is not UTF-8 or has no code is named
by its line, never by what it says.
"""

from __future__ import annotations

import gzip
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.data.alphabet import MISSING, UNKNOWN, Alphabet
from sfumato.data.errors import DataError, Problem
from sfumato.data.sequence_reading import Coded, fault_words
from sfumato.engines.errors import without_values
from sfumato.engines.files import DAMAGED

__all__ = ["FIRST", "SequenceFile"]

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
            raise ValueError(f"skip_lines must be a whole number from 0; got {self.skip_lines!r}")

    def read(self, alphabet: Alphabet, *, leading: bool) -> tuple[Coded, list[str]]:
        """Return all sequences as codes, and whose each is if their lines begin with that."""
        from sfumato.engines.token_kernels import cut_lines

        words = self._words(alphabet)
        data = self._unpacked()
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
                    f"the symbol {text!r} cannot be written in this file, where {apart!r} stands "
                    "between symbols; use another separator, or another name for the symbol"
                )
        return [str(symbol).encode() for symbol in alphabet.symbols]

    def _unpacked(self) -> bytes:
        data = without_values(self._bytes, DAMAGED, self._damaged)
        if not data:
            raise DataError(
                Problem(
                    wrong=f"{self.path.name} is empty",
                    remedy="Check the path; no sequences at all are Sequences([], alphabet).",
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

    def _damaged(self) -> Problem:
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
                    "there is nothing where a symbol should be",
                    "Two separators stand side by side, or one at the edge of the line.",
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
                    "the line does not say whose it is",
                    "Fill in the identifier, or leave the line out.",
                )
            )
        data = text.tobytes()
        persons = [data[low:high] for low, high in first.tolist()]
        if persons and set(persons) <= set(words):
            raise DataError(
                Problem(
                    wrong=f"every line of {self.path.name} begins with a symbol of the alphabet, "
                    "and should begin with an identifier of the person",
                    remedy="Put the identifier before the symbols of each line. If it is there, "
                    "write it in a way that no symbol is written.",
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
