"""What a graph is like, in numbers: sizes, mixing, clustering, paths, spectrum and communities.

NOT PRIVATE where the graph is private: every figure is computed from its edges without noise, is
for the custodian's eyes, and is never part of a release, a certificate or a report.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato import noise
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.graph.eigen import SymmetricOperator, largest_eigenpairs

__all__ = [
    "GraphMetrics",
    "Paths",
    "assortativity",
    "clustering_of_nodes",
    "communities",
    "eigenpairs",
    "graph_metrics",
    "modularity",
    "paths",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Walks visit at most about this many pairs of a source and an edge; from all nodes of graphs for
#: which that is enough, and otherwise from a sample of them.
WALKED = 2 * 10**10
#: The seed of that sample.
SAMPLED = 20151115
#: A community gains this share of an edge at least before a node moves.
LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class Paths:
    """Lengths of shortest paths.

    Parameters
    ----------
    length
        Their sum over ordered pairs of nodes, pairs that nothing joins counted as 0, over the
        number of all ordered pairs.
    connected_length
        Their average over pairs that are connected; `None` if there are none.
    diameter
        The longest; over sampled sources it is a lower bound.
    sources
        From how many nodes they were walked.
    exact
        Whether these are all nodes.
    """

    length: float
    connected_length: float | None
    diameter: int
    sources: int
    exact: bool


@dataclass(frozen=True)
class GraphMetrics:
    """What a graph is like. Of a private graph, not private.

    Parameters
    ----------
    nodes, joined_nodes, edges
        How many nodes there are, how many of them have an edge, and how many edges there are.
    mean_degree
        2·edges over the nodes that have an edge.
    assortativity
        The correlation of the degrees at the two ends of an edge; `None` where all are the same.
    clustering
        The average, over all nodes, of the share of pairs of neighbours that are joined; a node of
        fewer than two neighbours counts as 0.
    transitivity
        Three times the triangles over the paths of two edges; 0 without paths.
    triangles
        How many there are.
    paths
        The lengths of shortest paths.
    spectrum
        The largest eigenvalues of the adjacency matrix, from the largest.
    modularity
        That of the communities that Louvain's method finds.
    """

    nodes: int
    joined_nodes: int
    edges: int
    mean_degree: float
    assortativity: float | None
    clustering: float
    transitivity: float
    triangles: int
    paths: Paths
    spectrum: tuple[float, ...]
    modularity: float

    @property
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue of the adjacency matrix; 0 without nodes."""
        return self.spectrum[0] if self.spectrum else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {**asdict(self), "spectrum": list(self.spectrum)}


