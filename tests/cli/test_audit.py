import math
import re
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.audit.events import Event
from sfumato.audit.replaying import ReplayFindings
from sfumato.audit.sampling import AuditResult
from sfumato.catalogue import METHODS
from sfumato.cli.audit import _exactly
from sfumato.cli.exits import ExitCode
from sfumato.data.table_queries import Accepted
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.randomized import Randomized
from sfumato.privacy.loss import PureDP
from sfumato.privacy.registry import command_name
from sfumato.tabular.questions import Questions

FEW = ("--trials", "100", "--seed", "3")

#: Methods whose worst neighbours are among the canonical pairs: replay attains the promise. All
#: other methods come close to it in their own suites, on worse pairs.
ATTAINED = (
    "adaptivegrid",
    "contingency",
    "degreesequence",
    "dkgraph",
    "edgeresponse",
    "fourier",
    "functionalregression",
    "graphcollection",
    "graphstatistic",
    "hadamardresponse",
    "hierarchicalgrid",
    "histogram",
    "independent",
    "localhash",
    "majority",
    "marginals",
    "matrixresponse",
    "meanresponse",
    "multiresponse",
    "piecewisemean",
    "privelet",
    "questions",
    "randomizedresponse",
    "spectrum",
    "subsetselection",
    "surveyanswers",
    "tablestatistic",
    "unaryencoding",
    "uniformgrid",
)
#: One method of each kind of data that is quick to draw from; all are sampled in their own suites.
SAMPLED = ("histogram", "randomizedresponse", "subgraphcount")


@pytest.fixture
def without_samples(monkeypatch):
    """Leave only replay to speak: the sampled part says that it saw nothing."""

    def nothing(method, pair, *, trials, claimed, confidence, questions, seed):
        scores, event = (np.zeros(2), np.zeros(2)), Event("none", 0.0)
        return AuditResult(
            pair.name, method.loss(), 0.0, confidence, trials, event, 1.0, 1.0, (), scores
        )

    monkeypatch.setattr("sfumato.audit.verdict.sample_loss", nothing)


NAMES = sorted(map(command_name, METHODS))


def test_every_method_has_a_name_of_its_own_and_every_spelling_of_it_is_understood(run):
    assert len(set(NAMES)) == len(METHODS)
    words = ("--epsilon", "1", "--trials", "100", "--seed", "1", "--json")
    spelt = ("uniformgrid", "uniform-grid", "UniformGrid", "points.UniformGrid")
    documents = [run("audit", name, *words).document for name in spelt]
    assert documents[0]["ok"] and all(document == documents[0] for document in documents)
    outcome = run("audit", "uniformgrit", *words)
    assert outcome.code == ExitCode.USAGE and "uniformgrid" in outcome.err


@pytest.mark.parametrize("name", NAMES)
def test_a_promise_that_holds_is_not_refuted_and_replay_reaches_it(name, run, request):
    if name not in SAMPLED:
        # Their own suites sample them; here replay alone has to find nothing.
        request.getfixturevalue("without_samples")
    outcome = run("audit", name, "--epsilon", "1", *FEW, "--json")
    assert outcome.code == 0
    document = outcome.document
    assert document["ok"] and not document["refuted"]
    assert document["parameters"]["epsilon"] == "1"
    assert len(document["pairs"]) >= 2
    for pair in document["pairs"]:
        assert pair["replayed"]["faults"] == []
        # The canonical pairs are the worst there are for counts: the bound is attained.
        largest = pair["replayed"]["largest"]
        assert 0 < largest <= 1 + 1e-9
        assert name not in ATTAINED or largest == pytest.approx(1)
        assert pair["sampled"]["bound"] <= 1


def test_people_get_a_table_and_plain_words(run):
    outcome = run("audit", "randomizedresponse", "--epsilon", "1", "--trials", "600", "--seed", 2)
    assert outcome.code == 0
    assert "one answer, and another (1)" in outcome.out
    assert re.search(
        r"not refuted at 99\.9 %: the data are consistent with ε = 1; "
        r"the largest loss shown is 0\.[1-9]\d",
        outcome.out,
    )
    assert "docs/proofs/randomized-response.md" in outcome.out
    assert outcome.err == ""


