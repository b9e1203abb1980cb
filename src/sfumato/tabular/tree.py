"""Sampling rows from two-way tables: the tree of columns that tells most, walked from its root.

Public repair: a function of released tables and of the caller's generator. Of all trees, the one
whose edges have the largest mutual information is closest to the joint distribution (Chow and Liu,
1968); columns that no released table joins are drawn on their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]


def mutual_information(table: NDArray[np.float64]) -> float:
    """Return the mutual information of a two-way table of counts, in nats."""
    total = table.sum()
    if total <= 0:
        return 0.0
    joint = table / total
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())


def best_tree(columns: int, pairs: Mapping[Pair, NDArray[np.float64]]) -> list[tuple[int, int]]:
    """Return the edges (parent, child) of the best forest, parents before children.

    Parameters
    ----------
    columns
        How many columns there are.
    pairs
        The two-way table of each pair (i, j) with i < j that was released.
    """
    ranked = sorted(pairs, key=lambda pair: (-mutual_information(pairs[pair]), pair))
    group = list(range(columns))
    neighbours: list[list[int]] = [[] for _ in range(columns)]

    def root(column: int) -> int:
        while group[column] != column:
            column = group[column]
        return column

    for first, second in ranked:
        if root(first) != root(second):
            group[root(first)] = root(second)
            neighbours[first].append(second)
            neighbours[second].append(first)
    edges: list[tuple[int, int]] = []
    visited: set[int] = set()
    for start in range(columns):
        frontier = [] if start in visited else [start]
        visited.add(start)
        while frontier:
            parent = frontier.pop()
            for child in neighbours[parent]:
                if child not in visited:
                    visited.add(child)
                    edges.append((parent, child))
                    frontier.append(child)
    return edges


def sample_tree(
    rows: int,
    sizes: tuple[int, ...],
    edges: list[tuple[int, int]],
    single: Callable[[int], NDArray[np.float64]],
    pair: Callable[[int, int], NDArray[np.float64]],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return codes of synthetic rows, shape (rows, columns).

    Parameters
    ----------
    rows
        How many rows to draw.
    sizes
        The domain size of each column.
    edges
        The forest, parents before children.
    single, pair
        Return the released counts of one column, and of two in the order asked for.
    generator
        The caller's generator.
    """
    codes = np.zeros((rows, len(sizes)), dtype=np.int64)
    children = {child: parent for parent, child in edges}
    order = [column for column in range(len(sizes)) if column not in children]
    order += [child for _, child in edges]
    for column in order:
        if column not in children:
            codes[:, column] = _draw(single(column)[None, :], np.zeros(rows, np.int64), generator)
        else:
            parent = children[column]
            codes[:, column] = _draw(pair(parent, column), codes[:, parent], generator)
    return codes


def _draw(
    weights: NDArray[np.float64], given: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one code for each row, from the row of `weights` that `given` names."""
    weights = np.maximum(weights, 0.0)
    empty = weights.sum(axis=1) <= 0
    # Where nothing was released about a value, fall back to the column as a whole, then to uniform.
    weights[empty] = weights.sum(axis=0) if weights.sum() > 0 else 1.0
    cumulative = np.cumsum(weights, axis=1)
    drawn = generator.random(given.size) * cumulative[given, -1]
    codes = np.empty(given.size, dtype=np.int64)
    for value in np.unique(given):
        mine = given == value
        codes[mine] = np.searchsorted(cumulative[value], drawn[mine], side="right")
    # A draw that rounding puts at the very end belongs to the last value.
    return np.asarray(np.minimum(codes, weights.shape[1] - 1), dtype=np.int64)
