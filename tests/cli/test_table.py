import csv
import shutil

import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.options import parse_names


def test_a_draft_is_printed_as_a_schema_file_and_asks_the_first_question(run, patients, tmp_path):
    told = run("table", "schema", patients)
    assert told.code == 0
    assert "Can one person have several rows" in told.err
    (tmp_path / "draft.toml").write_text(told.out, encoding="utf-8")
    draft = sf.Schema.read(tmp_path / "draft.toml")
    assert not draft.confirmed and draft.unit is None
    assert set(draft.inferred) == {"age", "sex", "town"} and draft.left_out == ("who",)


def test_a_draft_with_answers_is_written_once(run, patients, tmp_path):
    words = (
        "table", "schema", patients, "--out", "x.toml", "--unit", "person", "--person", "who",
        "--max-rows", "3", "--rows-about", "300", "--json",
    )  # fmt: skip
    document = run(*words).document
    assert document["ok"] and document["written"] == "x.toml" and document["question"] is None
    draft = sf.Schema.read(tmp_path / "x.toml")
    assert (draft.unit, draft.person, draft.max_rows) == ("person", "who", 3)
    again = run(*words)
    assert again.code == ExitCode.USAGE and "never overwritten" in again.err


def test_a_draft_is_good_for_nothing_until_it_is_confirmed(run, patients):
    run("table", "schema", patients, "--out", "draft.toml", "--unit", "row")
    told = run("table", "plan", "--schema", "draft.toml", "--epsilon", "1")
    assert told.code == ExitCode.DATA and "not confirmed" in told.err


def test_an_unknown_person_column_is_refused(run, patients):
    told = run("table", "schema", patients, "--unit", "person", "--person", "whom")
    assert told.code == ExitCode.USAGE and "'whom'" in told.err


def test_a_plan_needs_only_the_schema(run, patients):
    patients.unlink()
    words = ("table", "plan", patients, "--epsilon", "1", "--method", "marginals", "--json")
    document = run(*words).document
    assert len(document["plan"]["steps"]) == 3
    assert document["guarantee"]["unit"] == "person"
    told = run("table", "plan", "--schema", "patients.schema.toml", "--epsilon", "1", "--ways", "2")
    assert told.code == 0 and "age × sex" in told.out and "any one person" in told.out


def test_a_plan_follows_the_chosen_tables(run, patients):
    def tables(*options):
        words = ("table", "plan", patients, "--epsilon", "1", "--json", *options)
        return [step["what"] for step in run(*words).document["plan"]["steps"]]

    assert tables("--ways", "1") == ["age", "sex", "town"]
    assert tables("--table", "sex,age", "--table", "town") == ["age × sex", "town"]
    assert tables("--columns", "age,town") == ["age × town"]
    assert tables("--columns", "age,town", "--ways", "1") == ["age", "town"]
    assert tables("--method", "histogram") == ["age × sex × town"]
    assert tables("--method", "histogram", "--columns", "sex") == ["sex"]


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "histogram", "--ways", "2"],
        ["--table", "age", "--ways", "2"],
        ["--table", "height"],
        ["--columns", "height"],
        ["--method", "magic"],
    ],
)
def test_options_that_do_not_go_together_are_refused(run, patients, options):
    assert run("table", "plan", patients, "--epsilon", "1", *options).code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('age, "income, net" ,sex', ("age", "income, net", "sex")),
        ("age", ("age",)),
        ('"say ""yes"" , or no",b"c', ('say "yes" , or no', 'b"c')),
        ('"two\nlines"', ("two\nlines",)),
        ("a,,b,", ("a", "", "b", "")),
        ("", ("",)),
        (" body height ", ("body height",)),
    ],
)
def test_names_with_commas_are_quoted(text, names):
    assert parse_names(text) == names


def test_a_draft_warns_of_names_and_labels_that_a_spreadsheet_may_run(run, tmp_path):
    lines = ["=1+1,b,c,d,e", "x,@a,-1,-x,f", "y,b,+2.5,y,g", *["x,b,-1,y,f"] * 9]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = run("table", "schema", "t.csv", "--json")
    assert told.code == 0
    assert "in '=1+1', 'b', 'd', the name or a label begins with" in told.err
    assert "@a" not in told.err
    labels = run("table", "schema", "t.csv").out
    assert "@a" in labels


