import pytest

from sfumato.cli.exits import ExitCode, explain


def test_a_missing_epsilon_is_a_usage_error_in_words_and_in_json(run, patients):
    told = run("table", "plan", patients)
    assert told.code == ExitCode.USAGE and "--epsilon" in told.err and told.out == ""
    document = run("table", "plan", patients, "--json").document
    assert document["ok"] is False
    assert document["error"]["kind"] == "usage" and "--epsilon" in document["error"]["message"]


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "many"])
def test_a_bad_epsilon_is_named(run, patients, value):
    told = run("table", "plan", patients, f"--epsilon={value}")
    assert told.code == ExitCode.USAGE
    assert "epsilon must be positive and finite" in told.err
    assert "Traceback" not in told.err


def test_a_missing_file_is_a_usage_error(run, patients):
    told = run(
        "table", "release", "nowhere.csv", "--schema", "patients.schema.toml",
        "--epsilon", "1", "--out", "o",
    )  # fmt: skip
    assert told.code == ExitCode.USAGE and "nowhere.csv" in told.err


def test_a_broken_schema_is_an_error_of_the_data(run, patients):
    patients.with_name("patients.schema.toml").write_text("[table\n", encoding="utf-8")
    told = run("table", "plan", patients, "--epsilon", "1")
    assert told.code == ExitCode.DATA and "patients.schema.toml" in told.err


def test_a_bad_value_is_named_by_its_place_and_never_shown(run, patients):
    with patients.open("a", encoding="utf-8") as file:
        file.write("p1,33,f,Timbuktu\n")
    told = run("table", "release", patients, "--epsilon", "1", "--out", "o", "--json")
    assert told.code == ExitCode.DATA
    assert "column 'town', row 301" in told.document["error"]["message"]
    assert "Timbuktu" not in told.out + told.err


def foreign_failure(*_, **__):
    raise ValueError("the diagnosis of Ada Lovelace")


def test_what_another_library_says_is_withheld(run, patients, monkeypatch):
    monkeypatch.setattr("sfumato.data.table.read_table", foreign_failure)
    told = run("table", "release", patients, "--epsilon", "1", "--out", "o", "--json")
    assert told.code == ExitCode.UNEXPECTED
    assert "Lovelace" not in told.out + told.err
    assert "unexpected ValueError at test_errors.py" in told.document["error"]["message"]


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupt_has_its_own_code(run, patients, monkeypatch):
    monkeypatch.setattr("sfumato.data.table.read_table", interrupted)
    told = run("table", "release", patients, "--epsilon", "1", "--out", "o")
    assert told.code == ExitCode.INTERRUPTED
    assert "what was booked stays booked" in told.err


def test_errors_of_the_system_name_the_file_and_the_reason():
    failure = explain(PermissionError(13, "Permission denied", "x.csv"))
    assert failure.code is ExitCode.FILE
    assert failure.message == "x.csv: Permission denied"
    assert explain(FileNotFoundError(2, "No such file", "x")).code is ExitCode.USAGE


def test_an_interrupt_at_a_prompt_has_the_same_code(run, patients, monkeypatch):
    import typer

    def aborted(*_, **__):
        raise typer.Abort

    monkeypatch.setattr("typer.prompt", aborted)
    told = run("table", "ask", patients, "--epsilon", "1")
    assert told.code == ExitCode.INTERRUPTED
