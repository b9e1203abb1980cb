from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import noise
from sfumato.data.points import Points
from sfumato.privacy.door import rebuild_from_transcript
from sfumato.privacy.program import DoesNotFollow
from sfumato.privacy.record import record, replay
from sfumato.spatial.grid_cells import GridCells
from sfumato.spatial.grid_size import (
    MOST_CELLS,
    SIZE,
    even_shape,
    largest_side,
    round_root,
    uniform_side,
)
from sfumato.spatial.hierarchical_grid import HierarchicalGrid
from sfumato.spatial.privelet_grid import Privelet, cell_deviation
from sfumato.spatial.queries import NestedGridCounts
from sfumato.spatial.uniform_grid import UniformGrid
from tests.spatial.grid_suite import (
    GridMethodSuite,
    ReplacedGridMethodSuite,
    by_hand,
    made,
    points,
    replaced_pairs,
)


class TestUniformGrid(GridMethodSuite):
    name = "points.UniformGrid"


class TestUniformGridUnderReplacement(ReplacedGridMethodSuite):
    name = "points.UniformGrid"
    # The few points of canonical pairs would get a single cell, which does not change.
    options = {"cells": [3, 4]}  # noqa: RUF012


class TestUniformGridForPersons(GridMethodSuite):
    name = "points.UniformGrid"
    sampled = False

    def data(self):
        return points(made(60), unit="person", person=np.arange(60) // 2, max_points=3)

    def neighbours(self):
        return []


class TestHierarchicalGrid(GridMethodSuite):
    name = "points.HierarchicalGrid"
    options = {"fan_out": 2, "levels": 2}  # noqa: RUF012


class TestHierarchicalGridUnderReplacement(ReplacedGridMethodSuite):
    name = "points.HierarchicalGrid"
    options = {"fan_out": 3, "levels": 2}  # noqa: RUF012


class TestPrivelet(GridMethodSuite):
    name = "points.Privelet"
    # Few coefficients, so that samples can show what half the noise loses.
    options = {"cells": 2}  # noqa: RUF012


class TestPriveletUnderReplacement(ReplacedGridMethodSuite):
    name = "points.Privelet"
    options = {"cells": [4, 2]}  # noqa: RUF012


METHODS = [
    UniformGrid(epsilon=1),
    HierarchicalGrid(epsilon=1, fan_out=2, levels=2),
    Privelet(epsilon=1, cells=4),
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(0, 2**32))
def test_boxes_are_counted_in_proportion_to_volume(shape, seed):
    generator = np.random.default_rng(seed)
    bounds = [(-1.0 - axis, 2.0 * axis + 1) for axis in range(len(shape))]
    cells = GridCells(bounds, generator.normal(size=shape))
    boxes = np.sort(generator.uniform(-6, 8, size=(10, len(shape), 2)), axis=2)
    boxes[0] = bounds
    np.testing.assert_allclose(cells.answer(boxes), by_hand(cells, boxes), atol=1e-9)
    assert cells.answer(boxes)[0] == pytest.approx(cells.total)


def test_cells_tile_the_domain_and_are_written_protected():
    cells = GridCells([(0, 3), (-1, 1)], np.arange(6).reshape(3, 2))
    assert np.prod(np.diff(cells.boxes, axis=2), axis=(1, 2)).sum() == pytest.approx(6)
    assert cells.boxes[1].tolist() == [[0, 1], [0, 1]] and cells.counts.tolist() == [*range(6)]
    with pytest.raises(ValueError, match="read-only"):
        cells.counts[0] = 1
    with pytest.raises(ValueError, match="one for each pair of bounds"):
        GridCells([(0, 1)], [[1]])
    with pytest.raises(ValueError, match="shape"):
        cells.answer(np.zeros((2, 2)))


@given(st.integers(0, 10**30), st.integers(1, 10**9), st.integers(1, 8))
def test_roots_are_exact(numerator, denominator, degree):
    value = Fraction(numerator, denominator)
    root = round_root(value, degree)
    half = Fraction(1, 2)
    assert max(root - half, 0) ** degree <= value < (root + half) ** degree
    down = round_root(value, degree, down=True)
    assert down**degree <= value < (down + 1) ** degree


def test_the_size_of_a_grid_follows_the_published_rule_within_public_limits():
    plane = points(made(5)).public
    noise_of = UniformGrid(epsilon=1, cells=1)._noise(plane, (1,))
    # √(1,000,000·1/10) = 316.2 in the plane.
    assert uniform_side(1_000_000, noise_of, plane) == 316
    assert uniform_side(-50, noise_of, plane) == uniform_side(0, noise_of, plane) == 1
    assert uniform_side(10**15, noise_of, plane) == largest_side(plane) == 2048
    solid = Points(np.zeros((1, 3)), [(0, 1)] * 3).public
    assert uniform_side(1_000_000, noise_of, solid) == round(100_000 ** (2 / 5))
    assert largest_side(solid) ** 3 <= MOST_CELLS


def test_the_number_of_points_is_paid_for_only_where_it_is_private():
    private, known = points(made(50)), points(made(50), relation="replace_one")
    labels = [
        [step.label for step in record(method, data)]
        for method in (UniformGrid(epsilon=1), UniformGrid(epsilon=1, cells=5))
        for data in (private, known)
    ]
    assert labels == [[SIZE, "cells"], ["cells"], ["cells"], ["cells"]]
    release = UniformGrid(epsilon=1).release(private)
    costs = [Fraction(entry.cost["epsilon"]) for entry in release.transcript]
    assert costs == [Fraction(1, 50), Fraction(49, 50)]


def test_a_public_number_of_points_makes_the_grid_and_neighbours_share_it():
    method = UniformGrid(epsilon=20)
    for here, there in replaced_pairs():
        with noise.seeded(1):
            script = record(method, here)
        mirror = replay(method, there, script)
        assert all(change.holds for _, change in script.changes(mirror))
        assert abs(script.loss_against(mirror)) <= 20 * (1 + 1e-9)
    # The last has 20 points: √(20·(20/2)/10) = 4.5.
    assert script[0].primitive.shape == (4, 4)


def test_nested_order_keeps_every_coarser_cell_together():
    grid = np.arange(3**4 * 3**2).reshape(27, 27)
    grids = NestedGridCounts(dimensions=2, branching=3, levels=3)
    order = grids.order(grid)
    coarse = grid.reshape(3, 9, 3, 9).sum(axis=(1, 3))
    np.testing.assert_array_equal(order.reshape(9, 81).sum(axis=1), coarse.reshape(-1))
    np.testing.assert_array_equal(grids.grid(order), grid)
    solid = np.arange(4**3).reshape(4, 4, 4)
    grids = NestedGridCounts(dimensions=3, branching=2, levels=2)
    np.testing.assert_array_equal(grids.grid(grids.order(solid)), solid)


@pytest.mark.parametrize(
    ("dimensions", "expected"),
    [(1, (64, 3)), (2, (8, 3)), (3, (4, 3)), (4, (3, 3)), (6, (2, 3)), (8, (2, 2)), (16, (2, 1))],
)
def test_the_default_tree_has_at_most_a_million_cells(dimensions, expected):
    public = Points(np.zeros((1, dimensions)), [(0, 1)] * dimensions).public
    method = HierarchicalGrid(epsilon=1)
    assert method.branches(public) == expected
    assert method.grids(public).tree.leaves <= 2**20
    method.check(public)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5, 16])
