"""Graphs: everything they are read from, what is refused, and what stays private."""

import gzip
import lzma
import pickle

import duckdb
import igraph
import networkx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import sfumato as sf
from sfumato import noise
from sfumato.audit.neighbours import canonical_pairs, random_pair
from sfumato.data.graph import GraphPublic
from sfumato.data.public import Public
from sfumato.engines.memory_graph import MemoryGraph
from sfumato.privacy.guarantee import Guarantee

KEY = bytes(range(32))
#: A triangle with a tail; a loop, a repetition and the same edge backwards.
PAIRS = [(0, 1), (1, 2), (2, 0), (2, 3), (1, 1), (0, 1), (3, 2)]
EDGES = [[0, 1], [0, 2], [1, 2], [2, 3]]


def edges(graph):
    return graph.counts.pairs().tolist()


@pytest.mark.parametrize(
    "source",
    [
        PAIRS,
        tuple(map(list, PAIRS)),
        iter(PAIRS),
        np.array(PAIRS),
        np.array(PAIRS, dtype=np.uint8),
        np.array(PAIRS, dtype=np.float64),
        [(str(left), str(right)) for left, right in PAIRS],
        pl.DataFrame(PAIRS, schema=["from", "to"], orient="row"),
        pl.DataFrame(PAIRS, schema=["from", "to"], orient="row").lazy(),
        pl.DataFrame(PAIRS, schema=["from", "to"], orient="row").cast(pl.String),
    ],
    ids=lambda source: type(source).__name__,
)
def test_pairs_arrays_and_frames_are_the_same_graph(source):
    graph = sf.Graph(source, 5)
    assert edges(graph) == EDGES
    assert graph.dropped == (1, 2)
    assert graph.public == GraphPublic(nodes=5)


def test_pandas_pyarrow_and_duckdb():
    frame = pd.DataFrame(PAIRS, columns=["from", "to"])
    relation = duckdb.from_df(frame)
    for source in (frame, pa.Table.from_pandas(frame), relation):
        assert edges(sf.Graph(source, 4)) == EDGES


@pytest.mark.parametrize("kind", ["coo_array", "csr_array", "csc_matrix", "lil_array"])
def test_sparse_and_dense_matrices(kind):
    dense = np.zeros((6, 6))
    for left, right in PAIRS:
        dense[left, right] = 2.5
    source = getattr(sparse, kind)(dense)
    for graph in (sf.Graph(source, 6), sf.Graph(dense, 6, adjacency=True)):
        assert edges(graph) == EDGES and graph.public == GraphPublic(nodes=6)
    own = sf.Graph(source, "named").public
    assert own == GraphPublic(nodes=6, named_by_edges=True)
    with pytest.raises(sf.DataError, match=r"square; this one is \(2, 3\)"):
        sf.Graph(sparse.csr_array(np.ones((2, 3))), 3)


def test_stored_zeros_of_a_matrix_are_no_edges():
    matrix = sparse.csr_array(([1.0, 0.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert edges(sf.Graph(matrix, 3)) == [[0, 1]]


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), -1, 1j, "x"])
def test_entries_that_could_cancel_or_are_no_numbers_are_refused(wrong):
    """An entry of +1 and one of −1 at a place are an edge or none, as SciPy adds them or not."""
    for size in (2, 3):
        dense = np.zeros((size, size), dtype=np.array([wrong]).dtype)
        dense[0, 1] = wrong
        with pytest.raises(sf.DataError, match="adjacency matrix"):
            sf.Graph(dense, size, adjacency=True)
    if not isinstance(wrong, str):
        matrix = sparse.coo_array(([1, wrong], ([0, 0], [1, 1])), shape=(3, 3))
        with pytest.raises(sf.DataError, match="adjacency matrix"):
            sf.Graph(matrix, 3)


