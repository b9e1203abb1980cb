"""Rows dealt out into batches, and a least-squares model of each batch. Private.

Into which batch a row goes depends on its own numbers, and on how many rows just like it there are:
the first of several equal rows goes to one batch, the second to another, and so on. One row more or
less then changes one batch, whichever row it is and wherever it stands (docs/proofs/tukey-em.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.regression.rows import ROW, Rows

__all__ = ["GRID", "LARGEST", "batch_models", "deal_rows", "to_grid"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]
Shorts = NDArray[np.int16]

#: Weights are multiples of 1/GRID, cut at ±LARGEST/GRID.
GRID = 2**14
LARGEST = 2**20
#: Least squares get a ridge of this part of one row's squared length, so that they have a solution.
RIDGE = 2.0**-10


def gather_rows(rows: Rows) -> Shorts:
    """Return all rows with their answers last, one a record."""
    found = np.empty((rows.count, rows.dimension + 1), dtype=np.int16)
    first = 0
    for x, y in rows.blocks():
        last = first + y.size
        found[first:last, :-1] = x.T
        found[first:last, -1] = y
        first = last
    return found


def deal_rows(rows: Shorts, batches: int) -> Integers64:
    """Return the batch of each row: a function of the rows as a bag, not of their order.

    Parameters
    ----------
    rows
        Whole numbers, one row a record.
    batches
        How many batches there are.
    """
    from sfumato.regression import batch_kernels

    words = np.empty(len(rows), dtype=np.uint64)
    batch_kernels.keys(rows, words)
    order = _equal_together(rows, words)
    same = np.zeros(len(rows), dtype=np.bool_)
    same[1:] = (rows[order[1:]] == rows[order[:-1]]).all(axis=1)
    # The number of each row among those equal to it: 0, 1, …
    places = np.arange(len(rows))
    numbers = places - np.maximum.accumulate(np.where(same, 0, places))
    turned = words[order] + np.uint64(0x9E3779B97F4A7C15) * (numbers + 1).astype(np.uint64)
    found = np.empty(len(rows), dtype=np.int64)
    found[order] = (batch_kernels.mix_words(turned) % np.uint64(batches)).astype(np.int64)
    return found


def _equal_together(rows: Shorts, words: NDArray[np.uint64]) -> Integers64:
    """Return an order in which equal rows follow one another."""
    order = np.argsort(words, kind="stable").astype(np.int64)
    ordered = words[order]
    alike = ordered[1:] == ordered[:-1]
    different = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    if not (alike & different).any():
        return order
    # Different rows share a word, which takes luck or malice: all numbers decide.
    return np.lexsort((*rows.T, words)).astype(np.int64)


def batch_models(rows: Rows, batches: int) -> Integers64:
    """Return the weights of a least-squares model of each batch, in whole steps of the grid.

    Parameters
    ----------
    rows
        The rows.
    batches
        How many batches there are; one without rows has weights of 0.
    """
    from sfumato.regression import batch_kernels

    table = gather_rows(rows)
    batch = deal_rows(table, batches)
    order = np.argsort(batch, kind="stable")
    ends = np.searchsorted(batch[order], np.arange(batches + 1))
    size = rows.dimension
    matrices, vectors = np.zeros((batches, size, size)), np.zeros((batches, size))
    for number in range(batches):
        # Sums of whole numbers below 2⁵³ are exact in whatever order they are added.
        part = table[order[ends[number] : ends[number + 1]]].astype(np.float64)
        matrices[number] = part[:, :-1].T @ part[:, :-1]
        vectors[number] = part[:, :-1].T @ part[:, -1]
    weights = np.empty((batches, size))
    batch_kernels.solve(matrices, vectors, RIDGE * ROW**2, weights)
    return to_grid(weights)


def to_grid(weights: Floats) -> Integers64:
    """Return weights in whole steps of the grid, within its bounds; what is no number is 0."""
    steps = np.nan_to_num(weights * GRID, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return np.rint(np.clip(steps, -LARGEST, LARGEST)).astype(np.int64)