def test_a_draft_of_plain_labels_warns_of_nothing(run, patients):
    assert "spreadsheet" not in run("table", "schema", patients).err


def test_a_rehearsal_reads_no_data_and_is_marked(run, patients):
    patients.unlink()
    document = run(
        "table", "rehearse", patients, "--epsilon", "1", "--rows", "50", "--out", "r", "--json"
    ).document
    assert document["guarantee"]["caveat"] == "it is a rehearsal on synthetic data"
    assert sf.verify("r").passed


def test_a_release_is_booked_saved_reported_and_verified(run, patients, ledger):
    words = ("table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", "o")
    told = run(*words, "--report", "--json")
    document = told.document
    assert told.code == 0
    assert document["guarantee"]["ledger"] == "patients.ledger#1"
    assert document["left"] == {"measure": "pure", "epsilon": "2"}
    assert (sf.verify("o")).passed
    page = (patients.parent / "o" / "report.html").read_text(encoding="utf-8")
    assert "patients.ledger#1" in page


def test_a_release_without_a_ledger_warns(run, patients):
    told = run("table", "release", patients, "--epsilon", "1", "--out", "o", "--no-report")
    assert told.code == 0 and "cumulative privacy loss is not tracked" in told.err
    assert "not composed with other releases" in told.out


def test_a_page_is_drawn_only_when_it_is_asked_for(run, patients):
    words = ("table", "release", patients, "--epsilon", "1", "--method", "marginals")
    told = run(*words, "--out", "my release")
    assert "To add a one-page report: sfumato report 'my release'\n" in told.out
    assert not (patients.parent / "my release" / "report.html").exists()
    told = run(*words, "--report", "--out", "o")
    assert "sfumato report" not in told.out and (patients.parent / "o" / "report.html").is_file()


def test_an_overspend_is_refused_with_what_is_missing(run, patients, ledger):
    told = run(
        "table", "release", patients, "--epsilon", "3.5", "--ledger", ledger, "--out", "o", "--json"
    )
    assert told.code == ExitCode.BUDGET
    error = told.document["error"]
    assert error["missing"] == {"measure": "pure", "epsilon": "1/2"}
    assert "missing ε = 0.5" in error["message"]
    assert not (patients.parent / "o").exists()


def spent(ledger):
    return sf.Ledger.open(ledger).spent.epsilon


def test_nothing_is_spent_when_the_folder_is_taken(run, patients, ledger, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "x").touch()
    told = run("table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", "o")
    assert told.code == ExitCode.USAGE and "not empty" in told.err
    assert spent(ledger) == 0


def test_nothing_is_spent_when_the_folder_cannot_be_made(run, patients, ledger, tmp_path):
    (tmp_path / "file").touch()
    told = run(
        "table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", "file/o"
    )
    assert told.code == ExitCode.USAGE and "file" in told.err
    assert spent(ledger) == 0


def test_nothing_is_spent_when_the_key_is_missing(run, patients, ledger):
    told = run(
        "table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", "o",
        "--key", "nokey.pem",
    )  # fmt: skip
    assert told.code == ExitCode.USAGE and "nokey.pem" in told.err
    assert spent(ledger) == 0


def test_a_ledger_of_rows_refuses_a_release_for_persons(run, patients):
    run("ledger", "create", "rows.ledger", "--allow-epsilon", "3", "--unit", "row")
    told = run(
        "table", "release", patients, "--epsilon", "1", "--ledger", "rows.ledger", "--out", "o"
    )
    assert told.code == ExitCode.LEDGER


def test_both_engines_are_offered(run, patients):
    pytest.importorskip("duckdb")
    told = run(
        "table", "release", patients, "--epsilon", "1", "--engine", "duckdb", "--out", "o",
        "--no-report",
    )  # fmt: skip
    assert told.code == 0


def test_an_evaluation_says_that_it_is_not_private(run, patients, released):
    told = run("table", "evaluate", patients, released)
    assert told.code == 0 and "Not private" in told.out and "average" in told.out
    document = run("table", "evaluate", patients, released, "--json").document
    assert document["private"] is False
    assert len(document["by_ways"]) == 2
    assert 0 <= document["released"]["average_total_variation"] <= 1


