"""The dK series: the worked example, and every count against counting by hand."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from sfumato.graph.dk_series import (
    degree_counts,
    degrees_of,
    joint_degrees,
    triangle_count,
    triples,
)
from tests.graph.distances import degree_distance, joint_distance, triple_distance
from tests.graph.dk_graphs import SHAPES, WORKED, as_pairs, is_simple
from tests.graph.graphs import random_graphs


def by_hand(nodes, edges):
    """Wedges (centre, ends) and triangles by degree, from the definition."""
    joined = {frozenset(edge) for edge in edges}
    degree = Counter(end for edge in edges for end in edge)
    wedges, triangles = Counter(), Counter()
    for three in combinations(range(nodes), 3):
        inside = [pair for pair in combinations(three, 2) if frozenset(pair) in joined]
        if len(inside) == 3:
            triangles[tuple(sorted(degree[node] for node in three))] += 1
        elif len(inside) == 2:
            (centre,) = set(inside[0]) & set(inside[1])
            ends = sorted(degree[node] for node in set(three) - {centre})
            wedges[(degree[centre], *ends)] += 1
    return wedges, triangles


def as_counter(rows, counts):
    return Counter(
        {tuple(row): count for row, count in zip(rows.tolist(), counts.tolist(), strict=True)}
    )


def test_worked_example():
    pairs = as_pairs(WORKED)
    assert degree_counts(pairs, 5).tolist() == [0, 1, 1, 3]
    joint = joint_degrees(pairs, 5)
    assert list(zip(*(row.tolist() for row in joint), strict=True)) == [
        (1, 3, 1),
        (2, 3, 2),
        (3, 3, 3),
    ]
    found = triples(pairs, 5)
    assert as_counter(found.triangle_degrees, found.triangles) == {(2, 3, 3): 1, (3, 3, 3): 1}
    assert as_counter(found.wedge_degrees, found.wedges) == {(3, 2, 3): 2, (3, 1, 3): 2}


@settings(deadline=None, max_examples=60)
@given(random_graphs(least=2, most=8))
def test_triples_and_joint_degrees_match_counting_by_hand(graph):
    nodes, edges = graph
    pairs = as_pairs(edges)
    assert is_simple(pairs, nodes)
    found = triples(pairs, nodes)
    wedges, triangles = by_hand(nodes, edges)
    assert as_counter(found.wedge_degrees, found.wedges) == wedges
    assert as_counter(found.triangle_degrees, found.triangles) == triangles
    degree = degrees_of(pairs, nodes)
    joint = joint_degrees(pairs, nodes)
    cells = Counter(tuple(sorted((int(degree[a]), int(degree[b])))) for a, b in edges)
    assert as_counter(np.stack([joint.low, joint.high], axis=1), joint.edges) == cells


@pytest.mark.parametrize(("nodes", "edges"), SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_has_its_series(nodes, edges):
    pairs = as_pairs(edges)
    assert degree_counts(pairs, nodes).sum() == nodes
    assert joint_degrees(pairs, nodes).edges.sum() == len(pairs)
    found = triples(pairs, nodes)
    wedges, triangles = by_hand(nodes, edges)
    assert found.wedges.sum() == wedges.total()
    assert found.triangles.sum() == triangles.total() == triangle_count(pairs, nodes)


def test_distances_count_what_is_in_one_only():
    path, star = as_pairs({(0, 1), (1, 2), (2, 3)}), as_pairs({(0, 1), (0, 2), (0, 3)})
    assert degree_distance(degree_counts(path, 4), degree_counts(star, 4)) == 4
    assert degree_distance(degree_counts(path, 4), degree_counts(star, 4), power=2) == 6
    assert joint_distance(joint_degrees(path, 4), joint_degrees(star, 4)) == 6
    assert joint_distance(joint_degrees(path, 4), joint_degrees(star, 4), power=2) == 14
    assert triple_distance(triples(path, 4), triples(star, 4)) == 5
    assert triple_distance(triples(path, 4), triples(star, 4), power=2) == 13
    assert triple_distance(triples(path, 4), triples(path, 4)) == 0
