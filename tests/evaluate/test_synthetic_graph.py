"""Synthetic graphs beside the private one: distances, angles, documents and pictures."""

import io
import json
from itertools import combinations

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.graph import Graph
from sfumato.evaluate.graph import WARNING, evaluate_graph
from sfumato.evaluate.graph_pictures import draw_comparison
from sfumato.evaluate.synthetic_graph import (
    LISTED,
    compare,
    degree_distances,
    joint_degree_distance,
)
from sfumato.graph.dk_graph import DKGraph
from sfumato.graph.dk_series import JointDegrees, joint_degrees
from sfumato.graph.kronecker_graph import Initiator, KroneckerGraph, kronecker_pairs
from sfumato.graph.sampled import SampledGraph
from sfumato.graph.spectrum import Spectrum
from tests.graph.graphs import graph


def some_pairs(power=6, seed=3):
    return kronecker_pairs(Initiator(0.95, 0.65, 0.4, power), noise.generator(seed))


def written(figure):
    """The text of a picture."""
    file = io.StringIO()
    figure.savefig(file, format="svg")
    return file.getvalue()


def test_a_graph_is_at_no_distance_from_itself():
    pairs = some_pairs()
    found = compare(Graph(pairs, 64), SampledGraph(64, pairs), matched=True)
    assert found.original == found.synthetic
    assert set(found.distances.to_json().values()) == {0.0}
    assert found.subspaces.cosines == pytest.approx([1] * 5)
    assert found.subspaces.principal_cosines == pytest.approx([1] * 5)
    assert found.subspaces.captured == pytest.approx(1)


def test_renaming_the_nodes_moves_the_eigenvectors_and_nothing_else():
    pairs = some_pairs()
    renamed = noise.generator(1).permutation(64)[pairs]
    given = Graph(pairs, 64)
    found = compare(given, SampledGraph(64, renamed), matched=True)
    assert set(found.distances.to_json().values()) == {0.0}
    for what, mine, theirs in found.rows():
        # Communities are found in the order of the nodes.
        assert theirs == pytest.approx(mine, abs=0.05 if what == "modularity" else 1e-9), what
    assert found.subspaces.captured < 0.9
    # Principal angles do not mind which eigenvector is which.
    assert sum(c**2 for c in found.subspaces.principal_cosines) == pytest.approx(
        5 * found.subspaces.captured
    )
    # Nothing says that node 1 here is node 1 there.
    assert compare(given, SampledGraph(64, renamed)).subspaces is None


def test_degree_distances_by_hand():
    # Shares of degrees 0, 1, 2, 3: (1/4, 1/2, 1/4, 0) and (1/2, 0, 0, 1/2).
    first, second = np.array([0, 1, 1, 2]), np.array([0, 3])
    apart, shift = degree_distances(first, second)
    assert apart == pytest.approx((1 / 4 + 1 / 2 + 1 / 4 + 1 / 2) / 2)
    assert shift == pytest.approx(1 / 4 + 1 / 4 + 1 / 2)
    # Lists of the same length, in order, are off by this on average.
    one, two = noise.generator(2).integers(0, 30, (2, 50))
    expected = np.abs(np.sort(one) - np.sort(two)).mean()
    assert degree_distances(one, two)[1] == pytest.approx(expected)


def test_joint_degree_distances_by_hand():
    def told(*rows):
        return JointDegrees(*np.array(rows, dtype=np.int64).T)

    first = told((1, 2, 2), (2, 3, 2))
    second = told((1, 3, 1), (2, 2, 1))
    assert joint_degree_distance(first, second) == 1
    # In groups, 1 with 2–3 and 2–3 with itself: half and half on both sides.
    assert joint_degree_distance(first, second, grouped=True) == 0
    nothing = joint_degrees(np.zeros((0, 2), dtype=np.int64), 3)
    assert joint_degree_distance(first, nothing) == 1
    assert joint_degree_distance(nothing, nothing) == 0


def test_graphs_of_other_sizes_are_compared_but_not_matched():
    given = graph(5, [(0, 1), (1, 2)])
    other = SampledGraph(8, np.array([[0, 1], [2, 3], [5, 7]]))
    found = compare(given, other, isolated=False)
    assert (found.original.nodes, found.synthetic.nodes) == (3, 6)
    assert found.distances.degrees == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="cannot be matched"):
        compare(given, other, matched=True)


@pytest.mark.parametrize("nodes", [0, 1, 3])
@pytest.mark.parametrize("full", [False, True])
def test_the_smallest_graphs_are_compared_and_drawn(nodes, full):
    edges = list(combinations(range(nodes), 2)) if full else []
    given = graph(nodes, edges)
    other = SampledGraph(nodes, np.array(edges[:1], dtype=np.int64).reshape(-1, 2))
    found = compare(given, other)
    assert json.dumps(found.to_json())
    assert draw_comparison(given, other, found).axes


@pytest.mark.parametrize("method", [KroneckerGraph(epsilon=8), DKGraph(epsilon=8, order=2)])
def test_a_release_is_compared_by_its_published_graph(method):
    given = Graph(some_pairs(), 64)
    release = method.release(given)
    found = compare(given, release, eigenvalues=3)
    assert found.synthetic.edges == release.graph.edges
    assert (found.subspaces is not None) == release.model.named
    document = json.loads(json.dumps(found.to_json()))
    assert document["private"] is False and document["warning"] == WARNING
    assert document["original"]["edges"] == given.counts.edges
    assert [what for what, _, _ in found.rows()] == list(LISTED.values())
    drawn = written(draw_comparison(given, release, found))
    assert "NOT PRIVATE" in drawn and "the synthetic graph: 64 nodes" in drawn


def test_large_graphs_are_drawn_by_the_degrees_they_join():
    given = Graph(some_pairs(9), 512)
    other = SampledGraph(512, some_pairs(9, seed=4))
    figure = draw_comparison(given, other, compare(given, other))
    drawn = written(figure)
    assert "NOT PRIVATE" in drawn and "degree at the other end" in drawn


def test_evaluation_tells_the_same_of_synthetic_graphs_and_spectra():
    given = Graph(some_pairs(), 64)
    release = KroneckerGraph(epsilon=4).release(given)
    told = {item.what: item for item in evaluate_graph(given, release).comparisons}
    assert set(told) <= set(LISTED.values()) and told["edges"].truth == [given.counts.edges]
    assert told["edges"].released == [release.graph.edges]
    spectrum = Spectrum(epsilon=20, k=3).release(given)
    document = evaluate_graph(given, spectrum).to_json()
    found = {item["what"]: item for item in document["comparisons"]}
    assert found["eigenvalues"]["numbers"] == 3
    # At this ε hardly a pair is told wrongly, so that the truth comes out.
    assert found["cosines of the eigenvectors"]["average_error"] < 0.05
    assert found["captured part of their subspace"]["released"] > 0.95
