"""The hot loops of counting, compiled by Numba.

Imported only when something is counted. Indices are built block by block so that a block of codes
and the table it is counted into stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["extend", "start", "tally"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def start(index: Any, codes: Any) -> None:
    """Let a block of cell indices be the codes of one column."""
    for i in range(codes.size):
        index[i] = codes[i]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def extend(index: Any, codes: Any, size: Any) -> None:
    """Append one more column of a given domain size to the mixed-radix cell indices."""
    radix = np.uint32(size)
    for i in range(codes.size):
        index[i] = index[i] * radix + np.uint32(codes[i])


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def tally(counts: Any, index: Any, rows: Any) -> None:
    """Count the first `rows` cell indices."""
    for i in range(rows):
        counts[index[i]] += 1
