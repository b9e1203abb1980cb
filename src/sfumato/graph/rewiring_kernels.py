"""The hot loops of rewiring graphs, compiled by Numba.

A graph is a perfect matching of stubs: stub s belongs to node `owner[s]` for good, and is joined to
stub `mate[s]`. Nodes are numbered by rising degree and their stubs in a row, so the stubs of all
nodes of one degree are a row too. Rewiring exchanges the mates of two stubs: it keeps all degrees,
and the joint degrees too where the mates' owners have the same degree. `ends[s]` is the owner of
the mate, so that ends[starts[v] : starts[v + 1]] are the neighbours of v.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sfumato.graph.edge_set_kernels import below, edge_key, forget, has, put, table_for

__all__ = [
    "closing",
    "exchange",
    "join_stubs",
    "may_swap",
    "steer_triangles",
    "swap_ends",
]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def join_stubs(low: Any, high: Any, starts: Any) -> Any:
    """Return the owner, mate and end of every stub of a graph, and the set of its edges."""
    nodes = len(starts) - 1
    owner = np.empty(starts[nodes], dtype=np.int32)
    mate = np.empty(starts[nodes], dtype=np.int32)
    ends = np.empty(starts[nodes], dtype=np.int32)
    for node in range(nodes):
        owner[starts[node] : starts[node + 1]] = node
    place = starts[:-1].copy()
    table = table_for(len(low))
    for edge in range(len(low)):
        left, right = place[low[edge]], place[high[edge]]
        place[low[edge]] += 1
        place[high[edge]] += 1
        mate[left], mate[right] = right, left
        ends[left], ends[right] = high[edge], low[edge]
        put(table, edge_key(low[edge], high[edge], nodes))
    return owner, mate, ends, table


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def exchange(owner: Any, mate: Any, ends: Any, table: Any, nodes: int, one: int, two: int) -> None:
    """Join each of two stubs to the mate that the other had."""
    first, second = mate[one], mate[two]
    forget(table, edge_key(owner[one], owner[first], nodes))
    forget(table, edge_key(owner[two], owner[second], nodes))
    put(table, edge_key(owner[one], owner[second], nodes))
    put(table, edge_key(owner[two], owner[first], nodes))
    mate[one], mate[second] = second, one
    mate[two], mate[first] = first, two
    ends[one], ends[second] = owner[second], owner[one]
    ends[two], ends[first] = owner[first], owner[two]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def may_swap(owner: Any, mate: Any, table: Any, nodes: int, one: int, two: int) -> bool:
    """Tell whether exchanging the mates of two stubs leaves a simple, other graph."""
    left, right = owner[one], owner[two]
    first, second = owner[mate[one]], owner[mate[two]]
    if left in (right, second) or first in (right, second):
        return False
    if has(table, edge_key(left, second, nodes)):
        return False
    return not has(table, edge_key(right, first, nodes))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def swap_ends(
    ends: Any, table: Any, places: Any, first: Any, last: Any, steps: int, generator: Any
) -> int:
    """Exchange ends of edges at random, `steps` times if the graph stays simple; returns how often.

    Parameters
    ----------
    ends
        Edge i joins ends[2i] and ends[2i + 1]; changed in place.
    table
        The set of the edges; changed in place.
    places
        Empty where only degrees are kept. Otherwise all places of `ends` by the degree of the node
        there, which an exchange of nodes of the same degree does not change.
    first, last
        The places of nodes of the degree of v are places[first[v]] … places[last[v] − 1].
    steps
        How many exchanges are proposed.
    generator
        Where random numbers come from.
    """
    nodes, size, done = len(first), len(ends), 0
    joint = len(places) > 0
    for _ in range(steps):
        one = below(generator, size)
        left, first_end = ends[one ^ 1], ends[one]
        if joint:
            begin = first[first_end]
            two = np.int64(places[begin + below(generator, last[first_end] - begin)])
        else:
            two = below(generator, size)
        right, second_end = ends[two ^ 1], ends[two]
        if left in (right, second_end) or first_end in (right, second_end):
            continue
        fresh, other = edge_key(left, second_end, nodes), edge_key(right, first_end, nodes)
        if has(table, fresh) or has(table, other):
            continue
        forget(table, edge_key(left, first_end, nodes))
        forget(table, edge_key(right, second_end, nodes))
        put(table, fresh)
        put(table, other)
        ends[one], ends[two] = second_end, first_end
        done += 1
    return done


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_common_neighbours(
    starts: Any, ends: Any, table: Any, nodes: int, left: int, right: int
) -> Any:
    """Return the number of common neighbours of two nodes."""
    if starts[left + 1] - starts[left] > starts[right + 1] - starts[right]:
        left, right = right, left
    count = 0
    for at in range(starts[left], starts[left + 1]):
        if ends[at] != right and has(table, edge_key(ends[at], right, nodes)):
            count += 1
    return count


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _gain(
    owner: Any, mate: Any, starts: Any, ends: Any, table: Any, nodes: int, one: int, two: int
) -> Any:
    """Return by how much an allowed exchange raises the number of triangles.

    The edges a–b and c–e become a–e and c–b. A common neighbour counts for a new edge unless it is
    one by an edge that goes: a and b, or c and e, are such for both new edges if the two are.
    """
    a, b = owner[one], owner[mate[one]]
    c, e = owner[two], owner[mate[two]]
    gain = _count_common_neighbours(starts, ends, table, nodes, a, e) + _count_common_neighbours(
        starts, ends, table, nodes, c, b
    )
    gain -= _count_common_neighbours(starts, ends, table, nodes, a, b) + _count_common_neighbours(
        starts, ends, table, nodes, c, e
    )
    if has(table, edge_key(b, e, nodes)):
        gain -= 2
    if has(table, edge_key(a, c, nodes)):
        gain -= 2
    return gain


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _other_stub(starts: Any, node: int, but: int, generator: Any) -> Any:
    """Return a random stub of a node other than one of them; −1 if it has no other."""
    many = starts[node + 1] - starts[node]
    if many < 2:
        return np.int64(-1)
    stub = starts[node] + below(generator, many - 1)
    return stub + 1 if stub >= but else stub


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def closing(
    owner: Any, mate: Any, starts: Any, ends: Any, first: Any, last: Any, generator: Any
) -> Any:
    """Propose an exchange that closes a wedge u–v–w: edges u–x and y–w become u–w and y–x.

    Returns the stubs whose mates are exchanged, or −1. With joint degrees kept, w must have the
    degree of x: it is looked for among the neighbours of v.
    """
    failed = (np.int64(-1), np.int64(-1))
    stub = below(generator, len(owner))
    node, centre = owner[stub], ends[stub]
    one = _other_stub(starts, node, stub, generator)
    if one < 0:
        return failed
    alike = ends[one]
    low, high = first[alike], last[alike]
    back = mate[stub]
    if high - low == len(owner):
        way = _other_stub(starts, centre, back, generator)
        if way < 0:
            return failed
    else:
        way, found = np.int64(-1), 0
        for at in range(starts[centre], starts[centre + 1]):
            if at != back and low <= mate[at] < high:
                found += 1
                if below(generator, found) == 0:
                    way = at
        if way < 0:
            return failed
    third = ends[way]
    leaving = _other_stub(starts, third, mate[way], generator)
    if leaving < 0:
        return failed
    return one, mate[leaving]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def steer_triangles(
    owner: Any,
    mate: Any,
    starts: Any,
    ends: Any,
    table: Any,
    first: Any,
    last: Any,
    triangles: int,
    target: int,
    steps: int,
    heat: float,
    generator: Any,
) -> Any:
    """Exchange mates so that the number of triangles comes close to a target.

    An exchange is made if it brings the number no farther away, or else with probability
    exp(−farther / temperature); the temperature falls in a line from `heat` to 0. While triangles
    are missing, exchanges that close a wedge are proposed; otherwise any.

    Returns
    -------
    triangles, proposed
        The number of triangles at the end, and of exchanges that were proposed.
    """
    nodes, size = len(first), len(owner)
    for step in range(steps):
        missing = target - triangles
        if missing == 0:
            return triangles, step
        if missing > 0:
            one, two = closing(owner, mate, starts, ends, first, last, generator)
            if one < 0:
                continue
        else:
            one = below(generator, size)
            node = owner[mate[one]]
            two = mate[first[node] + below(generator, last[node] - first[node])]
        if not may_swap(owner, mate, table, nodes, one, two):
            continue
        gain = _gain(owner, mate, starts, ends, table, nodes, one, two)
        farther = abs(missing - gain) - abs(missing)
        if farther > 0:
            temperature = heat * (1.0 - step / steps)
            if temperature <= 0.0 or generator.random() >= np.exp(-farther / temperature):
                continue
        exchange(owner, mate, ends, table, nodes, one, two)
        triangles += gain
    return triangles, steps
