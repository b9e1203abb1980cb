import json
import re

import pytest

import sfumato as sf
from sfumato import catalogue
from sfumato.cli import table_methods
from sfumato.cli.exits import ExitCode
from sfumato.cli.table_methods import DEFAULT, OFFERED, short_name
from sfumato.privacy.registry import resolve
from tests.tabular.fixed import FixedSynthesis


@pytest.fixture
def synthetic(run, patients, tmp_path):
    """A saved synthetic release of the patients."""
    table = sf.read_table(patients, schema=tmp_path / "patients.schema.toml")
    return FixedSynthesis(epsilon=5).release(table).save(tmp_path / "synthetic")


@pytest.fixture
def offered(monkeypatch):
    """Let the command line offer the small method of the tests as well."""
    monkeypatch.setitem(catalogue.METHODS, "table.FixedSynthesis", "tests.tabular.fixed")
    monkeypatch.setattr(table_methods, "DEFAULT", "table.FixedSynthesis")


def test_every_method_of_the_catalogue_that_makes_a_release_is_offered():
    tables = {name for name in catalogue.METHODS if name.startswith("table.")}
    regressions = {name for name, place in catalogue.METHODS.items() if ".regression." in place}
    assert set(OFFERED.values()) == tables - {"table.Questions"} - regressions
    assert OFFERED["marginals"] == "table.Marginals"
    best = "table.Synthesizer" if "table.Synthesizer" in catalogue.METHODS else "table.Marginals"
    assert best == DEFAULT


@pytest.mark.parametrize("name", sorted(OFFERED.values()))
def test_every_offered_method_can_be_planned_or_says_what_it_needs(run, patients, name):
    words = ("table", "plan", patients, "--epsilon", "1", "--method", short_name(name), "--json")
    told = run(*words)
    if told.code == ExitCode.USAGE and "--set" in told.document["error"]["message"]:
        (needed,) = re.findall(r"needs --set (\w+)=…", told.document["error"]["message"])
        table = sf.read_table(patients, schema=patients.with_name("patients.schema.toml"))
        value = getattr(resolve(name).example_method("1", table.public), needed)
        written = value if isinstance(value, str) else json.dumps(value)
        told = run(*words, "--set", f"{needed}={written}")
    elif told.code == ExitCode.USAGE:
        assert "needs --target" in told.document["error"]["message"]
        told = run(*words, "--target", "sex", "--positive", "f")
    assert told.code == 0 and told.document["plan"]["method"] == name


def test_the_default_is_used_unless_tables_are_named(run, patients, offered):
    def method(*options):
        words = ("table", "plan", patients, "--epsilon", "1", "--json", *options)
        return run(*words).document["plan"]["method"]

    assert method() == "table.FixedSynthesis"
    for options in (["--ways", "1"], ["--table", "age,sex"], ["--columns", "age"]):
        assert method(*options) == "table.Marginals"
    assert method("--method", "histogram", "--columns", "age") == "table.Histogram"


def test_a_synthetic_release_is_booked_saved_reported_and_verified(run, patients, ledger, offered):
    told = run(
        "table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", "o", "--json"
    )
    document = told.document
    assert told.code == 0 and document["kind"] == "synthetic table"
    assert document["rows"] == round(document["total"])
    assert document["network"] == {"directed": False, "parts": [["age", "sex", "town"]]}
    assert sf.verify("o").passed
    page = (patients.parent / "o" / "report.html").read_text(encoding="utf-8")
    assert "How to use it" in page
    assert (patients.parent / "o" / "synthetic.csv").read_text().startswith("age,sex,town\n")


def test_a_rehearsal_of_rows_reads_no_data(run, patients, offered):
    patients.unlink()
    told = run("table", "rehearse", patients, "--epsilon", "1", "--rows", "50")
    assert told.code == 0 and "made-up rows" in told.out


