import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.report.map_page import MOST_CELLS, SIDE, map_page

from .test_page import outline, words


def release_of(dimensions, method, *, names=None, geographic=False):
    generator = np.random.default_rng(3)
    points = sf.Points(
        generator.random((300, dimensions)) * 0.4,
        [(0, 1)] * dimensions,
        names=names,
        geographic=geographic,
    )
    return method.release(points)


@pytest.fixture(scope="module")
def grid():
    return release_of(2, sf.UniformGrid(epsilon=1, cells=3), names=["<b>east</b>", "north"])


def test_the_page_shows_the_map_the_cells_and_what_was_declared(grid, tmp_path):
    grid.save(tmp_path / "o")
    page = sf.save_report(tmp_path / "o").read_text(encoding="utf-8")
    text = words(page)
    assert grid.words() in text
    for heading in ("Where the points are", "How to use it", "The cells", "What the files hold"):
        assert heading in text
    assert "<b>east</b> to" not in page and "&lt;b&gt;east&lt;/b&gt;" in page
    assert "at most" not in text.partition("declared about the points")[2].partition("planned")[0]
    largest = f"{grid.cells.counts.max():,.1f}"
    assert largest in text
    assert sf.verify(tmp_path / "o").passed


def test_counts_below_zero_are_spoken_of_where_there_are_some(tmp_path):
    generator = np.random.default_rng(5)
    points = sf.Points(
        generator.random((300, 2)) * 0.4,
        [(0, 1)] * 2,
        unit="person",
        person=np.arange(300) // 2,
        max_points=2,
    )
    for method in (sf.PrivTree(epsilon=1), sf.UniformGrid(epsilon=1, cells=12)):
        release = method.release(points)
        page = sf.save_report(release, tmp_path / f"{method.name}.html")
        text = words(page.read_text(encoding="utf-8"))
        assert ("below zero" in text) == bool((release.cells.counts < 0).any())
        assert ("none is negative" in text) != ("below zero" in text)
        assert "the first 2 points were used: counts refer to the used part of the data" in text


def test_the_page_needs_nothing_from_outside(grid, tmp_path):
    page = sf.save_report(grid, tmp_path / "page.html").read_text(encoding="utf-8")
    parsed = outline(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(parsed.tags)
    for name, value in parsed.attributes:
        if name in ("href", "xlink:href"):
            assert value.startswith(("#", "data:image/png;base64,"))
    assert not re.search(r"url\((?!#)", page)
    # Powers of ten are written out: nothing is left that a formula would need.
    assert "mathdefault" not in page


@pytest.mark.parametrize("dimensions", [1, 3])
def test_other_numbers_of_axes_have_a_page_too(dimensions, tmp_path):
    release = release_of(dimensions, sf.PrivTree(epsilon=1))
    page = sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Where the points are" in words(page)


def test_a_person_with_several_points_is_told(tmp_path):
    points = sf.Points(
        [[0.1], [0.2], [0.3]], [(0, 1)], unit="person", person=[1, 1, 2], max_points=2
    )
    release = sf.UniformGrid(epsilon=1, cells=2).release(points)
    text = words(sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "at most 2 were used" in text


def test_the_page_of_a_map_has_one_rectangle_a_cell_that_tells_its_count(grid):
    page = map_page(grid)
    parsed = outline(page)
    assert "script" not in parsed.tags
    assert page.count("<title>about ") == 9
    assert "&lt;b&gt;east&lt;/b&gt; 0 to 0.333333" in page
    assert str(grid.guarantee) in words(page)


def test_a_map_of_many_cells_or_axes_is_drawn_on_squares(monkeypatch, grid):
    monkeypatch.setattr("sfumato.report.map_page.MOST_CELLS", 5)
    assert MOST_CELLS > 5
    assert map_page(grid).count("<title>about ") == SIDE**2
    deep = release_of(3, sf.UniformGrid(epsilon=1, cells=2), geographic=True)
    page = map_page(deep)
    assert page.count("<title>about ") == SIDE**2 and "all of z together" in words(page)


def test_a_map_of_one_axis_is_refused():
    with pytest.raises(ValueError, match="two axes"):
        map_page(release_of(1, sf.UniformGrid(epsilon=1, cells=2)))


def test_a_map_without_any_points_is_drawn():
    points = sf.Points(np.zeros((0, 2)), [(0, 1), (0, 1)])
    release = sf.UniformGrid(epsilon=1, cells=2).release(points)
    assert map_page(release).count("<title>about ") == 4
