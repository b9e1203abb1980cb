"""Made-up graphs and spectra from the command line: released, drawn from, compared."""

import json
import random
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.graph import GRAPHS, KEPT, KeepChoice, MechanismChoice

PAGE = Path(__file__).parents[2] / "docs" / "graphs.md"
SHARED = ("--nodes", "40", "--no-report", "--json")


@pytest.fixture
def friends(tmp_path):
    """An edge list on the nodes 0 to 39, in eight circles."""
    draw = random.Random(3)
    circles = [draw.randrange(8) for _ in range(150)]
    pairs = [(5 * c + draw.randrange(5), 5 * c + draw.randrange(5)) for c in circles]
    path = tmp_path / "friends.txt"
    path.write_text("".join(f"{left} {right}\n" for left, right in pairs), encoding="utf-8")
    return path


def test_choices_are_those_of_the_library():
    from sfumato.catalogue import METHODS
    from sfumato.graph.sampled import SUFFIXES
    from sfumato.graph.spectral_mechanism import MECHANISMS

    assert GRAPHS == SUFFIXES
    assert {*MechanismChoice} == {"auto", *MECHANISMS}
    assert {*KEPT} == {*KeepChoice}
    assert {name for name, _ in KEPT.values()} <= {*METHODS}


@pytest.mark.parametrize("keep", ["degrees", "mixing", "clustering", "kronecker"])
def test_a_graph_is_synthesized_and_verified(run, friends, keep):
    words = ("graph", "synthesize", friends, "--epsilon", "4", "--keep", keep, "--out", "o")
    document = run(*words, *SHARED).document
    assert document["kind"] == "synthetic graph" and document["nodes"] == 40
    edges = (friends.parent / "o" / "edges.csv").read_text(encoding="utf-8").splitlines()
    assert edges[0] == "source,target" and len(edges) == 1 + document["edges"]
    assert run("verify", "o").code == 0


def test_mixing_is_kept_unless_something_else_is_asked_for(run, friends):
    document = run("graph", "synthesize", friends, "--epsilon", "4", "--out", "o", *SHARED).document
    assert document["method"] == "graph.DKGraph" and document["parameters"]["order"] == 2


def test_triples_need_a_delta_and_others_take_none(run, friends):
    words = ("graph", "synthesize", friends, "--epsilon", "4", "--out", "o", *SHARED)
    none = run(*words, "--keep", "triples")
    assert none.code == ExitCode.USAGE and "delta" in none.document["error"]["message"]
    document = run(*words, "--keep", "triples", "--delta", "1e-6").document
    assert document["guarantee"]["loss"]["delta"] == "1/1000000"
    idle = run(*words[:-3], "--json", "--keep", "degrees", "--delta", "1e-6")
    assert idle.code == ExitCode.USAGE


def test_every_file_of_a_synthetic_graph_and_of_a_spectrum_is_explained(run, friends):
    page = PAGE.read_text(encoding="utf-8")
    for name in ("synthesize", "spectrum"):
        words = ("graph", name, friends, "--nodes", "40", "--epsilon", "4", "--out", name)
        assert run(*words, "--no-report").code == 0
        for path in (friends.parent / name).iterdir():
            assert f"`{path.name}`" in page


def test_many_graphs_are_drawn_from_one_release_and_the_same_again(run, friends):
    words = ("graph", "synthesize", friends, "--epsilon", "4", "--out", "o", *SHARED)
    assert run(*words).code == 0
    draw = ("graph", "sample", "o", "--graphs", "3", "--json")
    first = run(*draw, "--seed", "5", "--out", "a.csv").document["graphs"]
    assert [item["file"] for item in first] == ["a-1.csv", "a-2.csv", "a-3.csv"]
    assert run(*draw, "--seed", "5", "--out", "b.csv").code == 0
    folder = friends.parent
    for number in (1, 2, 3):
        drawn = (folder / f"a-{number}.csv").read_bytes()
        assert drawn == (folder / f"b-{number}.csv").read_bytes()
    assert (folder / "a-1.csv").read_bytes() != (folder / "a-2.csv").read_bytes()
    taken = run(*draw, "--out", "a.csv")
    assert taken.code == ExitCode.USAGE and "exists" in taken.document["error"]["message"]
    one = run("graph", "sample", "o", "--out", "one.txt")
    assert one.code == 0 and "edges between 40 nodes are in one.txt" in one.out
    assert run("graph", "sample", "o", "--out", "one.gml").code == ExitCode.USAGE


def test_only_a_synthetic_graph_is_drawn_from(run, friends):
    assert run("graph", "count", friends, "--epsilon", "1", "--out", "o", *SHARED).code == 0
    told = run("graph", "sample", "o", "--out", "a.csv")
    assert told.code == ExitCode.USAGE and "only from the release of a synthetic graph" in told.err


def test_a_spectrum_is_released_and_verified(run, friends):
    words = ("graph", "spectrum", friends, "--epsilon", "5", "--out", "o", *SHARED)
    document = run(*words, "-k", "3").document
    assert document["kind"] == "graph spectrum" and len(document["eigenvalues"]) == 3
    assert document["eigenvectors"] and len(document["detectable"]) == 3
    assert run("verify", "o").code == 0


def test_eigenvalues_alone_have_little_noise(run, friends):
    words = ("graph", "spectrum", friends, "--epsilon", "200", "--out", "o", *SHARED)
    document = run(*words, "--mechanism", "eigenvalues").document
    from sfumato.evaluate.spectrum import true_spectrum

    truth = true_spectrum(sf.read_graph(friends, 40), 5).eigenvalues
    # Laplace noise of scale 1/100: beyond 0.3 with a chance below 5 e^-30.
    assert document["eigenvalues"] == pytest.approx(truth.tolist(), abs=0.3)
    assert not document["eigenvectors"]
    assert not (friends.parent / "o" / "eigenvectors.csv").exists()


@pytest.mark.parametrize("method", ["dkgraph", "clusteredgraph", "kroneckergraph", "spectrum"])
def test_plans_and_rehearsals_know_the_methods(run, method):
    words = ("--nodes", "40", "--epsilon", "4", "--method", method, "--json")
    assert run("graph", "plan", *words).document["plan"]["steps"]
    assert run("graph", "rehearse", *words, "--rows", "60").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("synthesize",), ("edges", "triangles", "transitivity")),
        (("spectrum", "-k", "3"), ("eigenvalue", "The release captures")),
    ],
)
def test_a_comparison_is_marked_as_not_private(run, friends, words, told):
    name, *options = words
    release = ("graph", name, friends, "--epsilon", "8", "--out", "o", *SHARED)
    assert run(*release, *options).code == 0
    found = run("graph", "compare", friends, "o", "--picture", "both.svg", "--json")
    assert found.code == 0 and "Not private" in found.err and found.document["private"] is False
    assert "NOT PRIVATE" in (friends.parent / "both.svg").read_text(encoding="utf-8")
    assert json.dumps(found.document)
    shown = run("graph", "compare", friends, "o")
    assert "Not private" in shown.out
    for word in told:
        assert word in shown.out


def test_counts_are_evaluated_and_graphs_are_compared(run, friends):
    assert run("graph", "count", friends, "--epsilon", "1", "--out", "o", *SHARED).code == 0
    told = run("graph", "compare", friends, "o")
    assert told.code == ExitCode.USAGE and "sfumato graph evaluate" in told.err
    assert run("graph", "synthesize", friends, "--epsilon", "1", "--out", "p", *SHARED).code == 0
    told = run("graph", "evaluate", friends, "p")
    assert told.code == ExitCode.USAGE and "sfumato graph compare" in told.err
