"""The hot loops of batches of rows, compiled by Numba.

Imported only when batches are made. What a row or a batch becomes depends on its own whole numbers
alone: everything is added up in one order.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["keys", "mix_words", "solve"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def mix_word(word: Any) -> Any:
    """Return a word of 64 bits well mixed (the finaliser of SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def mix_words(words: Any) -> Any:
    """Return words of 64 bits, each well mixed."""
    found = np.empty_like(words)
    for i in range(words.size):
        found[i] = mix_word(words[i])
    return found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def keys(rows: Any, found: Any) -> None:
    """Write a word of 64 bits for each row that depends on its numbers alone.

    Parameters
    ----------
    rows
        Whole numbers of 16 bits, one row a record.
    found
        One word a record; written.
    """
    for i in range(rows.shape[0]):
        word = np.uint64(0x9E3779B97F4A7C15)
        for j in range(rows.shape[1]):
            word = mix_word(word + np.uint64(rows[i, j] + 32769))
        found[i] = word


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def solve(matrices: Any, vectors: Any, ridge: float, found: Any) -> None:
    """Write the solution of (M + ridge)w = v for each batch, by Cholesky's factors.

    Parameters
    ----------
    matrices, vectors
        M and v of each batch; M is overwritten.
    ridge
        What is added to the diagonal.
    found
        One row of weights a batch; written. Zeros where the matrix is not positive.
    """
    batches, size = vectors.shape
    for b in range(batches):
        m, w = matrices[b], found[b]
        good = True
        for j in range(size):
            pivot = m[j, j] + ridge
            for k in range(j):
                pivot -= m[j, k] * m[j, k]
            if not pivot > 0.0:
                good = False
                break
            root = np.sqrt(pivot)
            m[j, j] = root
            for i in range(j + 1, size):
                entry = m[i, j]
                for k in range(j):
                    entry -= m[i, k] * m[j, k]
                m[i, j] = entry / root
        if not good:
            w[:] = 0.0
            continue
        for j in range(size):
            value = vectors[b, j]
            for k in range(j):
                value -= m[j, k] * w[k]
            w[j] = value / m[j, j]
        for j in range(size - 1, -1, -1):
            value = w[j]
            for k in range(j + 1, size):
                value -= m[k, j] * w[k]
            w[j] = value / m[j, j]