def test_further_parameters_are_set_by_name(run, patients):
    words = ("table", "plan", patients, "--epsilon", "1", "--json", "--method", "marginals")
    assert len(run(*words, "--set", "tables=[[\"age\"]]", "--set", "delta=1e-9").document["plan"]
               ["steps"]) == 1  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "degree=2"], "--set degree=… does not go with --method marginals"),
        (["--set", "degree"], "--set takes NAME=VALUE"),
        (["--set", "ways=2", "--set", "ways=3"], "ways is given twice"),
        (["--set", "tables=[oops"], "a list is written as"),
        (["--target", "sex"], "--target does not go with --method marginals"),
        (["--method", "histogram", "--table", "age"], "--table does not go with"),
        (["--set", "ways=none"], "ways must be"),
    ],
)
def test_parameters_that_the_method_does_not_take_are_refused(run, patients, options, words):
    method = [] if "--method" in options else ["--method", "marginals"]
    told = run("table", "plan", patients, "--epsilon", "1", *method, *options)
    assert told.code == ExitCode.USAGE and words in told.err


def test_the_network_is_printed_and_drawn(run, synthetic, tmp_path):
    told = run("table", "network", synthetic, "--out", "network.svg")
    assert told.code == 0 and "age × sex × town" in told.out and "tell about each other" in told.out
    assert (tmp_path / "network.svg").read_text(encoding="utf-8").count("<svg") == 1
    document = run("table", "network", synthetic, "--json").document
    assert document["parts"] == [{"columns": ["age", "sex", "town"], "levels": [0, 0, 0]}]
    assert len(document["pairs"]) == 3 and document["picture"] is None
    assert document["together"] == document["parts"] and document["alone"] == []


def test_columns_that_stand_alone_get_a_line_of_their_own(run, patients, tmp_path):
    table = sf.read_table(patients, schema=tmp_path / "patients.schema.toml")
    sf.Independent(epsilon=5).release(table).save(tmp_path / "independent")
    told = run("table", "network", "independent")
    assert told.code == 0 and "Kept together" not in told.out
    assert "Standing alone: age, sex, town\n" in told.out
    assert run("table", "network", "independent", "--json").document["alone"] == [
        "age",
        "sex",
        "town",
    ]


def test_a_network_that_cannot_be_drawn_is_refused(run, synthetic, released):
    assert run("table", "network", released).code == ExitCode.USAGE
    assert run("table", "network", synthetic, "--out", "n.txt").code == ExitCode.USAGE
    assert run("table", "network", synthetic, "--out", "no/n.svg").code == ExitCode.USAGE


def test_synthetic_rows_are_evaluated(run, patients, synthetic):
    pytest.importorskip("sklearn")
    words = ("table", "evaluate", patients, synthetic, "--ways", "3", "--predict", "sex")
    told = run(*words)
    assert told.code == 0 and "Not private" in told.out
    assert "Predicting sex" in told.out and "random ranges" in told.out and "Cramér" in told.out
    assert "on average (median " in told.out and "as a percentage of the true count" in told.out
    document = run(*words, "--queries", "0", "--json").document
    assert document["private"] is False and document["ranges"] is None
    assert len(document["by_ways"]) == 3
    assert document["classifications"][0]["target"] == "sex"


def test_nothing_can_be_learnt_from_tables(run, patients, released):
    told = run("table", "evaluate", patients, released, "--predict", "sex")
    assert told.code == ExitCode.USAGE and "this release is of tables" in told.err


def test_a_released_rule_is_evaluated(run, patients, tmp_path):
    table = sf.read_table(patients, schema=tmp_path / "patients.schema.toml")
    sf.Majority(epsilon=1, target="sex", positive=["f"]).release(table).save(tmp_path / "rule")
    told = run("table", "evaluate", patients, "rule")
    assert told.code == 0 and "Not private" in told.out and "Predicting sex" in told.out


def test_answers_cannot_be_compared(run, patients, tmp_path):
    table = sf.read_table(patients, schema=tmp_path / "patients.schema.toml")
    with sf.Questions(epsilon=1, questions=1).open(table) as session:
        session.ask({"sex": "f"})
        session.close().save(tmp_path / "answers")
    told = run("table", "evaluate", patients, "answers")
    assert told.code == ExitCode.USAGE and "holds answers" in told.err