def test_an_evaluation_with_another_schema_is_refused(run, patients, released, tmp_path):
    text = (tmp_path / "patients.schema.toml").read_text(encoding="utf-8")
    (tmp_path / "other.toml").write_text(text.replace("[0, 20,", "[0, 10, 20,"), encoding="utf-8")
    told = run("table", "evaluate", patients, released, "--schema", "other.toml")
    assert told.code == ExitCode.USAGE and "not that of the release" in told.err


def test_verify_passes_and_says_what_is_promised(run, released, ledger):
    told = run("verify", released, "--ledger", ledger)
    assert told.code == 0 and "BAD" not in told.out
    assert "changes the odds" in told.out and "patients.ledger#1" in told.out


def test_a_changed_count_fails_the_check_and_gets_no_report(run, released, tmp_path):
    bad = tmp_path / "bad"
    shutil.copytree(released, bad)
    with (bad / "marginals.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    rows[1][-2] = "12345.000"
    with (bad / "marginals.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    told = run("verify", bad)
    assert told.code == ExitCode.VERIFICATION and "cannot be trusted" in told.out
    document = run("verify", bad, "--json").document
    assert document["ok"] is False and document["passed"] is False
    refused = run("report", bad)
    assert refused.code == ExitCode.VERIFICATION and "marginals.csv" in refused.err


def test_a_folder_that_is_no_release_fails_the_check(run, tmp_path):
    (tmp_path / "empty").mkdir()
    told = run("verify", "empty", "--json")
    assert told.code == ExitCode.VERIFICATION
    assert "not a saved release" in told.document["error"]["message"]


def test_a_report_is_written_into_the_release(run, released):
    document = run("report", released, "--json").document
    assert document["report"] == str(released / "report.html")
    assert (released / "report.html").is_file()


def test_a_signed_release_is_checked_against_its_key(run, patients):
    assert run("keygen", "mine.pem").code == 0
    assert run("keygen", "other.pem").code == 0
    told = run(
        "table", "release", patients, "--epsilon", "1", "--out", "o", "--key", "mine.pem",
        "--no-report",
    )  # fmt: skip
    assert told.code == 0
    assert run("verify", "o", "--key", "mine.pub").code == 0
    assert run("verify", "o", "--key", "other.pub").code == ExitCode.VERIFICATION


def test_a_large_release_states_its_size_in_its_plan(run, tmp_path):
    columns = "".join(
        f'[columns.{name}]\nkind = "integer"\nlow = 0\nhigh = 3199\n' for name in "ab"
    )
    (tmp_path / "large.toml").write_text('[table]\nunit = "row"\n' + columns, encoding="utf-8")
    words = ("table", "plan", "--schema", "large.toml", "--epsilon", "1", "--method", "histogram")
    told = run(*words)
    assert told.code == 0
    assert "10,240,000 cells take about 819 MB of files and 4.1 GB of memory" in told.out


def test_the_size_of_a_release_is_stated_before_anything_is_spent(
    run, patients, ledger, monkeypatch
):
    monkeypatch.setattr("sfumato.privacy.plan.LARGE_FILES", 800)
    words = (
        "table",
        "release",
        patients,
        "--ledger",
        ledger,
        "--method",
        "marginals",
        "--no-report",
    )
    told = run(*words, "--epsilon", "99", "--out", "o")
    assert told.code == ExitCode.BUDGET and "cells take about" in told.err
    monkeypatch.setattr("sfumato.privacy.plan.LARGE_FILES", 80 * 10**6)
    assert "cells take about" not in run(*words, "--epsilon", "99", "--out", "o").err


def test_tables_of_focus_and_a_target_are_named_by_columns(run, patients):
    words = ("--epsilon", "1", "--focus", "age,town", "--focus", "sex,town", "--target", "town")
    told = run("table", "plan", patients, *words)
    assert told.code == 0
    assert " combinations to count" in told.out
    wrong = run("table", "plan", patients, "--epsilon", "1", "--focus", "age,whom")
    assert wrong.code != 0
    assert "'whom'" in wrong.err
