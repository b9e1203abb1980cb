"""Counting strings of symbols in sequences.

All sequences lie in one array of small integers, each with a start marker before it and, unless it
was cut open, an end marker behind it. A few strings are counted through keys that are exact at any
length: where a key would outgrow 64 bits it is replaced by its rank among the keys that occur.
Many are counted by walks that grow them from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Integers64
from sfumato.engines.recall import Recalling

__all__ = ["MOST_SYMBOLS", "MOST_TOKENS", "MemorySequences", "symbol_type"]

Keys = NDArray[np.uint64]

MOST_SYMBOLS = 2**31 - 2
"""The most symbols of an alphabet."""

MOST_TOKENS = 2**32 - 1
"""The most symbols of all sequences together, two markers for each sequence included."""


def symbol_type(alphabet: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest type that holds the symbols of an alphabet and both markers."""
    if not 1 <= alphabet <= MOST_SYMBOLS:
        raise ValueError(f"an alphabet has 1 to {MOST_SYMBOLS} symbols; got {alphabet}")
    return next(t for t in (np.uint8, np.uint16, np.uint32) if alphabet + 1 <= np.iinfo(t).max)


class MemorySequences(Recalling):
    """Private sequences over symbols 0 … alphabet−1.

    Parameters
    ----------
    symbols
        The symbols of all sequences, one sequence after the other.
    lengths
        How many of them each sequence has; 0 for an empty one.
    alphabet
        The number of symbols. Public.

    Notes
    -----
    The end of a sequence is the symbol `alphabet`, its start the symbol `alphabet` + 1.
    """

    __slots__ = ("_alphabet", "_lengths", "_starts", "_text")

    def __init__(self, symbols: NDArray[Any], lengths: NDArray[Any], *, alphabet: int) -> None:
        kind = symbol_type(alphabet)
        flat, sizes = np.asarray(symbols), np.asarray(lengths, dtype=np.int64)
        if flat.ndim != 1 or sizes.ndim != 1 or flat.dtype.kind not in "iu":
            raise ValueError("symbols and lengths must be whole numbers, in one dimension each")
        if (len(sizes) and int(sizes.min()) < 0) or int(sizes.sum()) != len(flat):
            raise ValueError("the lengths must not be negative and must add up to all symbols")
        if len(flat) and (int(flat.min()) < 0 or int(flat.max()) >= alphabet):
            raise ValueError(f"a sequence holds a symbol outside 0 to {alphabet - 1}")
        if len(flat) + 2 * len(sizes) > MOST_TOKENS:
            raise ValueError(f"sequences have at most {MOST_TOKENS} symbols and markers in all")
        starts = np.concatenate([[0], np.cumsum(sizes + 2)])
        text = np.empty(int(starts[-1]), dtype=kind)
        inside = np.ones(len(text), dtype=np.bool_)
        inside[starts[:-1]] = inside[starts[1:] - 1] = False
        text[inside] = flat
        text[starts[:-1]], text[starts[1:] - 1] = alphabet + 1, alphabet
        self._keep(text, starts, alphabet)

    def _keep(self, text: NDArray[Any], starts: Integers64, alphabet: int) -> None:
        text.flags.writeable = starts.flags.writeable = False
        self._text, self._starts, self._alphabet = text, starts, alphabet
        self._lengths: tuple[Integers64, Integers64] | None = None
        Recalling.__init__(self)

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], *, alphabet: int) -> MemorySequences:
        """Return the engine of some sequences, each a list of symbols; empty ones count too."""
        parts = [np.asarray(sequence, dtype=np.int64).reshape(-1) for sequence in sequences]
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        symbols = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        return cls(symbols, lengths, alphabet=alphabet)

    @property
    def rows(self) -> int:
        """The number of sequences. Private under add/remove."""
        return len(self._starts) - 1

    @property
    def alphabet(self) -> int:
        """The number of symbols. Public."""
        return self._alphabet

    @property
    def text(self) -> NDArray[Any]:
        """All sequences one after the other, with their markers. Private."""
        return self._text

    @property
    def starts(self) -> Integers64:
        """Where each sequence starts in the text, and lastly where the text ends. Private."""
        return self._starts

    def __repr__(self) -> str:
        return f"MemorySequences(alphabet={self._alphabet})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences cannot be pickled; save a release of them instead")

    def lengths(self, candidates: Integers64) -> Integers64:
        """Return how many sequences are at most as long as each candidate.

        The end is counted as one symbol, the start is not. Candidates are in ascending order.
        """
        asked = np.asarray(candidates, dtype=np.int64)
        if asked.ndim != 1 or (np.diff(asked) < 0).any():
            raise ValueError("candidates must be in ascending order, in one dimension")
        if self._lengths is None:
            distinct, rows = np.unique(np.diff(self._starts) - 1, return_counts=True)
            self._lengths = distinct, np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
        distinct, at_most = self._lengths
        return at_most[np.searchsorted(distinct, asked, side="right")]

    def cut(self, longest: int) -> MemorySequences:
        """Return the sequences cut to their first `longest` symbols, the end counted as one.

        One that is cut has no end.
        """
        from sfumato.engines.sequence_kernels import cut_text

        if longest < 1:
            raise ValueError(f"longest must be at least 1; got {longest}")
        sizes = np.minimum(np.diff(self._starts), longest + 1)
        if int(sizes.sum()) == len(self._text):
            return self
        shorter = np.concatenate([[0], np.cumsum(sizes)])
        engine = MemorySequences.__new__(MemorySequences)
        engine._keep(cut_text(self._text, self._starts, shorter), shorter, self._alphabet)
        return engine

    def contexts(self) -> MemoryContexts:
        """Return a walk over contexts that grow to the left, from the empty one."""
        return MemoryContexts(self._text, self._alphabet)

    def grams(self) -> MemoryGrams:
        """Return a walk over strings that grow to the right, from the empty one."""
        return MemoryGrams(self._text, self._alphabet)

    def suffixes(self) -> MemorySuffixes:
        """Return what follows any string, for searches from strings to their extensions."""
        return MemorySuffixes(self._text, self._alphabet)

    def ngrams(self, grams: Sequence[Sequence[int]]) -> Integers64:
        """Return how often each string occurs, counting every position.

        The empty string occurs once before every symbol or end.
        """
        counts = np.zeros(len(grams), dtype=np.int64)
        for length, numbers in self._by_length(grams).items():
            asked = np.array([grams[i] for i in numbers], dtype=np.int64).reshape(-1, length)
            if length == 0:
                counts[numbers] = int((self._text <= self._alphabet).sum())
                continue
            text, queries = self._keys(asked)
            text = np.sort(text)
            high = np.searchsorted(text, queries, side="right")
            counts[numbers] = high - np.searchsorted(text, queries, side="left")
        return counts

    def followers(self, contexts: Sequence[Sequence[int]]) -> Integers64:
        """Return for each context how often each symbol, and lastly the end, comes next."""
        counts = np.zeros((len(contexts), self._alphabet + 1), dtype=np.int64)
        for length, numbers in self._by_length(contexts).items():
            following = self._text[length:]
            if length == 0:
                counts[numbers] = np.bincount(following, minlength=self._alphabet + 2)[:-1]
                continue
            asked = np.array([contexts[i] for i in numbers], dtype=np.int64)
            text, queries = self._keys(asked)
            text = text[: len(following)]
            # A context followed by a start marker ran over the end of its sequence.
            proper = following <= self._alphabet
            text, following = text[proper], following[proper]
            order = np.argsort(text, kind="stable")
            text, following = text[order], following[order]
            for number, low, high in zip(
                numbers,
                np.searchsorted(text, queries, side="left"),
                np.searchsorted(text, queries, side="right"),
                strict=True,
            ):
                counts[number] = np.bincount(following[low:high], minlength=self._alphabet + 1)
        return counts

    def _by_length(self, strings: Sequence[Sequence[int]]) -> dict[int, list[int]]:
        """Return the numbers of the strings of each length, after checking their symbols.

        A start inside a string or an end before its last symbol is refused: such a string lies
        over two sequences, and its count would depend on the order they are kept in.
        """
        lengths: dict[int, list[int]] = {}
        for number, string in enumerate(strings):
            if self._alphabet + 1 in string[1:] or self._alphabet in string[:-1]:
                raise ValueError(
                    f"string {number} must have the start only first and the end only last"
                )
            if any(not 0 <= symbol <= self._alphabet + 1 for symbol in string):
                raise ValueError(
                    f"symbols are 0 to {self._alphabet - 1}, {self._alphabet} for the end and "
                    f"{self._alphabet + 1} for the start; string {number} holds another"
                )
            lengths.setdefault(len(string), []).append(number)
        return lengths

    def _keys(self, strings: Integers64) -> tuple[Keys, Keys]:
        """Return a key for the string at every position of the text, and for each asked string.

        Positions where a string runs over the boundary between two sequences have keys too, but
        there a start marker follows another symbol, as in no string that may be asked for.
        """
        count, length = strings.shape
        positions = max(0, len(self._text) - length + 1)
        radix = self._alphabet + 2
        keys = np.zeros(positions + count, dtype=np.uint64)
        bound = 1
        for j in range(length):
            if bound * radix >= 2**64:
                distinct, ranks = np.unique(keys, return_inverse=True)
                keys, bound = ranks.astype(np.uint64), len(distinct)
            keys *= np.uint64(radix)
            keys[:positions] += self._text[j : j + positions].astype(np.uint64)
            keys[positions:] += strings[:, j].astype(np.uint64)
            bound *= radix
        return keys[:positions], keys[positions:]


