import json
import re

import pytest

import sfumato as sf
from sfumato import catalogue
from sfumato.cli import table as table_commands
from sfumato.cli.exits import ExitCode
from sfumato.cli.table import DEFAULT, TABLE
from sfumato.privacy.registry import command_name, resolve
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
    monkeypatch.setattr(table_commands, "DEFAULT", "table.FixedSynthesis")


def test_every_method_of_the_catalogue_that_makes_a_release_is_offered():
    tables = {name for name in catalogue.METHODS if name.startswith("table.")}
    regressions = {name for name, place in catalogue.METHODS.items() if ".regression." in place}
    assert set(TABLE.methods.values()) == tables - {"table.Questions"} - regressions
    assert TABLE.methods["marginals"] == "table.Marginals"
    assert DEFAULT == "table.Synthesizer"


@pytest.mark.parametrize("name", sorted(TABLE.methods.values()))
def test_every_offered_method_can_be_planned_or_says_what_it_needs(run, patients, name):
    words = ("table", "plan", patients, "--epsilon", "1", "--method", command_name(name), "--json")
    told = run(*words)
    message = "" if told.code == 0 else told.document["error"]["message"]
    if told.code == ExitCode.USAGE and "needs --target" not in message:
        (needed,) = re.findall(r"needs --([\w-]+);", message)
        table = sf.read_table(patients, schema=patients.with_name("patients.schema.toml"))
        value = getattr(resolve(name).example_method("1", table.public), needed.replace("-", "_"))
        written = value if isinstance(value, str) else json.dumps(value)
        told = run(*words, f"--{needed}", written)
    elif told.code == ExitCode.USAGE:
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
    words = ("table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", "o")
    told = run(*words, "--report", "--json")
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
    assert told.code == 0 and "A synthetic table: " in told.out


def plan_of(run, patients, *options):
    """Return the outcome of a plan by a method with options of its own."""
    return run("table", "plan", *options, patients, "--epsilon", "1", "--json")


def test_parameters_of_the_method_are_options_wherever_they_stand(run, patients):
    told = plan_of(run, patients, "--method", "marginals", "--repair", "clip", "--delta=1e-9")
    assert told.code == 0 and told.document["guarantee"]["loss"]["delta"] == "1/1000000000"
    # Without --method those of the default are meant; naming tables makes that marginals.
    assert plan_of(run, patients, "--rounds", "2").code == 0
    assert plan_of(run, patients, "--repair=clip", "--ways", "1").code == 0
    listed = plan_of(
        run, patients, "--method", "privbayes", "--cells=null", "--network-share", "0.25"
    )
    assert listed.code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "privbayes", "--celz", "6"], "no parameter 'celz'; did you mean '--cells'?"),
        (["--method", "privbayes", "--bins_share", "0.1"], "did you mean '--bins-share'?"),
        (["--method", "privbayes", "--epsilom", "6"], "did you mean '--epsilon'?"),
        (["--sex", "f"], "`sfumato table methods synthesizer` lists its parameters"),
        (["--degree", "2"], "synthesizer has no parameter 'degree'"),
        (["--method", "privbays"], "table has no method 'privbays'; did you mean 'privbayes'?"),
        (["--method", "magic"], "`sfumato table methods` lists them"),
        (["--method", "marginals", "--target", "sex"], "--target does not apply to --method marg"),
        (["--method", "histogram", "--table", "age"], "--table does not apply to"),
        (["--method", "privbayes", "--cells", "none"], "cells must be a whole number of at least"),
        (["--method", "privbayes", "--cells", "[oops"], "a list must be JSON, as in"),
    ],
)
def test_parameters_that_the_method_does_not_take_are_refused(run, patients, options, words):
    told = plan_of(run, patients, *options)
    assert told.code == ExitCode.USAGE and words in told.document["error"]["message"]


def test_a_switch_takes_no_value(run, patients):
    words = ("--method", "privbayes", "--variant", "published")
    assert plan_of(run, patients, *words).code == ExitCode.USAGE
    assert plan_of(run, patients, *words, "--accept-unproven").code == 0
    assert plan_of(run, patients, *words, "--no-accept-unproven").code == ExitCode.USAGE


