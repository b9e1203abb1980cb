"""Neighbouring graphs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.data.graph import Graph
from sfumato.data.graph_public import GraphPublic
from sfumato.engines.memory_graph import MemoryGraph

Edge = tuple[int, int]


def graph_of(public: GraphPublic, edges: Iterable[Edge]) -> Graph:
    """Return a graph with the given edges."""
    pairs = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    return Graph._of(public, MemoryGraph(pairs, nodes=public.nodes))


def graph_pairs(public: GraphPublic) -> list[Pair]:
    """Return graphs that differ in one edge: empty, a star, a fan, nearly complete, a chain.

    With fewer than two nodes there is one graph only, and no pair.
    """
    nodes = public.nodes
    if nodes < 2:
        return []
    last = nodes - 1
    everything = set(combinations(range(nodes), 2))
    star = {(0, node) for node in range(1, nodes)}
    # Two nodes that share all others, without and with the edge between them.
    fan = {(end, node) for end in (0, 1) for node in range(2, nodes)}
    chain = {(node, node + 1) for node in range(last)}
    shapes = [
        ("empty, and one edge", set(), (0, 1)),
        ("a star, and an edge between two of its points", star, (last - 1, last)),
        ("two nodes with all others in common, and their edge", fan, (0, 1)),
        ("all edges but one, and the last one", everything - {(0, last)}, (0, last)),
        ("a chain, and an edge that closes it", chain, (0, last)),
    ]
    return [
        Pair(name, graph_of(public, edges), graph_of(public, edges | {edge}))
        for name, edges, edge in shapes
        if edge not in edges and edge[0] < edge[1]
    ]


def random_graph_pair(public: GraphPublic, generator: Any) -> Pair:
    """Return a random graph, sparse or dense, and the one with some pair of nodes toggled."""
    everything = list(combinations(range(public.nodes), 2))
    if not everything:
        raise ValueError("a graph of fewer than two nodes has no neighbour")
    there = generator.random(len(everything)) < generator.random()
    edges = {edge for edge, kept in zip(everything, there, strict=True) if kept}
    toggled = everything[int(generator.integers(0, len(everything)))]
    other = edges ^ {toggled}
    return Pair("random, one edge toggled", graph_of(public, edges), graph_of(public, other))


register("graph", PairMaker(graph_pairs, random_graph_pair))