def test_an_audit_with_a_seed_can_be_repeated(run):
    words = ("audit", "randomizedresponse", "--epsilon", "1", "--trials", "200", "--json")
    first, again, other = (run(*words, "--seed", seed).document for seed in (1, 1, 2))
    assert first == again != other
    sampled = [pair["sampled"] for pair in first["pairs"]]
    # Pairs are drawn apart, and share the risk.
    assert sampled[0]["p"] != sampled[1]["p"]
    assert sampled[0]["confidence"] == pytest.approx(0.9995)


@pytest.mark.parametrize(
    ("options", "unit", "relation", "contribution"),
    [
        (("--relation", "replace_one"), "row", "replace_one", 1),
        (("--max-rows", "3"), "person", "add_remove", 3),
    ],
)
def test_units_and_relations_are_those_that_are_asked_for(
    options, unit, relation, contribution, run, without_samples
):
    document = run("audit", "questions", "--epsilon", "1", *options, *FEW, "--json").document
    assert document["ok"]
    found = (document["unit"], document["relation"], document["contribution"])
    assert found == (unit, relation, contribution)
    for pair in document["pairs"]:
        assert pair["replayed"]["largest"] == pytest.approx(1)


def test_with_delta_replay_counts_in_zcdp(run, without_samples):
    outcome = run("audit", "histogram", "--epsilon", "1", "--delta", "1e-6", *FEW, "--json")
    assert outcome.code == 0
    for pair in outcome.document["pairs"]:
        assert pair["sampled"]["claimed"]["delta"] == "1/1000000"
        rho = float(Fraction(pair["replayed"]["claimed"]["rho"]))
        assert pair["replayed"]["largest"] == pytest.approx(rho)


def test_a_schema_of_ones_own_is_used(run, tmp_path, without_samples):
    path = tmp_path / "own.schema.toml"
    path.write_text(
        '[table]\nunit = "row"\nrelation = "replace_one"\n'
        '[columns.town]\nkind = "category"\nvalues = ["Delft", "Gouda"]\n',
        encoding="utf-8",
    )
    words = ("audit", "marginals", "--epsilon", "1", "--schema", path)
    document = run(*words, *FEW, "--json").document
    assert document["relation"] == "replace_one"
    assert run(*words, "--max-rows", "2").code == ExitCode.USAGE


def test_half_the_noise_is_refuted_by_samples(run, monkeypatch):
    def half(self, value):
        scores = np.zeros(self.answers, dtype=np.int64)
        scores[value] = 1
        return noise.exponential(scores, rate=3 * self.epsilon)

    # The log-probability still tells what should be: replay finds nothing, samples do.
    monkeypatch.setattr(Randomized, "sample", half)
    words = ("audit", "randomizedresponse", "--epsilon", "1", "--trials", "400", "--seed", "1")
    outcome = run(*words, "--json")
    assert outcome.code == ExitCode.REFUTED
    document = outcome.document
    assert "REFUTED at 99.9 %: ε = 1 is promised, and a loss of" in document["words"]
    assert not document["ok"] and document["refuted"] and document["largest"] > 1
    assert all(pair["replayed"]["faults"] == [] for pair in document["pairs"])


def test_a_sensitivity_that_is_declared_too_small_is_refuted_by_replay(
    run, monkeypatch, without_samples
):
    def half(self, public):
        limit, _ = self.record_budget(public)
        epsilon = limit.epsilon / self.questions
        return GeometricNoise(shape=(1,), sensitivity=Fraction(1, 2), epsilon=epsilon)

    monkeypatch.setattr(Questions, "_noise", half)
    outcome = run("audit", "questions", "--epsilon", "1", *FEW)
    assert outcome.code == ExitCode.REFUTED
    assert "REFUTED by replay on the pair 'empty, and one': " in outcome.out
    assert "inputs are 1 apart" in outcome.out and "declared is 0.5" in outcome.out


def test_what_depends_on_the_data_beside_the_outputs_is_an_infinite_loss(
    run, monkeypatch, without_samples
):
    honest, count = Questions.answer, Accepted.answer
    seen = []

    def noting(self, data):
        seen.append(data.counts.rows)
        return count(self, data)

    def leaking(self, public, budget, question, number):
        if number == 0 or seen[-1]:
            yield from honest(self, public, budget, question, number)

    monkeypatch.setattr(Accepted, "answer", noting)
    monkeypatch.setattr(Questions, "answer", leaking)
    outcome = run("audit", "questions", "--epsilon", "1", *FEW, "--json")
    assert outcome.code == ExitCode.REFUTED
    empty, *others = outcome.document["pairs"]
    assert empty["refuted"] and empty["replayed"]["largest"] is None
    assert not any(pair["refuted"] for pair in others)
    assert "became" in outcome.document["words"] or "never asked" in outcome.document["words"]


