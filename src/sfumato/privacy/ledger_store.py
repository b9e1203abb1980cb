"""The ledger's file: a hash-chained, append-only list of events in SQLite.

It may never lose an event whose `append` returned, show half of one, or change or remove one. The
rollback journal with `synchronous=EXTRA` is used because the write-ahead log is not safe on a
shared drive. A connection lives for one operation only, and no fork happens while one is open. The
file must never be opened by other means in this process: closing it would drop SQLite's locks.

A checkpoint says what the events up to one of them add up to, and the hash of all their bytes.
Whoever opens the file hashes these bytes instead of reading every event again; nothing is taken
from a checkpoint whose bytes are not the same as when it was made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from sfumato.privacy.canonical import canonical, digest
from sfumato.privacy.durable import sync_folder

#: "SFUM" in the header of the file, so that tools know what it is.
APPLICATION = 0x5346554D
#: The version of the format; any other is refused.
FORMAT = 2
#: What the first event names as its predecessor.
GENESIS = "0" * 64
#: After how many events a checkpoint is made.
CHECKPOINT = 1000
#: How many seconds to wait for other processes before giving up.
PATIENCE = 60.0

_SCHEMA = (
    # The body is canonical JSON and names the hash of the event before it.
    "CREATE TABLE event (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE secret (value BLOB NOT NULL)",
    "CREATE TABLE checkpoint (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    # Against mistakes, not against an enemy: the chain shows what an enemy changed.
    "CREATE TRIGGER event_update BEFORE UPDATE ON event "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
    "CREATE TRIGGER event_delete BEFORE DELETE ON event "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END",
)


# Bytes are compared as they are: text that is none is damage, and no other error.
_ROW = "number, CAST(body AS BLOB), CAST(hash AS BLOB)"


class LedgerError(ValueError):
    """The ledger refused, or its file cannot be used."""


class Gone(LedgerError):
    """There is no file, or nothing in it."""


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


@dataclass(frozen=True)
class Reading:
    """The chain as it is read from the file.

    Parameters
    ----------
    secret
        The key of the fingerprint; it must not be shown to anybody.
    first
        The first event.
    checkpoint
        What the events up to one of them add up to; None where there is no checkpoint.
    events
        The events, in order, to be gone through once: from the one the checkpoint speaks of, or
        from the first where there is none or the whole was asked for.
    """

    secret: bytes
    first: Event
    checkpoint: dict[str, Any] | None
    events: Iterator[Event]


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
        if os.path.lexists(path):
            raise _in_the_way(path)
        try:
            # A ledger appears whole: an empty file is never one whose making was interrupted.
            handle, name = tempfile.mkstemp(prefix=".sfumato-", dir=path.parent)
            os.close(handle)
            draft = cls(Path(name))
        except OSError as error:
            raise LedgerError(f"{path} cannot be created: {error.strerror}") from error
        try:
            os.chmod(draft.path, 0o600)
            with draft._connection() as connection:
                draft._begin(connection, secret, Event.after(0, GENESIS, content))
            _publish(draft.path, path)
        except OSError as error:
            raise LedgerError(f"{path} cannot be created: {error.strerror}") from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft.path)
        return cls(path)

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

    @contextlib.contextmanager
    def reading(self, *, whole: bool = False) -> Iterator[Reading]:
        """Read the chain while nobody writes.

        Parameters
        ----------
        whole
            Whether all events are wanted, also those that a checkpoint sums up.
        """
        with self._connection() as connection:
            self._refuse_stranger(connection)
            connection.execute("BEGIN")
            yield self._reading(connection, whole)

    def events(self, start: int) -> list[Event]:
        """Return the events from number `start` on, each with its own hash checked."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            return list(self._read(connection, start))

    def hash_of(self, number: int) -> str | None:
        """Return the hash of the event of that number, as it was written."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            found = connection.execute("SELECT hash FROM event WHERE number = ?", (number,))
            return next((mark for (mark,) in found), None)

    def holds(self, mark: str) -> bool:
        """Tell whether an event has that hash."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            found = connection.execute("SELECT count(*) FROM event WHERE hash = ?", (mark,))
            return bool(found.fetchone() != (0,))

    def secret(self) -> bytes:
        """Return the key of the fingerprint; it must not be shown to anybody."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            return self._secret(connection)

    def append(
        self,
        start: int,
        decide: Callable[[list[Event]], dict[str, Any]],
        summarize: Callable[[Reading], dict[str, Any]],
    ) -> Event:
        """Add one event in one transaction, and return it once it is durable.

        Parameters
        ----------
        start
            The number from which on the existing events are wanted.
        decide
            Given those events, under the lock that keeps all others from writing, returns the
            content of the new one, or raises, in which case nothing is written.
        summarize
            Given the chain with the new event, returns what it adds up to, for a checkpoint.
        """
        with self._connection() as connection:
            self._refuse_stranger(connection)
            # IMMEDIATE: the lock is taken before reading, so that what is read stays true.
            connection.execute("BEGIN IMMEDIATE")
            known = list(self._read(connection, start))
            content = decide(known)
            event = Event.after(known[-1].number + 1, known[-1].hash, content)
            _insert(connection, event)
            if event.number % CHECKPOINT == 0:
                summary = summarize(self._reading(connection, whole=False))
                self._write_checkpoint(connection, event.number, summary)
            self._commit(connection, event)
            return event

    def _write_checkpoint(
        self, connection: sqlite3.Connection, number: int, summary: dict[str, Any]
    ) -> None:
        """Replace the checkpoint by one that speaks of all events up to a number."""
        content = canonical({**summary, "chain": self._chain(connection, number)})
        connection.execute("DELETE FROM checkpoint")
        connection.execute(
            "INSERT INTO checkpoint VALUES (?, ?, ?)",
            (number, content.decode("utf-8"), digest(content)),
        )

    def _reading(self, connection: sqlite3.Connection, whole: bool) -> Reading:
        """Return the chain, from the checkpoint on where the whole is not wanted."""
        first = next(self._read(connection, 0))
        checkpoint = self._checkpoint(connection)
        start = 0 if whole or checkpoint is None else checkpoint["number"]
        return Reading(self._secret(connection), first, checkpoint, self._read(connection, start))

    def _checkpoint(self, connection: sqlite3.Connection) -> dict[str, Any] | None:
        """Return the checkpoint after seeing that its events are those it was made of."""
        rows = connection.execute(f"SELECT {_ROW} FROM checkpoint").fetchall()
        if not rows:
            return None
        number, content, mark = rows[0]
        try:
            body: dict[str, Any] = json.loads(content)
            sound = _canonical_form(body) == content and digest(content) == _text(mark)
            sound = sound and len(rows) == 1 and body["number"] == number
            same = sound and body["chain"] == self._chain(connection, number)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self.damage_error("its checkpoint cannot be read") from None
        if not same:
            # Reading every event tells which one it was, where one can be told.
            self._read_to_the_end(connection)
            raise self.damage_error("its events are not those that its checkpoint was made of")
        return body

    def _read_to_the_end(self, connection: sqlite3.Connection) -> None:
        """Read every event, and raise at the first that does not follow the one before it."""
        before = None
        for event in self._read(connection, 0):
            if before is not None and event.previous != before.hash:
                raise self.damage_error(
                    f"event {event.number} does not follow event {before.number}"
                )
            before = event

    def _chain(self, connection: sqlite3.Connection, number: int) -> str:
        """Return a hash of all bytes of the events up to a number."""
        rows = connection.execute(
            "SELECT CAST(number || body || hash AS BLOB) FROM event "
            "WHERE number <= ? ORDER BY number",
            (number,),
        )
        whole = hashlib.sha256()
        while piece := rows.fetchmany(4096):
            whole.update(b"".join(chain.from_iterable(piece)))
        return whole.hexdigest()

    def _secret(self, connection: sqlite3.Connection) -> bytes:
        rows = connection.execute("SELECT value FROM secret").fetchall()
        if len(rows) != 1 or not isinstance(rows[0][0], bytes):
            raise self.damage_error("its secret is missing")
        return rows[0][0]

    def examine(self) -> None:
        """Raise if SQLite finds the file damaged."""
        with self._connection() as connection:
            self._refuse_stranger(connection)
            findings = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if findings != ("ok",):
                raise self.damage_error("SQLite's integrity check fails")

    def damage_error(self, how: str) -> LedgerError:
        """Return the error for a file that cannot be trusted any more."""
        return LedgerError(
            f"the ledger {self.path} is damaged or was edited: {how}. Do not release anything "
            "from its data set until the ledger is restored from a backup that holds every entry "
            "named in the certificates of its releases"
        )

    def _read(self, connection: sqlite3.Connection, start: int) -> Iterator[Event]:
        """Go through the events from number `start` on; there must be at least one."""
        rows = connection.execute(
            f"SELECT {_ROW} FROM event WHERE number >= ? ORDER BY number", (start,)
        )
        row = rows.fetchone()
        if row is None:
            raise self.damage_error(f"event {start} is missing")
        while row is not None:
            yield self._parse_event(*row)
            row = rows.fetchone()

    def _parse_event(self, number: int, content: bytes, mark: bytes) -> Event:
        """Return a stored event whose own hash holds."""
        try:
            body = json.loads(content)
            sound = _canonical_form(body) == content and body["number"] == number
            linked = isinstance(body["previous"], str)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.damage_error(f"event {number} cannot be read") from None
        own = _text(mark)
        if not sound or digest(content) != own:
            raise self.damage_error(f"event {number} does not match its hash")
        if not linked:
            raise self.damage_error(f"event {number} names no event before it")
        return Event(number, body, own)

    def _refuse_stranger(self, connection: sqlite3.Connection) -> None:
        """Raise unless the file is a ledger in a format this version reads."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application == 0 and os.path.getsize(self.path) == 0:
            raise Gone(
                f"{self.path} is an empty file. A ledger is never empty, so this is not a "
                "ledger, or its content was lost. If releases were ever booked in it, restore it "
                "from a backup; if not, delete the file and create the ledger again"
            )
        if application != APPLICATION:
            raise LedgerError(f"{self.path} is an SQLite file, but not a ledger of sfumato")
        if version > FORMAT:
            raise LedgerError(
                f"the ledger {self.path} was made by a newer version of sfumato (format {version}; "
                f"this version reads format {FORMAT}); update sfumato"
            )
        if version != FORMAT:
            raise LedgerError(
                f"{self.path} is a ledger of format {version}, and this version reads format "
                f"{FORMAT} only. Format 1 was in use before the first release of sfumato. If this "
                "file was in use since, it is damaged: restore it from a backup"
            )

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
                raise LedgerError(self._explain_error(error)) from error
            except UnicodeDecodeError:
                # What the sqlite3 module raises where SQLite's own message quotes damaged text.
                raise self.damage_error("it holds text that is none") from None

    def _refuse_missing(self) -> None:
        """Raise if there is no such file; SQLite would say no more than that it cannot open it."""
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            raise Gone(
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
                f"writing to the ledger {self.path} failed during the commit, and the entry MAY "
                f"HAVE BEEN BOOKED: {error}. Count it as spent until history() shows whether it "
                "is there"
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

    def _explain_error(self, error: sqlite3.Error) -> str:
        """Return what an SQLite error means for the owner of the ledger."""
        code = _kind(error)
        if code == sqlite3.SQLITE_NOTADB:
            return f"{self.path} is not a ledger: it is not an SQLite file"
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA):
            return str(self.damage_error(f"SQLite says {error}"))
        meaning = _MEANING.get(code, "the ledger {path} cannot be used").format(path=self.path)
        return f"{meaning} (SQLite: {error}); nothing was booked"


