"""A lost, emptied or older ledger is noticed by whoever has seen more of it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from sfumato.privacy import ledger as ledgers
from sfumato.privacy import ledger_witness as witness
from sfumato.privacy.guarantee import Basis, Guarantee, Relation, Unit
from sfumato.privacy.ledger import Ledger, LedgerError
from sfumato.privacy.ledger_account import read_identity
from sfumato.privacy.loss import PureDP

TENTH = Guarantee(
    loss=PureDP("0.1"), unit=Unit.ROW, relation=Relation.ADD_REMOVE, basis=Basis.PROVED
)


def book(ledger, **parameters):
    return ledger.book(
        TENTH,
        kind="release",
        method="Histogram",
        parameters=parameters,
        digest=lambda key: b"data" * 8,
    )


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "sfumato" / "ledgers"


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1))
    for _ in range(3):
        book(made)
    return made


def lose(ledger, how):
    if how == "emptied":
        os.truncate(ledger.path, 0)
    else:
        ledger.path.unlink()


@pytest.mark.parametrize("how", ["emptied", "deleted"])
def test_a_lost_ledger_is_not_taken_for_a_new_one(ledger, how):
    lose(ledger, how)
    with pytest.raises(LedgerError) as caught:
        Ledger.open(ledger.path)
    told = str(caught.value)
    assert "is lost" in told and "3 bookings with ε = 0.3 spent and ε = 0.7 left" in told
    assert "Restore it from a backup" in told and "delete it" not in told


@pytest.mark.parametrize("how", ["emptied", "deleted"])
@pytest.mark.parametrize("known", [True, False])
def test_a_handle_that_knew_better_refuses(ledger, home, how, known):
    if not known:
        shutil.rmtree(home)
    lose(ledger, how)
    for use in (lambda: book(ledger), lambda: ledger.spent, ledger.history, ledger.check):
        with pytest.raises(LedgerError, match=r"held 3 bookings \(ε = 0.3 spent\).*from a backup"):
            use()


def test_an_older_copy_is_refused_with_what_was_left(ledger, tmp_path):
    shutil.copy(ledger.path, tmp_path / "backup")
    book(ledger)
    os.replace(tmp_path / "backup", ledger.path)
    with pytest.raises(
        LedgerError, match=r"older than the one.*4 bookings.*allows the ε = 0.6 that"
    ):
        Ledger.open(ledger.path)


def test_an_older_copy_elsewhere_is_refused_too(ledger, tmp_path):
    shutil.copy(ledger.path, tmp_path / "backup")
    book(ledger)
    with pytest.raises(LedgerError, match="older than the one that was last used"):
        Ledger.open(tmp_path / "backup")


def test_a_copy_that_went_its_own_way_is_refused(ledger, tmp_path, home):
    shutil.copy(ledger.path, tmp_path / "backup")
    (file,) = home.iterdir()
    before = file.read_bytes()
    book(ledger)
    seen = file.read_bytes()
    os.replace(tmp_path / "backup", ledger.path)
    file.write_bytes(before)
    other = Ledger.open(ledger.path)
    book(other, another=1)
    book(other)
    file.write_bytes(seen)
    with pytest.raises(LedgerError, match="was rewritten"):
        Ledger.open(ledger.path)


def test_a_witness_may_lag_behind(ledger, home):
    (file,) = home.iterdir()
    before = file.read_bytes()
    book(ledger)
    file.write_bytes(before)
    assert Ledger.open(ledger.path).bookings == 4


def test_a_new_ledger_in_the_place_of_a_lost_one_is_refused(ledger):
    lose(ledger, "deleted")
    with pytest.raises(
        LedgerError, match=r"there was a ledger.*would lose that record.*delete .*\.json"
    ):
        Ledger.create(ledger.path, allow=PureDP(1))
    assert not ledger.path.exists()
    (file,) = ledger.witnesses()
    file.unlink()
    assert Ledger.create(ledger.path, allow=PureDP(1)).spent == PureDP(0)


def test_a_ledger_in_which_nothing_was_booked_may_be_made_again(tmp_path):
    path = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1)).path
    path.unlink()
    assert Ledger.create(path, allow=PureDP(2)).allow == PureDP(2)


def test_a_second_witness_notices_what_the_first_cannot(tmp_path, home, monkeypatch):
    monkeypatch.setenv(witness.ENVIRONMENT, str(tmp_path / "elsewhere"))
    ledger = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1))
    book(ledger)
    assert [file.parent for file in ledger.witnesses()] == [home, tmp_path / "elsewhere"]
    shutil.rmtree(home)
    lose(ledger, "emptied")
    with pytest.raises(LedgerError, match=r"1 bookings.*elsewhere"):
        Ledger.open(ledger.path)


def test_a_second_place_that_cannot_be_written_is_refused_before_booking(
    ledger, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv(witness.ENVIRONMENT, str(tmp_path / "file" / "folder"))
    with pytest.raises(LedgerError, match=r"SFUMATO_WITNESS names .*nothing was booked"):
        book(ledger)
    assert ledger.bookings == 3


def test_a_second_witness_that_fails_after_the_booking_is_a_warning(ledger, tmp_path, monkeypatch):
    monkeypatch.setenv(witness.ENVIRONMENT, str(tmp_path / "elsewhere"))
    real = witness.replace_synced

    def fail(path, content):
        if path.parent.name == "elsewhere":
            raise OSError(28, "No space left on device")
        real(path, content)

    monkeypatch.setattr(witness, "replace_synced", fail)
    with pytest.warns(RuntimeWarning, match="was not updated: No space left"):
        entry = book(ledger)
    assert entry.number == 4


def test_who_has_no_home_books_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    ledger = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1))
    book(ledger)
    assert Ledger.open(ledger.path).witnesses() == []


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"number": "x"}'])
def test_a_damaged_witness_is_not_taken_for_none(ledger, home, content):
    (file,) = home.iterdir()
    file.write_bytes(content)
    with pytest.raises(LedgerError, match=r"the witness .* is damaged.*ledger check"):
        Ledger.open(ledger.path)


def test_a_witness_holds_nothing_private_and_is_its_owners_alone(ledger, home):
    (file,) = home.iterdir()
    assert set(json.loads(file.read_bytes())) == {
        "identity", "path", "number", "head", "time", "bookings", "spent", "left",
    }  # fmt: skip
    assert ledger._account.fingerprint.encode() not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_an_identity_is_no_path(ledger):
    with pytest.raises(ValueError, match="identity"):
        read_identity({"identity": "../../../etc/passwd"})


def test_a_clock_that_went_back_is_noticed(ledger, monkeypatch):
    assert ledger.setbacks() == []
    last = ledger._account.time
    monkeypatch.setattr(ledgers, "_now", lambda: "2001-01-01T00:00:00+00:00")
    with pytest.warns(RuntimeWarning, match="the clock went back: it reads 2001"):
        book(ledger)
    assert ledger.setbacks() == [(last, "2001-01-01T00:00:00+00:00")]
    ledger.check()


def test_clocks_of_two_machines_may_differ_a_little(ledger, monkeypatch):
    from datetime import UTC, datetime, timedelta

    early = (datetime.now(UTC) - timedelta(minutes=5)).isoformat(timespec="seconds")
    monkeypatch.setattr(ledgers, "_now", lambda: early)
    book(ledger)
    assert ledger.setbacks() == []


def test_witnesses_are_found_by_the_path_as_it_was_given(ledger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lose(ledger, "deleted")
    with pytest.raises(LedgerError, match="is lost"):
        Ledger.open(Path("patients.ledger"))


def test_only_the_witness_beside_the_key_forgets(tmp_path, monkeypatch, home):
    monkeypatch.setenv(witness.ENVIRONMENT, str(tmp_path / "elsewhere"))
    ledger = Ledger.create(tmp_path / "patients.ledger", allow=PureDP(1))
    assert {sight.file.parent for sight in witness.last_seen_at(ledger.path)} == {
        home,
        tmp_path / "elsewhere",
    }
    witness.forget(ledger.path)
    (left,) = witness.last_seen_at(ledger.path)
    assert left.file.parent == tmp_path / "elsewhere"
