"""The inner loop of drawing rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.compiling import compiled

__all__ = ["spread_evenly"]


def _spread_groups(cumulative: Any, given: Any, order: Any, shifts: Any) -> Any:
    """Do as `spread_evenly`, a group at a time. Shares and places in a group never fall."""
    groups, codes = cumulative.shape
    sizes = np.bincount(given, minlength=groups)
    ends = np.cumsum(sizes)
    ranked = order[np.argsort(given[order], kind="stable")]
    drawn = np.empty(order.size, dtype=np.int64)
    for group in np.flatnonzero(sizes):
        size = sizes[group]
        here = slice(ends[group] - size, ends[group])
        places = (np.arange(size) + shifts[here]) / size
        found = np.searchsorted(cumulative[group], places, side="right")
        drawn[ranked[here]] = np.minimum(found, codes - 1)
    return drawn


@compiled(
    lambda cumulative, given, order, shifts: 32 * len(cumulative) + order.size // 8,
    interpreted=_spread_groups,
)
def spread_evenly(cumulative: Any, given: Any, order: Any, shifts: Any) -> Any:
    """Return a code for each row, drawn from the row of shares that `given` names.

    Parameters
    ----------
    cumulative
        The shares of all codes up to each one, a row for each value of `given`.
    given
        The row of shares that each row of data follows.
    order
        All rows of data in random order.
    shifts
        Uniform random numbers, one for each row of data.
    """
    groups, codes = cumulative.shape
    counts = np.zeros(groups + 1, dtype=np.int64)
    for group in given:
        counts[group + 1] += 1
    firsts = np.cumsum(counts)
    places = firsts[:-1].copy()
    ranked = np.empty(order.size, dtype=np.int64)
    for row in order:
        ranked[places[given[row]]] = row
        places[given[row]] += 1
    drawn = np.empty(order.size, dtype=np.int64)
    for group in range(groups):
        first, size = firsts[group], firsts[group + 1] - firsts[group]
        code = 0
        for number in range(size):
            # Later rows of a group lie higher, so the search goes on where the last one ended.
            place = (number + shifts[first + number]) / size
            while code < codes - 1 and cumulative[group, code] <= place:
                code += 1
            drawn[ranked[first + number]] = code
    return drawn
