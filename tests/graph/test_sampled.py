"""A drawn graph in the hands of other libraries, and in files."""

import sys
from types import SimpleNamespace

import igraph
import networkx
import numpy as np
import polars as pl
import pytest

from sfumato.data.graph import Graph, read_graph
from sfumato.graph.sampled import SampledGraph, check_pairs

PAIRS = np.array([[3, 1], [0, 2], [1, 0]])
NAMES = ("ann", "bob, jr.", "cy", "dee", "eve")


def test_edges_are_put_in_order_and_cannot_be_changed():
    graph = SampledGraph(5, PAIRS)
    assert graph.pairs.tolist() == [[0, 1], [0, 2], [1, 3]]
    assert graph.pairs.dtype == np.int64 and not graph.pairs.flags.writeable
    assert (graph.edges, graph.degrees.tolist()) == (3, [2, 2, 1, 1, 0])
    assert graph.names == (0, 1, 2, 3, 4) and repr(graph) == "SampledGraph(nodes=5, edges=3)"
    assert graph == SampledGraph(5, PAIRS[::-1])
    assert graph != SampledGraph(6, PAIRS) and graph != SampledGraph(5, PAIRS, NAMES)


def test_an_empty_graph_is_a_graph():
    for nodes in (0, 1, 4):
        graph = SampledGraph(nodes, np.zeros((0, 2), dtype=np.int64))
        assert graph.edges == 0 and graph.degrees.tolist() == [0] * nodes
        assert graph.csv() == b"source,target\n" and graph.to_scipy().shape == (nodes, nodes)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([[0, 5]], "numbered 0 to 4"),
        ([[-1, 2]], "numbered 0 to 4"),
        ([[2, 2]], "none may join a node to itself"),
        ([[0, 1], [1, 0]], "edges must be distinct"),
        ([[0.5, 1.0]], "whole numbers"),
        ([[0, 1, 2]], "of shape"),
    ],
)
def test_what_is_no_simple_graph_is_refused(pairs, words):
    with pytest.raises(ValueError, match=words):
        check_pairs(np.array(pairs), 5)


def test_labels_are_as_many_as_nodes():
    with pytest.raises(ValueError, match="5 nodes need 5 labels; got 2"):
        SampledGraph(5, PAIRS, ("a", "b"))


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_edges_become_a_frame_with_the_names_of_the_nodes(backend):
    frame = SampledGraph(5, PAIRS, NAMES).to_frame(backend)
    columns = frame.to_pydict() if backend == "pyarrow" else frame
    assert list(columns["source"]) == ["ann", "ann", "bob, jr."]
    assert list(columns["target"]) == ["bob, jr.", "cy", "dee"]


def test_files_are_read_back_as_the_same_graph(tmp_path):
    graph = SampledGraph(5, PAIRS)
    for name in ("a.txt", "a.tsv"):
        found = read_graph(graph.write(tmp_path / name), 5)
        assert found.counts.pairs().tolist() == graph.pairs.tolist()
    for name in ("a.csv", "a.parquet"):
        found = read_graph(graph.write(tmp_path / name), 5, columns=["source", "target"])
        assert found.counts.pairs().tolist() == graph.pairs.tolist()
    named = SampledGraph(5, PAIRS, NAMES).write(tmp_path / "b.csv")
    assert pl.read_csv(named)["target"].to_list() == ["bob, jr.", "cy", "dee"]
    with pytest.raises(ValueError, match=r"\.csv, \.txt, \.tsv, \.parquet, \.graphml; got '\.xls'"):
        graph.write(tmp_path / "a.xls")


def test_a_sparse_matrix_is_symmetric():
    matrix = SampledGraph(5, PAIRS).to_scipy()
    assert (matrix != matrix.T).nnz == 0 and matrix.sum() == 6
    assert Graph(matrix, 5).counts.pairs().tolist() == [[0, 1], [0, 2], [1, 3]]


class Network:
    """What is used of a NetworkX graph."""

    def __init__(self):
        self.nodes, self.edges = [], []

    def add_nodes_from(self, names):
        self.nodes += names

    def add_edges_from(self, edges):
        self.edges += edges


def test_networkx_gets_all_nodes(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", SimpleNamespace(Graph=Network))
    graph = SampledGraph(5, PAIRS, NAMES).to_networkx()
    assert graph.nodes == list(NAMES) and ("bob, jr.", "dee") in graph.edges


def test_igraph_gets_the_names(monkeypatch):
    made = SimpleNamespace(vs={})
    kind = SimpleNamespace(Graph=lambda **given: SimpleNamespace(**vars(made), **given))
    monkeypatch.setitem(sys.modules, "igraph", kind)
    graph = SampledGraph(5, PAIRS, NAMES).to_igraph()
    assert (graph.n, graph.directed, graph.vs["name"]) == (5, False, list(NAMES))


def test_the_real_libraries_take_it():
    for labels in (None, NAMES, (3, 10, "ann", "bob", "é")):
        drawn = SampledGraph(5, PAIRS, labels)
        graph = drawn.to_networkx()
        assert isinstance(graph, networkx.Graph) and graph.number_of_nodes() == 5
        other = drawn.to_igraph()
        assert other.vcount() == 5 and isinstance(other, igraph.Graph)
        for source in (graph, other):
            nodes = 5 if labels is None else labels
            assert Graph(source, nodes).counts.pairs().tolist() == drawn.pairs.tolist()


def test_names_of_both_kinds_go_through_files(tmp_path):
    drawn = SampledGraph(5, PAIRS, (3, 10, "ann", "bob", "é"))
    assert drawn.to_frame()["target"].to_list() == ["10", "ann", "bob"]
    for name in ("a.csv", "a.parquet"):
        found = read_graph(drawn.write(tmp_path / name), drawn.labels, columns=("source", "target"))
        assert found.counts.pairs().tolist() == drawn.pairs.tolist()
    drawn.write(tmp_path / "a.graphml")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(ImportError, match=r"pip install 'sfumato\[graphs\]'"):
        SampledGraph(5, PAIRS).to_igraph()
