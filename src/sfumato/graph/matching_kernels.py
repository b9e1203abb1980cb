"""The hot loops of building graphs with given degrees, compiled by Numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sfumato.graph.edge_set_kernels import below, edge_key, forget, has, put, table_for

__all__ = ["match_stubs", "realise_degrees"]

#: How often a stub that has found no mate looks for one before a graph is built by rule instead.
TRIES = 400


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def realise_degrees(order: Any, degrees: Any) -> Any:
    """Return the edges of the graph that Havel and Hakimi build for graphical degrees.

    Parameters
    ----------
    order
        The nodes by falling degree.
    degrees
        The degree of each node.

    Notes
    -----
    The node with the fewest edges left is joined to those with the most. Of equal ones the last
    are taken, which keeps the order.
    """
    edges = 0
    for node in order:
        edges += degrees[node]
    low = np.empty(edges // 2, dtype=np.int64)
    high = np.empty(edges // 2, dtype=np.int64)
    left = np.empty(len(order), dtype=np.int64)
    for place in range(len(order)):
        left[place] = degrees[order[place]]
    # How many of those that are not done have at least so many edges left.
    least = np.zeros(len(order) + 2, dtype=np.int64)
    for place in range(len(order)):
        least[left[place]] += 1
    for value in range(len(order), -1, -1):
        least[value] += least[value + 1]
    filled = 0
    for end in range(len(order) - 1, 0, -1):
        many = left[end]
        if many == 0:
            continue
        least[1 : many + 1] -= 1
        # Before `begin` all are above the last value that is needed; at `stop` those of it end.
        value = left[many - 1]
        begin, stop = least[value + 1], least[value]
        for number in range(many):
            place = number if number < begin else stop - many + number
            least[left[place]] -= 1
            left[place] -= 1
            one, two = order[end], order[place]
            low[filled], high[filled] = min(one, two), max(one, two)
            filled += 1
    return low, high


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def match_stubs(starts: Any, generator: Any) -> Any:
    """Join stubs at random into a simple graph; tells whether that came to an end.

    Stubs are shuffled and joined two by two. A pair that would be a loop or a second edge breaks up
    an edge at random: its stubs go to the ends of that.

    Returns
    -------
    complete, low, high
        Whether every stub found a mate, and the edges.
    """
    nodes = len(starts) - 1
    size = starts[nodes]
    owner = np.empty(size, dtype=np.int64)
    for node in range(nodes):
        owner[starts[node] : starts[node + 1]] = node
    for place in range(size - 1, 0, -1):
        other = below(generator, place + 1)
        owner[place], owner[other] = owner[other], owner[place]
    low = np.empty(size // 2, dtype=np.int64)
    high = np.empty(size // 2, dtype=np.int64)
    table = table_for(size // 2)
    filled, waiting = 0, 0
    for pair in range(size // 2):
        one, two = owner[2 * pair], owner[2 * pair + 1]
        if one == two or has(table, edge_key(one, two, nodes)):
            owner[2 * waiting], owner[2 * waiting + 1] = one, two
            waiting += 1
        else:
            put(table, edge_key(one, two, nodes))
            low[filled], high[filled] = one, two
            filled += 1
    for pair in range(waiting):
        one, two = owner[2 * pair], owner[2 * pair + 1]
        joined = False
        for _ in range(TRIES):
            if filled == 0:
                break
            edge = below(generator, filled)
            three, four = low[edge], high[edge]
            if generator.random() < 0.5:
                three, four = four, three
            if one == three or two == four:
                continue
            fresh, second = edge_key(one, three, nodes), edge_key(two, four, nodes)
            if fresh == second or has(table, fresh) or has(table, second):
                continue
            forget(table, edge_key(three, four, nodes))
            put(table, fresh)
            put(table, second)
            low[edge], high[edge] = one, three
            low[filled], high[filled] = two, four
            filled += 1
            joined = True
            break
        if not joined:
            return False, low, high
    return True, low, high
