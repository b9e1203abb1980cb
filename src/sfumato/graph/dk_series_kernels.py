"""The hot loop of counting triples of nodes by their degrees, compiled by Numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sfumato.graph.edge_set_kernels import EMPTY, bump, room_for, table_for

__all__ = ["closed_triples", "paths_by_class"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def paths_by_class(starts: Any, classes: Any, kind: Any, kinds: int) -> Any:
    """Count the paths of two edges, closed or not, by (centre, lower end, higher end).

    Parameters
    ----------
    starts, classes
        Rows of the adjacency, with the class of the degree of each neighbour in its place.
    kind, kinds
        The class of each node, and how many classes there are.

    Returns
    -------
    keys, counts
        Keys are (centre · kinds + low) · kinds + high.
    """
    keys = table_for(16)
    counts = np.zeros(len(keys), dtype=np.int64)
    used = 0
    number = np.zeros(kinds, dtype=np.int64)
    touched = np.empty(kinds, dtype=np.int64)
    for node in range(len(starts) - 1):
        many = 0
        for at in range(starts[node], starts[node + 1]):
            if number[classes[at]] == 0:
                touched[many] = classes[at]
                many += 1
            number[classes[at]] += 1
        for first in range(many):
            keys, counts, used = room_for(keys, counts, used, many)
            one = touched[first]
            for second in range(first, many):
                other = touched[second]
                if one == other:
                    paths = number[one] * (number[one] - 1) // 2
                else:
                    paths = number[one] * number[other]
                if paths:
                    low, high = min(one, other), max(one, other)
                    place, new = bump(keys, counts, (kind[node] * kinds + low) * kinds + high)
                    used += new
                    counts[place] += paths
        for first in range(many):
            number[touched[first]] = 0
    held = keys != EMPTY
    return keys[held], counts[held]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def closed_triples(starts: Any, neighbours: Any, kind: Any, kinds: int) -> Any:
    """Count the triangles by the classes of their nodes, rising.

    Nodes come by falling degree and rows are sorted: each triangle is found from its last node.
    """
    nodes = len(starts) - 1
    keys = table_for(16)
    counts = np.zeros(len(keys), dtype=np.int64)
    used = 0
    joined = np.zeros(nodes, dtype=np.bool_)
    for node in range(nodes):
        for at in range(starts[node], starts[node + 1]):
            if neighbours[at] >= node:
                break
            joined[neighbours[at]] = True
        for at in range(starts[node], starts[node + 1]):
            middle = neighbours[at]
            if middle >= node:
                break
            keys, counts, used = room_for(keys, counts, used, starts[middle + 1] - starts[middle])
            for second in range(starts[middle], starts[middle + 1]):
                third = neighbours[second]
                if third >= middle:
                    break
                if joined[third]:
                    # Falling degree: the classes rise from the last node to the first.
                    key = (kind[node] * kinds + kind[middle]) * kinds + kind[third]
                    place, new = bump(keys, counts, key)
                    used += new
                    counts[place] += 1
        for at in range(starts[node], starts[node + 1]):
            if neighbours[at] >= node:
                break
            joined[neighbours[at]] = False
    held = keys != EMPTY
    return keys[held], counts[held]