def test_entries_at_one_place_are_one_edge_however_scipy_keeps_them():
    matrix = sparse.coo_array(([1, 2, 0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    for source in (matrix, matrix.tocsr(), matrix.toarray()):
        graph = sf.Graph(source, 3, adjacency=isinstance(source, np.ndarray))
        assert edges(graph) == [[0, 1]]


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_whether_an_array_is_a_matrix_is_declared_and_not_read_off_its_shape(nodes):
    matrix = np.ones((nodes, nodes), dtype=int) - np.eye(nodes, dtype=int)
    pairs = [[low, high] for low in range(nodes) for high in range(low + 1, nodes)]
    assert edges(sf.Graph(matrix, nodes, adjacency=True)) == pairs
    if nodes == 2:
        assert edges(sf.Graph(matrix, nodes)) == [[0, 1]]  # two edges, one of them repeated
        assert sf.Graph(matrix, nodes).dropped.repeated == 1
    else:
        with pytest.raises(sf.DataError, match="For an adjacency matrix set adjacency=True"):
            sf.Graph(matrix, nodes)
    for source in ([[0, 1]], pl.DataFrame(matrix), "file", np.zeros(4)):
        with pytest.raises(sf.DataError, match="two-dimensional NumPy array or a SciPy sparse"):
            sf.Graph(source, nodes, adjacency=True)


def networkx_graph(kind="Graph"):
    source = getattr(networkx, kind)()
    source.add_nodes_from(["d", "c", "b", "a", "alone"])
    source.add_edges_from([("d", "c"), ("c", "b"), ("b", "d"), ("b", "a"), ("a", "a")])
    return source


@pytest.mark.parametrize("kind", ["Graph", "MultiDiGraph"])
def test_networkx_graphs(kind):
    source = networkx_graph(kind)
    declared = sf.Graph(source, ["e", *source.nodes()])
    # In sorted order: the library keeps them as edges named them.
    assert declared.public.labels == ("a", "alone", "b", "c", "d", "e")
    assert declared.counts.edges == len(EDGES) and declared.dropped.loops == 1
    named = sf.Graph(source, "named").public
    assert named.labels == ("a", "alone", "b", "c", "d") and named.named_by_edges


def test_names_of_networkx_are_read_as_those_of_any_edges():
    graph = sf.Graph(networkx.Graph([(1, 2), ("1", 2.5)]), "named")
    assert graph.public.labels == (1, 2, "2.5") and edges(graph) == [[0, 1], [0, 2]]
    with pytest.raises(sf.DataError, match="neither text nor a number"):
        sf.Graph(networkx.grid_graph((2, 2)), "named")
    with pytest.raises(sf.DataError, match="is not a declared node"):
        sf.Graph(networkx.grid_graph((2, 2)), 4)


@pytest.mark.parametrize(
    "source",
    [networkx_graph(), igraph.Graph(n=3, edges=[(0, 1)]), sparse.coo_array((3, 3)), [(0, 1)]],
    ids=lambda source: type(source).__module__,
)
def test_no_source_brings_public_nodes_by_itself(source):
    with pytest.raises(ValueError, match="the nodes are not declared"):
        sf.Graph(source)


def test_nodes_taken_from_the_data_lower_the_guarantee_everywhere(tmp_path):
    source = networkx_graph()
    named, declared = sf.Graph(source, "named"), sf.Graph(source, list(source.nodes()))
    method = sf.DegreeSequence(epsilon=1)
    words = "which nodes there are, and which have an edge"
    for graph, said in ((named, True), (declared, False)):
        release = method.release(graph)
        guarantee = release.guarantee
        assert (words in str(guarantee)) == (words in guarantee.words()) == said
        assert (words in str(guarantee.composed_in("a"))) == said
        assert Guarantee.from_json(guarantee.to_json()) == guarantee
        folder = release.save(tmp_path / f"{said}")
        sf.save_report(folder)
        certificate = (folder / "certificate.json").read_text(encoding="utf-8")
        assert certificate.count(words) == (2 if said else 0)  # by itself, and in the statement
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert ("not protected" in page) == said and (words in page) == said
        assert ("declared before the release" in page) != said
        assert (words in str(sf.verify(folder))) == said


def test_the_order_of_nodes_tells_nothing_of_the_edges():
    """A graph of another library lists nodes in the order in which edges named them."""

    class Listed:
        """What NetworkX does: nodes in order of first appearance."""

        def __init__(self, pairs):
            self.pairs = pairs

        def is_multigraph(self):
            return False

        def edges(self):
            return self.pairs

        def nodes(self):
            return list(dict.fromkeys(node for pair in self.pairs for node in pair))

    pairs = [("ann", "dan"), ("ann", "bob"), ("cy", "dan")]
    here, there = (sf.Graph(Listed(found), "named") for found in (pairs, pairs[1:]))
    assert here.public == there.public
    assert here.public.labels == ("ann", "bob", "cy", "dan")
    names = ["dan", "cy", "ann", "bob"]
    for kind in (list, tuple, set, iter, np.array, pl.Series, dict.fromkeys):
        public = sf.Graph(pairs, kind(names)).public
        assert public.labels == here.public.labels and not public.named_by_edges


def test_igraph_graphs():
    source = igraph.Graph(n=5, edges=PAIRS)
    assert edges(sf.Graph(source, 5)) == EDGES
    assert sf.Graph(source, "named").public == GraphPublic(nodes=5, named_by_edges=True)
    source.vs["name"] = list("zyxwv")
    assert edges(sf.Graph(source, list("vwxyz"))) == [[1, 2], [2, 3], [2, 4], [3, 4]]
    assert sf.Graph(source, "named").public.labels == tuple("vwxyz")


def test_labels_are_texts_or_whole_numbers():
    assert edges(sf.Graph([("b", "c")], ["a", "b", "c"])) == [[1, 2]]
    assert edges(sf.Graph([(70, -5)], [-5, 6, 70])) == [[0, 2]]
    assert edges(sf.Graph([(7, "b")], ["b", 7])) == [[0, 1]]
    assert sf.Graph([], np.array([3, 4])).public.labels == (3, 4)
    named = sf.Graph([(10, 2), (2, 33)], "named")
    assert named.public.labels == (2, 10, 33) and edges(named) == [[0, 1], [0, 2]]
    assert named.public.named_by_edges and "declared public" in named.public.assumptions()[0]
    assert sf.Graph([("x", "10"), ("x", "9")], "named").public.labels == (9, 10, "x")
    assert sf.Graph([], "named").public.nodes == 0
    assert named.public.label(1) == "10" and GraphPublic(nodes=3).label(2) == "2"


@pytest.mark.parametrize("nodes", [0, 1, 2, ["one"], []])
def test_graphs_without_edges(nodes):
    for source in ([], np.zeros((0, 2), dtype=int), np.array([]), pl.DataFrame({"a": [], "b": []})):
        graph = sf.Graph(source, nodes)
        assert edges(graph) == [] and graph.counts.edges == 0
        assert graph.counts.triangles() == 0


@pytest.mark.parametrize(
    ("source", "nodes", "words"),
    [
        ([(0, 1), (1, 7), (7, 7)], 3, "second node.*row 2 and 1 more: .* whole number from 0 to 2"),
        ([(0, 1), (-1, 2)], 3, "first node.*row 2"),
        ([(0, 1), (1, float("nan"))], 3, "second node.*row 2"),
        ([(0, 1), (None, 2)], 3, "first node.*row 2"),
        (np.array([[0.0, np.nan]]), 3, "row 1"),
        (np.array([[0.0, np.inf]]), 3, "row 1"),
        ([(0, 1.5)], 3, "row 1"),
        ([(0, 10**40)], 3, "row 1"),
        (np.array([[0, 2**63]], dtype=np.uint64), 3, "row 1"),
        ([(0, 10**5000)], 3, "row 1"),
        ([("a", "secret")], ["a", "b"], "row 1: .*one of 'a', 'b'"),
        ([("a", "")], ["a", "b"], "row 1"),
        ([(0, 1), (1, 2, 3)], 4, "row 2: an edge must be a pair"),
        (np.zeros((2, 3), dtype=int), 4, "row 1 and 1 more: an edge must be a pair"),
        (np.zeros(4, dtype=int), 4, "an edge must be a pair"),
        ([1, 2], 4, "an edge must be a pair"),
        (7, 4, "an edge must be a pair"),
        ("edges.txt", 4, "read_graph"),
        (pl.DataFrame({"a": [0], "b": [1], "c": [2]}), 4, "has 3"),
        (pl.DataFrame({"a": [0]}), 4, "has 1"),
        ([(0, 1)], 0, "no node is declared"),
        ([(0, 1)], [], "no node is declared"),
    ],
)
def test_edges_that_cannot_be_read_are_named_by_row_and_never_by_value(source, nodes, words):
    with pytest.raises(sf.DataError, match=words) as caught:
        sf.Graph(source, nodes)
    assert caught.value.__cause__ is None
    for value in ("secret", "e+40", "1.5", str(2**63)):
        assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (None, "the nodes are not declared"),
        (-1, "0 to"),
        (2**24 + 1, "0 to"),
        (True, "nodes must be"),
        (3.0, "nodes must be"),
        ("many", "nodes must be"),
        (["a", "a"], "listed once"),
        ([7, "7"], "listed once"),
        (["a", " a"], "listed once"),
        (["a", " "], "not empty"),
        ([1.5], "text or whole numbers"),
        ([None], "text or whole numbers"),
        ([True, False], "text or whole numbers"),
    ],
)
def test_nodes_that_cannot_be(nodes, words):
    with pytest.raises(ValueError, match=words):
        sf.Graph([(0, 1)], nodes)


LIST = b"# Nodes: 4\n0\t1\n1 2  0.7\n\n2,0\n2;3\n1 1\n 0 1 \n# end\n3 2\n"


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("g.txt", LIST),
        ("g.txt", LIST.replace(b"\n", b"\r\n")),
        ("g.txt", b"\xef\xbb\xbf" + LIST.partition(b"\n")[2]),
        ("g.txt.gz", gzip.compress(LIST, mtime=0)),
        ("g.txt.xz", lzma.compress(LIST)),
    ],
)
def test_edge_lists(tmp_path, name, packed):
    (tmp_path / name).write_bytes(packed)
    graph = sf.read_graph(tmp_path / name, 4)
    assert edges(graph) == EDGES and graph.dropped == (1, 2)
    assert sf.read_graph(str(tmp_path / name), "named").public.labels == (0, 1, 2, 3)


