import pytest

import sfumato as sf

from .test_page import outline, words

NODES = ["<i>", "a & b", "$x^{$", "d", "e"]


@pytest.fixture(scope="module")
def graph():
    return sf.Graph([("<i>", "a & b"), ("a & b", "d"), ("<i>", "d"), ("d", "e")], NODES)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("mean_degree", ("standard error", "two times in three", "edges")),
        ("3 * triangles / wedges", ("so it is private and not released", "triangles", "wedges")),
        ("degrees / mean_degree", ("the largest first", "5 numbers, in statistic.json")),
        ("degree('<i>') - degree('a & b')", ("standard error", "degree('a & b')")),
    ],
)
def test_a_page_of_a_formula_over_a_graph(expression, told, graph, tmp_path):
    release = sf.GraphStatistic(epsilon=1, expression=expression).release(graph)
    release.save(tmp_path / "o")
    page = sf.save_report(tmp_path / "o").read_text(encoding="utf-8")
    text = words(page)
    headings = ("The statistic", "What it was computed from", "How to use it", "What was declared")
    for heading in (release.words(), *headings, *told):
        assert heading in text
    assert "i" not in outline(page).tags and "&lt;i&gt;" in page
    assert sf.verify(tmp_path / "o").passed


def test_a_page_of_a_formula_over_a_table(table, tmp_path):
    formula = "total(age, group, 'a & b') / count(group, 'a & b')"
    method = sf.TableStatistic(epsilon=1, expression=formula)
    page = sf.save_report(method.release(table), tmp_path / "page.html")
    text = words(page.read_text(encoding="utf-8"))
    assert "What was declared about the columns" in text
    assert "sf.load('THIS-FOLDER').also('FORMULA')" in text
