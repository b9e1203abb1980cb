"""The loops of randomised response on pairs, compiled by Numba; imported when something is drawn.

Pairs of nodes stand in one line: (0, 1), (0, 2), …, (0, n−1), (1, 2), …; the place of a pair in it
is its position.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["pairs_of", "read_gaps", "toggle", "write_gaps"]

#: A gap is written seven bits to a byte, the lowest first; a byte below this is the last one.
MORE = 128


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def toggle(words: Any, positions: Any, first: int) -> None:
    """Turn the bits at positions − first over, in words of 64 bits."""
    for position in positions:
        place = position - first
        words[place >> 6] ^= np.uint64(1) << np.uint64(place & 63)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def write_gaps(positions: Any, last: int, out: Any) -> int:
    """Write how far each position is behind the one before it, less one; return the bytes used."""
    used = 0
    for position in positions:
        gap = position - last - 1
        last = position
        while gap >= MORE:
            out[used] = gap & (MORE - 1) | MORE
            gap >>= 7
            used += 1
        out[used] = gap
        used += 1
    return used


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def read_gaps(written: Any, out: Any, size: int) -> int:
    """Read positions back; return how many, or −1 where they were not written by `write_gaps`."""
    last, shift, many = -1, 0, 0
    gap: Any = 0
    for byte in written:
        # A gap ends with the last of its bits: a further byte of zeros would say it twice over.
        if shift > 42 or (shift > 0 and byte == 0):
            return -1
        gap |= np.int64(byte & (MORE - 1)) << shift
        shift += 7
        if byte < MORE:
            last += gap + 1
            if last >= size:
                return -1
            out[many] = last
            many += 1
            gap, shift = 0, 0
    return many if shift == 0 else -1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def pairs_of(positions: Any, nodes: int) -> Any:
    """Return the two nodes at each of several sorted positions, the smaller one first."""
    pairs = np.empty((len(positions), 2), dtype=np.int64)
    row = 0
    start = 0
    for place in range(len(positions)):
        position = positions[place]
        while position >= start + nodes - 1 - row:
            start += nodes - 1 - row
            row += 1
        pairs[place, 0] = row
        pairs[place, 1] = row + 1 + position - start
    return pairs