_MEANING = {
    sqlite3.SQLITE_BUSY: "the ledger {path} is locked by other processes; try again",
    sqlite3.SQLITE_READONLY: "the ledger {path} is read-only; make the file and its folder "
    "writable",
    sqlite3.SQLITE_PERM: "the ledger {path} cannot be used by you; ask its owner for access",
    sqlite3.SQLITE_CANTOPEN: "the ledger {path} cannot be opened; both the file and its folder "
    "must be readable and writable",
    sqlite3.SQLITE_FULL: "the disk of the ledger {path} is full",
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


def _publish(draft: Path, path: Path) -> None:
    """Give a finished file its name; refuse if that name is taken by now."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise _in_the_way(path) from None
    except OSError:
        # A drive without links. For a moment there is an empty file, which is refused as damaged.
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise _in_the_way(path) from None
        os.replace(draft, path)
    sync_folder(path.parent)


def _in_the_way(path: Path) -> LedgerError:
    return LedgerError(
        f"{path} exists, and a ledger is never overwritten; open it with Ledger.open, or choose "
        "another path"
    )


def _text(content: bytes) -> str:
    """Return stored text; what is none becomes text that no hash equals."""
    return content.decode("utf-8", errors="replace")


def _canonical_form(body: Any) -> bytes:
    """Return a document that was read from JSON in its canonical form, which such a one has."""
    return _encode(body).encode("utf-8")


_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
