import pytest

import sfumato as sf

from .test_page import outline, words

NODES = ["<i>", "a & b", "$x^{$", "d", "e"]


@pytest.fixture(scope="module")
def graph():
    return sf.Graph([("<i>", "a & b"), ("a & b", "d"), ("<i>", "d"), ("d", "e")], NODES)


@pytest.mark.parametrize(
    ("method", "headings"),
    [
        (sf.SubgraphCount(epsilon=1), ("The number", "so it is private and not released")),
        (sf.SubgraphCount(epsilon=1, mechanism="laplace"), ("margin of the triangles",)),
        (sf.DegreeSequence(epsilon=1), ("The degrees", "histogram.csv", "three quarters")),
        (sf.GraphSummary(epsilon=1), ("The counts", "The degrees", "with a common neighbour")),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_page_of_a_graph(method, headings, graph, tmp_path):
    release = method.release(graph)
    release.save(tmp_path / "o")
    page = sf.save_report(tmp_path / "o").read_text(encoding="utf-8")
    text = words(page)
    assert release.words() in text
    for heading in (*headings, "How to use it", "What was declared", "protected is one edge"):
        assert heading in text
    assert "i" not in outline(page).tags and "&lt;i&gt;" in page
    # Matplotlib sets powers of ten as formulas, which a page would show as they are written.
    assert "mathdefault" not in page
    assert sf.verify(tmp_path / "o").passed


def test_graphs_without_nodes_have_pages(tmp_path):
    for method in (sf.DegreeSequence(epsilon=1), sf.GraphSummary(epsilon=1)):
        release = method.release(sf.Graph([], 0))
        page = sf.save_report(release, tmp_path / f"{method.name}.html")
        assert "no nodes" in words(page.read_text(encoding="utf-8"))
