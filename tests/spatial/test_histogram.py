import itertools
import json

import numpy as np
import pytest

from sfumato import noise
from sfumato.data.points import Points
from sfumato.privacy.saved import verify
from sfumato.spatial.cells import TreeCells
from sfumato.spatial.files import RADIUS, areas
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.privtree import PrivTree
from sfumato.spatial.tree_shape import TreeShape
from tests.spatial.grid_suite import SQUARE, by_hand, made, points

YES, NO = True, False


def fixed(counts=(8.0, 4.0, 2.0, 16.0, 1.0, 3.0, 5.0), **options):
    """A tree whose root and second child split: seven cells of the declared square."""
    public = points([], **options).public
    shape = TreeShape([np.array([YES]), np.array([NO, YES, NO, NO])], 2, public.axes)
    return SpatialHistogram(public, TreeCells(public, shape, np.array(counts)), deviation=1.0)


def earth(values=None, **options):
    values = np.random.default_rng(4).random((300, 2)) * [30, 20] if values is None else values
    return Points(values, [(0, 30), (0, 20)], geographic=True, **options)


def test_the_whole_domain_one_cell_and_half_of_one():
    release = fixed()
    boxes = release.cells.boxes
    assert release.count(SQUARE) == release.total == 39.0
    np.testing.assert_array_equal(release.count(boxes), release.cells.counts)
    halves = boxes.copy()
    halves[:, 0, 1] = boxes[:, 0].mean(axis=1)
    np.testing.assert_allclose(release.count(halves), release.cells.counts / 2, atol=1e-12)
    assert release.count([(-np.inf, np.inf), (-np.inf, np.inf)]) == 39.0
    assert release.count([(0.2, 0.2), (-2, 6)]) == 0.0
    assert release.count([(5, 9), (-2, 6)]) == 0.0


def test_edges_that_are_no_binary_fractions_still_hit_whole_cells():
    bounds = [(0.1, 0.7), (-1 / 3, 1 / 7)]
    values = np.random.default_rng(3).random((500, 2)) * 0.2 + 0.1
    release = PrivTree(epsilon=20).release(Points(values[:, ::-1] * [1, 0.3], bounds))
    cells = release.cells
    np.testing.assert_allclose(release.count(cells.boxes), cells.counts, atol=1e-7)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_a_walk_down_the_tree_counts_as_adding_up_cells_does(dimensions):
    generator = np.random.default_rng(dimensions)
    values = generator.random((2000, dimensions)) ** 3
    release = PrivTree(epsilon=3, counts="leaves").release(Points(values, [(0, 1)] * dimensions))
    boxes = np.sort(generator.random((60, dimensions, 2)), axis=2)
    np.testing.assert_allclose(release.count(boxes), by_hand(release.cells, boxes), atol=1e-6)


def test_a_density_is_the_counts_of_the_boxes_of_a_grid():
    release = PrivTree(epsilon=5).release(points(made(500)))
    grid = release.density((7, 12))
    assert grid.shape == (7, 12) and grid.sum() == pytest.approx(release.total)
    x, y = np.linspace(0, 1, 8), np.linspace(-2, 6, 13)
    boxes = [[(x[i], x[i + 1]), (y[j], y[j + 1])] for i in range(7) for j in range(12)]
    np.testing.assert_allclose(grid.ravel(), release.count(boxes), atol=1e-6)
    np.testing.assert_allclose(release.density(12, [1]), grid.sum(axis=0), atol=1e-6)
    assert release.density(3).shape == (3, 3)
    for shape in ((3,), 0, (10**5, 10**5)):
        with pytest.raises(ValueError, match="shape must be one positive number"):
            release.density(shape)
    with pytest.raises(ValueError, match="axes must be different numbers from 0 to 1"):
        release.density(3, [2])


def test_boxes_of_the_wrong_shape_or_upside_down_are_refused():
    release = fixed()
    with pytest.raises(ValueError, match=r"shape \(2, 2\), or \(boxes, 2, 2\)"):
        release.count([(0, 1)])
    for box in ([(1, 0), (0, 1)], [(np.nan, 1), (0, 1)]):
        with pytest.raises(ValueError, match="must not exceed"):
            release.count(box)


def test_sampled_points_follow_the_counts_and_stay_in_the_domain():
    release = fixed(counts=(8.0, 0.0, -2.0, 16.0, 1.0, 3.0, 5.0))
    frame = release.sample(33_000, generator=noise.generator(1))
    assert frame.columns == ["x", "y"] and frame.height == 33_000
    drawn = frame.to_numpy()
    boxes = release.cells.boxes
    inside = (drawn[:, None] >= boxes[:, :, 0]) & (drawn[:, None] < boxes[:, :, 1])
    found = inside.all(axis=2).sum(axis=0)
    # Each cell gets its share of 33 to within one point.
    assert np.abs(found - 1000 * np.array([8, 0, 0, 16, 1, 3, 5])).max() <= 1
    again = release.sample(33_000, generator=noise.generator(1))
    assert frame.equals(again)
    assert len(release.sample(5, backend="pandas")) == 5
    assert release.sample().height == 31
    with pytest.raises(ValueError, match="rows must not be negative"):
        release.sample(-1)


