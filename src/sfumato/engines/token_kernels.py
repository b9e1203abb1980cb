"""Cutting lines into symbols, compiled by Numba.

Imported only when a file is read. A field is compared with the declared symbols byte by byte; what
is none of them gets no code and is kept nowhere.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["cut_lines"]

UNKNOWN, EMPTY = -1, -2
#: Fowler, Noll and Vo's hash; any would do, since bytes are compared as well.
BASIS, PRIME = np.uint32(2166136261), np.uint32(16777619)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _hash(text: Any, low: Any, high: Any) -> Any:
    value = BASIS
    for p in range(low, high):
        value = np.uint32((value ^ np.uint32(text[p])) * PRIME)
    return value


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _slots(words: Any, ends: Any) -> Any:
    """Return a hash table with open places, of twice as many slots as words or more."""
    size = 4
    while size < 2 * ends.size:
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    low = 0
    for word in range(ends.size):
        slot = np.int64(_hash(words, low, ends[word])) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = word
        low = ends[word]
    return slots


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _code(text: Any, low: Any, high: Any, words: Any, ends: Any, slots: Any) -> Any:
    """Return the number of the word that a field is."""
    if low == high:
        return EMPTY
    slot = np.int64(_hash(text, low, high)) & (slots.size - 1)
    while slots[slot] >= 0:
        word = slots[slot]
        begin = ends[word - 1] if word else 0
        if ends[word] - begin == high - low:
            same = True
            for j in range(high - low):
                if words[begin + j] != text[low + j]:
                    same = False
                    break
            if same:
                return word
        slot = (slot + 1) & (slots.size - 1)
    return UNKNOWN


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _trim_field(text: Any, low: Any, high: Any) -> Any:
    """Return a field's bounds without surrounding blanks, tabs and carriage returns."""
    while low < high and (text[low] == 32 or text[low] == 9):
        low += 1
    while low < high and (text[high - 1] == 32 or text[high - 1] == 9 or text[high - 1] == 13):
        high -= 1
    return low, high


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _field_end(text: Any, low: Any, high: Any, separator: int) -> Any:
    """Return where the field that begins at `low` ends in a line that ends at `high`."""
    place = low
    if separator < 0:
        while place < high and text[place] != 32 and text[place] != 9:
            place += 1
    else:
        while place < high and text[place] != separator:
            place += 1
    return place


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def cut_lines(text: Any, words: Any, ends: Any, lines: int, separator: int, leading: bool) -> Any:
    """Return the codes of all symbols of all lines, how many each line has, and its first field.

    Parameters
    ----------
    text
        The bytes of all lines.
    words, ends
        The bytes of the symbols one after the other, and where each ends.
    lines
        How many lines there are.
    separator
        The byte between two fields; -1 for any number of blanks and tabs.
    leading
        Whether the first field of a line is no symbol; then its bounds are returned.

    Notes
    -----
    A field that is no symbol has the code -1, an empty one -2.
    """
    slots = _slots(words, ends)
    # A field ends at a separator or a line break; between blanks it has a byte of its own as well.
    most = text.size // 2 + 1 if separator < 0 else 0
    if separator >= 0:
        for p in range(text.size):
            most += text[p] == separator
    codes = np.empty(most + lines, dtype=np.int32)
    lengths = np.zeros(lines, dtype=np.int64)
    first = np.zeros((lines if leading else 0, 2), dtype=np.int64)
    count, begin = 0, 0
    for line in range(lines):
        stop = begin
        while stop < text.size and text[stop] != 10:
            stop += 1
        low, high = _trim_field(text, begin, stop)
        begin = stop + 1
        number = 0
        more = low < high
        while more:
            end = _field_end(text, low, high, separator)
            left, right = _trim_field(text, low, end)
            if leading and number == 0:
                first[line, 0], first[line, 1] = left, right
            else:
                codes[count] = _code(text, left, right, words, ends, slots)
                count += 1
            number += 1
            more = end < high
            low = end + 1
            if separator < 0:
                while low < high and (text[low] == 32 or text[low] == 9):
                    low += 1
        lengths[line] = number - 1 if leading and number else number
    return codes[:count].copy(), lengths, first
