"""The dK series of a graph: how the degrees of one, two and three connected nodes go together.

Orders 1, 2 and 3 count nodes by degree, edges by the degrees of their ends, and wedges and
triangles by the degrees of their nodes (Mahadevan et al., "Systematic topology analysis and
generation using degree correlations", 2006). What is counted here is exact: of a private graph it
is private, and may only go through a mechanism that pays for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "JointDegrees",
    "Triples",
    "degree_counts",
    "degrees_of",
    "joint_degrees",
    "triangle_count",
    "triangle_kinds",
    "triples",
    "wedge_kinds",
]

Integers = NDArray[np.int64]


class JointDegrees(NamedTuple):
    """Edges by the degrees of their ends: `edges[i]` join degree `low[i]` to `high[i]` ≥ `low[i]`.

    Each pair of degrees occurs once, in rising order.
    """

    low: Integers
    high: Integers
    edges: Integers


class Triples(NamedTuple):
    """Three connected nodes by their degrees: open wedges, and triangles.

    `wedge_degrees` has a row (centre, lower end, higher end) for each kind of wedge whose ends are
    not joined, and `triangle_degrees` a rising row for each kind of triangle; `wedges` and
    `triangles` say how many there are of each. Rows are in rising order.
    """

    wedge_degrees: Integers
    wedges: Integers
    triangle_degrees: Integers
    triangles: Integers


def wedge_kinds(most: int) -> Integers:
    """Return all kinds of wedges of degrees up to the most: centre from 2, lower end, higher end.

    There are (most − 1)·most·(most + 1)/2 of them, in rising order.
    """
    low, high = np.triu_indices(most)
    centres = np.arange(2, most + 1)
    ends = np.stack([low + 1, high + 1], axis=1)
    return np.column_stack([np.repeat(centres, len(ends)), np.tile(ends, (len(centres), 1))])


def triangle_kinds(most: int) -> Integers:
    """Return all kinds of triangles of degrees up to the most: three rising degrees from 2.

    There are (most − 1)·most·(most + 1)/6 of them, in rising order.
    """
    first, second, third = np.indices((most - 1,) * 3).reshape(3, -1) + 2
    rising = (first <= second) & (second <= third)
    return np.stack([first, second, third], axis=1)[rising].astype(np.int64)


def degrees_of(pairs: Integers, nodes: int) -> Integers:
    """Return the degree of every node."""
    return np.bincount(np.asarray(pairs, dtype=np.int64).ravel(), minlength=nodes).astype(np.int64)


def degree_counts(pairs: Integers, nodes: int) -> Integers:
    """Return how many nodes have degree 0, 1, … up to the largest there is.

    Examples
    --------
    >>> degree_counts(np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 4]]), 5).tolist()
    [0, 1, 1, 3]
    """
    return np.bincount(degrees_of(pairs, nodes)).astype(np.int64)


def joint_degrees(pairs: Integers, nodes: int) -> JointDegrees:
    """Return how many edges join each pair of degrees.

    Examples
    --------
    >>> joint_degrees(np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 4]]), 5)
    JointDegrees(low=array([1, 2, 3]), high=array([3, 3, 3]), edges=array([1, 2, 3]))
    """
    ends = degrees_of(pairs, nodes)[np.asarray(pairs, dtype=np.int64).reshape(-1, 2)]
    base = np.int64(ends.max(initial=0) + 1)
    keys, edges = np.unique(ends.min(axis=1) * base + ends.max(axis=1), return_counts=True)
    return JointDegrees(keys // base, keys % base, edges.astype(np.int64))


def triples(pairs: Integers, nodes: int) -> Triples:
    """Return how many open wedges and triangles there are of each kind.

    Examples
    --------
    >>> found = triples(np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 4]]), 5)
    >>> found.wedge_degrees.tolist(), found.wedges.tolist()
    ([[3, 1, 3], [3, 2, 3]], [2, 2])
    >>> found.triangle_degrees.tolist(), found.triangles.tolist()
    ([[2, 3, 3], [3, 3, 3]], [1, 1])
    """
    from sfumato.graph.dk_series_kernels import closed_triples, paths_by_class

    starts, neighbours = _rows(pairs, nodes)
    kinds, kind = np.unique(np.diff(starts), return_inverse=True)
    kind = kind.astype(np.int64)
    many = np.int64(len(kinds))
    path_keys, paths = paths_by_class(starts, kind[neighbours], kind, many)
    keys, counts = closed_triples(starts, neighbours, kind, many)
    # A triangle is three paths whose ends are joined: they are no wedges.
    low, middle, high = _digits(keys, many)
    wedge_keys = [path_keys]
    for centre, one, two in ((low, middle, high), (middle, low, high), (high, low, middle)):
        wedge_keys.append((centre * many + one) * many + two)
    open_keys, wedges = _sum_by_key(
        np.concatenate(wedge_keys), np.concatenate([paths, *3 * [-counts]])
    )
    keys, counts = _sum_by_key(keys, counts)
    return Triples(
        kinds[np.stack(_digits(open_keys, many), axis=1)],
        wedges,
        kinds[np.stack(_digits(keys, many), axis=1)],
        counts,
    )


def triangle_count(pairs: Integers, nodes: int) -> int:
    """Return the number of triangles.

    Examples
    --------
    >>> triangle_count(np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 4]]), 5)
    2
    """
    from sfumato.graph.dk_series_kernels import closed_triples

    starts, neighbours = _rows(pairs, nodes)
    _, counts = closed_triples(starts, neighbours, np.zeros(nodes, dtype=np.int64), np.int64(1))
    return int(counts.sum())


def _rows(pairs: Integers, nodes: int) -> tuple[Integers, NDArray[np.int32]]:
    """Return rows of sorted neighbours, nodes numbered by falling degree.

    So a triangle is found from its node with the shortest row.
    """
    from sfumato.engines.graph_kernels import adjacency_rows

    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    rank = np.empty(nodes, dtype=np.int64)
    rank[np.argsort(-degrees_of(pairs, nodes), kind="stable")] = np.arange(nodes)
    ends = np.sort(rank[pairs], axis=1)
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    rows: tuple[Integers, NDArray[np.int32]] = adjacency_rows(
        ends[:, 0].copy(), ends[:, 1].copy(), nodes
    )
    return rows


def _digits(keys: Integers, base: np.int64) -> tuple[Integers, Integers, Integers]:
    """Return the three digits of every key."""
    base = max(base, np.int64(1))
    return keys // (base * base), keys // base % base, keys % base


def _sum_by_key(keys: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Return the distinct keys in order with the sums of their counts, where these are not 0."""
    keys, where = np.unique(keys, return_inverse=True)
    total = np.zeros(len(keys), dtype=np.int64)
    np.add.at(total, where, counts)
    return keys[total != 0], total[total != 0]
