"""The folder of a release is made and tried before anything is spent."""

import contextlib
import os
import tempfile

import pytest

import sfumato as sf
from sfumato.cli import reserve
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.reserve import reserve_folder


@pytest.fixture
def release(run, patients, ledger):
    def call(out, epsilon="1"):
        return run(
            "table", "release", patients, "--epsilon", epsilon, "--ledger", ledger, "--out", out,
            "--no-report",
        )  # fmt: skip

    return call


def spent(ledger):
    return sf.Ledger.open(ledger).spent.epsilon


def test_every_folder_that_was_made_for_nothing_is_removed(release, tmp_path):
    (tmp_path / "p").mkdir()
    assert release("p/q/r/s", epsilon="9").code == ExitCode.BUDGET
    assert list((tmp_path / "p").iterdir()) == []
    assert release("a/b", epsilon="9").code == ExitCode.BUDGET
    assert not (tmp_path / "a").exists()


def test_a_folder_that_was_there_stays_when_nothing_comes(release, tmp_path):
    (tmp_path / "o").mkdir()
    assert release("o", epsilon="9").code == ExitCode.BUDGET
    assert list((tmp_path / "o").iterdir()) == []


def test_dots_do_not_remove_what_was_not_made(release, tmp_path):
    assert release("x/../y/z", epsilon="9").code == ExitCode.BUDGET
    assert not (tmp_path / "x").exists() and not (tmp_path / "y").exists()
    assert tmp_path.is_dir()


def test_a_link_to_an_empty_folder_is_followed(release, ledger, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert release("link").code == 0
    assert sf.verify(tmp_path / "real").passed
    assert (tmp_path / "link").is_symlink()
    assert spent(ledger) == 1


def test_a_link_to_a_folder_that_is_not_there_makes_it(release, tmp_path):
    (tmp_path / "link").symlink_to("later")
    assert release("link").code == 0
    assert sf.verify(tmp_path / "later").passed


def test_a_link_to_itself_is_refused_before_anything_is_spent(release, ledger, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    told = release("loop")
    assert told.code in (ExitCode.USAGE, ExitCode.FILE) and "loop" in told.err
    assert spent(ledger) == 0


def test_an_empty_folder_can_be_filled_from_within(release, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert release(".").code == 0
    assert sf.verify(".").passed


@pytest.mark.parametrize("length", [200, 250, 255])
def test_a_long_name_will_do(release, tmp_path, length):
    name = "r" * length
    assert release(name).code == 0
    assert sf.verify(tmp_path / name).passed


@pytest.mark.parametrize("out", ["r" * 300, "p/" + "r" * 300])
def test_a_name_that_is_too_long_is_refused_before_anything_is_spent(
    release, ledger, tmp_path, out
):
    told = release(out)
    assert told.code == ExitCode.FILE and "Traceback" not in told.err
    assert spent(ledger) == 0
    assert not (tmp_path / "p").exists()


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_spent(
    release, ledger, tmp_path, monkeypatch
):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied", "p/o")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    told = release("p/o")
    assert told.code == ExitCode.FILE and "Permission denied" in told.err
    assert spent(ledger) == 0
    assert not (tmp_path / "p").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
@pytest.mark.parametrize("existing", [True, False])
def test_a_read_only_parent_spends_nothing_in_vain(release, ledger, tmp_path, existing):
    parent = tmp_path / "closed"
    parent.mkdir()
    if existing:
        (parent / "o").mkdir()
    parent.chmod(0o555)
    told = release("closed/o")
    parent.chmod(0o755)
    # A folder that is there can be filled; a new one cannot be made.
    assert told.code == (0 if existing else ExitCode.FILE)
    assert spent(ledger) == (1 if existing else 0)


def test_the_probe_is_taken_away_before_anything_else_happens(tmp_path):
    with reserve_folder(tmp_path / "o"):
        assert list((tmp_path / "o").iterdir()) == []
    assert (tmp_path / "o").is_dir()


def test_what_somebody_else_put_there_is_not_removed(tmp_path):
    def intrude():
        (tmp_path / "p" / "other").touch()
        raise Refusal(ExitCode.BUDGET, "no")

    with pytest.raises(Refusal), reserve_folder(tmp_path / "p" / "q"):
        intrude()
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["other"]


def test_nothing_is_reserved_where_nothing_is_saved(tmp_path):
    with reserve_folder(None):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_names_that_are_no_text_do_not_stop_a_release_after_booking(run, patients, tmp_path, form):
    ledger = os.fsdecode(b"led\xffger")
    out = os.fsdecode(b"o\xff")
    assert run("ledger", "create", ledger, "--allow-epsilon", "3", "--unit", "person").code == 0
    told = run(
        "table", "release", patients, "--epsilon", "1", "--ledger", ledger, "--out", out, *form
    )
    assert told.code == 0
    if form:
        assert told.document["ledger"]["reference"] == "led?ger#1"
        assert told.document["release"] == "o?"
    assert "led?ger#1" in (tmp_path / out / "README.txt").read_text(encoding="utf-8")
    assert run("verify", out, "--ledger", ledger, *form).code == 0
    assert run("ledger", "history", ledger, *form).code == 0
    assert run("ledger", "show", ledger, *form).code == 0


def test_who_made_the_folder_does_not_unmake_it_when_another_has_claimed_it(tmp_path, monkeypatch):
    """The repaired fault: the folder of a release in progress vanished, and a third one made it."""
    out, first = tmp_path / "out", contextlib.ExitStack()
    make = reserve.make_folder

    def overtaken(place):
        made = make(place)
        monkeypatch.setattr(reserve, "make_folder", make)
        first.enter_context(reserve_folder(out))
        return made

    monkeypatch.setattr(reserve, "make_folder", overtaken)
    with first:
        with pytest.raises(Refusal, match="another release is being saved"), reserve_folder(out):
            pass
        assert out.is_dir()
        with pytest.raises(Refusal, match="another release is being saved"), reserve_folder(out):
            pass


def test_a_folder_that_was_unmade_meanwhile_is_not_claimed(tmp_path, monkeypatch):
    out = tmp_path / "out"

    def late(descriptor):
        out.rmdir()
        return True

    monkeypatch.setattr(reserve, "lock", late)
    with pytest.raises(Refusal, match="another release is being saved"), reserve_folder(out):
        pass
