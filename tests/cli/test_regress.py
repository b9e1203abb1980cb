import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import catalogue
from sfumato.cli.exits import ExitCode
from sfumato.cli.regress import BESIDES, DEFAULT, REGRESS

SCHEMA = """\
[table]
unit = "row"
rows_about = 600

[columns.age]
kind = "number"
low = 0
high = 120
bins = 12

[columns.smokes]
kind = "boolean"

[columns.pressure]
kind = "number"
low = 50
high = 250
bins = 20
outside = "clamp"
"""


@pytest.fixture
def heart(tmp_path):
    """A table of patients whose schema was made for counting."""
    draw = np.random.default_rng(1)
    age, smokes = draw.uniform(18, 90, 600), draw.random(600) < 0.4
    pressure = 100 + 0.5 * age + 10 * smokes + draw.normal(0, 8, 600)
    frame = pl.DataFrame({"age": age, "smokes": smokes, "pressure": pressure})
    frame.write_csv(tmp_path / "heart.csv")
    (tmp_path / "heart.schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path / "heart.csv"


@pytest.fixture
def fitted(run, heart):
    words = ("regress", "fit", heart, "--target", "pressure", "--epsilon", "20")
    told = run(*words, "--method", "functionalregression", "--out", "model", "--no-report")
    assert told.code == 0, told.err
    return heart.parent / "model"


def test_every_method_that_makes_a_model_is_offered():
    named = {
        name
        for name, place in catalogue.METHODS.items()
        if place.startswith("sfumato.regression.") and name not in BESIDES
    }
    assert set(REGRESS.methods.values()) == named and DEFAULT in named
    for name in named:
        method = sf.privacy.registry.resolve(name)
        assert {"epsilon", "target"} <= set(method.__dataclass_fields__)


def test_a_plan_and_a_rehearsal_read_the_schema_only(run, heart):
    heart.unlink()
    common = (heart, "--target", "pressure", "--epsilon", "1")
    plan = run("regress", "plan", *common)
    assert plan.code == 0 and "Plan of table." in plan.out
    quick = (*common, "--method", "functionalregression")
    made = run("regress", "rehearse", *quick, "--out", "r", "--json")
    assert made.code == 0 and made.document["kind"] == "regression model"
    assert "not a private release" in run("regress", "rehearse", *quick).out


def test_a_schema_of_bins_and_its_ledger_serve_counts_and_regressions(run, heart):
    assert run("ledger", "create", "l", "--allow-epsilon", "3", "--unit", "row").code == 0
    counted = ("table", "release", heart, "--epsilon", "1", "--ledger", "l", "--out", "counts")
    assert run(*counted, "--method", "marginals", "--ways", "1", "--no-report").code == 0
    words = ("regress", "fit", heart, "--target", "pressure", "--epsilon", "1", "--ledger", "l")
    told = run(*words, "--out", "model", "--report", "--json")
    assert told.code == 0, told.err
    document = told.document
    assert document["left"] == sf.PureDP(1).to_json()
    assert document["target"] == "pressure"
    assert [item["column"] for item in document["coefficients"]] == [
        "age", "smokes", "(intercept)",
    ]  # fmt: skip
    release = sf.load(heart.parent / "model")
    assert release.public.schema["age"].coding.kind == "real"
    assert run("verify", "model", "--ledger", "l").code == 0
    page = (heart.parent / "model" / "report.html").read_text(encoding="utf-8")
    assert "What was declared about the columns" in page and "each 1 more" in page


def test_new_rows_are_predicted(run, fitted, tmp_path):
    (tmp_path / "new.csv").write_text("who,age,smokes\nA,30,false\nB,70,true\n")
    release = sf.load(fitted)
    wanted = release.predict(pl.DataFrame({"age": [30.0, 70.0], "smokes": [False, True]}))
    told = run("regress", "predict", fitted, "new.csv", "--json")
    found = [item["predicted pressure"] for item in told.document["predictions"]]
    assert found == [float(f"{value:.6g}") for value in wanted]
    assert run("regress", "predict", fitted, "new.csv").out.startswith("predicted pressure\n")
    for name in ("p.csv", "p.parquet"):
        assert run("regress", "predict", fitted, "new.csv", "--out", name).code == 0
    written = pl.read_csv("p.csv")
    assert written.columns == ["who", "age", "smokes", "predicted pressure"]
    assert pl.read_parquet("p.parquet")["predicted pressure"].to_list() == pytest.approx(found)
    again = run("regress", "predict", fitted, "new.csv", "--out", "p.csv")
    assert again.code == ExitCode.USAGE and "exists" in again.err
    twice = run("regress", "predict", fitted, "p.csv")
    assert twice.code == ExitCode.DATA and "already" in twice.err
    unsure = run("regress", "predict", fitted, "new.csv", "--level", "0.95")
    assert unsure.code == ExitCode.USAGE and "gives no intervals" in unsure.err
    (tmp_path / "short.csv").write_text("age\n30\n")
    short = run("regress", "predict", fitted, "short.csv")
    assert short.code == ExitCode.DATA and "smokes" in short.err


def test_a_parameter_that_is_called_like_an_option_has_a_prefix(run, heart):
    words = ("regress", "rehearse", heart, "--target", "pressure", "--epsilon", "5", "--json")
    words += ("--method", "adassp", "--delta", "1e-6", "--rows", "50")
    assert run(*words).document["parameters"]["rows"] == "weigh"
    assert run(*words, "--method-rows", "clip").document["parameters"]["rows"] == "clip"
    told = run("regress", "methods", "robustlinearregression").out
    assert "--method-rows  (one of 'clip'" in told and "--method-engine  (one of" in told


def test_classes_make_a_logistic_model(run, heart):
    words = ("regress", "fit", heart, "--target", "smokes", "--positive", "true")
    told = run(*words, "--epsilon", "20", "--out", "smokes", "--no-report", "--json")
    assert told.document["method"] == "table.FunctionalRegression"
    told = run("regress", "predict", "smokes", heart, "--json")
    assert {"predicted smokes", "probability of true"} == set(told.document["predictions"][0])
    shown = run("regress", "evaluate", heart, "smokes")
    assert "% wrong" in shown.out and "Not private" in shown.out


def test_an_evaluation_is_for_the_custodian(run, heart, fitted):
    shown = run("regress", "evaluate", heart, fitted)
    assert shown.code == 0 and "Not private" in shown.out and "of the variance" in shown.out
    told = run("regress", "evaluate", heart, fitted, "--json")
    assert told.document["private"] is False and told.document["rows"] == 600
    assert told.document["explained"] > 0.3
    assert "Not private" in told.err
    assert run("table", "evaluate", heart, fitted, "--json").document == told.document


def test_what_does_not_fit_is_refused_before_anything_is_spent(run, heart, fitted):
    assert run("ledger", "create", "l", "--allow-epsilon", "3", "--unit", "row").code == 0
    common = ("regress", "fit", heart, "--epsilon", "1", "--ledger", "l", "--out", "x")
    wrong = run(*common, "--target", "nobody")
    assert wrong.code == ExitCode.USAGE and "no column 'nobody'" in wrong.err
    wrong = run(*common, "--target", "pressure", "--nonsense", "1")
    assert wrong.code == ExitCode.USAGE and "nonsense" in wrong.err
    assert sf.Ledger.open(heart.parent / "l").remaining == sf.PureDP(3)
    wrong = run("regress", "predict", "nowhere", heart)
    assert wrong.code != 0


def test_an_attack_is_tried_and_says_that_it_is_not_private(run, heart, fitted):
    words = ("attack", "inversion", heart, fitted, "--sensitive", "smokes")
    shown = run(*words, "--others", heart, "--out", "page.html")
    assert shown.code == 0, shown.err
    for told in ("Not private", "most frequent", "target alone", "model and errors", "of others"):
        assert told in shown.out
    assert "Do not publish" in (heart.parent / "page.html").read_text(encoding="utf-8")
    document = run(*words, "--known", "", "--pi", "dp", "--pi-epsilon", "1", "--json").document
    assert document["private"] is False and document["unknown"] == ["age"]
    assert json.dumps(document["guesses"])
    public = run(*words, "--pi", "public", "--public", heart, "--json").document
    assert public["source"] == "public"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--sensitive", "pressure"), "the target of the model"),
        (("--sensitive", "nobody"), "no column"),
        (("--sensitive", "smokes", "--pi", "dp"), "--pi-epsilon"),
        (("--sensitive", "smokes", "--pi", "public"), "--public"),
        (("--sensitive", "smokes", "--out", "x.pdf"), ".html"),
    ],
)
def test_an_attack_that_makes_no_sense_is_refused(options, told, run, heart, fitted):
    wrong = run("attack", "inversion", heart, fitted, *options)
    assert wrong.code == ExitCode.USAGE and told in wrong.err


