import os

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


@pytest.mark.parametrize("value", ["one", "0,5"])
def test_an_epsilon_that_is_no_number_says_how_numbers_are_written(run, patients, value):
    told = run("table", "plan", patients, "--epsilon", value)
    assert told.code == ExitCode.USAGE and "a number with a decimal point" in told.err
    told = run("ledger", "create", "b.ledger", "--allow-epsilon", value, "--unit", "person")
    assert told.code == ExitCode.USAGE and "with a decimal point" in told.err


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


@pytest.mark.parametrize("figure", ["1e-310", "1e310", "1e-400", "1e3999", "9e-16", "2e15"])
@pytest.mark.parametrize(
    "command",
    [
        ["plan"],
        ["rehearse"],
        ["plan", "--method", "histogram"],
        ["release", "--out", "o"],
        ["ask", "--question", "sex = f"],
    ],
)
def test_an_extreme_epsilon_is_refused_in_words(run, patients, tmp_path, command, figure):
    told = run("table", command[0], patients, "--epsilon", figure, *command[1:])
    assert told.code == ExitCode.USAGE
    assert f"epsilon must be from 1e-15 to 1e15; got '{figure}'" in told.err
    assert not (tmp_path / "o").exists()


def test_an_extreme_delta_is_refused_in_words(run, patients):
    told = run("table", "plan", patients, "--epsilon", "1", "--delta", "1e-310")
    assert told.code == ExitCode.USAGE and "delta must be from 1e-100" in told.err


@pytest.mark.parametrize("epsilon", ["1e-15", "1e15"])
@pytest.mark.parametrize("delta", [[], ["--delta", "1e-6"], ["--delta", "1e-100"]])
def test_the_most_extreme_figures_that_are_let_in_are_understood(run, patients, epsilon, delta):
    told = run("table", "plan", patients, "--epsilon", epsilon, *delta)
    # No noise at all may have both the smallest epsilon and the smallest delta; that is said.
    assert told.code == 0 or (told.code == ExitCode.USAGE and "raise delta" in told.err)


@pytest.mark.parametrize("epsilon", ["1e-15", "1e15"])
def test_the_most_extreme_figures_can_be_released_and_reported(run, patients, epsilon):
    assert run("table", "release", patients, "--epsilon", epsilon, "--out", "o").code == 0
    assert run("verify", "o").code == 0
    assert run("table", "ask", patients, "--epsilon", epsilon, "--question", "sex = f").code == 0


@pytest.mark.parametrize("option", ["--table", "--columns"])
@pytest.mark.parametrize(
    "text", ["a\nb", "a\r", '"a', 'age,"sex', '"age"x', "age\n,sex", "x\n" * 99]
)
def test_names_that_cannot_be_told_apart_are_refused(run, patients, option, text):
    told = run("table", "plan", patients, "--epsilon", "1", option, text)
    assert told.code == ExitCode.USAGE and "does not name columns" in told.err
    assert len(told.err) < 400


def test_an_endless_name_is_refused(run, patients):
    told = run("table", "plan", patients, "--epsilon", "1", "--columns", "x" * 100_000)
    assert told.code == ExitCode.USAGE and "Traceback" not in told.err


@pytest.mark.parametrize("header", ["x" * 200_000, '"age,sex' + ",f" * 200_000])
@pytest.mark.parametrize("command", ["schema", "release"])
def test_a_header_that_cannot_be_read_is_an_error_of_the_data(run, patients, header, command):
    text = patients.read_text(encoding="utf-8")
    patients.write_text(f"{header},{text}", encoding="utf-8")
    words = ["--epsilon", "1", "--out", "o"] if command == "release" else []
    told = run("table", command, patients, *words)
    assert told.code == ExitCode.DATA
    assert "has more than 131,072 characters" in told.err or "cannot be read as CSV" in told.err
    assert len(told.err) < 1000


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_file_whose_name_is_no_text_is_refused(run, patients, tmp_path, engine):
    path = tmp_path / os.fsdecode(b"pati\xffents.csv")
    patients.rename(path)
    schema = ["--schema", patients.with_name("patients.schema.toml")]
    told = run(
        "table", "release", path, *schema, "--epsilon", "1", "--out", "o", "--engine", engine
    )
    assert told.code == ExitCode.USAGE and "must be text in UTF-8; rename" in told.err
    assert run("table", "schema", path, "--json").document["error"]["kind"] == "usage"
