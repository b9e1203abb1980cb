import numpy as np
import pytest

from sfumato.data.points import Points
from sfumato.spatial.bucket_cells import Buckets
from sfumato.spatial.queries import (
    BucketSums,
    CellCounts,
    CellFrontier,
    CurveCounts,
    NestedGridCounts,
    NodeCounts,
    PointCount,
)
from sfumato.spatial.tree_shape import TreeShape

UNIT = [(0.0, 1.0), (0.0, 1.0)]
VALUES = np.random.default_rng(3).random((200, 2)) ** 2


@pytest.fixture
def data():
    return Points(VALUES, UNIT)


def counted(boxes):
    """Count the points in half-open boxes, one by one."""
    low, high = np.moveaxis(boxes[:, None], 3, 0)
    inside = (low <= VALUES) & (high > VALUES)
    return inside.all(axis=2).sum(axis=1).tolist()


def quarters(low, side):
    """Return the four quarters of a square, in the order of the children of its cell."""
    half = side / 2
    corners = [(x, y) for x in (low[0], low[0] + half) for y in (low[1], low[1] + half)]
    return np.array([[(x, x + half), (y, y + half)] for x, y in corners])


def test_a_frontier_goes_down_where_cells_were_split(data):
    root = CellFrontier(halvings=2)
    assert root.answer(data).scores.tolist() == PointCount().answer(data).tolist() == [200]
    level = root.descend(np.array([True]))
    assert level.answer(data).scores.tolist() == counted(quarters((0, 0), 1))
    below = level.descend(np.array([True, False, False, True]))
    expected = [*counted(quarters((0, 0), 0.5)), *counted(quarters((0.5, 0.5), 0.5))]
    assert below.parents.tolist() == [0] * 4 + [3] * 4
    assert below.answer(data).scores.tolist() == expected
    assert CellCounts(below.prefixes, 4).answer(data).tolist() == expected
    assert below.blank().scores.tolist() == [0] * 8


def test_nodes_of_several_levels_are_weighed(data):
    splits = [np.array([True]), np.array([False, True, False, False])]
    shape = TreeShape(splits, 2, data.public.axes)
    # The root, the first cell, and the children of the second.
    nodes = np.array([0, 1, 5, 6, 7, 8])
    weights = np.array([2, 3, 1, 1, 5, 0])
    counts = [200, counted(quarters((0, 0), 1))[0], *counted(quarters((0, 0.5), 0.5))]
    assert NodeCounts(shape, nodes, weights).answer(data).tolist() == (weights * counts).tolist()


def test_nested_grids_are_counted_from_the_coarsest(data):
    grids = NestedGridCounts(dimensions=2, branching=2, levels=2)
    counts = grids.answer(data)
    outer = quarters((0, 0), 1)
    inner = [quarters(box[:, 0], 0.5) for box in outer]
    assert counts.tolist() == [*counted(outer), *(n for boxes in inner for n in counted(boxes))]
    assert grids.tree.size == len(counts) + 1


def test_levels_over_buckets_are_sums_of_what_lies_in_their_boxes(data):
    assert CurveCounts(2, 3).answer(data).sum() == 200
    buckets = Buckets(np.array([4, 2, 1, 0, 0, 2, 2, 4, 4]), 2, 3)
    finest = counted(buckets.corners / buckets.side)
    height = buckets.tree.height
    leaves, above, root = BucketSums.answer_all(
        [BucketSums(buckets, level) for level in (height, height - 1, 0)], data
    )
    assert leaves.tolist() == BucketSums(buckets, height).answer(data).tolist() == finest
    assert above.tolist() == [sum(finest[i : i + 2]) for i in range(0, len(finest), 2)]
    assert root.tolist() == [200]
