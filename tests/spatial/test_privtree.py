import numpy as np
import pytest

from sfumato import noise
from sfumato.data.points import Points
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.privtree import TreeSplits
from sfumato.privacy.door import rebuild_from_transcript
from sfumato.privacy.program import DoesNotFollow
from sfumato.privacy.record import record, replay
from sfumato.privacy.saved import load, verify
from sfumato.spatial.privtree import PrivTree
from sfumato.spatial.simple_tree import SimpleTree
from sfumato.spatial.uniform_grid import UniformGrid
from tests.spatial.grid_suite import BOXES, GridMethodSuite, ReplacedGridMethodSuite, made, points
from tests.spatial.points import of_persons, person_pairs, random_boxes, relative_error, road_like


class TestPrivTree(GridMethodSuite):
    name = "points.PrivTree"
    random_neighbours = 80


class TestPrivTreeUnderReplacement(ReplacedGridMethodSuite):
    name = "points.PrivTree"


class TestPublishedPrivTree(GridMethodSuite):
    name = "points.PrivTree"
    options = {  # noqa: RUF012
        "tree_share": "1/2",
        "threshold": 0,
        "variant": "paper",
        "counts": "leaves",
    }
    sampled = False


class TestPrivTreeForPersons(GridMethodSuite):
    name = "points.PrivTree"
    sampled = False

    def data(self):
        return of_persons(made(60), np.arange(60) // 3)

    def neighbours(self):
        return []

    def test_the_loss_for_a_whole_person_is_within_epsilon(self):
        method, worst = self.method(), 0.0
        for here, there in person_pairs():
            for seed in range(20):
                with noise.seeded(seed):
                    script = record(method, here)
                loss = script.loss_against(replay(method, there, script))
                worst = max(worst, abs(loss))
        # Three points of one person use up most of it, so the check could have failed.
        assert 0.6 < worst <= 1 + 1e-9


def line(values, **options):
    return Points(np.asarray(values, dtype=np.float64).reshape(-1, 1), [(0, 1)], **options)


def test_leaves_tile_the_domain_and_hold_every_point_once():
    values = made(3000)
    data = points(values)
    release = PrivTree(epsilon=2).release(data)
    boxes, cells = release.cells.boxes, release.cells
    sides = boxes[:, :, 1] - boxes[:, :, 0]
    assert sides.prod(axis=1).sum() == pytest.approx(8.0)
    inside = (values[:, None] >= boxes[:, :, 0]) & (values[:, None] < boxes[:, :, 1])
    assert (inside.all(axis=2).sum(axis=1) == 1).all()
    # A parent's count is the sum of its leaves', and the root's the total.
    shape = cells.shape
    children = cells.nodes[1:].reshape(-1, shape.fan_out).sum(axis=1)
    np.testing.assert_allclose(children, cells.nodes[shape.split], atol=1e-6)
    assert release.count(release.public.bounds) == pytest.approx(cells.counts.sum())


def test_without_noise_the_leaves_hold_the_true_counts():
    values = made(500)
    release = PrivTree(epsilon=10**6, levels=5).release(points(values))
    boxes = release.cells.boxes
    inside = (values[:, None] >= boxes[:, :, 0]) & (values[:, None] < boxes[:, :, 1])
    np.testing.assert_allclose(release.cells.counts, inside.all(axis=2).sum(axis=0), atol=1e-3)
    assert release.total == pytest.approx(500, abs=0.1)


def test_the_mean_size_of_a_tree_over_no_points_is_one_plus_its_fan_out():
    method = PrivTree(epsilon=1, threshold=0, counts="leaves")
    nodes = []
    with noise.seeded(5):
        for _ in range(200):
            script = record(method, points([]))
            nodes.append(1 + 4 * sum(int(split.sum()) for split in script[0].outputs))
    # A root that splits with 1/2 and subtrees of mean size 2; below 1e-6 at five deviations.
    assert abs(np.mean(nodes) - 5) < 5 * np.std(nodes) / np.sqrt(len(nodes))


def test_the_weights_of_counts_add_up_along_every_path():
    from sfumato.spatial.tree_repair import WHOLE, weights

    shape = PrivTree(epsilon=5).release(Points(road_like(20_000), [(0, 1)] * 2)).cells.shape
    given = weights(shape)
    along = given.copy()
    for level in range(1, shape.levels):
        along[shape.level(level)] += along[shape.parents[shape.level(level)]]
    assert (along[shape.leaves] == WHOLE).all()
    assert (given[shape.leaves] >= WHOLE - 20).all() and (given[shape.split] > 0).sum() > 10


def test_every_primitive_gets_its_share():
    release = PrivTree(epsilon=2, tree_share="1/4").release(points(made(40)))
    splits, counts = (entry.signature for entry in release.transcript)
    assert splits["kind"] == TreeSplits.kind and splits["epsilon"] == "1/2"
    assert counts["kind"] == GeometricNoise.kind and counts["epsilon"] == "3/2"
    assert counts["sensitivity"] == "100"
    plain = PrivTree(epsilon=2, counts="leaves").release(points(made(40), relation="replace_one"))
    assert list(plain.transcript)[1].signature["sensitivity"] == "2"


@pytest.mark.parametrize(("axes", "share"), [(1, "1/5"), (2, "3/10"), (4, "3/10")])
def test_the_tree_of_a_line_gets_a_smaller_share(axes, share):
    release = PrivTree(epsilon=1, levels=2).release(Points(np.zeros((9, axes)), [(0, 1)] * axes))
    assert next(iter(release.transcript)).signature["epsilon"] == share


def test_the_first_levels_take_nothing_off_by_default():
    public = points([]).public
    splits = PrivTree(epsilon=1).splits(public)
    assert splits.threshold == -round(2 * splits.decay)
    assert PrivTree(epsilon=1, threshold=7).splits(public).threshold == 7
    four = Points(np.zeros((0, 4)), [(0, 1)] * 4).public
    splits = PrivTree(epsilon=1).splits(four)
    assert splits.threshold == -round(splits.decay)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("epsilon", ["1e-6", 1, 1000])
@pytest.mark.parametrize("values", [[], [0.3], [0.5] * 50, [0.0, 1.0]])
def test_small_and_strange_points_in_one_dimension(values, epsilon, relation):
    release = PrivTree(epsilon=epsilon).release(line(values, relation=relation))
    assert np.isfinite(release.cells.counts).all()
    assert release.count([(0, 1)]) == pytest.approx(release.total)
    if relation == "replace_one":
        assert release.total == pytest.approx(len(values))


@pytest.mark.parametrize("dimensions", [1, 3, 5, 8, 16])
def test_any_number_of_axes_works(dimensions):
    values = np.random.default_rng(1).random((300, dimensions)) * 0.3
    release = PrivTree(epsilon=2).release(Points(values, [(0, 1)] * dimensions))
    assert release.count([(0, 1)] * dimensions) == pytest.approx(release.total)
    assert release.sample(10).shape == (10, dimensions)
    assert release.plot().axes


def test_axes_are_halved_in_turn_with_a_small_fan_out():
    values = made(2000)
    release = PrivTree(epsilon=10, fan_out=2).release(points(values))
    sides = release.cells.boxes[:, :, 1] - release.cells.boxes[:, :, 0]
    ratio = sides[:, 0] / sides[:, 1] * 8
    assert set(np.unique(np.round(ratio, 6))) <= {1.0, 0.5}
    assert release.total == pytest.approx(2000, abs=60)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fan_out": 3}, "fan_out must be one of 2, 4 for points of 2 dimensions; got 3"),
        ({"fan_out": 8}, "fan_out must be one of 2, 4"),
        ({"fan_out": 1}, "fan_out must be a whole number from 2 to 256, or None; got 1"),
        ({"tree_share": 0}, "tree_share must be greater than 0 and less than 1"),
        ({"levels": 0}, "levels must be a whole number of at least 1"),
        ({"variant": "less"}, "variant must be one of 'tight', 'paper'"),
        ({"counts": "some"}, "counts must be one of 'tree', 'leaves'"),
    ],
)
def test_bad_parameters_say_what_is_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        PrivTree(epsilon=1, **options).release(points([]))


