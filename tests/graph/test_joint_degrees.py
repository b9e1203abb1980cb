"""Joint degrees: repair of noisy ones, and graphs that have given ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.graph.dk_series import JointDegrees, joint_degrees
from sfumato.graph.joint_degrees import deal_edges, is_joint_graphical, joint_graph, repair_joint
from tests.graph.distances import joint_distance
from tests.graph.dk_graphs import SHAPES, as_pairs, is_simple, public
from tests.graph.graphs import all_graphs, random_graphs

cells = st.tuples(
    st.integers(-2, 14),
    st.integers(-2, 14),
    st.one_of(st.floats(-5, 40), st.integers(0, 12), st.floats(-1e9, 1e9)),
)


def table(rows):
    return (np.array([row[part] for row in rows], dtype=np.int64) for part in range(3))


@settings(deadline=None, max_examples=100)
@given(random_graphs(least=2, most=12), st.integers(0, 2**32))
def test_joint_degrees_of_a_graph_are_built_exactly(graph, seed):
    nodes, edges = graph
    joint = joint_degrees(as_pairs(edges), nodes)
    assert is_joint_graphical(joint, nodes)
    built = joint_graph(joint, nodes, np.random.default_rng(seed))
    assert is_simple(built, nodes)
    assert joint_distance(joint_degrees(built, nodes), joint) == 0
    repaired = repair_joint(*joint, nodes)
    assert repaired.moved == 0
    assert joint_distance(repaired.joint, joint) == 0


@settings(deadline=None, max_examples=120)
@given(st.lists(cells, max_size=40), st.integers(0, 30), st.integers(0, 2**32))
def test_anything_is_repaired_to_joint_degrees_of_a_graph(rows, nodes, seed):
    low, high = (np.array([row[part] for row in rows], dtype=np.int64) for part in (0, 1))
    weights = np.array([row[2] for row in rows], dtype=np.float64)
    repaired = repair_joint(low, high, weights, nodes)
    assert is_joint_graphical(repaired.joint, nodes)
    assert (repaired.joint.edges > 0).all()
    built = joint_graph(repaired.joint, nodes, np.random.default_rng(seed))
    assert is_simple(built, nodes)
    assert joint_distance(joint_degrees(built, nodes), repaired.joint) == 0


def test_the_test_of_joint_degrees_agrees_with_all_graphs_of_five_nodes():
    possible = set()
    for edges in all_graphs(5):
        joint = joint_degrees(as_pairs(edges), 5)
        possible.add(tuple(zip(*(row.tolist() for row in joint), strict=True)))
    generator = np.random.default_rng(5)
    found = 0
    for _ in range(1000):
        many = generator.integers(1, 4)
        degrees = np.unique(np.sort(generator.integers(1, 5, (many, 2)), axis=1), axis=0)
        edges = generator.integers(1, 5, len(degrees))
        joint = JointDegrees(degrees[:, 0], degrees[:, 1], edges)
        key = tuple(zip(*(row.tolist() for row in joint), strict=True))
        assert is_joint_graphical(joint, 5) == (key in possible), key
        found += key in possible
    assert found > 5


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("nodes", "edges"), SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_is_built(nodes, edges, exact):
    joint = joint_degrees(as_pairs(edges), nodes)
    built = joint_graph(joint, nodes, np.random.default_rng(4), exact=exact)
    assert is_simple(built, nodes)
    if exact:
        assert joint_distance(joint_degrees(built, nodes), joint) == 0
    else:
        assert len(built) <= len(edges)


@pytest.mark.parametrize(
    ("name", "kept"), [("polbooks", 415), ("ca-GrQc", 13707), ("as20000102", 12345)]
)
def test_pseudographs_lose_as_many_edges_as_known(name, kept):
    pairs, nodes = public(name)
    joint = joint_degrees(pairs, nodes)
    built = joint_graph(joint, nodes, np.random.default_rng(1), exact=False)
    assert is_simple(built, nodes)
    # The number lost has about the spread of a Poisson variable.
    assert abs(len(built) - kept) < 6 * np.sqrt(len(pairs) - kept)
    again = joint_graph(joint, nodes, np.random.default_rng(1), exact=False)
    assert np.array_equal(built, again)


def test_exact_graph_of_public_joint_degrees():
    pairs, nodes = public("ca-GrQc")
    joint = joint_degrees(pairs, nodes)
    drawn = [joint_graph(joint, nodes, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert is_simple(drawn[0], nodes)
    assert joint_distance(joint_degrees(drawn[0], nodes), joint) == 0
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_repair_of_public_joint_degrees_moves_little_more_than_the_noise():
    pairs, nodes = public("ca-GrQc")
    joint = joint_degrees(pairs, nodes)
    noisy = joint.edges + np.random.default_rng(2).normal(scale=0.5, size=len(joint.edges))
    repaired = repair_joint(joint.low, joint.high, noisy, nodes)
    assert is_joint_graphical(repaired.joint, nodes)
    assert joint_distance(repaired.joint, joint) < 700
    assert abs(int(repaired.joint.edges.sum()) - len(pairs)) < 100


def test_enormous_tables_are_cut_to_what_the_nodes_hold():
    low, high = np.triu_indices(60, 1)
    repaired = repair_joint(low + 1, high + 1, np.full(len(low), 1e9), 50)
    assert is_joint_graphical(repaired.joint, 50)
    assert repaired.joint.edges.sum() > 50


def test_dealing_is_even_within_groups():
    count = np.array([4, 6, 1])
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
    pairs = deal_edges(rows, columns, np.array([5, 17, 8, 4]), count)
    assert is_simple(pairs, 11)
    group = np.repeat([0, 1, 2], count)
    kinds, numbers = np.unique(np.sort(group[pairs], axis=1), axis=0, return_counts=True)
    assert kinds.tolist() == [[0, 0], [0, 1], [1, 1], [1, 2]]
    assert numbers.tolist() == [5, 17, 8, 4]
    degrees = np.bincount(pairs.ravel(), minlength=11)
    assert np.ptp(degrees[:4]) <= 1
    assert np.ptp(degrees[4:10]) <= 1


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="same length"):
        repair_joint([1], [1, 2], [1.0, 2.0], 4)
    with pytest.raises(ValueError, match="whole"):
        repair_joint([1.5], [2.0], [1.0], 4)
    with pytest.raises(ValueError, match="finite"):
        repair_joint([1], [2], [np.nan], 4)
    with pytest.raises(ValueError, match="no simple graph on 3 nodes"):
        joint_graph(JointDegrees(*table([(1, 1, 2)])), 3, np.random.default_rng(1))
