import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import noise
from sfumato.data.points import Points, PointsPublic
from sfumato.privacy.record import record, replay
from sfumato.spatial.adaptive_grid import COARSE, FINE, MOST_CELLS, AdaptiveGrid, combine_levels
from sfumato.spatial.grid_cells import NestedCells
from sfumato.spatial.grid_size import SIZE
from tests.spatial.grid_suite import (
    GridMethodSuite,
    ReplacedGridMethodSuite,
    by_hand,
    made,
    points,
    replaced_pairs,
)


class TestAdaptiveGrid(GridMethodSuite):
    name = "points.AdaptiveGrid"
    sampled = False


class TestAdaptiveGridUnderReplacement(ReplacedGridMethodSuite):
    name = "points.AdaptiveGrid"


class TestDeclaredAdaptiveGrid(GridMethodSuite):
    name = "points.AdaptiveGrid"
    # Few cells, so that samples can show what half the noise loses.
    options = {"cells": [2, 1], "coarse_share": "1/3"}  # noqa: RUF012


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32))
def test_boxes_are_counted_in_proportion_to_area(columns, rows, seed):
    generator = np.random.default_rng(seed)
    inner = generator.integers(1, 5, size=(columns, rows))
    cells = NestedCells([(-1, 2), (0, 5)], inner, generator.normal(size=(inner**2).sum()))
    boxes = np.sort(generator.uniform(-2, 6, size=(12, 2, 2)), axis=2)
    boxes[0] = [(-1, 2), (0, 5)]
    boxes[1] = [(0, 0), (1, 2)]
    boxes[2] = [(-1, 2), (1, 1.2)]
    np.testing.assert_allclose(cells.answer(boxes), by_hand(cells, boxes), atol=1e-9)
    assert np.prod(np.diff(cells.boxes, axis=2), axis=(1, 2)).sum() == pytest.approx(15)


def test_sub_cells_stand_where_the_engine_counts_them():
    data = points(made(300))
    inner = np.array([[1, 3], [2, 4], [5, 1]])
    counts = data.counts.count_nested((3, 2), inner)
    cells = NestedCells(data.public.bounds, inner, counts)
    values = made(300)
    inside = (values[:, None, :] >= cells.boxes[None, :, :, 0]) & (
        values[:, None, :] < cells.boxes[None, :, :, 1]
    )
    np.testing.assert_array_equal(inside.all(axis=2).sum(axis=0), counts)


def test_nested_cells_say_what_does_not_fit():
    with pytest.raises(ValueError, match="inner² values"):
        NestedCells([(0, 1), (0, 1)], [[2]], [1, 2, 3])
    with pytest.raises(ValueError, match="two dimensions"):
        NestedCells([(0, 1)], [[1]], [1])


def test_both_levels_are_combined_by_least_squares():
    coarse, inner = np.array([[10], [4]]), np.array([[2], [1]])
    fine = np.array([1, 2, 3, 0, 7])
    method = AdaptiveGrid(epsilon=1, coarse_share="1/3")
    noises = method._noises(points([]).public)
    # Rows: the two cells, then the sub-cells, in units of their standard deviations.
    first, second = (1 / float(noise.scale) for noise in noises)
    rows = np.array([[1, 1, 1, 1, 0], [0, 0, 0, 0, 1]])
    matrix = np.concatenate([rows * first, np.eye(5) * second])
    target = np.concatenate([coarse.reshape(-1) * first, fine * second])
    expected = np.linalg.lstsq(matrix, target, rcond=None)[0]
    np.testing.assert_allclose(combine_levels(coarse, inner, fine, noises), expected)


def test_the_published_rule_makes_the_grids():
    public = points(made(5)).public
    method = AdaptiveGrid(epsilon=1, cells=10)
    chosen = AdaptiveGrid(epsilon=1)
    # ⌈√(10^6·0.98/10)/4⌉ = ⌈78.3⌉; ⌈√(1000·(1/2)/5)⌉ = 10.
    assert chosen.shape(public, 10**6) == (79, 79)
    assert chosen.shape(public, 0) == chosen.shape(public, -7) == (10, 10)
    assert chosen.shape(public, 10**15) == (1024, 1024)
    assert method.inner(public, np.array([[1000, 1001, 0, -5]])).tolist() == [[10, 11, 1, 1]]


@given(st.lists(st.integers(-(2**50), 2**60), min_size=1, max_size=30))
def test_the_number_of_sub_cells_is_bounded_whatever_the_noisy_counts_are(counts):
    public = points([]).public
    inner = AdaptiveGrid(epsilon=1, cells=1).inner(public, np.array(counts))
    assert inner.min() >= 1 and int((inner**2).sum()) <= MOST_CELLS


def test_how_cells_are_cut_depends_on_noisy_counts_alone():
    method = AdaptiveGrid(epsilon=30)
    for here, there in replaced_pairs():
        with noise.seeded(2):
            script = record(method, here)
        mirror = replay(method, there, script)
        assert [step.label for step in mirror] == [COARSE, FINE]
        assert all(change.holds for _, change in script.changes(mirror))
    private = [step.label for step in record(method, points(made(9)))]
    assert private == [SIZE, COARSE, FINE]


def test_with_a_huge_epsilon_the_truth_comes_out():
    data = points(made(500))
    release = AdaptiveGrid(epsilon=1000).release(data)
    exact = data.counts.count_nested(release.cells.inner.shape, release.cells.inner)
    np.testing.assert_allclose(release.cells.counts, exact, atol=1e-6)
    assert release.cells.inner.max() > release.cells.inner.min()


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
    release = AdaptiveGrid(epsilon=epsilon).release(data)
    assert np.isfinite(release.cells.counts).all() and release.words()


def test_points_that_do_not_lie_in_a_plane_are_refused():
    data = Points(np.zeros((1, 3)), [(0, 1)] * 3)
    with pytest.raises(ValueError, match=r"in 2 dimensions; these have 3\. Use UniformGrid"):
        AdaptiveGrid(epsilon=1).release(data)
    with pytest.raises(ValueError, match="cells; at most 1,048,576 are allowed"):
        AdaptiveGrid(epsilon=1, cells=2000).release(points(made(2)))


def test_counts_beyond_64_bits_are_released_like_all_others():
    public = PointsPublic(
        bounds=((0, 1), (0, 1)), unit="point", relation="add_remove", rows_about=40
    )
    made = sf.rehearse(AdaptiveGrid(epsilon="1e-15", coarse_share="1e-6"), public)
    assert made.cells.counts.size
