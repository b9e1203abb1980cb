"""The release of synthetic graphs: what is published, drawn again, and told."""

import json
from itertools import combinations

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.graph import GraphPublic
from sfumato.graph.dk_graph import DKGraph
from sfumato.graph.dk_series import JointDegrees, Triples, joint_degrees, triples
from sfumato.graph.joint_models import JointModel, TripleModel
from sfumato.graph.models import BlockModel, ClusteredModel, DegreeModel
from sfumato.graph.synthetic import GraphModel, SyntheticGraph, most_edges
from tests.graph.graphs import graph

RING = [(node, (node + 1) % 9) for node in range(9)]
HOUSE = np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 4]])

MODELS = [
    DegreeModel(np.array([1, 2, 2, 3])),
    ClusteredModel(np.array([2, 2, 2, 3, 3]), 2),
    BlockModel(np.array([1, 1, 1, 1]), np.array([0, 0, 1, 1]), np.array([[1, 0], [0, 1]])),
    JointModel(joint_degrees(HOUSE, 5), 6),
    JointModel(joint_degrees(HOUSE, 5), 6, exact=False),
    TripleModel(JointModel(joint_degrees(HOUSE, 5), 5), triples(HOUSE, 5)),
]


@pytest.fixture(scope="module")
def release():
    with noise.seeded(4):
        return DKGraph(epsilon=3, order=1).release(graph(9, [tuple(sorted(e)) for e in RING]))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_every_model_goes_through_a_document(model):
    assert isinstance(model, GraphModel)
    document = json.loads(json.dumps(model.document()))
    again = type(model).from_document(document)
    assert again.document() == document and again.nodes == model.nodes
    drawn = [m.draw(np.random.default_rng(5)).tolist() for m in (model, again)]
    assert drawn[0] == drawn[1] and model.words()


def test_models_keep_what_they_say():
    degrees, clustered, blocks, joint, _, triple = MODELS
    generator = np.random.default_rng(1)
    for _ in range(10):
        assert np.bincount(degrees.draw(generator).ravel()).tolist() == [1, 2, 2, 3]
        assert np.bincount(clustered.draw(generator).ravel()).tolist() == [2, 2, 2, 3, 3]
        assert blocks.draw(generator).tolist() == [[0, 1], [2, 3]]
        for model in (joint, triple):
            drawn = model.draw(generator)
            assert _same(joint_degrees(drawn, model.nodes), joint_degrees(HOUSE, 5))


def _same(first, second):
    return all(a.tolist() == b.tolist() for a, b in zip(first, second, strict=True))


def test_models_of_empty_graphs_draw_empty_graphs():
    none = np.zeros(0, dtype=np.int64)
    rows = np.zeros((0, 3), dtype=np.int64)
    empty = [
        DegreeModel(none),
        ClusteredModel(np.zeros(3, dtype=np.int64), 5),
        BlockModel(none, none, np.zeros((1, 1), dtype=np.int64)),
        JointModel(JointDegrees(none, none, none), 4),
        TripleModel(JointModel(JointDegrees(none, none, none), 4), Triples(rows, none, rows, none)),
    ]
    for model in empty:
        again = type(model).from_document(json.loads(json.dumps(model.document())))
        assert again.draw(np.random.default_rng(1)).shape == (0, 2)


def test_samples_are_free_differ_and_can_be_drawn_again(release):
    first, second = release.sample(), release.sample()
    assert first.edges == second.edges == release.graph.edges
    drawn = [release.sample(generator=np.random.default_rng(1)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    others = [release.sample(generator=np.random.default_rng(seed)) for seed in range(5)]
    assert any(other != drawn[0] for other in others)
    assert sorted(drawn[0].degrees) == sorted(release.graph.degrees)


def test_nodes_that_stand_for_nobody_are_shuffled(release):
    assert release.graph.labels is None
    degrees = np.array([release.sample().degrees for _ in range(30)])
    # Sorted, they would be the same in every draw.
    if release.graph.edges and len(set(release.graph.degrees.tolist())) > 1:
        assert len({tuple(row) for row in degrees.tolist()}) > 1


def test_named_models_carry_the_labels():
    public = GraphPublic(nodes=4, labels=("a", "b", "c", "d"))
    found = SyntheticGraph(public, MODELS[2]).sample()
    assert found.labels == ("a", "b", "c", "d")
    assert found.csv() == b"source,target\na,b\nc,d\n"
    with pytest.raises(ValueError, match="5 nodes are declared; the model has 4"):
        SyntheticGraph(GraphPublic(nodes=5), MODELS[2])


def test_files_agree_with_themselves_and_with_nothing_else(release):
    files = release.files()
    assert release.agrees(files)
    edges, model = files["edges.csv"], files["model.json"]
    other = SyntheticGraph(release.public, MODELS[0], moved=1.0)
    other._provenance = release.provenance
    for wrong in (
        {},
        {"edges.csv": edges},
        {"edges.csv": edges + b"0,1\n", "model.json": model},
        {"edges.csv": edges, "model.json": b"{"},
        {"edges.csv": edges, "model.json": b"[]"},
        other.files(),
        {"edges.csv": edges, "model.json": other.files()["model.json"]},
    ):
        assert not release.agrees(wrong)
    moved = json.loads(model)["moved"]
    for near, agrees in ((moved + 1e-8, True), (moved + 2e-8, False), (moved + 1e-12, False)):
        close = model.replace(f'"moved":{moved}'.encode(), f'"moved":{near:.13g}'.encode())
        assert close != model
        assert release.agrees({"edges.csv": edges, "model.json": close}) is agrees


def test_words_tell_what_was_moved_and_what_is_kept(release):
    words = release.words()
    assert "moved by" in words and "do not correspond to those of the private graph" in words
    assert "without further privacy loss" in words
    assert release.plot().axes


def test_no_absurd_number_of_edges_is_drawn():
    assert most_edges(GraphPublic(nodes=4)) == 6
    assert most_edges(GraphPublic(nodes=10**6)) == 2**24
    assert most_edges(GraphPublic(nodes=10**6, rows_about=10**8)) == 2 * 10**8


def test_a_complete_graph_is_drawn_from_every_kind_of_model():
    pairs = np.array(list(combinations(range(6), 2)))
    degrees = np.full(6, 5)
    blocks = BlockModel(degrees, np.zeros(6, dtype=np.int64), np.array([[15]]))
    for model in (DegreeModel(degrees), blocks, JointModel(joint_degrees(pairs, 6), 6)):
        assert model.draw(np.random.default_rng(2)).tolist() == pairs.tolist()
