import numpy as np
import pytest

import sfumato as sf
from sfumato.evaluate.points import SIZES, WARNING, count_points, evaluate, random_boxes


def made(points, dimensions, seed=1):
    values = np.random.default_rng(seed).random((points, dimensions)) ** 2
    return sf.Points(values, [(0, 1)] * dimensions), values


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_boxes_are_counted_as_by_looking_at_every_point(dimensions):
    points, _ = made(400, dimensions)
    public = points.public
    generator = np.random.default_rng(2)
    boxes = np.concatenate([random_boxes(public, share, 30, generator) for share in SIZES.values()])
    grid = public.morton.coordinates(points.counts.keys).astype(np.int64).T
    inside = (grid >= boxes[:, None, :, 0]) & (grid < boxes[:, None, :, 1])
    assert count_points(points, boxes).tolist() == inside.all(axis=2).sum(axis=1).tolist()


def test_the_whole_domain_and_no_points_at_all():
    points, _ = made(50, 2)
    whole = np.array([[[0, 1 << points.public.bits]] * 2])
    assert count_points(points, whole).tolist() == [50]
    nothing = sf.Points(np.zeros((0, 2)), [(0, 1), (0, 1)])
    assert count_points(nothing, whole).tolist() == [0]


@pytest.mark.parametrize("dimensions", [1, 2, 4])
@pytest.mark.parametrize("share", SIZES.values())
def test_random_boxes_lie_within_the_domain_and_span_what_they_should(dimensions, share):
    public = made(1, dimensions)[0].public
    boxes = random_boxes(public, share, 200, np.random.default_rng(3))
    whole = 1 << public.bits
    assert boxes.min() >= 0 and boxes.max() <= whole
    volumes = np.prod((boxes[:, :, 1] - boxes[:, :, 0]) / whole, axis=1)
    # Edges are rounded to the grid, which of many axes is not very fine.
    assert volumes.min() >= share[0] * 0.99 and volumes.max() <= share[1] * 1.01


def test_less_noise_is_closer_and_the_same_boxes_are_drawn_again():
    points, _ = made(3_000, 2)
    far, near = (
        evaluate(points, sf.UniformGrid(epsilon=epsilon, cells=16).release(points), queries=100)
        for epsilon in ("0.01", "100")
    )
    for many, few in zip(far.boxes, near.boxes, strict=True):
        assert few.absolute.mean() < many.absolute.mean()
    again = evaluate(points, sf.UniformGrid(epsilon=10**6, cells=16).release(points), queries=100)
    twice = evaluate(points, sf.UniformGrid(epsilon=10**6, cells=16).release(points), queries=100)
    assert again.to_json() == twice.to_json()


def test_an_evaluation_says_that_it_is_not_private():
    points, _ = made(100, 2)
    outcome = evaluate(points, sf.UniformGrid(epsilon=1, cells=2).release(points), queries=5)
    document = outcome.to_json()
    assert document["private"] is False and document["warning"] == WARNING
    assert document["points"] == 100 and document["boxes"][0]["queries"] == 5
    (small, *_) = outcome.boxes
    assert (small.relative <= small.absolute).all()


def test_another_domain_is_refused():
    points, values = made(20, 2)
    other = sf.Points(values, [(0, 2), (0, 1)])
    release = sf.UniformGrid(epsilon=1, cells=2).release(other)
    with pytest.raises(ValueError, match="not that of the release"):
        evaluate(points, release)
    with pytest.raises(ValueError, match="at least 1"):
        evaluate(other, release, queries=0)
