import io

import numpy as np
import pytest

import sfumato as sf
from sfumato.evaluate.spectrum import compare_spectrum, draw_spectrum, true_spectrum
from sfumato.graph.spectrum import Spectrum


@pytest.fixture(scope="module")
def blocks():
    """Two cliques of 12 and 9 nodes with one edge between them, and three lone nodes."""
    edges = [(i, j) for i in range(12) for j in range(i)]
    edges += [(i, j) for i in range(12, 21) for j in range(12, i)]
    return sf.Graph([*edges, (0, 12)], 24)


def test_the_true_spectrum_is_that_of_the_matrix(blocks):
    truth = true_spectrum(blocks, 3)
    values = np.linalg.eigvalsh(blocks.counts.adjacency.toarray().astype(float))[::-1]
    assert truth.eigenvalues == pytest.approx(values[:3])
    assert true_spectrum(blocks, 100).eigenvectors.shape == (24, 24)


def test_a_release_at_a_huge_epsilon_is_the_truth(blocks):
    # A pair is told wrongly with probability e^-60.
    found = compare_spectrum(blocks, Spectrum(epsilon=60, k=2).release(blocks))
    assert found.value_distance == pytest.approx(0, abs=1e-6)
    assert found.vector_distance == pytest.approx(0, abs=1e-4)
    assert found.captured == pytest.approx(1)
    assert found.cosines == pytest.approx(np.ones(2))
    drawn = found.reconstruction
    assert drawn.distance == drawn.best < drawn.chance


def test_distances_are_those_of_the_definitions(blocks):
    release = Spectrum(epsilon=3, k=4).release(blocks)
    found = compare_spectrum(blocks, release)
    truth, vectors = found.truth.eigenvectors, release.eigenvectors
    gaps = [min(np.abs(truth[:, i] - s * vectors[:, i]).sum() for s in (1, -1)) for i in range(4)]
    # The sign is chosen by the angle, which need not be the one of the smaller sum.
    assert found.vector_distance >= max(gaps) - 1e-9
    assert found.captured == pytest.approx(((truth.T @ vectors) ** 2).sum() / 4)
    matrix = np.zeros((24, 24))
    for low, high in release.reconstruction(blocks.counts.edges):
        matrix[low, high] = matrix[high, low] = 1
    gamma = np.linalg.norm(matrix - blocks.counts.adjacency.toarray())
    assert found.reconstruction.distance == pytest.approx(gamma)


def test_a_comparison_says_that_it_is_not_private_and_is_drawn(blocks):
    for mechanism in ("response", "eigenvalues"):
        found = compare_spectrum(blocks, Spectrum(epsilon=3, mechanism=mechanism).release(blocks))
        document = found.to_json()
        assert document["private"] is False and "Not private" in document["warning"]
        assert (document["cosines"] is None) == (mechanism == "eigenvalues")
        buffer = io.StringIO()
        draw_spectrum(found).savefig(buffer, format="svg")
        assert buffer.getvalue()


def test_graphs_of_no_or_one_node_are_compared():
    for nodes in (0, 1):
        graph = sf.Graph([], nodes)
        found = compare_spectrum(graph, Spectrum(epsilon=1).release(graph))
        assert found.value_distance == pytest.approx(0, abs=1e-9)
        draw_spectrum(found).savefig(io.BytesIO())
