"""The hot loops of scores, compiled by Numba: whole numbers in, whole numbers out.

Imported only when something is scored. Nothing here rounds in floating point: a score decides what
is chosen, and its sensitivity is proved for the very integers that are computed
(docs/proofs/scores.md).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["assignment_scores", "independence_distances", "information", "scaled_logarithms"]

#: Fractional bits of a logarithm.
BITS = 52
#: Up to so many columns (16, and two of joined ones) sums are listed; beyond it they are an axis.
LISTED = 18
#: Less than anything that is reached.
NOTHING = -(2**62)


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _high_word(left: Any, right: Any) -> Any:
    """Return ⌊left·right / 2^64⌋ of two unsigned 64-bit numbers."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    low, mixed = (left & mask) * (right & mask), (left >> half) * (right & mask)
    mixed += low >> half
    other = (left & mask) * (right >> half) + (mixed & mask)
    return (left >> half) * (right >> half) + (mixed >> half) + (other >> half)


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _scaled_logarithm(count: Any, shift: Any) -> Any:
    """Return 2^(52 − shift)·count·log2(count), rounded down twice; 0 for a count of 0.

    The logarithm is found bit by bit: squaring a mantissa in [1, 2) doubles its logarithm. Its
    mantissa is cut to 63 bits after each squaring, so it is never too large.
    """
    if count < 2:
        return np.int64(0)
    whole = np.int64(0)
    mantissa = np.uint64(count)
    while mantissa >> np.uint64(whole + 1):
        whole += 1
    mantissa <<= np.uint64(63 - whole)
    logarithm = np.uint64(whole)
    one, top = np.uint64(1), np.uint64(2**63)
    for _ in range(BITS):
        mantissa = _high_word(mantissa, mantissa)
        logarithm <<= one
        if mantissa >= top:
            logarithm |= one
        else:
            mantissa <<= one
    return np.int64(_high_word(np.uint64(count) << np.uint64(64 - shift), logarithm))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def scaled_logarithms(counts: Any, shift: Any) -> Any:
    """Return 2^(52 − shift)·c·log2(c) of each count below 2^shift, within (−1 − 2^(1−shift)·c, 0].

    Parameters
    ----------
    counts
        Counts of at least 0, one axis.
    shift
        How many of the 52 fractional bits are dropped, from 34 to 52.
    """
    scaled = np.empty(counts.size, dtype=np.int64)
    for place in range(counts.size):
        scaled[place] = _scaled_logarithm(counts[place], shift)
    return scaled


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def information(tables: Any, shift: Any, listed: Any) -> Any:
    """Return L(n) + Σ L(c) − Σ L(a) − Σ L(b) of each table, L(c) ≈ 2^(52 − shift)·c·log2(c).

    Parameters
    ----------
    tables
        Counts with axes (table, child, parents), all of one total n.
    shift
        As for `scaled_logarithms`.
    listed
        L of the first few counts, computed before.
    """
    many, rows, columns = tables.shape
    scores = np.empty(many, dtype=np.int64)
    for t in range(many):
        total, score = np.int64(0), np.int64(0)
        for i in range(rows):
            margin = np.int64(0)
            for j in range(columns):
                count = tables[t, i, j]
                margin += count
                score += listed[count] if count < listed.size else _scaled_logarithm(count, shift)
            total += margin
            score -= listed[margin] if margin < listed.size else _scaled_logarithm(margin, shift)
        for j in range(columns):
            margin = np.int64(0)
            for i in range(rows):
                margin += tables[t, i, j]
            score -= listed[margin] if margin < listed.size else _scaled_logarithm(margin, shift)
        score += listed[total] if total < listed.size else _scaled_logarithm(total, shift)
        scores[t] = score
    return scores


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def independence_distances(tables: Any) -> Any:
    """Return W = Σ |n·c − a·b| of each table, for totals n below 2^31.

    Parameters
    ----------
    tables
        Counts with axes (table, child, parents).
    """
    many, rows, columns = tables.shape
    distances = np.empty(many, dtype=np.int64)
    for t in range(many):
        total = np.int64(0)
        down = np.zeros(rows, dtype=np.int64)
        across = np.zeros(columns, dtype=np.int64)
        for i in range(rows):
            for j in range(columns):
                down[i] += tables[t, i, j]
                across[j] += tables[t, i, j]
            total += down[i]
        distance = np.int64(0)
        for i in range(rows):
            for j in range(columns):
                distance += abs(total * tables[t, i, j] - down[i] * across[j])
        distances[t] = distance
    return distances


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def assignment_scores(tables: Any) -> Any:
    """Return −min over assignments of (n − 2a)₊ + (n − 2b)₊ of each table with two rows.

    An assignment gives every column to one of the two rows; a and b are what the rows hold of the
    columns that are theirs.

    Parameters
    ----------
    tables
        Counts with axes (table, 2, columns).
    """
    many = tables.shape[0]
    scores = np.empty(many, dtype=np.int64)
    for t in range(many):
        first, second, total = _order_columns(tables[t])
        if first.size <= LISTED:
            scores[t] = -_least_by_listing(first, second, total)
        else:
            scores[t] = -_least_by_axis(first, second, total)
    return scores


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _order_columns(table: Any) -> Any:
    """Return the columns of a table by increasing count of the smaller row, and the total.

    The smaller row comes first, and columns that only one row uses are joined: they are that
    row's without loss.
    """
    columns = table.shape[1]
    sums = table[0].sum(), table[1].sum()
    low = 0 if sums[0] <= sums[1] else 1
    first = np.zeros(columns + 2, dtype=np.int64)
    second = np.zeros(columns + 2, dtype=np.int64)
    # The joined columns go first: they leave one sum each, however large they are.
    size = 2
    for j in range(columns):
        one, other = table[low, j], table[1 - low, j]
        if other == 0:
            first[0] += one
        elif one == 0:
            second[1] += other
        else:
            first[size], second[size] = one, other
            size += 1
    _sort(first[2:size], second[2:size])
    return first[:size], second[:size], sums[0] + sums[1]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _sort(first: Any, second: Any) -> None:
    """Sort pairs by their first numbers, in place (Shell's sort)."""
    gap = 1
    while 3 * gap < first.size:
        gap = 3 * gap + 1
    while gap:
        for place in range(gap, first.size):
            one, other = first[place], second[place]
            before = place - gap
            while before >= 0 and first[before] > one:
                first[before + gap], second[before + gap] = first[before], second[before]
                before -= gap
            first[before + gap], second[before + gap] = one, other
        gap //= 3


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _lacking(total: Any, one: Any, other: Any) -> Any:
    """Return (n − 2a)₊ + (n − 2b)₊."""
    return max(total - 2 * one, np.int64(0)) + max(total - 2 * other, np.int64(0))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _frontier(first: Any, second: Any) -> Any:
    """Return the sums (a, b) of assignments that no other beats in both, a increasing."""
    here, there = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for j in range(first.size):
        size = here.size
        one = np.empty(2 * size, dtype=np.int64)
        other = np.empty(2 * size, dtype=np.int64)
        # Merge the two shifted lists from the largest a down; keep what raises b.
        kept, left, right = 0, size - 1, size - 1
        best = np.int64(NOTHING)
        while left >= 0 or right >= 0:
            if right < 0 or (left >= 0 and here[left] + first[j] > here[right]):
                a, b = here[left] + first[j], there[left]
                left -= 1
            else:
                a, b = here[right], there[right] + second[j]
                right -= 1
            if b > best:
                if kept and one[kept - 1] == a:
                    kept -= 1
                one[kept], other[kept], best = a, b, b
                kept += 1
        here, there = one[:kept][::-1].copy(), other[:kept][::-1].copy()
    return here, there


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _least_by_listing(first: Any, second: Any, total: Any) -> Any:
    """Return the least lack over assignments, meeting in the middle of the columns."""
    here_a, here_b = _frontier(first[::2], second[::2])
    there_a, there_b = _frontier(first[1::2], second[1::2])
    least = np.int64(2) * total
    for i in range(here_a.size):
        for j in range(there_a.size):
            lack = _lacking(total, here_a[i] + there_a[j], here_b[i] + there_b[j])
            least = min(least, lack)
    return least


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _least_by_axis(first: Any, second: Any, total: Any) -> Any:
    """Return the least lack over assignments, by the best b for every a up to n/2.

    Columns come with increasing a, so that only the last few run over the whole axis.
    """
    cap = (total + 1) // 2
    best = np.full(cap + 1, np.int64(NOTHING))
    best[0] = 0
    other = best.copy()
    reached = np.int64(0)
    for j in range(first.size):
        one, gain = first[j], second[j]
        if one == 0 and gain == 0:
            continue
        after = min(cap, reached + one)
        for a in range(min(one, reached + 1)):
            other[a] = best[a] + gain
        for a in range(reached + 1, min(one, after + 1)):
            other[a] = NOTHING
        for a in range(one, min(reached, after) + 1):
            other[a] = max(best[a] + gain, best[a - one])
        for a in range(max(reached + 1, one), after + 1):
            other[a] = best[a - one]
        # Everything that would pass the cap rests on it.
        for a in range(max(cap - one, 0), reached + 1):
            other[cap] = max(other[cap], best[a])
        best, other = other, best
        reached = after
    least = np.int64(2) * total
    for a in range(reached + 1):
        if best[a] >= 0:
            least = min(least, _lacking(total, np.int64(a), best[a]))
    return least
