"""The ledger's file: a hash-chained, append-only list of events in SQLite.

It may never lose an event whose `append` returned, show half of one, or change or remove one. The
rollback journal with `synchronous=EXTRA` is used because the write-ahead log is not safe on a
shared drive. A connection lives for one operation only, and no fork happens while one is open. The
file must never be opened by other means in this process: closing it would drop SQLite's locks.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.privacy.canonical import canonical, digest

#: "SFUM" in the header of the file, so that tools know what it is.
APPLICATION = 0x5346554D
#: The version of the format; a newer one is refused.
FORMAT = 1
#: What the first event names as its predecessor.
GENESIS = "0" * 64
#: How many seconds to wait for other processes before giving up.
PATIENCE = 60.0

_SCHEMA = (
    # The body is canonical JSON and names the hash of the event before it.
    "CREATE TABLE event (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE secret (value BLOB NOT NULL)",
    # Against mistakes, not against an enemy: the chain shows what an enemy changed.
    "CREATE TRIGGER event_update BEFORE UPDATE ON event "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
    "CREATE TRIGGER event_delete BEFORE DELETE ON event "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
)


class LedgerError(ValueError):
    """The ledger refused, or its file cannot be used."""


@dataclass(frozen=True)
class Event:
    """One link of the chain.

    Parameters
    ----------
    number
        Its place in the chain, from 0.
    body
        What happened, with the hash of the event before it.
    hash
        The SHA-256 of the canonical body.
    """

    number: int
    body: dict[str, Any]
    hash: str

    @property
    def previous(self) -> str:
        """The hash of the event before this one."""
        return str(self.body["previous"])

    @classmethod
    def after(cls, number: int, previous: str, content: dict[str, Any]) -> Event:
        """Return the event that follows number − 1, whose hash is `previous`."""
        body = {**content, "number": number, "previous": previous}
        return cls(number, body, digest(canonical(body)))


# Held while a connection is open. A child that inherited one would share its file locks and could
# roll back what the parent is committing, so a fork waits.
_connected = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_connected.acquire,
        after_in_parent=_connected.release,
        after_in_child=_connected.release,
    )


class Store:
    """The file of one ledger.

    Parameters
    ----------
    path
        The file; its folder must be writable, because the journal is kept beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, secret: bytes, content: dict[str, Any]) -> Store:
        """Make a new file with the first event, for its owner alone; refuse an existing one."""
        try:
            # Made empty and at once, so that two processes cannot both make it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            os.chmod(path, 0o600)
        except FileExistsError:
            raise LedgerError(
                f"{path} exists, and a ledger is never overwritten; open it with Ledger.open, or "
                "choose another path"
            ) from None
        except OSError as error:
            raise LedgerError(f"{path} cannot be created: {error.strerror}") from error
        store = cls(path)
        try:
            with store._connection() as connection:
                store._begin(connection, secret, Event.after(0, GENESIS, content))
        except LedgerError:
            # Nobody has used it, and an empty file would only stand in the way.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise
        return store

    def _begin(self, connection: sqlite3.Connection, secret: bytes, first: Event) -> None:
        """Write everything that a new file holds in one transaction."""
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("INSERT INTO secret VALUES (?)", (secret,))
        _insert(connection, first)
        connection.execute("COMMIT")

    def events(self, start: int = 0) -> list[Event]:
        """Return the events from number `start` on, each with its own hash checked."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            return self._read(connection, start)

    def secret(self) -> bytes:
        """Return the key of the fingerprint; it must not be shown to anybody."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            rows = connection.execute("SELECT value FROM secret").fetchall()
            if len(rows) != 1 or not isinstance(rows[0][0], bytes):
                raise self.damaged("its secret is missing")
            return rows[0][0]

    def append(self, start: int, decide: Callable[[list[Event]], dict[str, Any]]) -> Event:
        """Add one event in one transaction, and return it once it is durable.

        Parameters
        ----------
        start
            The number from which on the existing events are wanted.
        decide
            Given those events, under the lock that keeps all others from writing, returns the
            content of the new one, or raises, in which case nothing is written.
        """
        with self._connection() as connection:
            self._refuse_stranger(connection)
            # IMMEDIATE: the lock is taken before reading, so that what is read stays true.
            connection.execute("BEGIN IMMEDIATE")
            known = self._read(connection, start)
            content = decide(known)
            event = Event.after(known[-1].number + 1, known[-1].hash, content)
            _insert(connection, event)
            self._commit(connection, event)
            return event

    def examine(self) -> None:
        """Raise if SQLite finds the file damaged."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            findings = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if findings != ("ok",):
                raise self.damaged("SQLite's integrity check fails")

    def damaged(self, how: str) -> LedgerError:
        """Return the error for a file that cannot be trusted any more."""
        return LedgerError(
            f"the ledger {self.path} is damaged or was changed by hand: {how}. Do not release "
            "anything from its data set until it is restored from a backup that holds every entry "
            "named in the certificates of its releases"
        )

    def _read(self, connection: sqlite3.Connection, start: int) -> list[Event]:
        """Return the events from number `start` on; there must be at least one."""
        rows = connection.execute(
            "SELECT number, body, hash FROM event WHERE number >= ? ORDER BY number", (start,)
        ).fetchall()
        if not rows:
            raise self.damaged(f"event {start} is missing")
        return [self._parsed(*row) for row in rows]

    def _parsed(self, number: int, text: str, mark: str) -> Event:
        """Return a stored event whose own hash holds."""
        try:
            content = text.encode("utf-8")
            body = json.loads(content)
            sound = canonical(body) == content and body["number"] == number
            linked = isinstance(body["previous"], str)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.damaged(f"event {number} cannot be read") from None
        if not sound or digest(content) != mark:
            raise self.damaged(f"event {number} does not match its hash")
        if not linked:
            raise self.damaged(f"event {number} names no event before it")
        return Event(number, body, mark)

    def _refuse_stranger(self, connection: sqlite3.Connection) -> None:
        """Raise unless the file is a ledger in a format this version reads."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application == 0 and os.path.getsize(self.path) == 0:
            raise LedgerError(
                f"{self.path} is an empty file: the making of a ledger was interrupted and nothing "
                "was ever booked; delete it and create the ledger again"
            )
        if application != APPLICATION:
            raise LedgerError(f"{self.path} is an SQLite file, but not a ledger of sfumato")
        if version > FORMAT:
            raise LedgerError(
                f"the ledger {self.path} was made by a newer version of sfumato (format {version}; "
                f"this version reads format {FORMAT}); update sfumato"
            )
        if version != FORMAT:
            raise self.damaged(f"format {version} was never in use")

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation; whatever is not committed is rolled back."""
        with _connected:
            self._refuse_missing()
            try:
                with contextlib.closing(self._connect()) as connection:
                    self._set_up(connection)
                    yield connection
            except sqlite3.Error as error:
                raise LedgerError(self._explained(error)) from error

    def _refuse_missing(self) -> None:
        """Raise if there is no such file; SQLite would say no more than that it cannot open it."""
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            raise LedgerError(
                f"there is no ledger at {self.path}; make one with Ledger.create, or with "
                "`sfumato ledger create`"
            ) from None
        except OSError as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be opened: {error.strerror}; nothing was booked"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: a missing file is an error and is not made.
        return sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None
        )

    def _set_up(self, connection: sqlite3.Connection) -> None:
        """Ask for the durability that the ledger promises, and see that it is given."""
        # EXTRA also syncs the folder, so that a removed journal stays removed after a power cut;
        # fullfsync makes macOS write through the drive's cache.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        (journal,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
        if journal != "delete" or synchronous != 3:
            raise LedgerError(
                f"SQLite {sqlite3.sqlite_version} does not keep {self.path} durably "
                f"(journal {journal}, synchronous {synchronous})"
            )

    def _commit(self, connection: sqlite3.Connection, event: Event) -> None:
        """Commit an event; where that fails, say whether it may be there all the same."""
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            connection.close()
            # A commit that found the file busy has written nothing.
            if _kind(error) == sqlite3.SQLITE_BUSY or self._certainly_absent(event):
                raise
            raise LedgerError(
                f"writing to the ledger {self.path} failed at the last moment, and the entry MAY "
                f"HAVE BEEN BOOKED: {error}. Count it as spent until history() shows whether it is "
                "there"
            ) from error

    def _certainly_absent(self, event: Event) -> bool:
        """Tell whether a fresh look at the file shows that the event was not written."""
        try:
            with contextlib.closing(self._connect()) as connection:
                found = connection.execute(
                    "SELECT count(*) FROM event WHERE hash = ?", (event.hash,)
                ).fetchone()
        except sqlite3.Error:
            return False
        return bool(found == (0,))

    def _explained(self, error: sqlite3.Error) -> str:
        """Return what an SQLite error means for the owner of the ledger."""
        code = _kind(error)
        if code == sqlite3.SQLITE_NOTADB:
            return f"{self.path} is not a ledger: it is not an SQLite file"
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA):
            return str(self.damaged(f"SQLite says {error}"))
        meaning = _MEANING.get(code, "the ledger {path} cannot be used").format(path=self.path)
        return f"{meaning} (SQLite: {error}); nothing was booked"


_MEANING = {
    sqlite3.SQLITE_BUSY: "other processes kept the ledger {path} busy for too long; try again",
    sqlite3.SQLITE_READONLY: "the ledger {path} is read-only; make the file and its folder "
    "writable",
    sqlite3.SQLITE_PERM: "the ledger {path} may not be used by you; ask its owner",
    sqlite3.SQLITE_CANTOPEN: "the ledger {path} cannot be opened; both the file and its folder "
    "must be readable and writable",
    sqlite3.SQLITE_FULL: "there is no room left on the disk of the ledger {path}",
    sqlite3.SQLITE_IOERR: "the disk of the ledger {path} cannot be read or written",
}


def _kind(error: sqlite3.Error) -> int:
    """Return the kind of an SQLite error; errors of the Python module itself carry none."""
    # The low byte is the kind; the rest is detail.
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _insert(connection: sqlite3.Connection, event: Event) -> None:
    connection.execute(
        "INSERT INTO event VALUES (?, ?, ?)",
        (event.number, canonical(event.body).decode("utf-8"), event.hash),
    )
