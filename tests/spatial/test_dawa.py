from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import noise
from sfumato.data.points import Points
from sfumato.mechanisms.hierarchy import Hierarchy
from sfumato.mechanisms.partition import DyadicPartition
from sfumato.privacy.record import record
from sfumato.spatial.bucket_cells import BucketCells, Buckets
from sfumato.spatial.dawa import (
    DAWA,
    PARTITION,
    USAGE_BITS,
    count_used_nodes,
    level_shares,
    workload,
)
from sfumato.spatial.hilbert import hilbert_order
from tests.spatial.grid_suite import GridMethodSuite, ReplacedGridMethodSuite, by_hand, made, points


class TestDAWA(GridMethodSuite):
    name = "points.DAWA"
    random_neighbours = 80
    options = {"cells": 4}  # noqa: RUF012

    def data(self):
        # So many that there is more than one bucket.
        return points(made(600))


class TestDAWAUnderReplacement(ReplacedGridMethodSuite):
    name = "points.DAWA"
    options = {"cells": 2, "partition_share": "1/2"}  # noqa: RUF012


GRIDS = [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2)]


@pytest.mark.parametrize(("dimensions", "bits"), GRIDS)
def test_the_curve_visits_every_cell_and_steps_to_a_neighbour(dimensions, bits):
    order = hilbert_order(dimensions, bits)
    assert sorted(order) == list(range(2 ** (dimensions * bits)))
    places = np.array(np.unravel_index(order, (2**bits,) * dimensions)).T
    assert (np.abs(np.diff(places, axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize(("dimensions", "bits"), GRIDS)
def test_aligned_runs_of_the_curve_are_boxes(dimensions, bits):
    for level in range(dimensions * bits + 1):
        lengths = np.full(2 ** (dimensions * bits - level), level)
        corners = Buckets(lengths, dimensions, bits).corners
        assert (np.prod(corners[:, :, 1] - corners[:, :, 0], axis=1) == 2**level).all()


def test_buckets_answer_boxes_in_proportion_to_area():
    generator = np.random.default_rng(3)
    buckets = Buckets(np.array([4, 2, 1, 0, 0, 2, 2, 4, 4]), 2, 3)
    cells = BucketCells([(0, 1), (-2, 6)], buckets, generator.normal(size=len(buckets)))
    boxes = np.sort(generator.uniform(-3, 7, size=(40, 2, 2)), axis=2)
    np.testing.assert_allclose(cells.answer(boxes), by_hand(cells, boxes), atol=1e-9)
    assert np.prod(np.diff(cells.boxes, axis=2), axis=(1, 2)).sum() == pytest.approx(8)


def test_sums_of_buckets_are_those_of_their_boxes():
    values = made(400)
    data = points(values)
    along = data.counts.histogram((8, 8)).reshape(-1)[hilbert_order(2, 3)]
    buckets = Buckets(np.array([4, 2, 1, 0, 0, 2, 2, 4, 4]), 2, 3)
    cells = BucketCells(data.public.bounds, buckets, buckets.sums(along))
    inside = (values[:, None, :] >= cells.boxes[None, :, :, 0]) & (
        values[:, None, :] < cells.boxes[None, :, :, 1]
    )
    np.testing.assert_array_equal(inside.all(axis=2).sum(axis=0), cells.counts)


def test_nodes_used_by_the_workload_are_counted():
    buckets = Buckets(np.zeros(16, dtype=int), 2, 2)
    tree = Hierarchy(leaves=16, fan_out=2)
    expected = [0] * tree.levels
    for box in workload(2, 4):
        places = np.array(np.unravel_index(buckets.order, (4, 4))).T
        inside = ((places >= box[:, 0]) & (places < box[:, 1])).all(axis=1)
        sums = tree.split(tree.sums(inside.astype(int)).astype(float))
        for level in range(tree.levels):
            full = sums[level] == 2 ** (tree.height - level)
            above = np.repeat(sums[level - 1] == 2 * 2 ** (tree.height - level), 2)
            expected[level] += int((full & ~above).sum() if level else full.sum())
    assert count_used_nodes(tree, buckets) == [number << USAGE_BITS for number in expected]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=12))
def test_shares_add_up_and_the_buckets_are_always_counted(used):
    shares = level_shares(used)
    assert sum(shares.values()) == 1 and min(shares.values()) > 0
    assert max(shares) == len(used) - 1


def test_a_level_that_is_not_used_is_not_paid_for():
    unit = 1 << USAGE_BITS
    assert level_shares([0, 0, 8 * unit]) == {2: Fraction(1)}
    # Ranges over long halves: worth a level of their own.
    assert set(level_shares([0, 100 * unit, *[0] * 8, unit])) == {1, 10}


def test_a_bucket_is_split_where_counts_differ():
    data = Points(np.repeat([[0.1, 0.1]], 4000, axis=0), [(0, 1), (0, 1)])
    with noise.seeded(1):
        release = DAWA(epsilon=1, cells=64).release(data)
    crowded = release.cells.counts.argmax()
    sides = release.cells.boxes[crowded, :, 1] - release.cells.boxes[crowded, :, 0]
    assert sides.max() <= 2 / 64 and release.cells.counts[crowded] > 3900
    assert len(release.cells) < 200
    assert release.count([(0.09, 0.11), (0.09, 0.11)]) > 3000


def test_with_a_huge_epsilon_the_truth_comes_out():
    data = points(made(500))
    release = DAWA(epsilon=4000, cells=8).release(data)
    np.testing.assert_allclose(release.cells._grid.grid, data.counts.histogram((8, 8)), atol=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "rows", "relation"),
    [
        ("1e-6", 0, "add_remove"),
        ("1000", 0, "replace_one"),
        ("1e-6", 40, "replace_one"),
        ("1000", 40, "add_remove"),
        ("1000", 1, "replace_one"),
    ],
)
def test_every_well_formed_data_set_is_accepted(epsilon, rows, relation):
    data = points(np.zeros((rows, 2)), relation=relation)
    release = DAWA(epsilon=epsilon, cells=16).release(data)
    assert np.isfinite(release.cells.counts).all() and release.words()


@pytest.mark.parametrize("dimensions", [1, 3, 16])
def test_other_dimensions_work(dimensions):
    generator = np.random.default_rng(1)
    data = Points(generator.random((300, dimensions)), [(0, 1)] * dimensions)
    release = DAWA(epsilon=5, cells=None if dimensions == 16 else 8).release(data)
    assert release.count([(0, 1)] * dimensions) == pytest.approx(release.total)


def test_the_choice_takes_its_share_and_doubles_under_replacement():
    steps = record(DAWA(epsilon=1, cells=4), points(made(9)))
    replaced = record(DAWA(epsilon=1, cells=4), points(made(9), relation="replace_one"))
    assert steps[0].label == PARTITION
    assert steps[0].primitive == DyadicPartition(cells=16, sensitivity=1, epsilon="1/4")
    assert replaced[0].primitive.rate == steps[0].primitive.rate / 2
    assert sum(step.primitive.epsilon for step in steps) == 1


def test_what_does_not_fit_is_refused_before_anything_is_spent():
    data = points(made(3))
    with pytest.raises(ValueError, match="a power of two; got 12"):
        DAWA(epsilon=1, cells=12).release(data)
    with pytest.raises(ValueError, match="cells; at most"):
        DAWA(epsilon=1, cells=2**12).release(data)
    with pytest.raises(ValueError, match="cells must be a whole number"):
        DAWA(epsilon=1, cells=[4, 4])