def test_edge_lists_with_other_comments_and_none(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("% Pajek\n0 1\n", encoding="utf-8")
    assert edges(sf.read_graph(path, 2, comment="%")) == [[0, 1]]
    path.write_text("#a b\n", encoding="utf-8")
    assert edges(sf.read_graph(path, ["#a", "b"], comment="")) == [[0, 1]]
    for empty in ("", "\n\n", "# nothing\n"):
        path.write_text(empty, encoding="utf-8")
        assert edges(sf.read_graph(path, 3)) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("g.txt", b"# a\n0 1\nsecret\n0\n", "row 3 and 1 more: a line of g.txt does not hold two"),
        ("g.txt", b"# a\n\n0 1\n0 secret\n", "second node.*row 4"),
        ("g.txt", b"from to\n0 1\n", "row 1"),
        ("g.txt", "0 1\n\xe4 \xf6\n".encode("latin-1"), "UTF-8"),
        ("g.txt", "0 1\n".encode("utf-16"), "UTF-8"),
        ("g.txt", b"0 1\n\x01 2\n", "cannot be read"),
        ("g.gz", b"0 1\n", "cannot be read"),
        ("g.xz", b"0 1\n", "cannot be read"),
        ("g.xz", lzma.compress(b"0 1\n" * 1000)[:-9], "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(sf.DataError, match=words) as caught:
        sf.read_graph(tmp_path / name, 2)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None


def test_files_that_are_not_there(tmp_path):
    for path in (tmp_path / "nothing.txt", tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            sf.read_graph(path, 3)


def test_two_columns_of_a_table(tmp_path):
    frame = pl.DataFrame(PAIRS, schema=["a", "b"], orient="row").with_columns(w=0.5)
    frame.write_csv(tmp_path / "g.csv")
    frame.write_parquet(tmp_path / "g.parquet")
    for name in ("g.csv", "g.parquet"):
        assert edges(sf.read_graph(tmp_path / name, 4, columns=["b", "a"])) == EDGES
        with pytest.raises(sf.DataError, match=r"'z': g.* has no column with this name"):
            sf.read_graph(tmp_path / name, 4, columns=["a", "z"])
    (tmp_path / "m.csv").write_text("a,b\n0,1\n,2\n", encoding="utf-8")
    with pytest.raises(sf.DataError, match=r"first node.*row 2"):
        sf.read_graph(tmp_path / "m.csv", 4, columns=["a", "b"])
    for columns in ("ab", ["a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="columns must be two names"):
            sf.read_graph(tmp_path / "g.csv", 4, columns=columns)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_what_was_dropped_adds_up(pairs):
    graph = sf.Graph(pairs, 7)
    kept = {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}
    assert edges(graph) == sorted(map(list, kept))
    assert sum(graph.dropped) + len(kept) == len(pairs)


def test_a_graph_does_not_change_and_says_nothing_private():
    graph = sf.Graph(PAIRS, 5)
    assert repr(graph) == "Graph(nodes=5, unit='edge')"
    with pytest.raises(AttributeError, match="cannot be changed"):
        graph._public = None
    with pytest.raises(ValueError, match="read-only"):
        graph.counts._rows.neighbours[0] = 1
    for private in (graph, graph.counts):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(private)


def test_the_digest_is_of_the_graph_and_not_of_its_spelling():
    graph = sf.Graph(PAIRS, 4)
    same = sf.Graph([(str(b), str(a)) for a, b in reversed(EDGES)], 4, rows_about=10)
    assert graph.digest(KEY) == same.digest(KEY)
    others = [sf.Graph(PAIRS[:3], 4), sf.Graph(PAIRS, 5), sf.Graph(PAIRS, [0, 1, 2, 3])]
    digests = {graph.digest(KEY), graph.digest(KEY[::-1]), *(o.digest(KEY) for o in others)}
    assert len(digests) == 5
    with pytest.raises(ValueError, match="at least 16 bytes"):
        graph.digest(b"short")


@pytest.mark.parametrize(
    "public",
    [
        GraphPublic(nodes=0),
        GraphPublic(nodes=3, rows_about=7),
        GraphPublic(nodes=2, labels=("a", "b"), named_by_edges=True),
        GraphPublic(nodes=2, labels=(5, 6)),
        GraphPublic(nodes=4, labels=(-5, 60, "a", "é")),
    ],
)
def test_the_public_part_goes_through_plain_files_and_makes_up_graphs(public):
    assert Public.from_json(public.to_json()) == public
    for rows in (0, 1, 50):
        made = public.make_synthetic(rows, noise.generator(1))
        assert made.public == public and made.counts.edges <= min(rows, public.most_edges)
    with pytest.raises(ValueError, match="not be negative"):
        public.make_synthetic(-1, noise.generator(1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": "row"}, "one edge"),
        ({"contribution": 2}, "one edge"),
        ({"relation": "replace_one"}, "one edge is added or removed"),
        ({"labels": ("a",)}, "as many labels"),
        *(
            ({"labels": labels}, "labels must be sorted")
            for labels in (
                ("b", "a", "c"),
                (2, 1, 3),
                (1, 1, 2),
                ("a", 1, "b"),
                ("1", "a", "b"),
                ("a", "b", "c "),
                (1, 2, 2**63),
                (1.0, 2, 3),
                (-(2**63), 2**63 - 1, 5),
            )
        ),
    ],
)
def test_only_edges_are_protected(options, words):
    from sfumato.privacy.guarantee import Relation, Unit

    kinds = {"unit": Unit, "relation": Relation}
    given = {key: kinds[key](value) if key in kinds else value for key, value in options.items()}
    with pytest.raises(ValueError, match=words):
        GraphPublic(nodes=3, **given)


@pytest.mark.parametrize("nodes", [2, 3, 4, 6])
def test_neighbours_differ_in_one_edge(nodes):
    public = GraphPublic(nodes=nodes)
    pairs = canonical_pairs(public)
    pairs += [random_pair(public, np.random.default_rng(seed)) for seed in range(20)]
    for pair in pairs:
        here, there = ({tuple(edge) for edge in edges(data)} for data in (pair.here, pair.there))
        assert len(here ^ there) == 1
    with pytest.raises(ValueError, match="no neighbour"):
        random_pair(GraphPublic(nodes=1), np.random.default_rng(1))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ([[0, 9]], "numbered 0 to 3"),
        ([[0, -1]], "numbered 0 to 3"),
        ([[2, 2]], "itself"),
        ([[0.0, 1.0]], "whole numbers"),
        ([0, 1, 2], "shape"),
    ],
)
def test_the_engine_itself_refuses_what_is_no_graph(array, words):
    with pytest.raises(ValueError, match=words):
        MemoryGraph(np.array(array), nodes=4)
