"""Edges between groups of nodes, spread evenly over the nodes of each group.

Post-processing: nothing here may see a private value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.graph.stub_matching import realised_graph
from sfumato.graph.stubs import ordered_pairs

__all__ = ["dealt"]

Integers = NDArray[np.int64]


def dealt(rows: Integers, columns: Integers, edges: Integers, count: Integers) -> Integers:
    """Return a simple graph with `edges[i]` edges between groups rows[i] and columns[i].

    Ends of edges are dealt to the nodes of a group in turn, so that all nodes of a group get the
    same number of them, up to 1, and nearly the same share of every kind of edge.

    Parameters
    ----------
    rows, columns, edges
        No pair of groups twice, and between none more edges than there are pairs of their nodes.
    count
        How many nodes each group has; they are numbered in a row.

    Notes
    -----
    Between groups of x and y nodes edge t joins node t mod x to node t + ⌊t / lcm(x, y)⌋ mod y.
    These pairs are different for t < xy: within one lcm by the Chinese remainder theorem, and from
    one to the next because the difference of the two numbers modulo gcd(x, y) changes. Within a
    group degrees differ by at most 1, and such degrees are always graphical.
    """
    begin = np.append(0, np.cumsum(count))
    turn = np.zeros(len(count), dtype=np.int64)
    left, right = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for row, column, many in zip(rows.tolist(), columns.tolist(), edges.tolist(), strict=True):
        if row == column:
            share, more = divmod(2 * many, int(count[row]))
            wanted = np.full(count[row], share, dtype=np.int64)
            wanted[(turn[row] + np.arange(more)) % count[row]] += 1
            inner = realised_graph(wanted)
            left.append(begin[row] + inner[:, 0])
            right.append(begin[row] + inner[:, 1])
            turn[row] += 2 * many
            continue
        each = np.arange(many)
        whole = int(np.lcm(count[row], count[column]))
        # Whole rounds serve all nodes alike; the last one begins where the turn is.
        shift = each // whole - (many - 1) // whole
        left.append(begin[row] + (turn[row] + each) % count[row])
        right.append(begin[column] + (turn[column] + each + shift) % count[column])
        turn[row] += many
        turn[column] += many
    return ordered_pairs(np.concatenate(left), np.concatenate(right))
