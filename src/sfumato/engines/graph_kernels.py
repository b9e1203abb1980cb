"""The hot loops of counting in graphs, compiled by Numba.

Imported only when something is counted. Nodes are numbered by falling degree here, and every row of
the adjacency is sorted, so that the neighbours of higher degree are the front part of a row. What
these loops return is private; how long they take depends on the graph.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = [
    "adjacency_rows",
    "both_ends",
    "close_pairs",
    "frontier",
    "renumber",
    "triangles_by_edge",
    "weightiest_pairs",
]

#: Sums of whole numbers below this are exact in floating point.
EXACT = float(1 << 53)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def adjacency_rows(low: Any, high: Any, nodes: int) -> Any:
    """Return the rows of the symmetric adjacency of sorted pairs low < high, each row sorted."""
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for edge in range(len(low)):
        starts[low[edge] + 1] += 1
        starts[high[edge] + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    place = starts[:-1].copy()
    neighbours = np.empty(2 * len(low), dtype=np.int32)
    # First the smaller neighbours of every node, in order; then the larger ones.
    for edge in range(len(low)):
        neighbours[place[high[edge]]] = low[edge]
        place[high[edge]] += 1
    for edge in range(len(low)):
        neighbours[place[low[edge]]] = high[edge]
        place[low[edge]] += 1
    return starts, neighbours


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def renumber(starts: Any, neighbours: Any, order: Any, rank: Any) -> Any:
    """Return the rows with node order[i] called i, each row sorted."""
    nodes = len(order)
    fresh = np.zeros(nodes + 1, dtype=np.int64)
    for node in range(nodes):
        fresh[node + 1] = fresh[node] + starts[order[node] + 1] - starts[order[node]]
    place = fresh[:-1].copy()
    rows = np.empty(len(neighbours), dtype=np.int32)
    for node in range(nodes):
        old = order[node]
        for at in range(starts[old], starts[old + 1]):
            other = rank[neighbours[at]]
            rows[place[other]] = node
            place[other] += 1
    return fresh, rows


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def triangles_by_edge(starts: Any, neighbours: Any) -> Any:
    """Return for every place of a row how many triangles its edge is in, at the larger end only.

    Each triangle is found once, from its node of lowest degree.
    """
    nodes = len(starts) - 1
    counts = np.zeros(len(neighbours), dtype=np.int64)
    where = np.full(nodes, -1, dtype=np.int64)
    for node in range(nodes):
        for at in range(starts[node], starts[node + 1]):
            if neighbours[at] >= node:
                break
            where[neighbours[at]] = at
        for at in range(starts[node], starts[node + 1]):
            middle = neighbours[at]
            if middle >= node:
                break
            for second in range(starts[middle], starts[middle + 1]):
                third = neighbours[second]
                if third >= middle:
                    break
                if where[third] >= 0:
                    counts[at] += 1
                    counts[second] += 1
                    counts[where[third]] += 1
        for at in range(starts[node], starts[node + 1]):
            if neighbours[at] >= node:
                break
            where[neighbours[at]] = -1
    return counts


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def both_ends(starts: Any, neighbours: Any, counts: Any) -> Any:
    """Return what `triangles_by_edge` does, at both ends of every edge."""
    nodes = len(starts) - 1
    both = counts.copy()
    # Edge (v, w), w < v, stands in row w behind those of all v before: the rows are sorted.
    place = np.empty(nodes, dtype=np.int64)
    for node in range(nodes):
        place[node] = starts[node]
        for at in range(starts[node], starts[node + 1]):
            if neighbours[at] >= node:
                break
            place[node] += 1
            both[place[neighbours[at]]] = counts[at]
            place[neighbours[at]] += 1
    return both


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _record_pair(best: Any, shared: int, half: int) -> None:
    """Write a pair down: best[a] is the largest b of pairs with at least a common neighbours."""
    place = shared
    while place >= 0 and best[place] < half:
        best[place] = half
        place -= 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _least_degree(least: Any, first: int, degree: int, other: int) -> int:
    """Return the least degree of a node that could have b ≥ least[a] with one of a larger degree.

    Of `first` ≤ a ≤ other only, `other` being the largest degree that is left; beyond it: none.
    """
    needed = other + 1
    for shared in range(first, min(other + 1, len(least))):
        # b is at most the sum of both degrees less 2a, and a at most the smaller degree.
        needed = min(needed, max(shared, least[shared] + 2 * shared - degree))
    return needed


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_shared(
    starts: Any,
    neighbours: Any,
    node: int,
    last: int,
    ahead: Any,
    counts: Any,
    touched: Any,
    adjacent: Any,
) -> int:
    """Count the common neighbours of a node with later ones up to `last`; mark its neighbours.

    Returns how many of them share any; they are listed in `touched`. `ahead` holds for every node
    the first place of its row that is not before this one: nodes are passed in order. Whoever
    calls sets `counts` and `adjacent` back.
    """
    many = 0
    for at in range(starts[node], starts[node + 1]):
        middle = neighbours[at]
        adjacent[middle] = True
        ahead[middle] += 1
        for second in range(ahead[middle], starts[middle + 1]):
            other = neighbours[second]
            if other > last:
                break
            if counts[other] == 0:
                touched[many] = other
                many += 1
            counts[other] += 1
    return many


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def frontier(starts: Any, neighbours: Any) -> Any:
    """Return the largest b of all pairs with at least a common neighbours, for each a; −1: none.

    Nodes come by falling degree, and each is paired with those later ones only whose degree is
    large enough to add anything; as soon as there are none, the search ends.
    """
    nodes = len(starts) - 1
    widest = 0 if nodes == 0 else starts[1] - starts[0]
    best = np.full(widest + 1, -1, dtype=np.int64)
    ahead = starts[:-1].copy()
    counts = np.zeros(nodes, dtype=np.int64)
    touched = np.empty(nodes, dtype=np.int64)
    adjacent = np.zeros(nodes, dtype=np.bool_)
    last = nodes - 1
    for node in range(nodes - 1):
        degree = starts[node + 1] - starts[node]
        needed = _least_degree(best + 1, 0, degree, starts[node + 2] - starts[node + 1])
        while last > node and starts[last + 1] - starts[last] < needed:
            last -= 1
        if last == node:
            break
        many = _count_shared(starts, neighbours, node, last, ahead, counts, touched, adjacent)
        for number in range(many):
            other = touched[number]
            shared = counts[other]
            half = degree + starts[other + 1] - starts[other] - 2 * shared
            if adjacent[other]:
                half -= 2
            if best[shared] < half:
                _record_pair(best, shared, half)
        # Without a common neighbour: the first few nodes of the highest degree decide.
        for other in range(node + 1, last + 1):
            half = degree + starts[other + 1] - starts[other]
            if half <= best[0]:
                break
            if counts[other] == 0:
                if adjacent[other]:
                    half -= 2
                if best[0] < half:
                    best[0] = half
        for number in range(many):
            counts[touched[number]] = 0
        for at in range(starts[node], starts[node + 1]):
            adjacent[neighbours[at]] = False
    return best


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def close_pairs(starts: Any, neighbours: Any, least: Any) -> Any:
    """Return all pairs of a ≥ 1 common neighbours with b at least least[a], with their a and b.

    Pairs with more common neighbours than `least` is long are left out.
    """
    nodes = len(starts) - 1
    ahead = starts[:-1].copy()
    counts = np.zeros(nodes, dtype=np.int64)
    touched = np.empty(nodes, dtype=np.int64)
    adjacent = np.zeros(nodes, dtype=np.bool_)
    size, filled = 1024, 0
    pairs = np.empty((size, 4), dtype=np.int64)
    last = nodes - 1
    for node in range(nodes - 1):
        degree = starts[node + 1] - starts[node]
        needed = _least_degree(least, 1, degree, starts[node + 2] - starts[node + 1])
        while last > node and starts[last + 1] - starts[last] < needed:
            last -= 1
        if last == node:
            break
        many = _count_shared(starts, neighbours, node, last, ahead, counts, touched, adjacent)
        for number in range(many):
            other = touched[number]
            shared = counts[other]
            counts[other] = 0
            half = degree + starts[other + 1] - starts[other] - 2 * shared
            if adjacent[other]:
                half -= 2
            if shared < len(least) and half >= least[shared]:
                if filled == size:
                    size *= 2
                    larger = np.empty((size, 4), dtype=np.int64)
                    larger[:filled] = pairs[:filled]
                    pairs = larger
                pairs[filled, 0] = node
                pairs[filled, 1] = other
                pairs[filled, 2] = shared
                pairs[filled, 3] = half
                filled += 1
        for at in range(starts[node], starts[node + 1]):
            adjacent[neighbours[at]] = False
    return pairs[:filled]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _reaches(starts: Any, shared: Any, apart: Any, most: int) -> Any:
    """Return for each node what any `most` of its edges weigh at most together."""
    nodes = len(starts) - 1
    reach = np.zeros(nodes, dtype=np.float64)
    for node in range(nodes):
        total, heaviest = 0.0, 0.0
        for at in range(starts[node], starts[node + 1]):
            total += apart[shared[at]]
            heaviest = max(heaviest, apart[shared[at]])
        reach[node] = min(total, most * heaviest)
    return reach


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _weigh_shared(
    starts: Any,
    neighbours: Any,
    node: int,
    last: int,
    ahead: Any,
    shared: Any,
    apart: Any,
    joined: Any,
    adjacent: Any,
    sums: Any,
) -> None:
    """Add up the weights of both edges to every common neighbour, after `_count_shared`."""
    for at in range(starts[node], starts[node + 1]):
        middle = neighbours[at]
        for second in range(ahead[middle], starts[middle + 1]):
            other = neighbours[second]
            if other > last:
                break
            weights = joined if adjacent[other] else apart
            sums[other] += weights[shared[at]] + weights[shared[second]]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def weightiest_pairs(
    starts: Any,
    neighbours: Any,
    shared: Any,
    own: Any,
    apart: Any,
    joined: Any,
    slack: float,
) -> Any:
    """Return the largest weight of a pair, and where it is not exact the pairs that come near it.

    The weight is that of the pair itself and Σ over common neighbours of those of their edges.
    Below `EXACT` it is exact, and no pairs are returned. A pair is looked at only if what the edges
    of its two nodes weigh could make it the heaviest.

    Parameters
    ----------
    starts, neighbours
        The rows.
    shared
        For every place of a row, how many common neighbours its edge has.
    own
        The weight of a pair with a common neighbours: whole numbers that do not fall. It is as long
        as the largest a asks for.
    apart, joined
        The weight of an edge with a common neighbours, where the pair is not, or is, adjacent;
        whole numbers that do not fall, the second ones never larger than the first.
    slack
        Pairs within this part of the largest are returned, for an exact second look.
    """
    nodes = len(starts) - 1
    most = len(own) - 1
    reach = _reaches(starts, shared, apart, most)
    # What a pair of a node with this one or a later one gains from that one, at most; negative, so
    # that it rises.
    beyond = np.zeros(nodes, dtype=np.float64)
    gain = 0.0
    for node in range(nodes - 1, -1, -1):
        gain = max(gain, reach[node] + own[min(most, starts[node + 1] - starts[node])])
        beyond[node] = -gain
    ahead = starts[:-1].copy()
    counts = np.zeros(nodes, dtype=np.int64)
    sums = np.zeros(nodes, dtype=np.float64)
    touched = np.empty(nodes, dtype=np.int64)
    adjacent = np.zeros(nodes, dtype=np.bool_)
    largest = 0.0
    size, filled = 1024, 0
    pairs = np.empty((size, 2), dtype=np.int64)
    values = np.empty(size, dtype=np.float64)
    for node in range(nodes - 1):
        if largest < EXACT:
            # Sums of whole numbers are exact below it: what does not exceed the largest is passed.
            last = np.searchsorted(beyond, reach[node] - largest) - 1
        else:
            cut = largest * (1 - 2 * slack)
            last = np.searchsorted(beyond, reach[node] - cut, side="right") - 1
        if last <= node:
            for at in range(starts[node], starts[node + 1]):
                ahead[neighbours[at]] += 1
            continue
        many = _count_shared(starts, neighbours, node, last, ahead, counts, touched, adjacent)
        _weigh_shared(starts, neighbours, node, last, ahead, shared, apart, joined, adjacent, sums)
        for number in range(many):
            other = touched[number]
            value = own[counts[other]] + sums[other]
            counts[other] = 0
            sums[other] = 0.0
            if value < largest * (1 - slack):
                continue
            largest = max(largest, value)
            if value < EXACT:
                continue
            if filled == size:
                # What has fallen behind meanwhile makes room before more is taken.
                kept = 0
                for place in range(filled):
                    if values[place] >= largest * (1 - slack):
                        pairs[kept] = pairs[place]
                        values[kept] = values[place]
                        kept += 1
                filled = kept
                if filled > size // 2:
                    size *= 2
                    more_pairs = np.empty((size, 2), dtype=np.int64)
                    more_values = np.empty(size, dtype=np.float64)
                    more_pairs[:filled] = pairs[:filled]
                    more_values[:filled] = values[:filled]
                    pairs, values = more_pairs, more_values
            pairs[filled, 0] = node
            pairs[filled, 1] = other
            values[filled] = value
            filled += 1
        for at in range(starts[node], starts[node + 1]):
            adjacent[neighbours[at]] = False
    return largest, pairs[:filled][values[:filled] >= largest * (1 - slack)]
