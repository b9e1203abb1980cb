import pytest

import sfumato as sf
from sfumato.graph.spectrum import Spectrum

from .test_page import outline, words

NODES = ["<i>", "a & b", "$x^{$", "d", "e", "f"]


@pytest.fixture(scope="module")
def graph():
    edges = [("<i>", "a & b"), ("a & b", "d"), ("<i>", "d"), ("d", "e"), ("$x^{$", "f")]
    return sf.Graph(edges, NODES)


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (
            sf.DKGraph(epsilon=2, order=1),
            ("do not correspond to those", "moved, so that there is such"),
        ),
        (sf.DKGraph(epsilon=2), ("The graph", "edges.csv")),
        (sf.KroneckerGraph(epsilon=2), ("Kronecker", "triangles")),
    ],
    ids=["degrees", "mixing", "kronecker"],
)
def test_a_page_of_a_synthetic_graph(method, told, graph, tmp_path):
    release = method.release(graph)
    release.save(tmp_path / "o")
    page = sf.save_report(tmp_path / "o").read_text(encoding="utf-8")
    text = words(page)
    headings = ("How to use it", "What the files hold", "What was declared", "sfumato graph sample")
    for heading in (release.words(), *headings, *told):
        assert heading in text
    assert "i" not in outline(page).tags and "mathdefault" not in page
    assert sf.verify(tmp_path / "o").passed


@pytest.mark.parametrize("mechanism", ["response", "eigenvalues"])
def test_a_page_of_a_spectrum(mechanism, graph, tmp_path):
    release = Spectrum(epsilon=3, mechanism=mechanism, k=3).release(graph)
    release.save(tmp_path / "o")
    page = sf.save_report(tmp_path / "o").read_text(encoding="utf-8")
    text = words(page)
    for heading in (release.words(), "The spectrum", "How to use it", "What was declared"):
        assert heading in text
    assert ("eigenvectors.csv" in text) == (mechanism == "response")
    assert ("stands out from the noise" in text) == (mechanism == "response")
    assert sf.verify(tmp_path / "o").passed


def test_graphs_without_nodes_have_pages(tmp_path):
    for method in (sf.DKGraph(epsilon=1), Spectrum(epsilon=1)):
        release = method.release(sf.Graph([], 0))
        page = sf.save_report(release, tmp_path / f"{method.name}.html")
        assert "What was declared" in words(page.read_text(encoding="utf-8"))