class _Frontier:
    """The nodes of one level of a tree over a text, and their places in it. Private.

    Every place of the text belongs to one node or to none any more. A level costs one pass over the
    places that are left, and nothing of a level is kept for the next but them.

    Parameters
    ----------
    text
        All sequences, each behind its start marker.
    alphabet
        The number of symbols; the end has this code.
    """

    __slots__ = ("_alphabet", "_depth", "_nodes", "_positions", "_size", "_text")
    #: What the nodes are, and what is said when the last child of another one gets children.
    _what: ClassVar[str]
    _refusal: ClassVar[str]

    def __init__(self, text: NDArray[Any], alphabet: int) -> None:
        from sfumato.engines.sequence_kernels import places

        self._text = text
        self._alphabet = alphabet
        self._positions = places(text, alphabet)
        self._nodes = np.zeros(len(self._positions), dtype=np.int32)
        self._size = 1
        self._depth = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(depth={self._depth}, {self._what}={self._size})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences cannot be pickled; save a release of them instead")

    def _add_children(self, chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the number of the first child of each node that is chosen, -1 of others."""
        chosen = np.asarray(chosen, dtype=np.bool_)
        if chosen.shape != (self._size,):
            raise ValueError(
                f"there are {self._size} {self._what}; got an answer of shape {chosen.shape}"
            )
        fan_out = self._alphabet + 1
        if self._depth and chosen.reshape(-1, fan_out)[:, -1].any():
            raise ValueError(self._refusal)
        first, self._size = children_of(chosen, fan_out)
        return first

    def _keep(self, left: int) -> None:
        """Keep the places that belong to a node of the next level: the first ones."""
        self._positions = shorten(self._positions, left)
        self._nodes = shorten(self._nodes, left)
        self._depth += 1


class MemoryGrams(_Frontier):
    """Strings that grow to the right, with how often each of them occurs. Private.

    An occurrence is known by the place behind it.
    """

    __slots__ = ()
    _what = "strings"
    _refusal = "a string that ends cannot be expanded"

    @property
    def strings(self) -> int:
        """How many strings the frontier has. As public as what was expanded."""
        return self._size

    @property
    def depth(self) -> int:
        """How many symbols the strings of the frontier have. As public as what was expanded."""
        return self._depth

    def counts(self) -> Integers64:
        """Return how often each string of the frontier occurs, counting every place.

        The empty string occurs once before every symbol or end.
        """
        from sfumato.engines.sequence_kernels import tally

        counts = np.zeros(self._size, dtype=np.int64)
        tally(self._nodes, counts)
        return counts

    def descend(self, expand: NDArray[np.bool_]) -> None:
        """Replace the frontier by the children of the strings that are expanded.

        Parameters
        ----------
        expand
            Which strings of the frontier are expanded. Each gets one child for every symbol, in
            order, and lastly one for the end, put behind it. What ends is never expanded.
        """
        from sfumato.engines.sequence_kernels import split_on

        first = self._add_children(expand)
        self._keep(split_on(self._text, self._positions, self._nodes, first, self._alphabet))


class MemoryContexts(_Frontier):
    """Contexts that grow to the left, with what follows each of them. Private."""

    __slots__ = ()
    _what = "contexts"
    _refusal = "a context that begins with the start cannot be split"

    @property
    def contexts(self) -> int:
        """How many contexts the frontier has. As public as the splits."""
        return self._size

    def histograms(self) -> Integers64:
        """Return for each context how often each symbol, and lastly the end, comes next."""
        from sfumato.engines.sequence_kernels import tally_next

        counts = np.zeros((self._size, self._alphabet + 1), dtype=np.int64)
        tally_next(self._text, self._positions, self._nodes, counts)
        return counts

    def descend(self, split: NDArray[np.bool_]) -> None:
        """Replace the frontier by the children of the contexts that are split.

        Parameters
        ----------
        split
            Which contexts of the frontier are split. Each gets one child for every symbol, in
            order, and lastly one for the start, put before it. What begins with the start is
            never split.
        """
        from sfumato.engines.sequence_kernels import split_back

        first, depth = self._add_children(split), self._depth
        self._keep(
            split_back(self._text, self._positions, self._nodes, first, depth, self._alphabet)
        )


def children_of(chosen: NDArray[Any], most: int) -> tuple[NDArray[np.int32], int]:
    """Return the number of each node's first child, -1 where it has none, and how many there are.

    Parameters
    ----------
    chosen
        Which nodes of the frontier get children.
    most
        How many children each of them gets.
    """
    first = np.full(len(chosen), -1, dtype=np.int32)
    split = np.flatnonzero(chosen)
    if len(split) * most >= 2**31:
        raise ValueError(
            f"{len(split)} nodes with {most} children each are more than 2**31 - 1; split fewer"
        )
    first[split] = np.arange(len(split)) * most
    return first, len(split) * most


def shorten(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return the front of an array, as one of its own where most of it would lie idle."""
    return array[:length].copy() if 2 * length < len(array) else array[:length]


# What follows any string, one string at a time: a suffix array sorted only as far as it is asked.
#
# The places of a string lie together, those of its extensions together within them. To ask about a
# string sorts its own places by what follows them, once, and costs nothing elsewhere; so searches
# that go from strings to their extensions, best first, read each place once a level.


String = tuple[int, ...]


class MemorySuffixes:
    """The places of a text, sorted where it was asked for. Private.

    Parameters
    ----------
    text
        All sequences, each behind its start marker.
    alphabet
        The number of symbols; the end has this code.
    """

    __slots__ = ("_alphabet", "_bounds", "_positions", "_text")

    def __init__(self, text: NDArray[Any], alphabet: int) -> None:
        from sfumato.engines.sequence_kernels import places

        self._text = text
        self._alphabet = alphabet
        self._positions = places(text, alphabet)
        self._bounds: dict[String, Integers64] = {}

    def __repr__(self) -> str:
        return f"MemorySuffixes(alphabet={self._alphabet})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private sequences cannot be pickled; save a release of them instead")

    def followers(self, string: Sequence[int]) -> Integers64:
        """Return how often each symbol, and lastly the end, comes right behind a string.

        Parameters
        ----------
        string
            Symbols only, no start and no end; the empty string is before every symbol and end.
        """
        symbols = tuple(int(symbol) for symbol in string)
        if any(not 0 <= symbol < self._alphabet for symbol in symbols):
            raise ValueError(f"symbols are 0 to {self._alphabet - 1}; the string holds another")
        low, high = 0, len(self._positions)
        for length in range(len(symbols) + 1):
            bounds = self._opened(symbols[:length], low, high)
            if length < len(symbols):
                low, high = (int(b) for b in bounds[symbols[length] : symbols[length] + 2])
        return np.diff(bounds[:-1])

    def _opened(self, string: String, low: int, high: int) -> Integers64:
        """Return where the places of each extension of a string lie, sorted if they were not."""
        from sfumato.engines.sequence_kernels import sort_range

        if string not in self._bounds:
            part = self._positions[low:high]
            self._bounds[string] = low + sort_range(self._text, part, len(string), self._alphabet)
        return self._bounds[string]
