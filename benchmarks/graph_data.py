"""Random graphs with the sizes that the literature on private clustering coefficients used.

Erdős and Rényi's, Watts and Strogatz's and growing graphs on 1,000 nodes; the numbers of edges are
those of the published table exactly. The growing graphs are called Barabási and Albert's there, but
their numbers of triangles are those of nodes that join others at random, not by preference: of a
clique of m₀ nodes and m₁ edges of each new one, C(m₀, 3) + C(m₁, 2)·Σ_t density(t).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph, read_graph

__all__ = ["GENERATED", "KNOWN_EDGES", "KNOWN_TRIANGLES", "generated", "loaded"]

Pairs = NDArray[np.int64]
NODES = 1000
#: The model and its parameters: edges; neighbours and rewiring; first nodes and edges of a new one.
GENERATED: dict[str, tuple[Any, ...]] = {
    "ER1": ("ER", 25_094),
    "ER2": ("ER", 50_129),
    "ER3": ("ER", 249_755),
    "WS1": ("WS", 50, 0.7),
    "WS2": ("WS", 50, 0.5),
    "WS3": ("WS", 50, 0.2),
    "WS4": ("WS", 100, 0.2),
    "WS5": ("WS", 500, 0.2),
    "BA1": ("BA", 50, 25),
    "BA2": ("BA", 100, 50),
    "BA3": ("BA", 500, 250),
    "BA4": ("BA", 10, 5),
    "BA5": ("BA", 50, 5),
    "BA6": ("BA", 100, 5),
    "BA7": ("BA", 500, 5),
}
#: The published numbers of edges.
KNOWN_EDGES = dict(
    zip(
        GENERATED,
        (
            *(25_094, 50_129, 249_755),
            *(25_000, 25_000, 25_000, 50_000, 250_000),
            *(24_975, 49_950, 249_750, 4_995, 5_975, 9_450, 127_250),
        ),
        strict=True,
    )
)

#: The published numbers of triangles; other draws of the same models differ by a few per cent.
KNOWN_TRIANGLES = dict(
    zip(
        GENERATED,
        (
            *(20_787, 167_671, 20_768_657),
            *(27_153, 52_354, 158_301, 672_623, 23_694_389),
            *(64_660, 443_582, 31_524_992, 617, 20_355, 162_689, 20_711_072),
        ),
        strict=True,
    )
)


def loaded(name: str) -> Graph:
    """Return a graph of the data folder, whose nodes are those that its edges name."""
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        raise SystemExit("set SFUMATO_DATA to the folder that holds graphs/")
    return read_graph(Path(folder) / "graphs" / f"{name}.txt.xz", "named")


def generated(name: str, seed: int = 1) -> Graph:
    """Return a random graph of the published table."""
    draw = np.random.default_rng([seed, *name.encode()])
    model, *given = GENERATED[name]
    models: dict[str, Callable[..., Pairs]] = {
        "ER": uniform_edges, "WS": small_world, "BA": growing,
    }  # fmt: skip
    graph = Graph(models[model](*given, draw), NODES)
    assert graph.counts.edges == KNOWN_EDGES[name], (name, graph.counts.edges)
    return graph


def uniform_edges(edges: int, draw: np.random.Generator) -> Pairs:
    """Return so many edges, all sets of them equally likely."""
    every = np.array(list(combinations(range(NODES), 2)), dtype=np.int64)
    return every[draw.choice(len(every), edges, replace=False)]


def small_world(neighbours: int, rewired: float, draw: np.random.Generator) -> Pairs:
    """Return a ring in which each node has so many neighbours, with some edges led elsewhere."""
    joined: list[set[int]] = [set() for _ in range(NODES)]
    ring = [(node, (node + far) % NODES) for far in range(1, neighbours // 2 + 1)
            for node in range(NODES)]  # fmt: skip
    for one, other in ring:
        joined[one].add(other)
        joined[other].add(one)
    for one, other in ring:
        if draw.random() < rewired and len(joined[one]) < NODES - 1:
            new = int(draw.integers(NODES))
            while new == one or new in joined[one]:
                new = int(draw.integers(NODES))
            joined[one].remove(other)
            joined[other].remove(one)
            joined[one].add(new)
            joined[new].add(one)
    return _pairs(joined)


def growing(first: int, each: int, draw: np.random.Generator) -> Pairs:
    """Return a clique to which nodes are joined, each by so many edges, to any node alike."""
    pairs = list(combinations(range(first), 2))
    for node in range(first, NODES):
        pairs += [(int(other), node) for other in draw.choice(node, each, replace=False)]
    return np.array(pairs, dtype=np.int64)


def _pairs(joined: list[set[int]]) -> Pairs:
    return np.array(
        [(one, other) for one, near in enumerate(joined) for other in near if one < other],
        dtype=np.int64,
    )
