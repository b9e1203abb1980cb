"""The loops that count reports of local collection, compiled by Numba.

They see reports, which are already private, and add whole numbers; nothing here touches floating
point.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = [
    "column_sums",
    "count_answers",
    "count_hashed",
    "count_members",
    "powers",
    "walsh",
]

_ONE = np.uint64(1)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count_answers(said: Any, counts: Any) -> None:
    """Add to each answer's count how often it is said."""
    for answer in said:
        counts[answer] += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def column_sums(rows: Any, counts: Any) -> None:
    """Add to each column's count how many rows have its bit set."""
    found = np.zeros(64, np.int64)
    for place in range(rows.shape[1]):
        found[:] = 0
        for row in range(rows.shape[0]):
            word = rows[row, place]
            for bit in range(64):
                found[bit] += np.int64((word >> np.uint64(bit)) & _ONE)
        stop = min(64, counts.size - 64 * place)
        for bit in range(stop):
            counts[64 * place + bit] += found[bit]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count_hashed(steps: Any, spots: Any, limit: int, counts: Any) -> None:
    """Add to each answer's count how many reports hold it.

    Words are read as signed numbers, the spots shifted by 2⁶³, so that `spot < limit` is the
    comparison of unsigned ones; sums wrap around as they should.
    """
    block = 2048
    place = np.empty(block, np.int64)
    for first in range(0, steps.size, block):
        many = min(block, steps.size - first)
        step = steps[first : first + many]
        here = place[:many]
        here[:] = spots[first : first + many]
        for answer in range(counts.size):
            found = 0
            for report in range(many):
                found += here[report] < limit
                here[report] += step[report]
            counts[answer] += found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def count_members(said: Any, counts: Any) -> None:
    """Add to each answer's count how many sets hold it."""
    for row in range(said.shape[0]):
        for column in range(said.shape[1]):
            counts[said[row, column]] += 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def walsh(values: Any) -> None:
    """Replace a line of 2^m numbers by its Walsh–Hadamard transform."""
    half = 1
    while half < values.size:
        for start in range(0, values.size, 2 * half):
            for place in range(start, start + half):
                here, there = values[place], values[place + half]
                values[place] = here + there
                values[place + half] = here - there
        half *= 2


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def powers(said: Any, sums: Any) -> None:
    """Add to two sums the numbers and their squares."""
    for number in said:
        sums[0] += np.int64(number)
        sums[1] += np.int64(number) * np.int64(number)
