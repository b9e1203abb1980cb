"""What a command paid for is saved, or can be recovered without the data; and says so."""

import errno
import os

import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.reserve import reserve_folder
from sfumato.privacy import durable
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.unsaved import folder_of


@pytest.fixture
def release(run, patients, ledger):
    def call(out, *more, book=True):
        booked = ("--ledger", ledger) if book else ()
        return run(
            "table", "release", patients, "--epsilon", "1", "--method", "marginals", *booked,
            "--out", out, "--no-report", *more,
        )  # fmt: skip

    return call


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def unsaved(release, monkeypatch):
    """A release that was paid for on a disk that was full when it was to be saved."""
    with monkeypatch.context() as patch:
        patch.setattr(durable, "write_synced", full)
        return release("lost")


def test_a_failed_save_says_what_was_paid_and_how_to_get_it(unsaved, ledger, tmp_path):
    assert unsaved.code == ExitCode.FILE
    assert "No space left" in unsaved.err and "paid for as entry 1" in unsaved.err
    assert f"sfumato ledger recover {ledger} --entry 1" in unsaved.err
    assert not (tmp_path / "lost").exists()


def test_it_is_recovered_without_the_data(run, unsaved, patients, ledger, tmp_path):
    patients.unlink()
    listed = run("ledger", "recover", ledger, "--json").document
    assert [entry["number"] for entry in listed["recoverable"]] == [1]
    assert "patients.ledger#1" in run("ledger", "recover", ledger).out
    told = run("ledger", "recover", ledger, "--out", "found")
    assert told.code == 0 and "Saved in found" in told.out
    assert "sfumato report found" in told.out and run("report", "found").code == 0
    assert sf.verify("found", ledger=sf.Ledger.open(ledger)).passed
    assert (tmp_path / "found" / "report.html").exists()
    assert not folder_of(ledger).exists()
    assert "Every release is saved" in run("ledger", "recover", ledger).out


def test_the_next_release_says_that_one_was_never_saved(release, unsaved):
    told = release("second")
    assert told.code == 0 and "Booked but never saved: patients.ledger#1" in told.err


def test_of_several_one_is_named(run, release, monkeypatch, ledger):
    with monkeypatch.context() as patch:
        patch.setattr(durable, "write_synced", full)
        release("a")
        release("b")
    told = run("ledger", "recover", ledger, "--out", "found")
    assert told.code == ExitCode.USAGE and "--entry" in told.err and "1, 2" in told.err
    assert run("ledger", "recover", ledger, "--entry", "3", "--out", "f").code == ExitCode.USAGE
    assert run("ledger", "recover", ledger, "--entry", "2", "--out", "found").code == 0
    document = run("ledger", "recover", ledger, "--entry", "1", "--discard", "--json").document
    assert document["recoverable"] == [] and document["unfinished"] == []
    assert sf.Ledger.open(ledger).spent == sf.PureDP(2)


def test_a_booking_that_never_ended_is_told_as_spent(run, ledger, tmp_path):
    opened = sf.Ledger.open(ledger)
    guarantee = sf.Guarantee(
        loss=sf.PureDP(1), unit=opened.unit, relation=opened.relation, basis=Basis.PROVED
    )
    opened.book(guarantee, kind="release", method="x", parameters={}, digest=None)
    assert "spent, with nothing to recover" in run("ledger", "recover", ledger).out


@pytest.mark.parametrize("book", [True, False])
def test_a_folder_without_room_is_refused_before_anything_is_spent(
    release, ledger, tmp_path, monkeypatch, book
):
    def narrow(descriptor, offset, size):
        if "patients.ledger" not in os.readlink(f"/proc/self/fd/{descriptor}"):
            full()

    monkeypatch.setattr(os, "posix_fallocate", narrow)
    told = release("out", book=book)
    assert told.code == ExitCode.FILE and "No space left" in told.err
    assert "nothing was spent" in told.err and "MB must be free" in told.err
    assert sf.Ledger.open(ledger).spent == sf.PureDP(0)
    assert not (tmp_path / "out").exists()


def test_the_room_that_is_tried_is_that_of_the_release(release, tmp_path, monkeypatch):
    tried = []
    real = os.posix_fallocate

    def seen(descriptor, offset, size):
        tried.append(size)
        real(descriptor, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", seen)
    assert release("out").code == 0
    size = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    assert any(room > size and room != 2**20 for room in tried)


def test_of_two_releases_into_one_folder_the_second_is_not_booked(release, ledger, tmp_path):
    with reserve_folder(tmp_path / "out"):
        told = release("out")
    assert told.code == ExitCode.USAGE and "another release is being saved in out" in told.err
    assert sf.Ledger.open(ledger).history() == []
    assert release("out").code == 0


def test_a_check_compares_a_ledger_with_releases(run, released, ledger, tmp_path):
    told = run("ledger", "check", ledger, released)
    assert told.code == 0 and "every sum is correct" in told.out
    assert "not older than its witness" in told.out and "paid for" in told.out
    document = run("ledger", "check", ledger, released, "--json").document
    assert document["setbacks"] == [] and len(document["witnesses"]) == 1


def test_a_check_finds_a_ledger_older_than_a_release(run, release, ledger, tmp_path):
    before = ledger.read_bytes()
    assert release("out").code == 0
    ledger.write_bytes(before)
    assert run("ledger", "show", ledger).code == ExitCode.LEDGER
    for file in (tmp_path / "config" / "sfumato" / "ledgers").iterdir():
        file.unlink()
    assert run("ledger", "show", ledger).code == 0
    told = run("ledger", "check", ledger, "out")
    assert told.code == ExitCode.LEDGER and "older copy" in told.err
    assert "No witness" in run("ledger", "check", ledger).out


def test_an_emptied_ledger_is_refused_with_what_was_spent(run, released, ledger):
    os.truncate(ledger, 0)
    told = run("ledger", "show", ledger)
    assert told.code == ExitCode.LEDGER and "ε = 1 spent" in told.err and "Restore" in told.err