def test_a_tree_is_nearer_to_crowded_points_than_a_grid_or_a_tree_of_limited_height():
    values = road_like(50_000)
    data, boxes = Points(values, [(0, 1)] * 2), random_boxes(60, 0.01, 0.1)
    errors = {}
    for method in (PrivTree, UniformGrid, SimpleTree):
        with noise.seeded(1):
            errors[method] = relative_error(method(epsilon=2).release(data), values, boxes)
    assert 3 * errors[PrivTree] < min(errors[UniformGrid], errors[SimpleTree])


def test_counting_limbs_and_settling_is_nearer_than_leaves_alone():
    values = road_like(30_000, seed=3)
    data, boxes = Points(values, [(0, 1)] * 2), random_boxes(60, 0.01, 0.1)
    errors = {"tree": [], "leaves": []}
    for seed in range(3):
        for counts, found in errors.items():
            with noise.seeded(seed):
                release = PrivTree(epsilon="1/3", counts=counts).release(data)
            found.append(relative_error(release, values, boxes))
    assert np.mean(errors["tree"]) < np.mean(errors["leaves"])


def test_counts_that_are_kept_are_not_negative_and_add_up():
    release = PrivTree(epsilon="1/10").release(points(made(2000)))
    assert (release.cells.counts >= 0).all()
    leaves = PrivTree(epsilon="1/10", counts="leaves").release(points(made(2000)))
    assert leaves.cells.counts.dtype == np.float64
    np.testing.assert_array_equal(leaves.cells.counts, np.round(leaves.cells.counts))


def test_another_tree_than_the_transcripts_is_refused(tmp_path):
    release = PrivTree(epsilon=1).release(points(made(50)))
    with pytest.raises(DoesNotFollow, match="measures 'splits' otherwise"):
        rebuild_from_transcript(
            PrivTree(epsilon=1, threshold=3), release.public, release.transcript
        )


def test_a_saved_tree_says_the_same(tmp_path):
    data = Points(np.random.default_rng(2).random((400, 2)) * [20, 10], [(0, 20), (0, 10)],
                  geographic=True)  # fmt: skip
    release = PrivTree(epsilon=1).release(data)
    folder = release.save(tmp_path / "out")
    assert verify(folder).passed
    np.testing.assert_array_equal(load(folder).count(BOXES + 3), release.count(BOXES + 3))
