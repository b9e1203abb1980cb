"""Releases that are paid for and not saved yet, kept beside their ledger.

A loss is booked before the data are used and is never refunded, so what it paid for must survive
whatever happens next. Before a booking, a file with room for the transcript is reserved in a folder
beside the ledger; as soon as the transcript is there it is written into that file and synced; when
the release is saved, the file is removed. It holds what a release is built from (method, public
part, transcript, time, ledger entry) and nothing else: no more than the release itself publishes.
The folder is for its owner alone all the same, since nobody has decided to publish it yet.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.privacy.canonical import canonical
from sfumato.privacy.durable import allocate, lock, sync_folder
from sfumato.privacy.ledger_store import LedgerError
from sfumato.privacy.transcript import LARGEST_BYTES

FORMAT = 1
#: How the note begins that an error carries where something paid for was not saved.
PAID_FOR = "The release is paid for"
#: As long as the ending of SQLite's journal, so that every name of a ledger has room for it.
_ENDING = "-unsaved"
_DRAFT = ".draft-"
_DOCUMENT = "release.json"
#: What is reserved beyond what a transcript is expected to take.
_SPARE = 2**20


@dataclass(frozen=True)
class UnsavedRelease:
    """A transcript that is kept until its release is saved.

    Parameters
    ----------
    ledger
        The file of the ledger.
    number
        The number of the entry that paid for it.
    """

    ledger: Path
    number: int

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return folder_of(self.ledger) / f"{self.number}.zip"

    def words(self) -> str:
        """Return what to do where the release could not be saved."""
        return (
            f"{PAID_FOR} as entry {self.number} of {self.ledger}, and is not lost: "
            f"`sfumato ledger recover {self.ledger} --entry {self.number} --out NEW-FOLDER` saves "
            "it without the data"
        )

    def in_use(self) -> bool:
        """Tell whether a process is still at work on it."""
        try:
            descriptor = os.open(self.file, os.O_RDWR)
        except OSError:
            return False
        try:
            return not lock(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the document and the files that were kept."""
        try:
            with zipfile.ZipFile(self.file) as packed:
                members = packed.infolist()
                if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                    raise ValueError("the kept transcript is not compressed")
                if sum(member.file_size for member in members) > LARGEST_BYTES:
                    raise ValueError("it is larger than any transcript")
                files = {member.filename: packed.read(member) for member in members}
            document = json.loads(files.pop(_DOCUMENT))
            if document["format"] != FORMAT:
                raise LedgerError(f"{self.file} was written by another version of sfumato")
        except FileNotFoundError:
            raise LedgerError(
                f"nothing is kept of entry {self.number} of {self.ledger}: either it was saved, "
                "or its measurement was never complete. Its privacy loss stays booked"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            if isinstance(error, LedgerError):
                raise
            raise LedgerError(f"{self.file} is damaged; it cannot be recovered") from None
        return document, files

    def discard(self) -> None:
        """Remove what was kept: it is saved, or not wanted."""
        self.file.unlink(missing_ok=True)
        _remove_if_empty(self.file.parent)


def folder_of(ledger: Path) -> Path:
    """Return the folder of what is paid for and not saved."""
    return ledger.with_name(ledger.name + _ENDING)


def all_kept(ledger: Path) -> list[UnsavedRelease]:
    """Return all that is kept beside a ledger, in the order of the entries."""
    try:
        names = [file.stem for file in folder_of(ledger).glob("*.zip")]
    except OSError:
        return []
    return [
        UnsavedRelease(ledger, number)
        for number in sorted(int(name) for name in names if name.isdigit())
    ]


class Reserve:
    """A file beside a ledger with room for one transcript, held by this process.

    Parameters
    ----------
    ledger
        The file of the ledger.
    room
        How many bytes the transcript is expected to take.
    """

    def __init__(self, ledger: Path, room: int) -> None:
        self._ledger = ledger
        self._folder = folder_of(ledger)
        # The file that is to be written next, and the one that was kept last: both stay locked.
        self._draft: tuple[int, Path] | None = None
        self._kept: int | None = None
        with contextlib.suppress(OSError):
            self._remove_abandoned()
        self.renew(room)

    def renew(self, room: int) -> None:
        """Reserve room for what is kept next; raises before anything is measured for it."""
        if self._draft is not None:
            return
        size = room + _SPARE
        try:
            self._draft = self._new_file(size)
        except OSError as error:
            _remove_if_empty(self._folder)
            raise LedgerError(
                f"the transcript cannot be stored in {self._folder}: {error.strerror}; nothing "
                f"was measured or booked. About {size / 1e6:,.1f} MB must be free, and the "
                "folder of the ledger must be writable"
            ) from error

    def keep(
        self, number: int, document: dict[str, Any], files: dict[str, bytes]
    ) -> UnsavedRelease:
        """Write down what the entry of that number paid for, and return once it is durable.

        What was kept of the same entry before is replaced, whole or not at all.
        """
        kept = UnsavedRelease(self._ledger, number)
        content = _pack_release({**document, "format": FORMAT}, files)
        if self._draft is None:
            self._draft = self._new_file(len(content))
        descriptor, file = self._draft
        with os.fdopen(os.dup(descriptor), "wb") as opened:
            opened.write(content)
            opened.truncate()
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(file, kept.file)
        if self._kept is not None:
            os.close(self._kept)
        self._draft, self._kept = None, descriptor
        sync_folder(self._folder)
        return kept

    def let_go(self) -> None:
        """Leave what is kept to whoever saves or recovers it, and give back what is not used."""
        if self._kept is not None:
            os.close(self._kept)
        if self._draft is not None:
            descriptor, file = self._draft
            os.close(descriptor)
            file.unlink(missing_ok=True)
        _remove_if_empty(self._folder)

    def _new_file(self, room: int) -> tuple[int, Path]:
        """Return a new file with that much room, locked by this process."""
        while True:
            made = _make_folder(self._folder)
            try:
                descriptor, name = tempfile.mkstemp(prefix=_DRAFT, dir=self._folder)
                break
            except FileNotFoundError:
                # Another process removed the folder because it was empty.
                continue
        try:
            lock(descriptor)
            allocate(descriptor, room)
            if made:
                sync_folder(self._folder.parent)
        except BaseException:
            os.close(descriptor)
            os.unlink(name)
            raise
        return descriptor, Path(name)

    def _remove_abandoned(self) -> None:
        """Remove drafts whose process ended before there was anything to keep."""
        for file in self._folder.glob(f"{_DRAFT}*"):
            with contextlib.suppress(OSError):
                descriptor = os.open(file, os.O_RDWR)
                try:
                    if lock(descriptor):
                        file.unlink()
                finally:
                    os.close(descriptor)


def _pack_release(document: dict[str, Any], files: dict[str, bytes]) -> bytes:
    """Return a document and files as one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in {_DOCUMENT: canonical(document), **files}.items():
            # A fixed date: the same release is kept in the same bytes.
            packed.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def _make_folder(folder: Path) -> bool:
    """Make a folder for its owner alone; tell whether it was missing."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    # Whatever the mask of new files is.
    folder.chmod(0o700)
    return True


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