def test_only_models_are_attacked_and_predict(run, heart):
    words = ("table", "release", heart, "--epsilon", "1", "--method", "marginals", "--ways", "1")
    assert run(*words, "--out", "counts", "--no-report").code == 0
    for command in (
        ("attack", "inversion", heart, "counts", "--sensitive", "smokes"),
        ("regress", "predict", "counts", heart),
        ("regress", "evaluate", heart, "counts"),
    ):
        wrong = run(*command)
        assert wrong.code == ExitCode.USAGE and "noisy tables" in wrong.err


def test_coefficients_are_printed_and_written_in_own_units(run, heart, fitted):
    words = ("regress", "fit", heart, "--target", "pressure", "--epsilon", "20", "--no-report")
    shown = run(*words, "--method", "functionalregression", "--out", "again").out
    for told in ("adds to pressure", "each 1 more", "true instead of false", "every record"):
        assert told in shown
    assert "mostly noise" in shown
    table = pl.read_csv(fitted / "coefficients.csv")
    assert table["column"].to_list() == ["age", "smokes", "(intercept)"]
    assert table["adds"][0] == pytest.approx(0.5, abs=0.3)
    assert run("verify", fitted).code == 0
    assert "coefficients.csv" in (fitted / "README.txt").read_text(encoding="utf-8")


