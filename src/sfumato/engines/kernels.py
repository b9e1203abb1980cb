"""The hot loop of counting.

Tables are counted in lexicographic order of their
columns, so that a table shares the cell indices of the columns it begins with alike with the one
before: all but its last column cost nothing in a batch of thousands of small tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.compiling import compiled

__all__ = ["count_block", "distances"]


def _count_rows(
    counts: Any,
    places: Any,
    tables: Any,
    lengths: Any,
    shared: Any,
    sizes: Any,
    codes: Any,
    weights: Any,
    index: Any,
) -> None:
    """Count one block of rows into every table, one table at a time."""
    for t, length in enumerate(lengths):
        cells = np.zeros(weights.size, dtype=np.int64)
        for column in tables[t, :length]:
            cells = cells * int(sizes[column]) + codes[column, : weights.size]
        np.add.at(counts, places[t] + cells, weights)


@compiled(
    lambda counts, places, tables, lengths, shared, sizes, codes, weights, index: (
        (8 + weights.size // 128) * tables.size
    ),
    interpreted=_count_rows,
)
def count_block(
    counts: Any,
    places: Any,
    tables: Any,
    lengths: Any,
    shared: Any,
    sizes: Any,
    codes: Any,
    weights: Any,
    index: Any,
) -> None:
    """Count one block of rows into every table.

    Parameters
    ----------
    counts
        The cells of all tables, one table after the other; added to.
    places
        Where each table begins in `counts`.
    tables, lengths
        The columns of each table, and how many they are; at least one.
    shared
        With how many columns each table begins like the one before it.
    sizes
        The domain size of each column.
    codes
        The codes of the block: one row for each column.
    weights
        How often each row of the block occurs.
    index
        Scratch: cell indices of the first columns of a table, for each number of them.
    """
    rows = weights.size
    for t in range(lengths.size):
        last = lengths[t] - 1
        for depth in range(shared[t], last):
            column = codes[tables[t, depth]]
            if depth == 0:
                for i in range(rows):
                    index[0, i] = column[i]
            else:
                radix = np.uint32(sizes[tables[t, depth]])
                for i in range(rows):
                    index[depth, i] = index[depth - 1, i] * radix + column[i]
        column = codes[tables[t, last]]
        cells = counts[places[t] : places[t + 1]]
        if last == 0:
            for i in range(rows):
                cells[column[i]] += weights[i]
        else:
            before = index[last - 1]
            radix = np.uint32(sizes[tables[t, last]])
            for i in range(rows):
                cells[before[i] * radix + column[i]] += weights[i]


def _distances_of_all(counts: Any, scale: int, expected: Any, starts: Any) -> Any:
    """Return the distances of tables, from the sums of all cells up to each."""
    apart = np.abs(scale * counts - expected)
    return np.diff(np.concatenate([[0], np.cumsum(apart)])[starts])


@compiled(
    lambda counts, scale, expected, starts: 32 + counts.size // 32, interpreted=_distances_of_all
)
def distances(counts: Any, scale: int, expected: Any, starts: Any) -> Any:
    """Return for each table the sum over its cells of |scale · count − expected|.

    Parameters
    ----------
    counts, expected
        The cells of all tables, one table after the other.
    scale
        In how many parts expected counts are given.
    starts
        Where each table begins, and where the last one ends.
    """
    apart = np.zeros(starts.size - 1, dtype=np.int64)
    for table in range(apart.size):
        for cell in range(starts[table], starts[table + 1]):
            apart[table] += abs(scale * counts[cell] - expected[cell])
    return apart
