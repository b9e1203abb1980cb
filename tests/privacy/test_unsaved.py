"""What is paid for is kept until it is saved, and can be finished without the data."""

from __future__ import annotations

import errno
import json
import os
import stat
import zipfile

import pytest

from sfumato.privacy import door, durable, saved
from sfumato.privacy.ledger import BudgetExceeded, Ledger, LedgerError
from sfumato.privacy.loss import PureDP
from sfumato.privacy.loss_check import BooksDoNotAdd
from sfumato.privacy.saved import all_files, verify
from sfumato.privacy.unsaved import UnsavedRelease, folder_of
from tests.privacy.toy import Asker, NoisyTally, Tally, TallyPublic


@pytest.fixture
def data():
    return Tally([0, 0, 1, 3, 3, 3], TallyPublic(4))


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "tally.ledger", allow=PureDP(5), unit="row")


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_recovered_release_is_what_would_have_been_saved(data, ledger, tmp_path):
    release = NoisyTally(epsilon=1).release(data, ledger=ledger)
    expected = all_files(release)
    del release
    again = Ledger.open(ledger.path)
    assert [entry.number for entry in again.unsaved()] == [1]
    again.recover(1).save(tmp_path / "out")
    assert content(tmp_path / "out") == expected
    assert verify(tmp_path / "out", ledger=again).passed
    assert again.unsaved() == [] and not folder_of(ledger.path).exists()


def test_saving_removes_what_was_kept(data, ledger, tmp_path):
    release = NoisyTally(epsilon=1).release(data, ledger=ledger)
    assert UnsavedRelease(ledger.path, 1).file.exists()
    release.save(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "tally.ledger"]
    release.save(tmp_path / "twice")


def test_a_full_disk_while_saving_says_what_to_do_and_loses_nothing(
    data, ledger, tmp_path, monkeypatch
):
    release = NoisyTally(epsilon=1).release(data, ledger=ledger)
    monkeypatch.setattr(durable, "write_synced", full)
    with pytest.raises(OSError, match="No space left") as caught:
        release.save(tmp_path / "out")
    (note,) = caught.value.__notes__
    assert "is paid for as entry 1" in note and f"sfumato ledger recover {ledger.path}" in note
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    ledger.recover(1).save(tmp_path / "out")
    assert verify(tmp_path / "out", ledger=ledger).passed


def test_every_file_of_a_saved_release_and_its_folder_are_synced(data, tmp_path, monkeypatch):
    synced = []
    real = os.fsync

    def fsync(descriptor):
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    NoisyTally(epsilon=1).release(data).save(tmp_path / "out")
    assert set(content(tmp_path / "out")) <= set(synced)
    assert synced[-1] == tmp_path.name


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_what_is_kept_is_for_its_owner_alone(data, ledger, umask):
    before = os.umask(umask)
    try:
        NoisyTally(epsilon=1).release(data, ledger=ledger)
    finally:
        os.umask(before)
    folder = folder_of(ledger.path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]


def test_what_is_kept_holds_what_a_release_is_built_from_and_nothing_else(data, ledger):
    release = NoisyTally(epsilon=1).release(data, ledger=ledger)
    secret, fingerprint = ledger._store.secret(), ledger._account.fingerprint
    with zipfile.ZipFile(UnsavedRelease(ledger.path, 1).file) as packed:
        assert packed.namelist() == [
            "release.json", "public.json", "transcript.json", "transcript.npz",
        ]  # fmt: skip
        everything = b"".join(packed.read(name) for name in packed.namelist())
    assert release.transcript.digest().encode() in everything
    assert secret not in everything and secret.hex().encode() not in everything
    assert fingerprint.encode() not in everything


