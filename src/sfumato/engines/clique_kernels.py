"""Counting cliques, compiled by Numba. Imported only when cliques are counted.

The later neighbours of a node are written as rows of bits, and cliques are walked over these. What
these loops return of a private graph is private; whoever uses them says so.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["cliques_among", "cliques_of", "ones"]

#: Counts are carried over into a second word at this size.
CARRY = 1 << 62


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def ones(word: Any) -> Any:
    """Return the number of bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _local_rows(starts: Any, neighbours: Any, members: Any, place: Any) -> Any:
    """Return for each member, as bits, which later members it is joined to; members rise.

    `place` holds −1 for every node, and does so again afterwards.
    """
    many = len(members)
    rows = np.zeros((many, (many + 63) // 64), dtype=np.uint64)
    for number in range(many):
        place[members[number]] = number
    for number in range(many):
        node = members[number]
        for at in range(starts[node], starts[node + 1]):
            # The neighbours of higher degree, which come first, are the few.
            if neighbours[at] >= node:
                break
            other = place[neighbours[at]]
            if other >= 0:
                rows[other, number >> 6] |= np.uint64(1) << np.uint64(number & 63)
    for number in range(many):
        place[members[number]] = -1
    return rows


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_local(rows: Any, size: int, total: Any) -> None:
    """Add the number of cliques of so many members to `total`, two words with a carry."""
    many, words = rows.shape
    if size == 1:
        total[0] += many
    if size <= 1 or many < size:
        return
    # allowed[d] are the members that may still join the d that were chosen.
    allowed = np.zeros((size, words), dtype=np.uint64)
    for number in range(many):
        allowed[0, number >> 6] |= np.uint64(1) << np.uint64(number & 63)
    at = np.zeros(size, dtype=np.int64)
    depth = 0
    while depth >= 0:
        number = at[depth]
        while number < many and not (
            (allowed[depth, number >> 6] >> np.uint64(number & 63)) & np.uint64(1)
        ):
            number += 1
        if number >= many:
            depth -= 1
            continue
        at[depth] = number + 1
        if depth == size - 2:
            for word in range(number >> 6, words):
                total[0] += ones(allowed[depth, word] & rows[number, word])
            if total[0] >= CARRY:
                total[0] -= CARRY
                total[1] += 1
        else:
            for word in range(words):
                allowed[depth + 1, word] = allowed[depth, word] & rows[number, word]
            depth += 1
            at[depth] = number + 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def cliques_of(starts: Any, neighbours: Any, size: int, total: Any) -> None:
    """Add the number of cliques of `size` ≥ 2 nodes to `total`, each from its last node."""
    nodes = len(starts) - 1
    place = np.full(nodes, -1, dtype=np.int64)
    for node in range(nodes):
        end = starts[node]
        while end < starts[node + 1] and neighbours[end] < node:
            end += 1
        if end - starts[node] >= size - 1:
            rows = _local_rows(starts, neighbours, neighbours[starts[node] : end], place)
            _count_local(rows, size - 1, total)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def cliques_among(starts: Any, neighbours: Any, pairs: Any, size: int) -> Any:
    """Return for each pair the number of cliques of `size` nodes among its common neighbours.

    Two columns: the count is the first plus `CARRY` times the second.
    """
    nodes = len(starts) - 1
    place = np.full(nodes, -1, dtype=np.int64)
    members = np.empty(nodes, dtype=np.int32)
    counts = np.zeros((len(pairs), 2), dtype=np.int64)
    for number in range(len(pairs)):
        left, right = pairs[number, 0], pairs[number, 1]
        first, second, many = starts[left], starts[right], 0
        while first < starts[left + 1] and second < starts[right + 1]:
            if neighbours[first] == neighbours[second]:
                members[many] = neighbours[first]
                many += 1
                first += 1
                second += 1
            elif neighbours[first] < neighbours[second]:
                first += 1
            else:
                second += 1
        if size == 1:
            counts[number, 0] = many
        elif many >= size:
            rows = _local_rows(starts, neighbours, members[:many], place)
            _count_local(rows, size, counts[number])
    return counts
