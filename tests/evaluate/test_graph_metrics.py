"""Metrics of graphs: against plain definitions on small graphs, and known figures of large ones."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from sfumato import noise
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.evaluate.graph_metrics import (
    assortativity,
    clustering_of_nodes,
    communities,
    eigenpairs,
    graph_metrics,
    modularity,
    paths,
)
from tests.graph.dk_graphs import public
from tests.graph.graphs import engine, random_graphs


def plain_distances(nodes, edges):
    """All distances by Floyd and Warshall; infinite where nothing joins two nodes."""
    lengths = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(lengths, 0)
    for low, high in edges:
        lengths[low, high] = lengths[high, low] = 1
    for middle in range(nodes):
        lengths = np.minimum(lengths, lengths[:, [middle]] + lengths[[middle], :])
    return lengths


@settings(max_examples=30, deadline=None, derandomize=True)
@given(random_graphs(least=2, most=9))
def test_every_metric_is_what_its_definition_says(drawn):
    nodes, edges = drawn
    found = graph_metrics(sorted(edges), nodes, eigenvalues=3)
    matrix = np.zeros((nodes, nodes))
    for low, high in edges:
        matrix[low, high] = matrix[high, low] = 1
    degrees = matrix.sum(axis=1)
    cubes = np.diag(matrix @ matrix @ matrix)
    possible = degrees * (degrees - 1)
    assert (found.nodes, found.edges) == (nodes, len(edges))
    assert found.joined_nodes == (degrees > 0).sum()
    assert found.triangles == cubes.sum() / 6
    assert found.clustering == pytest.approx(
        np.mean([c / p if p else 0 for c, p in zip(cubes, possible, strict=True)])
    )
    assert found.transitivity == pytest.approx(cubes.sum() / max(possible.sum(), 1))
    assert found.spectrum == pytest.approx(
        np.sort(np.linalg.eigvalsh(matrix))[::-1][:3].tolist(), abs=1e-9
    )
    lengths = plain_distances(nodes, edges)
    reached = np.isfinite(lengths) & (lengths > 0)
    assert found.paths.exact and found.paths.sources == nodes
    assert found.paths.length == pytest.approx(lengths[reached].sum() / (nodes * (nodes - 1)))
    assert found.paths.diameter == lengths[reached].max(initial=0)
    if edges:
        assert found.mean_degree == pytest.approx(degrees[degrees > 0].mean())
        assert found.paths.connected_length == pytest.approx(lengths[reached].mean())


@settings(max_examples=30, deadline=None, derandomize=True)
@given(random_graphs(least=2, most=9))
def test_assortativity_is_a_correlation_over_both_directions(drawn):
    nodes, edges = drawn
    graph = engine(nodes, edges)
    ends = graph.degrees()[np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)]
    both = np.concatenate([ends, ends[:, ::-1]]).T
    found = assortativity(graph)
    if len(np.unique(both)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(np.corrcoef(both)[0, 1])


def test_walks_from_many_sources_agree_with_single_ones():
    # 200 nodes need four words of sources, the last of them not full.
    generator = noise.generator(1)
    edges = {tuple(sorted(pair)) for pair in generator.integers(0, 200, (260, 2)).tolist()}
    edges = {pair for pair in edges if pair[0] != pair[1]}
    lengths = plain_distances(200, edges)
    reached = np.isfinite(lengths) & (lengths > 0)
    found = paths(engine(200, edges))
    assert found.length == pytest.approx(lengths[reached].sum() / (200 * 199))
    assert found.connected_length == pytest.approx(lengths[reached].mean())
    assert found.diameter == lengths[reached].max()


def test_sampled_walks_are_said_to_be_so_and_are_always_the_same():
    ring = engine(300, {(node, (node + 1) % 300) for node in range(299)} | {(0, 299)})
    whole, some = paths(ring), paths(ring, sources=40)
    assert whole.exact and not some.exact and some.sources == 40
    # All nodes of a ring see the same.
    assert some.length == pytest.approx(whole.length) and some.diameter == whole.diameter == 150
    assert paths(ring, sources=40) == some
    with pytest.raises(ValueError, match="sources must be at least 1"):
        paths(ring, sources=0)


def test_communities_of_cliques_in_a_ring_are_the_cliques():
    # Eight cliques of five, each joined to the next by one edge.
    edges = set()
    for clique in range(8):
        edges |= set(combinations(range(5 * clique, 5 * clique + 5), 2))
        edges.add(tuple(sorted((5 * clique, (5 * clique + 6) % 40))))
    graph = engine(40, edges)
    found = communities(graph)
    assert found.tolist() == [node // 5 for node in range(40)]
    assert modularity(graph, found) == pytest.approx(80 / 88 - 1 / 8)
    assert communities(graph).tolist() == found.tolist()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(random_graphs(least=2, most=8))
def test_modularity_is_its_sum_over_pairs_and_communities_never_worse_than_none(drawn):
    nodes, edges = drawn
    graph = engine(nodes, edges)
    label = communities(graph)
    found = modularity(graph, label)
    if not edges:
        assert found == 0 and len(set(label.tolist())) == nodes
        return
    matrix = graph.adjacency.toarray()
    degrees = matrix.sum(axis=1)
    same = label[:, None] == label[None, :]
    plain = ((matrix - np.outer(degrees, degrees) / degrees.sum()) * same).sum() / degrees.sum()
    assert found == pytest.approx(plain)
    assert found >= max(0.0, modularity(graph, np.arange(nodes))) - 1e-12


def test_graphs_without_nodes_or_edges_have_metrics():
    for nodes in (0, 1, 5):
        found = graph_metrics([], nodes)
        assert found.edges == found.triangles == found.joined_nodes == 0
        assert found.assortativity is None and found.paths.connected_length is None
        assert found.modularity == found.clustering == found.paths.length == 0
        assert found.largest_eigenvalue == 0
        assert found.to_json()["paths"]["diameter"] == 0


def test_nodes_without_an_edge_can_be_left_out():
    edges = [(1, 4), (4, 6), (1, 6), (6, 8)]
    whole, part = graph_metrics(edges, 10), graph_metrics(edges, 10, isolated=False)
    assert (whole.nodes, part.nodes) == (10, 4)
    assert whole.clustering * 10 == pytest.approx(part.clustering * 4)
    assert whole.paths.length * 90 == pytest.approx(part.paths.length * 12)
    assert whole.spectrum[0] == pytest.approx(part.spectrum[0])


#: Nodes, edges, triangles, clustering, transitivity, assortativity and three eigenvalues, then path
#: lengths and diameter as they were published, where they were.
KNOWN = {
    "polbooks": (
        (105, 441, 560),
        (0.48753, 0.34840, -0.1279),
        (11.9326, 11.6197, 6.1098),
        (3.0787, 7),
    ),
    "ca-GrQc": (
        (5242, 14484, 48260),
        (0.52964, 0.62984, 0.6593),
        (45.6166, 38.1220, 34.0072),
        (3.8061, 17),
    ),
    "as20000102": (
        (6474, 12572, 6584),
        (0.25222, 0.00959, -0.1818),
        (46.3179, 27.2630, 22.1907),
        (3.7050, 9),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_graphs_have_their_published_figures(name):
    sizes, shares, eigenvalues, (length, diameter) = KNOWN[name]
    found = graph_metrics(*public(name), eigenvalues=3)
    assert (found.nodes, found.edges, found.triangles) == sizes
    assert (found.clustering, found.transitivity, found.assortativity) == pytest.approx(
        shares, abs=6e-5
    )
    assert found.spectrum == pytest.approx(eigenvalues, abs=6e-5)
    assert found.paths.length == pytest.approx(length, abs=6e-5)
    assert found.paths.diameter == diameter


def test_the_largest_component_of_polblogs_has_its_published_figures():
    pairs, nodes = public("polblogs")
    label = np.arange(nodes)
    for _ in range(40):
        smallest = np.minimum(label[pairs[:, 0]], label[pairs[:, 1]])
        np.minimum.at(label, pairs[:, 0], smallest)
        np.minimum.at(label, pairs[:, 1], smallest)
    inside = label == np.argmax(np.bincount(label))
    pairs = pairs[inside[pairs[:, 0]]]
    found = graph_metrics(pairs, nodes, isolated=False, eigenvalues=3)
    assert (found.nodes, found.edges, found.triangles) == (1222, 16714, 101_043)
    assert (found.clustering, found.transitivity, found.assortativity) == pytest.approx(
        (0.32025, 0.22596, -0.2213), abs=6e-5
    )
    assert found.spectrum == pytest.approx((74.0820, 59.9409, 23.9958), abs=6e-5)
    # Two camps, which Louvain's method is known to find.
    assert found.modularity == pytest.approx(0.4265, abs=0.002)


def test_networkx_says_the_same():
    networkx = pytest.importorskip("networkx")
    pairs, nodes = public("polbooks")
    graph = MemoryGraph(pairs, nodes=nodes)
    theirs = networkx.Graph(graph.pairs().tolist())
    found = graph_metrics(graph.pairs(), graph.nodes)
    assert found.clustering == pytest.approx(networkx.average_clustering(theirs))
    assert found.transitivity == pytest.approx(networkx.transitivity(theirs))
    assert found.assortativity == pytest.approx(networkx.degree_assortativity_coefficient(theirs))
    assert found.paths.connected_length == pytest.approx(
        networkx.average_shortest_path_length(theirs)
    )
    assert found.paths.diameter == networkx.diameter(theirs)
    groups = communities(graph)
    sets = [set(np.flatnonzero(groups == group).tolist()) for group in np.unique(groups)]
    assert found.modularity == pytest.approx(networkx.community.modularity(theirs, sets))


def test_clustering_and_eigenvectors_of_a_triangle_with_a_tail():
    graph = engine(4, {(0, 1), (0, 2), (1, 2), (2, 3)})
    assert clustering_of_nodes(graph).tolist() == [1, 1, 1 / 3, 0]
    values, vectors = eigenpairs(graph, 4)
    matrix = graph.adjacency.toarray()
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)
