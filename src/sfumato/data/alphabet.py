"""The declared symbols of sequences, and how symbols become codes.

An alphabet is public. Whatever is encoded here is private: none of it is shown, and what has no
code is told apart only by why it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.memory_sequences import MOST_SYMBOLS
from sfumato.noise.exact import briefly

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MISSING", "NESTED", "UNKNOWN", "WRONG_TYPE", "Alphabet", "Symbol"]

Symbol = str | int

Codes = NDArray[np.int32]

#: Why something has no code, in place of the code.
UNKNOWN, MISSING, NESTED, WRONG_TYPE = -1, -2, -3, -4

#: Whole numbers that lie this close together are looked up in a table.
TABLE = 2**20

WHOLE = np.iinfo(np.int64)


def _plain(symbol: Any) -> Symbol:
    """Return a declared symbol as text or a whole number, or say what is wrong with it."""
    if isinstance(symbol, str):
        text = str(symbol)
        if not text or any(mark in text for mark in "\r\n\0"):
            raise ValueError(
                "a symbol of the alphabet must be text that is not empty and has no line break; "
                f"got {briefly(text)}"
            )
        if not text.isascii() and text.encode("utf-8", "ignore").decode() != text:
            raise ValueError(
                f"a symbol of the alphabet must be text that UTF-8 can write; got {briefly(text)}"
            )
        return text
    if isinstance(symbol, int | np.integer) and not isinstance(symbol, bool):
        if WHOLE.min <= int(symbol) <= WHOLE.max:
            return int(symbol)
        raise ValueError(f"a whole number in an alphabet must fit 64 bits; got {briefly(symbol)}")
    raise ValueError(
        f"a symbol of the alphabet must be text or a whole number; got {type(symbol).__name__}; "
        "list the symbols as text"
    )


@dataclass(frozen=True)
class Alphabet:
    """The symbols of sequences, in the order of their codes.

    Parameters
    ----------
    symbols
        All text or all whole numbers, each once.
    """

    symbols: tuple[Symbol, ...]

    @classmethod
    def of(cls, symbols: Any) -> Alphabet:
        """Return the alphabet of some listed symbols; of a text, the alphabet of its characters."""
        if isinstance(symbols, Alphabet):
            return symbols
        if hasattr(symbols, "tolist"):
            symbols = symbols.tolist()
        elif hasattr(symbols, "to_list"):
            symbols = symbols.to_list()
        if isinstance(symbols, bytes | Mapping | Set) or not isinstance(symbols, Iterable):
            raise ValueError(
                "an alphabet must be a list of symbols in a fixed order, or a text whose "
                f"characters are the symbols; got {type(symbols).__name__}"
            )
        return cls(tuple(symbols))

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", tuple(_plain(symbol) for symbol in self.symbols))
        if not 1 <= len(self.symbols) <= MOST_SYMBOLS:
            raise ValueError(
                f"an alphabet must have 1 to {MOST_SYMBOLS} symbols; got {len(self.symbols)}; "
                "list every symbol that may occur"
            )
        if len({type(symbol) for symbol in self.symbols}) > 1:
            raise ValueError(
                "the symbols of an alphabet must be all text or all whole numbers; got both; "
                "write all of them as text"
            )
        if len(self.codes) < len(self.symbols):
            twice = next(s for n, s in enumerate(self.symbols) if self.codes[s] != n)
            raise ValueError(
                f"an alphabet must list each symbol once; {briefly(twice)} is listed twice"
            )

    def __len__(self) -> int:
        return len(self.symbols)

    @cached_property
    def codes(self) -> dict[Symbol, int]:
        """The code of each symbol."""
        return {symbol: code for code, symbol in enumerate(self.symbols)}

    @property
    def text(self) -> bool:
        """Whether the symbols are text."""
        return isinstance(self.symbols[0], str)

    @cached_property
    def characters(self) -> bool:
        """Whether every symbol is one character, so that a text is a sequence."""
        return all(isinstance(symbol, str) and len(symbol) == 1 for symbol in self.symbols)

    @property
    def sort(self) -> str:
        """What the symbols are, in words."""
        return "text" if self.text else "whole numbers"

    def of_wholes(self, values: NDArray[Any]) -> Codes:
        """Return the codes of whole numbers."""
        if self.text:
            return np.full(len(values), WRONG_TYPE, dtype=np.int32)
        return _look_up(values, np.array(self.symbols, dtype=np.int64))

    def of_characters(self, text: str) -> Codes:
        """Return the codes of the characters of a text."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        symbols = [ord(str(symbol)) for symbol in self.symbols]
        return _look_up(points, np.array(symbols, dtype=np.int64))

    def of_texts(self, values: pl.Series) -> Codes:
        """Return the codes of a column of text."""
        import polars as pl

        missing = values.is_null().to_numpy()
        if not self.text:
            return np.where(missing, MISSING, WRONG_TYPE).astype(np.int32)
        symbols = pl.Series(self.symbols, dtype=pl.String)
        numbers = pl.Series(range(len(self)), dtype=pl.Int32)
        codes = values.replace_strict(symbols, numbers, default=UNKNOWN, return_dtype=pl.Int32)
        return np.where(missing, MISSING, codes.fill_null(MISSING).to_numpy()).astype(np.int32)

    def of_objects(self, values: Sequence[Any]) -> Codes:
        """Return the codes of Python objects of any types."""
        alike = {type(value) for value in values} <= {str if self.text else int}
        found: Iterable[int] = (
            map(self.codes.get, values, repeat(UNKNOWN)) if alike else map(self._of_object, values)
        )
        return np.fromiter(found, dtype=np.int32, count=len(values))

    def _of_object(self, value: Any) -> int:
        if isinstance(value, str) if self.text else _is_whole(value):
            return self.codes.get(str(value) if self.text else int(value), UNKNOWN)
        if isinstance(value, list | tuple | Mapping | Set | np.ndarray):
            return NESTED
        if value is None or type(value).__name__ in ("NAType", "NaTType", "NullType"):
            return MISSING
        number = isinstance(value, float | np.floating)
        return MISSING if number and value != value else WRONG_TYPE


def _is_whole(value: Any) -> bool:
    # NumPy counts a span of time among the whole numbers.
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def _look_up(values: NDArray[Any], symbols: NDArray[np.int64]) -> Codes:
    """Return at which place each number stands among the symbols."""
    if values.dtype == np.uint64:
        # Numbers of 2^63 and more are no symbols, and no comparison may round them.
        beyond = values > np.uint64(WHOLE.max)
        found = _look_up(np.where(beyond, 0, values).astype(np.int64), symbols)
        found[beyond] = UNKNOWN
        return found
    if not len(values):
        return np.zeros(0, dtype=np.int32)
    low, high = int(symbols.min()), int(symbols.max())
    if high - low < TABLE:
        table = np.full(high - low + 2, UNKNOWN, dtype=np.int32)
        table[symbols - low] = np.arange(len(symbols))
        numbers = values.astype(np.int64, copy=False)
        outside = (numbers < low) | (numbers > high)
        return np.asarray(table[np.where(outside, high - low + 1, numbers - low)])
    order = np.argsort(symbols)
    place = np.minimum(np.searchsorted(symbols[order], values), len(symbols) - 1)
    codes = order[place].astype(np.int32)
    codes[symbols[codes] != values] = UNKNOWN
    return codes
