"""Clustered graphs: the suite, every graph, and the clustering of a real one."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.graph import read_graph
from sfumato.graph.clustered import ClusteredGraph
from sfumato.graph.models import MOST_WORK, rewiring_steps
from tests.graph.graphs import graph
from tests.graph.summary_suite import SummarySuite


class TestClusteredGraph(SummarySuite):
    name = "graph.ClusteredGraph"
    random_neighbours = 20

    def fact(self, release):
        return np.array([release.model.triangles, *release.model.degrees])


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("epsilon", ["1e-6", 1, 5000])
def test_every_graph_is_accepted_and_comes_out_with_a_huge_epsilon(nodes, epsilon):
    for edges in ([], list(combinations(range(nodes), 2))):
        data = graph(nodes, edges)
        release = ClusteredGraph(epsilon=epsilon).release(data)
        assert release.graph.nodes == nodes and release.agrees(release.files())
        assert release.words() and (epsilon != 1 or release.plot().axes)
        if epsilon == 5000:
            assert release.graph.edges == len(edges)
            assert release.graph.counts.triangles() == data.counts.triangles()


@pytest.mark.parametrize("share", [0, 1, "x", -1])
def test_the_share_of_the_triangles_is_checked(share):
    with pytest.raises(ValueError, match="triangle_share must be"):
        ClusteredGraph(epsilon=1, triangle_share=share)


def test_polbooks_keeps_its_clustering():
    """560 triangles at ε = 2; a graph of the same degrees has about 230 of them by chance."""
    folder = os.environ.get("SFUMATO_DATA")
    path = Path(folder or "", "graphs", "polbooks.txt.xz")
    if not folder or not path.is_file():
        pytest.skip("SFUMATO_DATA does not name a folder with the SNAP graphs")
    data = read_graph(path, "named")
    with noise.seeded(3):
        release = ClusteredGraph(epsilon=2).release(data)
    assert abs(release.graph.counts.triangles() - 560) < 200
    assert abs(release.graph.edges - 441) < 25
    for _ in range(2):
        drawn = release.sample().counts.triangles()
        assert abs(drawn - release.model.triangles) <= 0.05 * release.model.triangles


def test_rewiring_ends_however_much_noise_there_was():
    """Millions of edges, and triangles that no graph has, were days of steps."""
    assert rewiring_steps(np.zeros(0, dtype=np.int64)) == 0
    assert rewiring_steps(np.zeros(5, dtype=np.int64)) == 0
    assert rewiring_steps(np.array([1] * 9 + [9])) == 9 * 200
    assert rewiring_steps(np.full(50_000, 671)) == MOST_WORK // 671


def test_the_work_of_a_step_is_the_mean_of_the_lesser_degree_at_two_ends(monkeypatch):
    monkeypatch.setattr("sfumato.graph.models.STEPS_PER_EDGE", 10**12)
    degrees = np.random.default_rng(1).integers(0, 30, 40)
    ends = np.repeat(degrees, degrees)
    mean = np.minimum.outer(ends, ends).mean()
    assert MOST_WORK / rewiring_steps(degrees) == pytest.approx(mean, rel=1e-6)
