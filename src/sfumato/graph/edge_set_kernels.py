"""A set of edges, and a table of counts, with constant time for every question; compiled by Numba.

Both are open-addressing hash tables over non-negative 64-bit keys, at most half full. They are used
by the loops that build and rewire graphs, and never see anything but what those are given.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = [
    "below",
    "bump",
    "edge_key",
    "edge_set",
    "forget",
    "has",
    "put",
    "room_for",
    "sum_amounts",
    "table_for",
]

#: No key: all keys are at least 0.
EMPTY = -1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def below(generator: Any, size: int) -> Any:
    """Return a random number from 0 to size − 1."""
    return np.int64(generator.random() * size)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def edge_key(left: int, right: int, nodes: int) -> Any:
    """Return the key of the edge between two nodes, in either order."""
    if left < right:
        return np.int64(left) * np.int64(nodes) + np.int64(right)
    return np.int64(right) * np.int64(nodes) + np.int64(left)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _home(key: int, mask: int) -> Any:
    """Return where a key is looked for first: Fibonacci hashing, the upper half folded in."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(32)) & mask


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def table_for(size: int) -> Any:
    """Return an empty table of keys with room for `size` of them."""
    capacity = 8
    while capacity < 2 * size + 2:
        capacity *= 2
    return np.full(capacity, EMPTY, dtype=np.int64)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def has(table: Any, key: int) -> bool:
    """Tell whether the set holds a key."""
    mask = len(table) - 1
    place = _home(key, mask)
    while table[place] != EMPTY:
        if table[place] == key:
            return True
        place = (place + 1) & mask
    return False


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def put(table: Any, key: int) -> None:
    """Put a key into the set that is not in it."""
    mask = len(table) - 1
    place = _home(key, mask)
    while table[place] != EMPTY:
        place = (place + 1) & mask
    table[place] = key


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def forget(table: Any, key: int) -> None:
    """Take a key out of the set that is in it.

    Later keys of its run move up, so that no grave is left behind and questions stay short.
    """
    mask = len(table) - 1
    hole = _home(key, mask)
    while table[hole] != key:
        hole = (hole + 1) & mask
    place = hole
    while True:
        place = (place + 1) & mask
        if table[place] == EMPTY:
            break
        # A key may fill the hole if its home is not after the hole on the way to where it is.
        home = _home(table[place], mask)
        if ((place - home) & mask) >= ((place - hole) & mask):
            table[hole] = table[place]
            hole = place
    table[hole] = EMPTY


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def edge_set(low: Any, high: Any, nodes: int) -> Any:
    """Return the set of the edges of a graph."""
    table = table_for(len(low))
    for edge in range(len(low)):
        put(table, edge_key(low[edge], high[edge], nodes))
    return table


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def room_for(keys: Any, counts: Any, used: int, more: int) -> Any:
    """Return the table of counts with room for `more` keys, and how many places are used.

    Where it must grow, keys whose count is 0 are left behind.
    """
    if 2 * (used + more) < len(keys):
        return keys, counts, used
    kept = 0
    for place in range(len(keys)):
        if keys[place] != EMPTY and counts[place] != 0:
            kept += 1
    # With a half to spare, so that it does not grow again at once.
    fresh = table_for(2 * (kept + more))
    values = np.zeros(len(fresh), dtype=np.int64)
    mask = len(fresh) - 1
    for place in range(len(keys)):
        if keys[place] != EMPTY and counts[place] != 0:
            at = _home(keys[place], mask)
            while fresh[at] != EMPTY:
                at = (at + 1) & mask
            fresh[at] = keys[place]
            values[at] = counts[place]
    return fresh, values, kept


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def bump(keys: Any, counts: Any, key: int) -> Any:
    """Return the place of a key in the table of counts; a new key gets one, with count 0."""
    mask = len(keys) - 1
    place = _home(key, mask)
    while keys[place] != EMPTY and keys[place] != key:
        place = (place + 1) & mask
    if keys[place] == EMPTY:
        keys[place] = key
        counts[place] = 0
        return place, 1
    return place, 0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sum_amounts(given: Any, amounts: Any) -> Any:
    """Return a table of counts, at most half full, with amounts added up by their keys."""
    keys = table_for(len(given))
    counts = np.zeros(len(keys), dtype=np.int64)
    for number in range(len(given)):
        place, _ = bump(keys, counts, given[number])
        counts[place] += amounts[number]
    return keys, counts