def test_the_default_wavelets_have_a_million_cells(dimensions):
    public = Points(np.zeros((1, dimensions)), [(0, 1)] * dimensions).public
    shape = even_shape(public, 20)
    assert np.prod(shape) == 2**20 and max(shape) <= 2 * min(shape)


def test_the_deviation_of_a_cell_that_is_read_back():
    from sfumato.mechanisms.privelet import inverse_haar

    for shape in [(8,), (4, 2), (1, 4)]:
        unit = np.eye(int(np.prod(shape))).reshape(-1, *shape)
        first = [inverse_haar(one).reshape(-1)[0] for one in unit]
        assert cell_deviation(shape) == pytest.approx(np.linalg.norm(first))


@pytest.mark.parametrize("method", METHODS)
def test_with_a_huge_epsilon_the_truth_comes_out(method):
    data = points(made(500))
    release = type(method).from_parameters({**method.parameters(), "epsilon": "1000"}).release(data)
    shape = release.cells.shape
    np.testing.assert_allclose(release.cells.grid, data.counts.histogram(shape), atol=1e-6)
    assert release.total == pytest.approx(500)


@pytest.mark.parametrize("method", METHODS)
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
def test_every_well_formed_data_set_is_accepted(method, epsilon, rows, relation):
    data = points(np.zeros((rows, 2)), relation=relation)
    changed = type(method).from_parameters({**method.parameters(), "epsilon": epsilon})
    release = changed.release(data)
    assert np.isfinite(release.cells.counts).all() and release.words()