def test_nothing_known_gives_points_anywhere():
    release = fixed(counts=(0.0,) * 7)
    assert release.points == 0 and release.sample().height == 0
    drawn = release.sample(400, generator=noise.generator(2)).to_numpy()
    assert drawn[:, 0].min() < 0.1 and drawn[:, 0].max() > 0.9


def test_a_huge_total_draws_no_more_points_than_reasonable():
    assert fixed(counts=(1e12,) * 7).points == 1_000_000
    assert fixed(counts=(1e12,) * 7, rows_about=3_000_000).points == 6_000_000
    assert fixed(counts=(-5.0,) * 7).points == 0


def test_geojson_holds_rectangles_counts_and_densities():
    release = PrivTree(epsilon=5).release(earth())
    document = release.geojson()
    assert document["type"] == "FeatureCollection"
    assert len(document["features"]) == len(release.cells.counts)
    first, box = document["features"][0], release.cells.boxes[0]
    ring = first["geometry"]["coordinates"][0]
    assert ring[0] == ring[-1] and len(ring) == 5
    # Counter-clockwise, as the standard asks for: the area by the shoelace formula is positive.
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in itertools.pairwise(ring)) / 2
    assert area == pytest.approx(np.prod(box[:, 1] - box[:, 0]))
    total = sum(item["properties"]["count"] for item in document["features"])
    assert total == pytest.approx(release.total, abs=0.1)
    parsed = json.loads(release.files()["cells.geojson"])
    assert parsed == json.loads(json.dumps(document))


def test_the_areas_of_all_boxes_are_that_of_the_sphere():
    edges = np.linspace(-180, 180, 9), np.linspace(-90, 90, 7)
    boxes = [
        [(edges[0][i], edges[0][i + 1]), (edges[1][j], edges[1][j + 1])]
        for i in range(8)
        for j in range(6)
    ]
    assert areas(np.array(boxes)).sum() == pytest.approx(4 * np.pi * RADIUS**2)


def test_points_that_are_not_on_the_earth_have_no_geojson():
    release = fixed()
    with pytest.raises(ValueError, match="declare geographic=True"):
        release.geojson()


def test_files_are_plain_and_changes_in_them_are_found():
    release = PrivTree(epsilon=5).release(earth())
    files = release.files()
    assert list(files) == ["cells.csv", "points.csv", "cells.geojson"]
    assert files["cells.csv"].startswith(b"longitude_from,longitude_to,latitude_from,latitude_to,")
    assert release.agrees(files)
    lines = files["cells.csv"].split(b"\n")
    lines[1] = lines[1].rsplit(b",", 1)[0] + b",77.5"
    assert not release.agrees({**files, "cells.csv": b"\n".join(lines)})
    lines[1] = lines[1].rsplit(b",", 1)[0] + b","
    assert not release.agrees({**files, "cells.csv": b"\n".join(lines)})
    assert not release.agrees({**files, "points.csv": files["points.csv"][:-40]})
    moved = files["points.csv"].replace(b"\n1", b"\n2")
    assert not release.agrees({**files, "points.csv": moved})
    swapped = files["cells.geojson"].replace(b"Polygon", b"Point")
    assert not release.agrees({**files, "cells.geojson": swapped})
    assert not release.agrees({"cells.csv": files["cells.csv"]})


def test_last_digits_may_differ():
    release = PrivTree(epsilon=5).release(earth())
    files = release.files()
    lines = files["cells.csv"].split(b"\n")
    edges, count = lines[1].rsplit(b",", 1)
    lines[1] = edges + b"," + repr(float(count) + 0.001).encode()
    assert release.agrees({**files, "cells.csv": b"\n".join(lines)})


@pytest.mark.parametrize("options", [{}, {"geographic": True}])
def test_saved_files_are_verified(tmp_path, options):
    values = np.random.default_rng(1).random((200, 2)) * 10
    data = Points(values, [(0, 10), (0, 10)], **options)
    folder = PrivTree(epsilon=1).release(data).save(tmp_path / "out")
    assert verify(folder).passed
    text = (folder / "cells.csv").read_text()
    (folder / "cells.csv").write_text(text.replace("\n", "\n0", 1))
    assert not verify(folder).passed


def test_words_say_how_noisy_the_counts_are_and_what_is_published():
    words = PrivTree(epsilon=5).release(earth()).words()
    assert "cells that tile the declared domain (longitude, latitude)" in words
    assert "standard deviation" in words and "points.csv holds" in words


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_pictures_have_named_axes(dimensions):
    values = np.random.default_rng(1).random((300, dimensions))
    release = PrivTree(epsilon=1).release(Points(values, [(0, 1)] * dimensions))
    axis = release.plot().axes[0]
    assert axis.get_xlabel() == release.public.names[0]


def test_a_map_of_many_cells_is_drawn_as_dots(monkeypatch):
    from sfumato.spatial import map_picture

    monkeypatch.setattr(map_picture, "MOST_BOXES", 3)
    release = PrivTree(epsilon=1).release(earth())
    assert release.plot().axes[0].images


def test_a_tree_with_answers_for_other_nodes_is_refused():
    with pytest.raises(ValueError, match="level 1 has 4 nodes; got answers for 3"):
        TreeShape([np.array([YES]), np.array([NO] * 3)], 2, (0, 1) * 4)
    with pytest.raises(ValueError, match="more halvings than the domain"):
        TreeShape([np.array([YES])], 2, (0,))