def test_an_infinite_loss_is_shown_as_such():
    findings = ReplayFindings("a pair", PureDP(1), largest=math.inf)
    assert _exactly(findings) == "∞ of ε = 1"


def test_the_picture_is_written(run, tmp_path):
    path = tmp_path / "event.svg"
    words = ("audit", "randomizedresponse", "--epsilon", "1", *FEW)
    outcome = run(*words, "--picture", path, "--json")
    assert outcome.document["picture"] == str(path)
    assert "<svg" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("histogram",), "--epsilon"),
        (("nonsense", "--epsilon", "1"), "randomizedresponse"),
        (("histogram", "--epsilon", "0"), "epsilon must be positive"),
        (("histogram", "--epsilon", "1", "--trials", "99"), "100"),
        (("histogram", "--epsilon", "1", "--confidence", "1"), "less than 1"),
        (("histogram", "--epsilon", "1", "--picture", "a.gif"), ".svg, .png"),
        (("histogram", "--epsilon", "1", "--picture", "no/a.svg"), "no folder"),
        (("questions", "--epsilon", "1", "--delta", "1e-6"), "leave --delta out"),
        (("randomized-response", "--epsilon", "1", "--max-rows", "2"), "one answer"),
        (("edge-response", "--epsilon", "1", "--relation", "replace_one"), "one edge"),
        (("edge-response", "--epsilon", "1", "--schema", "a.toml"), "no schema file"),
        (
            ("histogram", "--epsilon", "1", "--max-rows", "2", "--relation", "replace_one"),
            "one row per person",
        ),
    ],
)
def test_what_cannot_be_audited_is_refused_before_any_work(words, said, run):
    outcome = run("audit", *words, "--json")
    assert outcome.code == ExitCode.USAGE
    assert said in outcome.document["error"]["message"]


def test_progress_names_the_pair(monkeypatch):
    import io

    from rich.console import Console

    from sfumato.cli import audit, progress
    from sfumato.cli.screen import Screen
    from sfumato.privacy.progress import track

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    screen = Screen(as_json=False)
    screen.side = Console(file=io.StringIO(), force_terminal=True, width=100)
    with audit._telling(screen, "pair 1 of 2, empty"):
        import time

        for _ in track(range(3), "drawing"):
            time.sleep(0.1)
            list(track(range(2), "adding noise"))
    said = screen.side.file.getvalue()
    assert "pair 1 of 2, empty: drawing" in said and "adding noise" not in said


@pytest.mark.parametrize("options", [("--relation", "replace_one"), ("--max-rows", "2")])
@pytest.mark.parametrize("name", ["uniform-grid", "top-strings"])
def test_points_and_sequences_are_audited_in_every_unit_and_relation(
    name, options, run, without_samples
):
    document = run("audit", name, "--epsilon", "1", *FEW, *options, "--json").document
    assert document["ok"] and not document["refuted"]
    replaced = "replace_one" in options
    assert document["relation"] == ("replace_one" if replaced else "add_remove")
    assert document["contribution"] == (1 if replaced else 2)


def test_a_schema_of_points_is_audited_and_one_of_another_kind_is_refused(
    run, tmp_path, without_samples
):
    schema = tmp_path / "line.toml"
    schema.write_text('[points]\nunit = "point"\n[axes]\nx = [0, 1]\n', encoding="utf-8")
    words = ("audit", "uniformgrid", "--epsilon", "1", *FEW, "--schema", schema)
    assert run(*words, "--json").document["ok"]
    assert run(*words, "--max-rows", "2").code == ExitCode.USAGE
    told = run("audit", "ngram", "--epsilon", "1", *FEW, "--schema", schema)
    assert told.code == ExitCode.DATA and "this file describes points" in told.err
    told = run("audit", "uniformgrid", "--epsilon", "1", "--delta", "1e-9")
    assert told.code == ExitCode.USAGE and "pure epsilon" in told.err
