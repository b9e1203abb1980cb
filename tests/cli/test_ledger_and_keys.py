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


def test_the_default_key_signs_by_itself(run, patients):
    document = run("keygen", "--json").document
    assert document["private_key"].endswith("sfumato/key.pem")
    run("table", "release", patients, "--epsilon", "1", "--out", "o", "--no-report")
    told = run("verify", "o")
    assert f"signed by key {document['fingerprint']}" in told.out
