"""Files and folders that are written whole or not at all."""

import errno
import fcntl
import os

import pytest

from sfumato.privacy import durable, keys


def failing(number=errno.EIO):
    """A function that fails as a drive does."""

    def fail(*arguments):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_replacement_that_cannot_be_synced_leaves_the_former_file(tmp_path, monkeypatch):
    file = tmp_path / "sight.json"
    durable.replace_synced(file, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(durable.os, "fsync", failing())
        with pytest.raises(OSError, match="Input/output error"):
            durable.replace_synced(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
    durable.replace_synced(file, b"new")
    assert file.read_bytes() == b"new"


def test_a_key_that_cannot_be_synced_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(keys.os, "fsync", failing())
    with pytest.raises(OSError, match="Input/output error"):
        keys._write_new(tmp_path / "key", b"secret", 0o600)
    assert list(tmp_path.iterdir()) == []


def test_missing_folders_are_made_from_the_top(tmp_path):
    top, folder = tmp_path / "a", tmp_path / "a" / "b" / "c"
    assert durable.make_folder(folder) == [top, top / "b", folder]
    assert folder.is_dir() and durable.make_folder(folder) == []


def test_folders_that_cannot_all_be_made_are_removed_again(tmp_path, monkeypatch):
    sync_folder, failed = durable.sync_folder, failing()
    monkeypatch.setattr(
        durable,
        "sync_folder",
        lambda folder: (failed if folder.name == "a" else sync_folder)(folder),
    )
    with pytest.raises(OSError, match="Input/output error"):
        durable.make_folder(tmp_path / "a" / "b" / "c")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_makes_now_is_not_ours_to_remove(tmp_path, monkeypatch):
    class Late(type(tmp_path)):
        def exists(self):
            return super().exists() and self.name != "a"

    (tmp_path / "a").mkdir()
    assert durable.make_folder(Late(tmp_path / "a" / "b")) == [tmp_path / "a" / "b"]


def test_a_lock_is_refused_to_others_and_told_as_free_where_there_are_none(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    first, second = os.open(file, os.O_RDWR), os.open(file, os.O_RDWR)
    try:
        assert durable.lock(first) and not durable.lock(second)
        monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
        assert durable.lock(second)
    finally:
        os.close(first)
        os.close(second)
