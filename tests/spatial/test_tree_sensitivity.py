"""How far one point moves the weighted counts of a tree, by trying every leaf of many trees."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from sfumato.mechanisms.count_noise import count_noise
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ZCDP, PureDP
from sfumato.spatial.privtree import PrivTree
from sfumato.spatial.tree_repair import WHOLE, weights
from sfumato.spatial.tree_shape import TreeShape
from tests.spatial.grid_suite import made, points


def tree(levels, chance, seed):
    """Return a random tree on two axes; with a chance of 1 it is full."""
    draw, splits, nodes = np.random.default_rng(seed), [], 1
    for _ in range(levels):
        split = draw.random(nodes) < chance
        splits.append(split)
        nodes = 4 * int(split.sum())
    return TreeShape(splits, 2, (0, 1) * 8)


TREES = [tree(0, 1, 0), *(tree(levels, 1, 0) for levels in (1, 2, 3, 4))]
TREES += [tree(5, chance, seed) for seed in range(6) for chance in (0.5, 0.8)]


def moves_of(shape, given):
    """Return for each leaf by how much a point in it moves every weighted count."""
    moved = []
    for leaf in shape.leaves:
        vector = np.zeros(shape.nodes, dtype=np.int64)
        node = int(leaf)
        while True:
            vector[node] = given[node]
            if node == 0:
                break
            node = int(shape.parents[node])
        moved.append(vector)
    return moved


@pytest.mark.parametrize("counts", ["tree", "leaves"])
def test_no_point_moves_the_counts_further_than_is_declared(counts):
    method = PrivTree(epsilon=1, counts=counts)
    public = points(made(10)).public
    farthest = 0
    for shape in TREES:
        given = method._weights(shape)
        moved = moves_of(shape, given)
        lengths = {int(np.abs(vector).sum()) for vector in moved}
        assert lengths == {WHOLE if counts == "tree" else 1}
        single = max(int((vector**2).sum()) for vector in moved)
        # A replaced point leaves one path and enters another.
        some = moved[:: max(1, len(moved) // 12)]
        pairs = combinations_with_replacement(some, 2)
        double = max(int(((here - there) ** 2).sum()) for here, there in pairs)
        farthest = max(farthest, single)
        noise = method.count_noise(public, 1)
        assert noise.sensitivity == max(lengths)
        for relation, reached in ((Relation.ADD_REMOVE, single), (Relation.REPLACE_ONE, double)):
            whole = method._whole
            for loss in (ZCDP(1), GDP(1)):
                declared = count_noise((1,), loss, relation, moves=whole, largest=whole)
                assert declared.squared_sensitivity >= reached
    assert farthest == (WHOLE**2 if counts == "tree" else 1)


def test_the_repaired_fault_weights_of_limbs_count_by_their_squares():
    """As many units as weights add up to would have been too little: 88² + 12² is 7,888."""
    shape = tree(2, 1, 0)
    squares = {int((vector**2).sum()) for vector in moves_of(shape, weights(shape))}
    assert squares == {7888}
    for relation, factor in ((Relation.ADD_REMOVE, 1), (Relation.REPLACE_ONE, 2)):
        noise = count_noise((1,), ZCDP(1), relation, moves=WHOLE, largest=WHOLE)
        assert noise.squared_sensitivity == factor * WHOLE**2 > 7888


def test_a_pure_loss_is_priced_by_the_sum_alone():
    noise = count_noise((1,), PureDP(1), Relation.ADD_REMOVE, moves=WHOLE, largest=WHOLE)
    assert noise.sensitivity == Fraction(WHOLE)
