"""`sfumato collect`: a questionnaire from its plan to a page."""

import json
import random

import pytest

from sfumato.cli.exits import ExitCode

QUESTIONNAIRE = """\
[survey]
name = "Well-being <at> work"
epsilon = 8
respondents_about = 2000
tables = [["smoking", "stress"]]

[[question]]
name = "smoking"
ask = "How often do you smoke?"
answers = ["never", "sometimes", "daily"]
permanent = true

[[question]]
name = "stress"
answers = ["no", "yes"]

[[question]]
name = "sleep"
low = 0
high = 12
bins = 6

[[question]]
name = "age"
low = 16
high = 80
mean = true
"""
MINE = (
    "--answer", "smoking=never", "--answer", "stress=yes", "--answer", "sleep=7", "--answer",
    "age=41",
)  # fmt: skip


@pytest.fixture
def survey(run, tmp_path):
    (tmp_path / "wellbeing.toml").write_text(QUESTIONNAIRE, encoding="utf-8")
    assert run("collect", "plan", "wellbeing.toml", "--out", "survey.json").code == 0
    draw = random.Random(1)
    lines = ["smoking,stress,sleep,age"]
    for _ in range(2000):
        smoking = draw.choices(["never", "sometimes", "daily"], [6, 3, 1])[0]
        stress = draw.choices(["no", "yes"])[0]
        lines.append(f"{smoking},{stress},{draw.gauss(7, 1):.1f},{draw.randrange(18, 70)}")
    (tmp_path / "answers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "survey.json"


def test_a_plan_tells_what_each_question_costs_and_how_many_must_answer(run, survey):
    told = run("collect", "plan", "wellbeing.toml", "--margin", "0.05")
    assert told.code == 0 and "people must answer" in told.out
    assert "RandomizedResponse" in told.out and "ε = 2 " not in told.err
    document = run("collect", "plan", "wellbeing.toml", "--json").document
    assert document["epsilon"] == "8" and document["epsilon_after_10_times"] == "62"
    assert [entry["epsilon"] for entry in document["questions"]] == ["2"] * 4
    assert "UnaryEncoding" in document["questions"][0]["deviations"]
    needed = [entry["respondents_needed"] for entry in document["questions"]]
    assert document["respondents_needed"] == max(needed)
    again = run("collect", "plan", "wellbeing.toml", "--out", "survey.json")
    assert again.code == ExitCode.USAGE and "never overwritten" in again.err


def test_one_respondent_answers_and_keeps_a_ledger(run, survey):
    words = ("--allow-epsilon", "20", "--unit", "person", "--relation", "replace_one")
    assert run("ledger", "create", "own.ledger", *words).code == 0
    first = run("collect", "perturb", survey, *MINE, "--ledger", "own.ledger")
    again = run("collect", "perturb", survey, *MINE, "--ledger", "own.ledger")
    smoking = [json.loads(outcome.out)["r"]["smoking"] for outcome in (first, again)]
    assert smoking[0] == smoking[1]
    spent = run("ledger", "show", "own.ledger", "--json").document["spent"]
    assert spent["epsilon"] == "14"
    third = run("collect", "perturb", survey, *MINE, "--ledger", "own.ledger")
    fourth = run("collect", "perturb", survey, *MINE, "--ledger", "own.ledger")
    assert third.code == 0 and fourth.code == ExitCode.BUDGET


def test_reports_of_many_become_a_tally_and_a_page(run, survey, tmp_path):
    words = ("collect", "perturb", survey, "--table", "answers.csv", "--out")
    assert run(*words, "a.jsonl").code == run(*words, "b.jsonl").code == 0
    first = run("collect", "aggregate", survey, "a.jsonl", "--out", "a.json", "--json").document
    assert (first["lines"], first["wrong"]) == (2000, 0)
    both = run(
        "collect",
        "aggregate",
        survey,
        "b.jsonl",
        "--tally",
        "a.json",
        "--out",
        "all.json",
        "--json",
    )
    assert both.document["lines"] == 4000
    told = run("collect", "report", survey, "all.json", "--out", "page.html")
    assert told.code == 0 and "95 % interval" in told.out and "mean 4" in told.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Well-being &lt;at&gt; work" in page and "<svg" in page and "smoking and stress" in page
    found = run("collect", "report", survey, "all.json", "--json", "--estimator", "inverse")
    shares = found.document["questions"]["smoking"]["shares"]
    # 0.6 of 4000 reports at ε = 2: within 6 standard errors, false alarms below 1e-8.
    assert abs(shares[0]["share"] - 0.6) < 0.12
    assert shares[0]["low"] < shares[0]["share"] < shares[0]["high"]
    assert abs(found.document["questions"]["age"]["mean"] - 43.5) < 8


def test_what_cannot_be_used_is_refused_and_not_shown(run, survey, tmp_path):
    refused = run("collect", "perturb", survey, *MINE[:-1], "age=secret")
    assert refused.code == ExitCode.DATA and "secret" not in refused.err
    unknown = run("collect", "perturb", survey, "--answer", "smoking=secret")
    assert unknown.code == ExitCode.USAGE and "secret" not in unknown.err
    assert run("collect", "perturb", survey).code == ExitCode.USAGE
    stranger = run("collect", "perturb", survey, *MINE, "--answer", "height=2")
    assert stranger.code == ExitCode.USAGE and "the questions are" in stranger.err
    (tmp_path / "bad.csv").write_text("smoking,stress,sleep,age\nsecret,no,1,30\n")
    row = run("collect", "perturb", survey, "--table", "bad.csv")
    assert row.code == ExitCode.DATA and "row 1" in row.err and "secret" not in row.err
    (tmp_path / "wrong.toml").write_text("[survey]\nepsilon = 0\n")
    assert run("collect", "plan", "wrong.toml").code == ExitCode.DATA
    (tmp_path / "bad.jsonl").write_text("nonsense\n")
    words = ("collect", "aggregate", survey, "bad.jsonl", "--out", "t.json")
    assert run(*words).code == ExitCode.DATA
    skipped = run(*words, "--skip-wrong", "--json").document
    assert (skipped["lines"], skipped["wrong"]) == (0, 1)
    twice = run("collect", "aggregate", survey, "bad.jsonl", "bad.jsonl", "--out", "u.json")
    assert twice.code == ExitCode.USAGE and "twice" in twice.err
    empty = run("collect", "report", survey, "t.json", "--out", "empty.html")
    assert empty.code == 0 and "no answers" in empty.out
    assert run("collect", "report", survey, "survey.json").code == ExitCode.DATA
    assert run("collect", "report", "answers.csv", "t.json").code == ExitCode.DATA


def test_what_respondents_sent_is_never_taken_for_a_tally(run, survey, tmp_path):
    words = ("collect", "perturb", survey, "--table", "answers.csv", "--out", "a.jsonl")
    assert run(*words).code == 0
    assert run("collect", "aggregate", survey, "a.jsonl", "--out", "a.json").code == 0
    # A tally, or a line that only looks like one, sent in as somebody's report.
    (tmp_path / "tally.jsonl").write_text((tmp_path / "a.json").read_text())
    (tmp_path / "like.jsonl").write_text(
        '{"x":"sfumato tally"}\n' + (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    )
    for sent, lines in (("tally.jsonl", 0), ("like.jsonl", 2000)):
        words = ("collect", "aggregate", survey, sent, "--out", f"{sent}.json")
        assert run(*words).code == ExitCode.DATA
        counted = run(*words, "--skip-wrong", "--json").document
        assert (counted["lines"], counted["wrong"]) == (lines, 1)
    alone = run("collect", "aggregate", survey, "--tally", "a.json", "--out", "b.json", "--json")
    assert alone.document["lines"] == 2000
    words = ("collect", "aggregate", survey, "--out", "c.json")
    assert run(*words).code == ExitCode.USAGE
    assert run(*words, "--tally", "a.jsonl").code == ExitCode.DATA
    again = run(*words, "--tally", "a.json", "--tally", "a.json")
    assert again.code == ExitCode.USAGE and "twice" in again.err


@pytest.mark.parametrize("share", ["sample", "joint"])
def test_surveys_that_share_epsilon_in_other_ways(run, tmp_path, share):
    text = QUESTIONNAIRE.replace('tables = [["smoking", "stress"]]', f'share = "{share}"')
    text = text.replace("permanent = true", "").partition('[[question]]\nname = "age"')[0]
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    (tmp_path / "s.csv").write_text("smoking,stress,sleep\n" + "daily,no,7\n" * 50)
    assert run("collect", "plan", "s.toml", "--out", "s.json").code == 0
    assert run("collect", "perturb", "s.json", "--table", "s.csv", "--out", "s.jsonl").code == 0
    assert run("collect", "aggregate", "s.json", "s.jsonl", "--out", "t.json").code == 0
    told = run("collect", "report", "s.json", "t.json", "--out", "s.html", "--json")
    assert told.code == 0 and told.document["lines"] == 50
