"""Small graphs of every kind for the tests of dK series, as pairs, and public data."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

#: The worked example: degrees 2, 3, 3, 3, 1.
WORKED = {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)}

#: The corner cases by name: number of nodes, and edges.
SHAPES = {
    "nothing": (0, set()),
    "one node": (1, set()),
    "two apart": (2, set()),
    "two joined": (2, {(0, 1)}),
    "empty": (6, set()),
    "complete": (6, set(combinations(range(6), 2))),
    "star": (7, {(0, leaf) for leaf in range(1, 7)}),
    "ring": (7, {(place, place + 1) for place in range(6)} | {(0, 6)}),
    "worked": (5, WORKED),
    "apart": (6, {(0, 1), (2, 3), (3, 4), (2, 4)}),
}


def as_pairs(edges):
    return np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)


def is_simple(pairs, nodes):
    """Whether edges are low < high, in order, without repeats, on the nodes there are."""
    if pairs.dtype != np.int64 or pairs.ndim != 2 or pairs.shape[1] != 2:
        return False
    keys = pairs[:, 0] * max(nodes, 1) + pairs[:, 1]
    within = pairs.min(initial=0) >= 0 and pairs.max(initial=-1) < nodes
    return bool(within and (pairs[:, 0] < pairs[:, 1]).all() and (np.diff(keys) > 0).all())


def public(name):
    """A public graph as (pairs, nodes); skips where the data sets are not there."""
    folder = os.environ.get("SFUMATO_DATA")
    path = Path(folder or "", "graphs", f"{name}.txt.xz")
    if not folder or not path.exists():
        pytest.skip(f"SFUMATO_DATA has no graphs/{name}.txt.xz")
    ends = np.loadtxt(path, dtype=np.int64, comments=("#", "%"), usecols=(0, 1))
    labels, ends = np.unique(ends, return_inverse=True)
    ends = np.sort(ends.reshape(-1, 2), axis=1)
    return np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0), len(labels)