def test_no_room_for_the_transcript_refuses_before_booking(data, ledger, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(
        LedgerError, match=r"the transcript cannot be stored.*No space left.*must be fre"
    ):
        NoisyTally(epsilon=1).release(data, ledger=ledger)
    assert ledger.history() == [] and not folder_of(ledger.path).exists()


def test_a_refused_booking_leaves_nothing(data, ledger):
    with pytest.raises(BudgetExceeded):
        NoisyTally(epsilon=9).release(data, ledger=ledger)
    assert not folder_of(ledger.path).exists()


def test_a_release_that_could_not_be_built_can_be_built_later(data, ledger, tmp_path, monkeypatch):
    calls = []

    def interrupted(method, public, transcript):
        calls.append(1)
        if len(calls) == 2:  # The first is the trial.
            raise KeyboardInterrupt
        return rebuild_from_transcript(method, public, transcript)

    rebuild_from_transcript = door.rebuild_from_transcript
    monkeypatch.setattr(door, "rebuild_from_transcript", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        NoisyTally(epsilon=1).release(data, ledger=ledger)
    assert "not lost" in caught.value.__notes__[0]
    assert [entry.status for entry in ledger.history()] == ["booked"]
    ledger.recover(1).save(tmp_path / "out")
    assert [entry.status for entry in ledger.history()] == ["released"]
    assert verify(tmp_path / "out", ledger=ledger).passed


def test_books_that_do_not_add_up_are_never_kept(data, ledger, monkeypatch):
    def wrong(*arguments):
        if ledger.history():
            raise BooksDoNotAdd("too much")

    monkeypatch.setattr(door, "check_accounts", wrong)
    with pytest.raises(BooksDoNotAdd):
        NoisyTally(epsilon=1).release(data, ledger=ledger)
    assert [entry.status for entry in ledger.history()] == ["aborted"]
    assert ledger.unsaved() == []


def test_a_release_that_the_ledger_could_not_end_is_ended_when_recovered(
    data, ledger, tmp_path, monkeypatch
):
    monkeypatch.setattr(Ledger, "finish", full)
    with pytest.raises(OSError, match="No space left") as caught:
        NoisyTally(epsilon=1).release(data, ledger=ledger)
    assert any("sfumato ledger recover" in note for note in caught.value.__notes__)
    monkeypatch.undo()
    made = ledger.recover(1)
    assert made.counts.tolist() == caught.value.release.counts.tolist()
    assert [entry.status for entry in ledger.history()] == ["released"]


def test_a_transcript_that_cannot_be_kept_is_a_warning_and_the_release_is_made(
    data, ledger, tmp_path, monkeypatch
):
    monkeypatch.setattr("sfumato.privacy.unsaved.sync_folder", full)
    monkeypatch.setattr("sfumato.privacy.unsaved._make_folder", lambda folder: folder.mkdir())
    with pytest.warns(RuntimeWarning, match="could not be kept beside the ledger.*Save the rel"):
        release = NoisyTally(epsilon=1).release(data, ledger=ledger)
    release.save(tmp_path / "out")
    assert verify(tmp_path / "out", ledger=ledger).passed


def test_an_entry_of_which_nothing_is_kept_says_so(data, ledger, tmp_path):
    NoisyTally(epsilon=1).release(data, ledger=ledger).save(tmp_path / "out")
    with pytest.raises(
        LedgerError, match=r"nothing is kept of entry 1.*Its privacy loss stays boo"
    ):
        ledger.recover(1)


def test_what_nobody_wants_can_be_discarded_and_stays_spent(data, ledger):
    NoisyTally(epsilon=1).release(data, ledger=ledger)
    ledger.discard(1)
    assert ledger.unsaved() == [] and ledger.spent == PureDP(1)
    assert not folder_of(ledger.path).exists()


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_a_damaged_file_is_refused(data, ledger, damage):
    NoisyTally(epsilon=1).release(data, ledger=ledger)
    file = UnsavedRelease(ledger.path, 1).file
    whole = file.read_bytes()
    place = whole.index(b'"outputs"')
    spoilt = {
        "cut": whole[:-40],
        "flipped": whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :],
        "emptied": b"",
    }
    file.write_bytes(spoilt[damage])
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.recover(1)


def test_a_file_that_unpacks_to_more_than_it_has_is_refused(data, ledger, monkeypatch):
    NoisyTally(epsilon=1).release(data, ledger=ledger)
    file = UnsavedRelease(ledger.path, 1).file
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.privacy.unsaved.LARGEST_BYTES", 10)
        with pytest.raises(LedgerError, match="is damaged"):
            ledger.recover(1)
    with zipfile.ZipFile(file) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.recover(1)


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("format", 0, r"was written by another version of sfumato$"),
        ("transcript", "0" * 64, r"is damaged: its transcript is not the one that was kept$"),
    ],
)
def test_a_kept_document_that_was_changed_is_refused(data, ledger, name, value, found):
    NoisyTally(epsilon=1).release(data, ledger=ledger)
    file = UnsavedRelease(ledger.path, 1).file
    with zipfile.ZipFile(file) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    members["release.json"] = json.dumps(
        {**json.loads(members["release.json"]), name: value}
    ).encode()
    with zipfile.ZipFile(file, "w") as packed:
        for member, content in members.items():
            packed.writestr(member, content)
    with pytest.raises(LedgerError, match=found):
        ledger.recover(1)


