"""How large a model would become if one more table were joined to it, for thousands of tables.

The same greedy elimination as in `junction`, compiled. Public arithmetic on sizes and sets, made of
products alone, which every platform rounds alike: a verifier elsewhere must come to the same sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["grown_cells"]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _eliminated_cells(near: Any, sizes: Any) -> float:
    """Return the cells of all maximal cliques of a greedy elimination; `near` is used up."""
    columns = sizes.size
    gone = np.zeros(columns, dtype=np.bool_)
    costs = np.empty(columns)
    for column in range(columns):
        cost = 1.0
        for other in range(columns):
            if near[column, other]:
                cost *= sizes[other]
        costs[column] = cost
    cliques = np.zeros((columns, columns), dtype=np.bool_)
    members = np.empty(columns, dtype=np.int64)
    found = 0
    total = 0.0
    for _ in range(columns):
        best = -1
        for column in range(columns):
            if not gone[column] and (best < 0 or costs[column] < costs[best]):
                best = column
        count = 0
        for other in range(columns):
            if near[best, other]:
                members[count] = other
                count += 1
        inside = False
        for clique in range(found):
            covered = True
            for place in range(count):
                if not cliques[clique, members[place]]:
                    covered = False
                    break
            if covered:
                inside = True
                break
        if not inside:
            cells = 1.0
            for place in range(count):
                cliques[found, members[place]] = True
                cells *= sizes[members[place]]
            found += 1
            total += cells
        gone[best] = True
        for place in range(count):
            one = members[place]
            if one == best:
                continue
            near[one, best] = False
            for second in range(count):
                if members[second] != best:
                    near[one, members[second]] = True
            cost = 1.0
            for other in range(columns):
                if near[one, other]:
                    cost *= sizes[other]
            costs[one] = cost
    return total


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def grown_cells(near: Any, sizes: Any, members: Any, starts: Any) -> Any:
    """Return for each set the cells of the model after it was joined.

    Parameters
    ----------
    near
        Which columns the model already joins, as a matrix with a true diagonal.
    sizes
        The domain size of each column, as floats.
    members, starts
        The columns of all sets one after another, and where each set starts.
    """
    result = np.empty(starts.size - 1)
    work = near.copy()
    # Sets that lie within what is joined change nothing.
    unchanged = _eliminated_cells(work, sizes)
    for number in range(starts.size - 1):
        fresh = False
        for first in range(starts[number], starts[number + 1]):
            for second in range(starts[number], starts[number + 1]):
                if not near[members[first], members[second]]:
                    fresh = True
        if not fresh:
            result[number] = unchanged
            continue
        work[:, :] = near
        for first in range(starts[number], starts[number + 1]):
            for second in range(starts[number], starts[number + 1]):
                work[members[first], members[second]] = True
        result[number] = _eliminated_cells(work, sizes)
    return result
