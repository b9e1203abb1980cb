import itertools
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.points import Points
from sfumato.privacy.record import record
from sfumato.spatial.simple_tree import SimpleTree
from tests.spatial.grid_suite import GridMethodSuite, ReplacedGridMethodSuite, made, points


class TestSimpleTree(GridMethodSuite):
    name = "points.SimpleTree"
    # Everything is split, so that every level speaks of the few points.
    options = {"levels": 2, "threshold": -(2**40)}  # noqa: RUF012


class TestSimpleTreeThatGoesByItsCounts(GridMethodSuite):
    name = "points.SimpleTree"
    options = {"levels": 3}  # noqa: RUF012
    sampled = False


class TestSimpleTreeUnderReplacement(ReplacedGridMethodSuite):
    name = "points.SimpleTree"
    options = {"levels": 3, "threshold": -(2**40)}  # noqa: RUF012


def test_every_level_gets_an_equal_share():
    release = SimpleTree(epsilon=3, levels=4, threshold=-(2**40)).release(points(made(20)))
    signatures = [entry.signature for entry in release.transcript]
    assert [signature["epsilon"] for signature in signatures] == ["3/4"] * 4
    assert [signature["shape"] for signature in signatures] == [[1], [4], [16], [64]]
    assert len(release.cells.counts) == 64
    method = SimpleTree(epsilon=3, levels=4)
    assert method.level_noise(points([]).public, 1).scale == Fraction(4, 3)
    replaced = points([], relation="replace_one").public
    assert method.level_noise(replaced, 1).scale == Fraction(8, 3)


def test_a_cell_is_split_if_its_noisy_count_is_above_twice_the_scale():
    method = SimpleTree(epsilon=1, levels=6)
    with noise.seeded(3):
        script = record(method, points(made(200)))
    for upper, lower in itertools.pairwise(script):
        assert 4 * int((upper.outputs[0] > 12).sum()) == len(lower.outputs[0])
    assert len(script) == 6 or not (script[-1].outputs[0] > 12).any()


def test_no_cell_above_the_threshold_leaves_the_root_alone():
    release = SimpleTree(epsilon=1, threshold=2**40).release(points(made(30)))
    assert len(release.cells.counts) == 1 and len(release.transcript) == 1
    assert release.count(release.public.bounds) == release.total


def test_without_noise_the_truth_comes_out():
    values = made(300)
    release = SimpleTree(epsilon=10**7, levels=4).release(points(values))
    boxes = release.cells.boxes
    inside = (values[:, None] >= boxes[:, :, 0]) & (values[:, None] < boxes[:, :, 1])
    np.testing.assert_allclose(release.cells.counts, inside.all(axis=2).sum(axis=0), atol=1e-3)


def test_too_many_levels_are_refused():
    with pytest.raises(ValueError, match="levels must be at most 33 for points of 1 dimensions"):
        SimpleTree(epsilon=1, levels=34).plan(Points(np.zeros((0, 1)), [(0, 1)]).public)