def test_an_entry_that_ended_with_another_transcript_is_not_recovered(data, ledger):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "finish", lambda *_, **__: None)
        NoisyTally(epsilon=1).release(data, ledger=ledger)
    ledger.finish(ledger.history()[0], status="released", note="transcript " + "0" * 64)
    with pytest.raises(LedgerError, match=r"#1 ended as released, for another transcript$"):
        ledger.recover(1)


def test_a_file_that_another_entry_paid_for_is_refused(data, ledger):
    for _ in range(2):
        NoisyTally(epsilon=1).release(data, ledger=ledger)
    os.replace(UnsavedRelease(ledger.path, 2).file, UnsavedRelease(ledger.path, 1).file)
    with pytest.raises(LedgerError, match="does not belong to entry 1"):
        ledger.recover(1)


def test_a_reserve_whose_process_died_is_removed_by_the_next(data, ledger, tmp_path):
    folder = folder_of(ledger.path)
    folder.mkdir(mode=0o700)
    (folder / ".draft-dead").write_bytes(b"0" * 100)
    NoisyTally(epsilon=1).release(data, ledger=ledger).save(tmp_path / "out")
    assert not folder.exists()


class TestSessions:
    def test_answers_are_kept_before_they_are_given(self, data, ledger, tmp_path):
        session = Asker(epsilon=1).open(data, ledger=ledger)
        answers = [session.ask(0), session.ask(3)]
        with pytest.raises(LedgerError, match="still being made by another process"):
            ledger.recover(1)
        session._booking._let_go()  # As if its process had died.
        made = ledger.recover(1)
        assert made.counts.tolist() == answers
        assert [entry.status for entry in ledger.history()] == ["closed"]
        made.save(tmp_path / "out")
        assert verify(tmp_path / "out", ledger=ledger).passed

    def test_a_question_without_room_for_its_answer_measures_nothing(
        self, data, ledger, monkeypatch
    ):
        with Asker(epsilon=1).open(data, ledger=ledger) as session:
            session.ask(0)
            left = session.remaining
            monkeypatch.setattr(os, "posix_fallocate", full)
            with pytest.raises(LedgerError, match="the transcript cannot be stored"):
                session.ask(1)
            assert session.remaining == left
            monkeypatch.undo()
            session.ask(1)
            assert len(session.close().counts) == 2

    def test_a_session_that_ends_without_a_release_leaves_nothing(self, data, ledger):
        with Asker(epsilon=1).open(data, ledger=ledger) as session:
            session.ask(0)
        assert [entry.status for entry in ledger.history()] == ["closed"]
        assert ledger.unsaved() == []

    def test_a_session_that_breaks_off_can_be_recovered(self, data, ledger):
        def broken():
            with Asker(epsilon=1).open(data, ledger=ledger) as session:
                session.ask(0)
                raise RuntimeError("the printer is on fire")

        with pytest.raises(RuntimeError, match="printer") as caught:
            broken()
        assert "not lost" in caught.value.__notes__[0]
        assert len(ledger.recover(1).counts) == 1


def test_a_save_that_fails_half_way_leaves_an_existing_folder_empty(data, tmp_path, monkeypatch):
    release = NoisyTally(epsilon=1).release(data)
    (tmp_path / "out").mkdir()
    real, calls = durable.sync_folder, []

    def later(folder):
        calls.append(folder)
        if len(calls) == 2:  # All files have moved by then.
            full()
        real(folder)

    monkeypatch.setattr(saved.durable, "sync_folder", later)
    with pytest.raises(OSError, match="No space left"):
        release.save(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "raises"), [(errno.EINVAL, False), (errno.EACCES, False), (errno.EIO, True)]
)
def test_a_drive_that_cannot_sync_folders_will_do_and_one_that_fails_will_not(
    data, tmp_path, monkeypatch, number, raises
):
    release = NoisyTally(epsilon=1).release(data)
    real = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if raises:
        with pytest.raises(OSError, match=os.strerror(number)):
            release.save(tmp_path / "out")
    else:
        assert verify(release.save(tmp_path / "out")).passed
