"""The hot loop of rewiring towards counts of wedges and triangles by degree, compiled by Numba.

Graphs are matched stubs as in `rewiring_kernels`. A table holds for every kind of triple how many
more there are than wanted; the squares of these are summed up to the distance that is made small.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sfumato.graph.edge_set_kernels import below, bump, edge_key, has, room_for
from sfumato.graph.rewiring_kernels import closing, exchange, may_swap

__all__ = ["refine_triples", "triangle_key", "wedge_key"]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def wedge_key(centre: int, one: int, two: int, kinds: int) -> Any:
    """Return the key of a kind of wedge."""
    return (np.int64(centre) * kinds + min(one, two)) * kinds + max(one, two)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def triangle_key(one: int, two: int, three: int, kinds: int) -> Any:
    """Return the key of a kind of triangle: after all kinds of wedges."""
    low, high = min(one, two, three), max(one, two, three)
    middle = one + two + three - low - high
    return ((np.int64(kinds) + low) * kinds + middle) * kinds + high


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _change(keys: Any, counts: Any, log: Any, key: int, amount: int) -> Any:
    """Change one count, note it in the log, and return by how much the distance grows.

    The log is (place, amount) in rows; log[0] says how many rows are in use and how many keys were
    new.
    """
    place, new = bump(keys, counts, key)
    grown = amount * (2 * counts[place] + amount)
    counts[place] += amount
    log[0, 0] += 1
    log[0, 1] += new
    log[log[0, 0], 0] = place
    log[log[0, 0], 1] = amount
    return grown


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _undo(counts: Any, log: Any) -> None:
    """Take back all changes in the log."""
    for row in range(1, log[0, 0] + 1):
        counts[log[row, 0]] -= log[row, 1]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _change_paths(
    keys: Any,
    counts: Any,
    log: Any,
    starts: Any,
    ends: Any,
    kind: Any,
    kinds: int,
    node: int,
    old: int,
    new: int,
) -> Any:
    """Change the paths through a node whose neighbour `old` becomes one of the kind of `new`."""
    grown = np.int64(0)
    for at in range(starts[node], starts[node + 1]):
        other = ends[at]
        if other != old:
            gone = wedge_key(kind[node], kind[other], kind[old], kinds)
            come = wedge_key(kind[node], kind[other], kind[new], kinds)
            grown += _change(keys, counts, log, gone, -1)
            grown += _change(keys, counts, log, come, 1)
    return grown


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _change_triangles(
    keys: Any,
    counts: Any,
    log: Any,
    starts: Any,
    ends: Any,
    table: Any,
    kind: Any,
    kinds: int,
    left: int,
    right: int,
    but: int,
    nor: int,
    amount: int,
) -> Any:
    """Change the triangles over a pair of nodes: each is three wedges fewer.

    Common neighbours `but` and `nor` do not count.
    """
    nodes = len(starts) - 1
    if starts[left + 1] - starts[left] > starts[right + 1] - starts[right]:
        left, right = right, left
    one, two = kind[left], kind[right]
    grown = np.int64(0)
    for at in range(starts[left], starts[left + 1]):
        node = ends[at]
        if node in (right, but, nor) or not has(table, edge_key(node, right, nodes)):
            continue
        three = kind[node]
        grown += _change(keys, counts, log, triangle_key(one, two, three, kinds), amount)
        grown += _change(keys, counts, log, wedge_key(one, two, three, kinds), -amount)
        grown += _change(keys, counts, log, wedge_key(two, one, three, kinds), -amount)
        grown += _change(keys, counts, log, wedge_key(three, one, two, kinds), -amount)
    return grown


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _try_exchange(
    keys: Any,
    counts: Any,
    log: Any,
    starts: Any,
    ends: Any,
    table: Any,
    kind: Any,
    kinds: int,
    a: int,
    b: int,
    c: int,
    e: int,
) -> Any:
    """Count as if the edges a–b and c–e were a–e and c–b; return by how much the distance grows.

    b and e have the same degree, so that paths through a and c keep their kinds. Paths are counted
    whether their ends are joined or not, and the triangles are then taken off.
    """
    log[0, 0] = 0
    log[0, 1] = 0
    grown = np.int64(0)
    if kind[a] != kind[c]:
        grown += _change_paths(keys, counts, log, starts, ends, kind, kinds, b, a, c)
        grown += _change_paths(keys, counts, log, starts, ends, kind, kinds, e, c, a)
    for left, right, but, nor, amount in (
        (a, b, b, b, -1),
        (c, e, e, e, -1),
        (a, e, b, c, 1),
        (c, b, a, e, 1),
    ):
        grown += _change_triangles(
            keys, counts, log, starts, ends, table, kind, kinds, left, right, but, nor, amount
        )
    return grown


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def refine_triples(
    owner: Any,
    mate: Any,
    starts: Any,
    ends: Any,
    table: Any,
    first: Any,
    last: Any,
    keys: Any,
    counts: Any,
    kind: Any,
    kinds: int,
    steps: int,
    heat: float,
    generator: Any,
) -> Any:
    """Exchange mates with the joint degrees kept, so that counts of triples come close to wanted.

    Exchanges that bring the counts closer are made, and others with probability
    exp(−farther / temperature). The temperature begins with `heat` times what exchanges change at
    first, and falls to 0. Every second exchange proposed closes a wedge.

    Parameters
    ----------
    owner, mate, starts, ends, table, first, last
        The graph, as in `rewiring_kernels`; changed in place.
    keys, counts
        A table of how many more triples of each kind there are than wanted.
    kind, kinds
        The class of the degree of each node, and how many there are.
    steps, heat, generator
        How many exchanges are proposed, how warm it is at first, and the source of chance.

    Returns
    -------
    change
        By how much the distance, the sum of the squares, has grown.
    """
    nodes, size = len(starts) - 1, len(owner)
    widest = starts[nodes] - starts[nodes - 1]
    log = np.zeros((20 * widest + 2, 2), dtype=np.int64)
    used, total, typical, seen = len(keys) // 2, np.int64(0), 0.0, 0
    for step in range(steps):
        if step & 1:
            one, two = closing(owner, mate, starts, ends, first, last, generator)
            if one < 0:
                continue
        else:
            one = below(generator, size)
            node = owner[mate[one]]
            two = np.int64(mate[first[node] + below(generator, last[node] - first[node])])
        if not may_swap(owner, mate, table, nodes, one, two):
            continue
        keys, counts, used = room_for(keys, counts, used, len(log))
        grown = _try_exchange(
            keys,
            counts,
            log,
            starts,
            ends,
            table,
            kind,
            kinds,
            owner[one],
            ends[one],
            owner[two],
            ends[two],
        )
        used += log[0, 1]
        if seen < 1000 and grown != 0:
            # The mean size of the first changes, in the making.
            seen += 1
            typical += (abs(grown) - typical) / seen
        if grown > 0:
            left = 1.0 - step / steps
            temperature = heat * typical * left * left * left
            if temperature <= 0.0 or generator.random() >= np.exp(-grown / temperature):
                _undo(counts, log)
                continue
        exchange(owner, mate, ends, table, nodes, one, two)
        total += grown
    return total