@pytest.mark.parametrize("dimensions", [1, 3, 5])
def test_other_dimensions_work(dimensions):
    generator = np.random.default_rng(1)
    data = Points(generator.random((300, dimensions)), [(0, 1)] * dimensions)
    for method in (
        UniformGrid(epsilon=5),
        HierarchicalGrid(epsilon=5, fan_out=2, levels=2),
        Privelet(epsilon=5, cells=2),
    ):
        release = method.release(data)
        whole = release.count([(0, 1)] * dimensions)
        assert whole == pytest.approx(release.total)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (UniformGrid, {"cells": 0}, "cells must be a whole number of at least 1"),
        (UniformGrid, {"cells": []}, "cells must be a whole number of at least 1"),
        (UniformGrid, {"cells": [2, "x"]}, "cells must be a whole number of at least 1"),
        (Privelet, {"cells": 2.5}, "cells must be a whole number of at least 1"),
        (HierarchicalGrid, {"fan_out": 1}, "fan_out must be a whole number of at least 2"),
        (HierarchicalGrid, {"levels": 0}, "levels must be a whole number of at least 1"),
    ],
)
def test_bad_parameters_are_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(epsilon=1, **options)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (UniformGrid(epsilon=1, cells=[2, 3, 4]), "2 numbers, one for each axis"),
        (UniformGrid(epsilon=1, cells=5000), "25,000,000 cells; at most 4,194,304 are allowed"),
        (UniformGrid(epsilon=1, cells=[2**33, 1]), r"at most 2\^32 along an axis"),
        (Privelet(epsilon=1, cells=6), "powers of two; got 6"),
        (HierarchicalGrid(epsilon=1, fan_out=9, levels=9), "cells; at most"),
        (HierarchicalGrid(epsilon=1, levels=40), "use fewer levels"),
    ],
)
def test_grids_that_do_not_fit_are_refused_before_anything_is_spent(method, message):
    with pytest.raises(ValueError, match=message):
        method.release(points(made(3)))


def test_a_transcript_of_another_grid_is_refused():
    data = points(made(20))
    release = UniformGrid(epsilon=1, cells=3).release(data)
    with pytest.raises(DoesNotFollow, match="measures 'cells' otherwise"):
        rebuild_from_transcript(UniformGrid(epsilon=1, cells=4), data.public, release.transcript)


def test_noise_on_cells_has_the_stated_size():
    data = points([])
    with noise.seeded(3):
        release = UniformGrid(epsilon="1/2", cells=100).release(data)
    # 10,000 draws: their mean square is within 10 % of the variance but once in 10^6 runs.
    assert np.mean(release.cells.counts**2) == pytest.approx(release.deviation**2, rel=0.1)
