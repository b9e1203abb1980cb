"""Exchanging the ends of edges until none is a loop or a repetition; compiled by Numba.

Everything here works on public numbers.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sfumato.graph.edge_set_kernels import bump, edge_key, room_for, table_for

__all__ = ["mend_edges"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _take_edge(keys: Any, counts: Any, left: int, right: int, nodes: int) -> int:
    """Take an edge away; return 1 if it was a loop or stood beside its equal."""
    if left == right:
        return 1
    place, _ = bump(keys, counts, edge_key(left, right, nodes))
    counts[place] -= 1
    return 1 if counts[place] > 0 else 0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_edge(keys: Any, counts: Any, left: int, right: int, nodes: int) -> Any:
    """Add an edge; return whether it is a loop or stands beside its equal, and new places."""
    if left == right:
        return 1, 0
    place, fresh = bump(keys, counts, edge_key(left, right, nodes))
    counts[place] += 1
    return (1 if counts[place] > 1 else 0), fresh


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _single(keys: Any, counts: Any, left: int, right: int, nodes: int) -> bool:
    """Tell whether an edge is neither a loop nor beside its equal."""
    if left == right:
        return False
    place, _ = bump(keys, counts, edge_key(left, right, nodes))
    return bool(counts[place] == 1)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _exchange(owner: Any, here: int, there: int, keys: Any, counts: Any, nodes: int) -> Any:
    """Exchange the nodes at two ends unless that makes more loops and repetitions.

    Returns how many places of the table are new.
    """
    mine, other = owner[here ^ 1], owner[there ^ 1]
    before = _take_edge(keys, counts, owner[here], mine, nodes)
    before += _take_edge(keys, counts, owner[there], other, nodes)
    first, fresh = _add_edge(keys, counts, owner[there], mine, nodes)
    second, more = _add_edge(keys, counts, owner[here], other, nodes)
    if first + second <= before:
        owner[here], owner[there] = owner[there], owner[here]
    else:
        _take_edge(keys, counts, owner[there], mine, nodes)
        _take_edge(keys, counts, owner[here], other, nodes)
        _add_edge(keys, counts, owner[here], mine, nodes)
        _add_edge(keys, counts, owner[there], other, nodes)
    return fresh + more


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def mend_edges(
    owner: Any,
    place_group: Any,
    places: Any,
    starts: Any,
    nodes: int,
    passes: int,
    tries: int,
    generator: Any,
) -> Any:
    """Exchange ends within groups until no edge is a loop or a repetition.

    An exchange is made if it leaves no more of them than before, so that they wander until they
    vanish. Returns which edges are to be kept: all but loops and repetitions that are left.
    """
    edges = len(owner) // 2
    keys = table_for(2 * edges + 8)
    counts = np.zeros(len(keys), dtype=np.int64)
    used = 0
    for edge in range(edges):
        _, fresh = _add_edge(keys, counts, owner[2 * edge], owner[2 * edge + 1], nodes)
        used += fresh
    for _ in range(passes):
        tried = 0
        for edge in range(edges):
            for _ in range(tries):
                if _single(keys, counts, owner[2 * edge], owner[2 * edge + 1], nodes):
                    break
                tried += 1
                here = 2 * edge + generator.integers(0, 2)
                group = place_group[here]
                first, last = starts[group], starts[group + 1]
                there = places[first + generator.integers(0, last - first)]
                if there >> 1 != edge:
                    keys, counts, used = room_for(keys, counts, used, 8)
                    used += _exchange(owner, here, there, keys, counts, nodes)
        if tried == 0:
            break
    kept = np.ones(edges, dtype=np.bool_)
    for edge in range(edges):
        if not _single(keys, counts, owner[2 * edge], owner[2 * edge + 1], nodes):
            _take_edge(keys, counts, owner[2 * edge], owner[2 * edge + 1], nodes)
            kept[edge] = False
    return kept
