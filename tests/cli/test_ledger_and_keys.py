import stat

import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode


def test_a_new_ledger_tells_what_it_allows(run):
    document = run(
        "ledger", "create", "x.ledger", "--allow-epsilon", "0.1", "--unit", "person", "--json"
    ).document
    assert document["allowed"] == {"measure": "pure", "epsilon": "1/10"}
    assert document["unit"] == "person" and document["relation"] == "add_remove"
    assert document["bookings"] == 0


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        (["--allow-epsilon", "1", "--allow-delta", "1e-6"], "approximate"),
        (["--allow-rho", "0.5"], "zero-concentrated"),
    ],
)
def test_a_ledger_sums_in_the_measure_that_was_allowed(run, options, measure):
    document = run("ledger", "create", "x", "--unit", "row", *options, "--json").document
    assert document["allowed"]["measure"] == measure


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--allow-epsilon", "1", "--allow-rho", "1"],
        ["--allow-rho", "1", "--allow-delta", "1e-6"],
        ["--allow-epsilon", "-1"],
    ],
)
def test_what_is_allowed_must_be_said_in_one_way(run, tmp_path, options):
    assert run("ledger", "create", "x", "--unit", "row", *options).code == ExitCode.USAGE
    assert not (tmp_path / "x").exists()


def test_the_unit_is_asked_for_and_checked(run):
    assert run("ledger", "create", "x", "--allow-epsilon", "1").code == ExitCode.USAGE
    told = run("ledger", "create", "x", "--allow-epsilon", "1", "--unit", "dog")
    assert told.code == ExitCode.USAGE and "unit must be one of" in told.err


def test_an_existing_ledger_is_never_replaced(run, ledger):
    told = run("ledger", "create", ledger, "--allow-epsilon", "9", "--unit", "person")
    assert told.code == ExitCode.LEDGER
    assert sf.Ledger.open(ledger).allow == sf.PureDP(3)


def test_show_and_history_tell_what_was_spent(run, released, ledger):
    state = run("ledger", "show", ledger, "--json").document
    assert state["spent"]["epsilon"] == "1" and state["left"]["epsilon"] == "2"
    history = run("ledger", "history", ledger, "--json").document
    (entry,) = history["entries"]
    assert entry["status"] == "released" and entry["method"] == "table.Marginals"
    assert len(history["bindings"]) == 1
    told = run("ledger", "history", ledger)
    assert "patients.ledger#1" in told.out and "ε = 1 of ε = 3 spent" in told.out
    assert "left" in run("ledger", "show", ledger).out


def test_a_file_that_is_no_ledger_is_refused(run, patients):
    told = run("ledger", "show", patients)
    assert told.code == ExitCode.LEDGER and "Traceback" not in told.err


def test_a_key_is_written_for_its_owner_and_never_over_another(run, tmp_path):
    document = run("keygen", "mine.pem", "--json").document
    assert stat.S_IMODE((tmp_path / "mine.pem").stat().st_mode) == 0o600
    assert document["public_key"] == "mine.pub" and len(document["public_hex"]) == 64
    assert run("keygen", "mine.pem").code == ExitCode.USAGE


def test_that_a_release_is_not_signed_is_a_note_and_no_check_that_passed(run, patients):
    run("table", "release", patients, "--epsilon", "1", "--out", "o", "--no-report")
    told = run("verify", "o")
    (line,) = (line for line in told.out.splitlines() if "not signed" in line)
    assert told.code == 0 and "note" in line and not line.startswith("ok")
    checks = run("verify", "o", "--json").document["checks"]
    assert [check["name"] for check in checks if check["remark"]] == ["signature"]


def test_the_default_key_signs_by_itself(run, patients):
    document = run("keygen", "--json").document
    assert document["private_key"].endswith("sfumato/key.pem")
    run("table", "release", patients, "--epsilon", "1", "--out", "o", "--no-report")
    told = run("verify", "o")
    assert f"signed by key {document['fingerprint']}" in told.out


@pytest.fixture
def corrected(patients):
    with patients.open("a", encoding="utf-8") as file:
        file.write("p999,33,f,Delft\n")
    return patients


def again(patients, ledger, out):
    return (
        "table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", out,
        "--no-report",
    )  # fmt: skip


def test_corrected_data_are_accepted_with_a_reason_and_nothing_is_refunded(
    run, released, corrected, ledger
):
    told = run(*again(corrected, ledger, "second"))
    assert told.code == ExitCode.LEDGER and "sfumato ledger rebind" in told.err
    document = run(
        "ledger", "rebind", ledger, corrected, "--reason", "a late entry", "--json"
    ).document
    assert document["spent"]["epsilon"] == "1" and document["left"]["epsilon"] == "2"
    assert [binding["reason"] for binding in document["bindings"]] == ["", "a late entry"]
    assert run(*again(corrected, ledger, "second")).code == 0
    assert sf.Ledger.open(ledger).spent == sf.PureDP(2)
    assert run("verify", released, "--ledger", ledger).code == 0
    told = run("ledger", "history", ledger)
    assert "a late entry" in told.out


def test_a_schema_elsewhere_can_be_named_for_a_rebinding(run, released, corrected, ledger):
    schema = corrected.with_name("patients.schema.toml").rename(corrected.with_name("s.toml"))
    told = run("ledger", "rebind", ledger, corrected, "--schema", schema, "--reason", "late")
    assert told.code == 0 and "The privacy loss already spent still counts" in told.out


@pytest.mark.parametrize("options", [[], ["--reason", "  "]])
def test_a_rebinding_needs_a_reason(run, released, corrected, ledger, options):
    before = sf.Ledger.open(ledger).head
    assert run("ledger", "rebind", ledger, corrected, *options).code == ExitCode.USAGE
    assert sf.Ledger.open(ledger).head == before


def test_a_rebinding_to_a_schema_of_another_unit_is_refused(run, released, corrected, ledger):
    before = sf.Ledger.open(ledger).head
    schema = corrected.with_name("patients.schema.toml")
    lines = schema.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("person", "max_rows"))]
    schema.write_text("".join(kept).replace('"person"', '"row"'), encoding="utf-8")
    told = run("ledger", "rebind", ledger, corrected, "--reason", "late")
    assert told.code == ExitCode.LEDGER and "correct the unit" in told.err
    assert sf.Ledger.open(ledger).head == before


def test_data_that_cannot_be_read_leave_a_ledger_bound_as_it_was(run, released, patients, ledger):
    before = sf.Ledger.open(ledger).head
    with patients.open("a", encoding="utf-8") as file:
        file.write("p1,33,f,Timbuktu\n")
    assert run("ledger", "rebind", ledger, patients, "--reason", "late").code == ExitCode.DATA
    assert sf.Ledger.open(ledger).head == before
