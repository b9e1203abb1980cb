import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.table_ask import parse


def spent(ledger):
    return sf.Ledger.open(ledger).spent.epsilon


def test_questions_are_answered_booked_and_saved(run, patients, ledger):
    told = run(
        "table", "ask", patients, "--epsilon", "1", "--ledger", ledger, "--out", "o", "--json",
        "--question", "sex = f; age = [20, 40) | [40, 60)", "--question", '{"town": "Delft"}',
        "--report",
    )  # fmt: skip
    assert told.code == 0
    first, second = told.document["answers"]
    assert "[20, 40)" in first["question"] and "Delft" in second["question"]
    assert first["margin"] == second["margin"] > 0
    assert spent(ledger) == 1
    assert sf.verify("o").passed and (patients.parent / "o" / "report.html").is_file()


def test_answers_are_shown_one_by_one(run, patients):
    told = run("table", "ask", patients, "--epsilon", "1", "--question", "sex = m")
    assert told.code == 0 and "±" in told.out and "sex = m" in told.out


@pytest.mark.parametrize(
    "question",
    ["height = 3", "sex = x", "sex", "sex = f; sex = m", "{not json", '{"sex": 5}', '{"sex": [5]}'],
)
def test_a_question_that_cannot_be_answered_spends_nothing(run, patients, ledger, question):
    told = run(
        "table", "ask", patients, "--epsilon", "1", "--ledger", ledger,
        "--question", "sex = f", "--question", question,
    )  # fmt: skip
    assert told.code == ExitCode.USAGE and told.out == ""
    assert spent(ledger) == 0


def test_more_questions_than_allowed_are_refused(run, patients):
    words = ("--question", "sex = f", "--question", "sex = m", "--questions", "1")
    told = run("table", "ask", patients, "--epsilon", "1", *words)
    assert told.code == ExitCode.USAGE and "1 are allowed" in told.err


def test_at_the_prompt_a_slip_costs_nothing_and_an_empty_line_ends(run, patients, monkeypatch):
    lines = iter(["sex = x", "sex = f", ""])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(lines))
    told = run("table", "ask", patients, "--epsilon", "1", "--questions", "3")
    assert told.code == 0
    assert "nothing was spent" in told.err and told.out.count("±") == 1


def test_json_needs_its_questions_given(run, patients):
    told = run("table", "ask", patients, "--epsilon", "1", "--json")
    assert told.code == ExitCode.USAGE and "--question" in told.document["error"]["message"]


def test_a_question_is_parsed_by_columns_and_values():
    assert parse("a = 1 | 2; b=x ;") == {"a": ["1", "2"], "b": ["x"]}
    assert parse("") == {}