def test_yes_and_no_are_read_as_true_and_false(run, heart):
    common = ("regress", "plan", heart, "--target", "smokes", "--epsilon", "1", "--json")
    told = run(*common, "--positive", "yes").document
    assert told == run(*common, "--positive", "true").document
    wrong = run(*common, "--positive", "often")
    assert wrong.code == ExitCode.USAGE and "yes and 1 are read as true" in wrong.err


def test_a_delta_in_a_ledger_without_one_is_told_apart(run, heart):
    assert run("ledger", "create", "l", "--allow-epsilon", "3", "--unit", "row").code == 0
    words = ("regress", "fit", heart, "--target", "pressure", "--epsilon", "1", "--delta", "1e-6")
    wrong = run(*words, "--method", "adassp", "--ledger", "l", "--out", "x")
    assert wrong.code != 0 and "μ" not in wrong.err
    said = " ".join(wrong.err.split())
    assert "leave delta (--delta) out" in said and "--allow-delta" in said


def test_a_draft_asks_for_another_separator(run, tmp_path):
    (tmp_path / "a.csv").write_text("age;sex\n" + "1;f\n2;m\n" * 20)
    wrong = run("table", "schema", "a.csv")
    assert wrong.code == ExitCode.DATA and "--separator ';'" in " ".join(wrong.err.split())
    told = run("table", "schema", "a.csv", "--separator", ";", "--json")
    assert told.code == 0 and set(told.document["inferred"]) == {"age", "sex"}


def test_a_plan_warns_where_a_fit_may_be_useless(run, heart):
    common = ("regress", "plan", heart, "--target", "pressure")
    assert "no model is worth its price" in run(*common, "--epsilon", "0.01").out
    plan = " ".join(run(*common, "--epsilon", "1").out.split())
    assert "it told from" in plan and "in the middle" in plan
