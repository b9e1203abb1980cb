"""Witnesses: what was last seen of every ledger, kept away from it.

A file that was emptied, deleted or replaced by an older copy cannot tell so itself. A witness can:
it holds the number and the hash of the last event, and nothing private. One is kept beside the
custodian's key, and one in the folder that $SFUMATO_WITNESS names, if it names any. A witness is
written after an event is durable, so it may lag behind its ledger and is never ahead of it.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.privacy import keys
from sfumato.privacy.canonical import canonical
from sfumato.privacy.documents import read_json
from sfumato.privacy.durable import replace_synced
from sfumato.privacy.ledger_store import LedgerError

#: Names a second folder for witnesses: on another disk, or on another machine.
ENVIRONMENT = "SFUMATO_WITNESS"

_TEXTS = ("identity", "path", "head", "time", "spent", "left")
_NUMBERS = ("number", "bookings")


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What a witness has seen of one ledger.

    Parameters
    ----------
    identity, path
        Which ledger, and where it was.
    number, head, time
        Its last event, the hash and the time of it.
    bookings, spent, left
        What it added up to, in words.
    file
        Where the witness is kept.
    """

    identity: str
    path: str
    number: int
    head: str
    time: str
    bookings: int
    spent: str
    left: str
    file: Path = field(default=Path(), compare=False)

    def told(self) -> str:
        """Return in words what was seen, and by which witness."""
        return (
            f"at {self.time} it held {self.bookings:,} bookings with {self.spent} spent and "
            f"{self.left} left (witness {self.file})"
        )


def chosen_folder() -> Path | None:
    """Return the folder that the user chose for a second witness, if any."""
    named = os.environ.get(ENVIRONMENT, "")
    return Path(named).expanduser().absolute() if named else None


def _own_folder() -> Path | None:
    """Return the folder beside the key; None where the user has no home."""
    try:
        return keys.default_path().parent / "ledgers"
    except RuntimeError:
        return None


def prepare() -> None:
    """Raise unless the folder that the user chose can be written to; before anything is booked."""
    folder = chosen_folder()
    if folder is None:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
    except OSError as error:
        raise LedgerError(
            f"{ENVIRONMENT} names {folder} for a witness of the ledger, which cannot be written: "
            f"{error.strerror}; nothing was booked. Make it writable, or unset the variable"
        ) from error


def note(sight: Sight) -> None:
    """Write down what is seen of a ledger now, wherever a witness can be kept.

    It happens after an event was made durable, so nothing may be raised: the event is there.
    """
    document = asdict(sight)
    del document["file"]
    content = canonical({name: _plain(item) for name, item in document.items()})
    chosen = chosen_folder()
    for folder in (_own_folder(), chosen):
        if folder is None:
            continue
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_synced(folder / f"{sight.identity}.json", content)
        except OSError as error:
            # Beside the key it is a help and no promise: not everybody who books has a home.
            if folder == chosen:
                warnings.warn(
                    f"the witness of {sight.path} in {folder} was not updated: {error.strerror}",
                    RuntimeWarning,
                    stacklevel=4,
                )


def _plain(item: Any) -> Any:
    """Return a path that is no text as text that any file can hold."""
    return item.encode("utf-8", "replace").decode("utf-8") if isinstance(item, str) else item


def last_seen(identity: str) -> list[Sight]:
    """Return what all witnesses have seen of a ledger."""
    found = [_read(folder / f"{identity}.json") for folder in _folders()]
    return [sight for sight in found if sight is not None]


def last_seen_at(path: Path) -> list[Sight]:
    """Return what witnesses have seen of ledgers at a path, the latest first."""
    place = _plain(str(path))
    found = [
        sight
        for folder in _folders()
        for file in _list_witnesses(folder)
        if (sight := _read(file)) is not None and sight.path == place
    ]
    return sorted(found, key=lambda sight: (sight.time, sight.number), reverse=True)


def forget(path: Path) -> None:
    """Remove what the witness beside the key has seen at a path: what was there was no ledger."""
    own = _own_folder()
    for sight in last_seen_at(path):
        if sight.file.parent == own:
            sight.file.unlink(missing_ok=True)


def _folders() -> list[Path]:
    return [folder for folder in (_own_folder(), chosen_folder()) if folder is not None]


def _list_witnesses(folder: Path) -> Iterator[Path]:
    """Return the witnesses in a folder; none where it cannot be read."""
    try:
        yield from sorted(folder.glob("*.json"))
    except OSError:
        return


def _read(file: Path) -> Sight | None:
    """Return what a witness has seen, or None where there is none to be read."""
    try:
        document = read_json(file)
        texts = {name: document[name] for name in _TEXTS}
        numbers = {name: document[name] for name in _NUMBERS}
        sound = all(isinstance(item, str) for item in texts.values())
        sound = sound and all(type(item) is int for item in numbers.values())
    except OSError:
        return None
    except (ValueError, TypeError, KeyError):
        sound = False
    if not sound:
        raise LedgerError(
            f"the witness {file} is damaged, so an older copy of the ledger cannot be "
            "recognised. Compare the ledger with the certificates of its releases (`sfumato "
            "ledger check LEDGER RELEASE…`), then delete the witness"
        )
    return Sight(**texts, **numbers, file=file)