def graph_metrics(
    pairs: ArrayLike,
    nodes: int,
    *,
    isolated: bool = True,
    eigenvalues: int = 5,
    sources: int | None = None,
) -> GraphMetrics:
    """Return what a graph is like. Of a private graph, not private.

    Parameters
    ----------
    pairs
        Its edges, two nodes a row.
    nodes
        How many nodes there are.
    isolated
        Whether nodes without an edge count in averages over nodes and pairs of nodes; they are
        left out in the literature on synthetic graphs.
    eigenvalues
        How many of the largest eigenvalues.
    sources
        From how many nodes paths are walked, a sample that is always the same; by default from
        all, unless that would take minutes.
    """
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if not isolated:
        present = np.unique(ends)
        ends, nodes = np.searchsorted(present, ends), len(present)
    graph = MemoryGraph(ends, nodes=nodes)
    degrees = graph.degrees()
    joined = int((degrees > 0).sum())
    wedges = int((degrees * (degrees - 1) // 2).sum())
    triangles = graph.triangles()
    return GraphMetrics(
        nodes=nodes,
        joined_nodes=joined,
        edges=graph.edges,
        mean_degree=2 * graph.edges / max(joined, 1),
        assortativity=assortativity(graph),
        clustering=float(clustering_of_nodes(graph).sum() / max(nodes, 1)),
        transitivity=3 * triangles / wedges if wedges else 0.0,
        triangles=triangles,
        paths=paths(graph, sources),
        spectrum=tuple(eigenpairs(graph, eigenvalues)[0].tolist()),
        modularity=modularity(graph, communities(graph)),
    )


def assortativity(graph: MemoryGraph) -> float | None:
    """Return the correlation of degrees over the ends of edges; `None` where they do not vary."""
    ends = graph.degrees()[graph.pairs()]
    if len(np.unique(ends)) < 2:
        return None
    # Every edge counts in both directions, so both ends have the same mean and spread.
    apart = ends - ends.mean()
    return float((apart[:, 0] * apart[:, 1]).mean() / (apart**2).mean())


def clustering_of_nodes(graph: MemoryGraph) -> Floats:
    """Return for every node the share of pairs of its neighbours that are joined; 0 for none."""
    degrees = graph.degrees().astype(np.float64)
    possible = degrees * (degrees - 1) / 2
    found = graph.triangles_at().astype(np.float64)
    return np.divide(found, possible, out=np.zeros(graph.nodes), where=possible > 0)


def paths(graph: MemoryGraph, sources: int | None = None) -> Paths:
    """Return the lengths of shortest paths.

    Parameters
    ----------
    graph
        The graph.
    sources
        From how many nodes they are walked; by default from all, if that is quick enough.
    """
    from sfumato.evaluate.graph_metric_kernels import distance_sums

    if sources is not None and sources < 1:
        raise ValueError(f"sources must be at least 1; got {sources}")
    nodes = graph.nodes
    affordable = max(64, WALKED // max(graph.edges + nodes, 1))
    many = min(nodes, affordable if sources is None else sources)
    chosen = np.arange(nodes)
    if many < nodes:
        chosen = np.sort(noise.generator(SAMPLED).choice(nodes, many, replace=False))
    rows = graph.adjacency
    starts, neighbours = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    total, reached, farthest = distance_sums(starts, neighbours, chosen.astype(np.int64))
    return Paths(
        length=total / max(many * (nodes - 1), 1),
        connected_length=total / reached if reached else None,
        diameter=int(farthest),
        sources=many,
        exact=many == nodes,
    )


def eigenpairs(graph: MemoryGraph, many: int) -> tuple[Floats, Floats]:
    """Return the algebraically largest eigenvalues, from the largest, and their eigenvectors."""
    matrix = graph.adjacency.astype(np.float64)
    operator = SymmetricOperator(graph.nodes, lambda vector: matrix @ vector)
    return largest_eigenpairs(operator, min(many, graph.nodes))


def communities(graph: MemoryGraph) -> Integers:
    """Return a community for each node by Louvain's method, walked in the order of the nodes.

    Blondel et al., "Fast unfolding of communities in large networks" (2008). The same graph always
    gives the same communities; they are numbered from 0.
    """
    from scipy.sparse import csr_array

    from sfumato.evaluate.graph_metric_kernels import move_nodes

    matrix = csr_array(graph.adjacency, dtype=np.float64)
    label = np.arange(graph.nodes)
    while matrix.nnz:
        # The loop of a community, twice its inner edges, weighs on it and never moves it.
        strengths = np.asarray(matrix.sum(axis=1), dtype=np.float64)
        between = csr_array(matrix, copy=True)
        between.setdiag(0)
        between.eliminate_zeros()
        starts, neighbours = (part.astype(np.int64) for part in (between.indptr, between.indices))
        found = move_nodes(starts, neighbours, between.data, strengths, LEAST_GAIN)
        kept, found = np.unique(found, return_inverse=True)
        label = found[label]
        if len(kept) == matrix.shape[0]:
            break
        inside = (np.ones(len(found)), (found, np.arange(len(found))))
        groups = csr_array(inside, shape=(len(kept), len(found)))
        matrix = csr_array(groups @ matrix @ groups.T)
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def modularity(graph: MemoryGraph, label: Integers) -> float:
    """Return the modularity of communities: Σ_c (e_c/m − (d_c/2m)²); 0 without edges."""
    if graph.edges == 0:
        return 0.0
    pairs = graph.pairs()
    inside = int((label[pairs[:, 0]] == label[pairs[:, 1]]).sum())
    sums = np.bincount(label, weights=graph.degrees())
    return inside / graph.edges - math.fsum((sums / (2 * graph.edges)) ** 2)