def test_methods_and_their_parameters_are_listed_as_the_class_declares_them(run):
    document = run("table", "methods", "--json").document
    found = {item["name"]: item["summary"] for item in document["methods"]}
    assert set(found) == set(TABLE.methods)
    assert found["privbayes"] == "Release a synthetic table drawn from a Bayesian network."
    document = run("table", "methods", "PrivBayes", "--json").document
    cells = next(item for item in document["parameters"] if item["name"] == "cells")
    assert cells["option"] == "--cells" and cells["default"] is None
    assert cells["allowed"] == "a whole number of at least 1" and cells["description"]
    assert document["method"] == "table.PrivBayes"
    shown = run("table", "methods", "privbayes").out
    assert "--score  (one of 'auto', 'I', 'F', 'R'; auto by default)" in shown
    assert "--accept-unproven, --no-accept-unproven" in shown and "epsilon" in shown
    assert run("table", "methods", "privbays").code == ExitCode.USAGE
    assert "--table " in run("table", "methods", "marginals").out


def test_help_and_completion_know_the_parameters_of_a_named_method(run):
    shown = run("table", "release", "--method", "privbayes", "--help").out
    assert "Parameters of privbayes" in shown and "--bins-share" in shown
    assert "Parameters of" not in run("table", "release", "--help").out


def test_the_network_is_printed_and_drawn(run, synthetic, tmp_path):
    told = run("table", "network", synthetic, "--out", "network.svg")
    assert told.code == 0 and "age × sex × town" in told.out and "mutual information" in told.out
    assert (tmp_path / "network.svg").read_text(encoding="utf-8").count("<svg") == 1
    document = run("table", "network", synthetic, "--json").document
    assert document["parts"] == [{"columns": ["age", "sex", "town"], "levels": [0, 0, 0]}]
    assert len(document["pairs"]) == 3 and document["picture"] is None
    assert document["together"] == document["parts"] and document["alone"] == []


def test_columns_that_stand_alone_get_a_line_of_their_own(run, patients, tmp_path):
    table = sf.read_table(patients, schema=tmp_path / "patients.schema.toml")
    sf.Independent(epsilon=5).release(table).save(tmp_path / "independent")
    told = run("table", "network", "independent")
    assert told.code == 0 and "Modelled jointly" not in told.out
    assert "Independent of all others: age, sex, town\n" in told.out
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


def test_synthetic_rows_are_compared_by_value_on_a_page(run, patients, synthetic, tmp_path):
    pytest.importorskip("sklearn")
    words = ("table", "evaluate", patients, synthetic, "--target", "sex", "--out", "page.html")
    told = run(*words)
    assert told.code == 0 and "K-marginal" in told.out and "most frequent" in told.out
    assert "Page (not private): page.html" in told.out
    assert "NOT PRIVATE" in (tmp_path / "page.html").read_text(encoding="utf-8")
    document = run(*words[:4], "--json").document
    rows = document["rows"]
    assert document["page"] is None and rows["private"] is False
    kept = sf.read_table(patients, schema=tmp_path / "patients.schema.toml").counts.rows
    assert rows["rows"] == kept < 300
    assert [score["rows"] for score in rows["scores"]][2:] == [
        -(-kept // 100),
        -(-kept // 20),
        -(-kept // 5),
    ]
    assert {column["column"] for column in rows["columns"]} == {"age", "sex", "town"}


def test_files_larger_than_memory_are_compared_by_value_only_if_asked(run, patients, synthetic):
    pytest.importorskip("duckdb")
    words = ("table", "evaluate", patients, synthetic, "--engine", "duckdb", "--json")
    assert run(*words).document["rows"] is None
    assert run(*words, "--out", "page.html").document["rows"]["scores"]


def test_a_page_that_might_be_published_is_refused(run, patients, synthetic, released):
    before = sorted(synthetic.iterdir())
    told = run("table", "evaluate", patients, synthetic, "--out", synthetic / "page.html")
    assert told.code == ExitCode.USAGE and "inside the release folder" in told.err
    assert sorted(synthetic.iterdir()) == before
    told = run("table", "evaluate", patients, released, "--out", "page.html")
    assert told.code == ExitCode.USAGE and "need a release of synthetic rows" in told.err
    assert run("table", "evaluate", patients, synthetic, "--out", "p.pdf").code == ExitCode.USAGE


def test_nothing_can_be_learnt_from_tables(run, patients, released):
    told = run("table", "evaluate", patients, released, "--predict", "sex")
    assert told.code == ExitCode.USAGE and "this release holds tables" in told.err


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
