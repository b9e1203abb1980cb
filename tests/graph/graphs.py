"""Small graphs for tests: all of them, random ones, and the nasty ones that are known."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from sfumato.data.graph import Graph
from sfumato.engines.memory_graph import MemoryGraph


def engine(nodes, edges):
    return MemoryGraph(np.array(sorted(edges), dtype=np.int64).reshape(-1, 2), nodes=nodes)


def graph(nodes, edges):
    return Graph(np.array(sorted(edges), dtype=np.int64).reshape(-1, 2), nodes)


def all_graphs(nodes):
    """Every labelled graph, as a frozen set of edges."""
    pairs = list(combinations(range(nodes), 2))
    for mask in range(2 ** len(pairs)):
        yield frozenset(pair for place, pair in enumerate(pairs) if mask >> place & 1)


def toggled(nodes, edges):
    """Every neighbour of a graph."""
    for pair in combinations(range(nodes), 2):
        yield edges ^ {pair}


@st.composite
def random_graphs(draw, least=2, most=9):
    nodes = draw(st.integers(least, most))
    pairs = list(combinations(range(nodes), 2))
    return nodes, frozenset(draw(st.lists(st.sampled_from(pairs), unique=True)))


def crossed(size):
    """The graph on which the printed ladder of k-triangles fails, and the edge that shows it.

    Nodes 2 and 3 are common neighbours of 0 and 1, and each of the four pairs between them has
    fresh common neighbours of its own: two, or three for k = 5.
    """
    fresh = 3 if size == 5 else 2
    edges, following = {(0, 2), (1, 2), (0, 3), (1, 3)}, 4
    for pair in ((0, 2), (1, 2), (0, 3), (1, 3)):
        for _ in range(fresh):
            edges |= {(end, following) for end in pair}
            following += 1
    return following, frozenset(edges), (2, 3)
