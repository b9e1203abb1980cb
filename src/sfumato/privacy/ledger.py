"""The ledger: the durable account of what was spent on one data set.

A booking is made before private data are used, in one transaction, and is never refunded: whatever
then happens, the ledger never shows less than was spent. Concurrent processes cannot together
overspend. The secret and the fingerprint of the data never leave the file.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.noise.bits import bits
from sfumato.privacy import ledger_witness as witness
from sfumato.privacy.canonical import canonical
from sfumato.privacy.canonical import digest as sha256
from sfumato.privacy.escaping import escape
from sfumato.privacy.guarantee import Guarantee, Relation, Unit
from sfumato.privacy.ledger_account import (
    OUTCOMES,
    Account,
    Binding,
    Contradiction,
    Entry,
    History,
    Outcome,
    went_back,
)
from sfumato.privacy.ledger_store import Event, Gone, LedgerError, Reading, Store
from sfumato.privacy.ledger_terms import BudgetExceeded, Terms
from sfumato.privacy.loss import Loss, loss_from_json, zero
from sfumato.privacy.notebook import show_facts, show_table
from sfumato.privacy.unsaved import UnsavedRelease, all_kept

if TYPE_CHECKING:
    from sfumato.privacy.release import Release

__all__ = ["Binding", "BudgetExceeded", "Digest", "Entry", "Ledger", "LedgerError"]

#: Given a secret key, returns a keyed digest of the whole data set: `lambda key: hmac(key, data)`.
Digest: TypeAlias = Callable[[bytes], bytes]

_SHORTEST_DIGEST = 16
#: How many bookings a notebook shows: the last ones.
_SHOWN = 10


class Ledger:
    """The durable account of one data set.

    Make one with `Ledger.create` and find it again with `Ledger.open`. The object holds no open
    file: it can be shared between threads, and used after a fork or in another process. Data and
    releases cannot follow everywhere: in a child that was forked after its parent used Polars they
    are refused before anything is booked. Use `multiprocessing.get_context("spawn")`.
    """

    def __init__(self, store: Store, account: Account) -> None:
        self._store = store
        # A value that only ever grows: an older one is still true of the beginning of the chain.
        self._account = account

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        allow: Loss,
        unit: Unit | str = Unit.ROW,
        relation: Relation | str = Relation.ADD_REMOVE,
    ) -> Ledger:
        """Make the ledger of a data set; an existing file is refused.

        Parameters
        ----------
        path
            The file, made readable for its owner alone. Its folder must be writable.
        allow
            The total loss allowed for all releases. The ledger sums in its
            measure: pure, approximate or zero-concentrated.
        unit
            The protected unit. If one person can have several rows, it is "person".
        relation
            The neighbouring relation: "add_remove" or "replace_one".
        """
        terms = Terms(allow=allow, unit=Unit.parse(unit), relation=Relation.parse(relation))
        place = _absolute(path)
        _refuse_successor(place)
        witness.prepare()
        source = bits()
        if not source.private:
            raise LedgerError(
                "a ledger's secret may not come from the seeded source; create it outside of "
                "noise.seeded()"
            )
        secret, identity = source.words(4).tobytes(), source.words(2).tobytes().hex()
        content = {
            "event": "opened",
            "time": _now(),
            "identity": identity,
            "terms": terms.to_json(),
            "secret": sha256(secret),
            "spent": zero(type(allow)).to_json(),
        }
        Store.create(place, secret, content)
        made = cls.open(path)
        made._tell_witnesses(made._account)
        return made

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger, and see that it is whole and no older than when last seen.

        Parameters
        ----------
        path
            The file that `Ledger.create` made.

        Raises
        ------
        LedgerError
            If the file is missing, empty, damaged or changed, or older than what a witness of it
            has seen: one is kept beside the key, and one in the folder that $SFUMATO_WITNESS names.
        """
        store = Store(_absolute(path))
        try:
            opened = cls(store, _replay_account(store))
        except Gone as error:
            raise _missing_error(store.path, error) from None
        opened._refuse_older_copy()
        return opened

    def __reduce__(self) -> tuple[Callable[[Path], Ledger], tuple[Path]]:
        # Another process reads the file itself; what this one knows does not travel.
        return Ledger.open, (self.path,)

    def __repr__(self) -> str:
        terms = self._account.terms
        return (
            f"Ledger({str(self.path)!r}, allow={terms.allow}, unit='{terms.unit}', "
            f"relation='{terms.relation}')"
        )

    def _repr_html_(self) -> str:
        entries = self.history()
        facts = [
            ("allowed", self.allow),
            ("spent", self.spent),
            ("left", self.remaining),
            ("unit", self.unit),
            ("relation", self.relation),
            ("bookings", len(entries)),
        ]
        account = show_facts(f"Ledger {self.path}", facts)
        if not entries:
            return account
        rows = [
            (entry.number, entry.time, entry.kind, entry.method, entry.charged, entry.status)
            for entry in entries[-_SHOWN:]
        ]
        head = ("entry", "time", "kind", "method", "charged", "status")
        return account + show_table("Last bookings", head, rows)

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

    @property
    def name(self) -> str:
        """The name of the file as text: references to its entries give it, in certificates too."""
        return self._account.name

    @property
    def identity(self) -> str:
        """A random name that is unique to this ledger."""
        return self._account.identity

    @property
    def allow(self) -> Loss:
        """The total loss allowed for all releases."""
        return self._account.terms.allow

    @property
    def unit(self) -> Unit:
        """The protected unit."""
        return self._account.terms.unit

    @property
    def relation(self) -> Relation:
        """The neighbouring relation."""
        return self._account.terms.relation

    @property
    def spent(self) -> Loss:
        """The sum of everything booked so far, by any process."""
        return self._current().spent

    @property
    def remaining(self) -> Loss:
        """What may still be booked."""
        return self._account.terms.left(self.spent)

    @property
    def bookings(self) -> int:
        """The number of bookings."""
        return self._current().bookings

    @property
    def head(self) -> str:
        """The hash of the last event of the chain."""
        return self._current().head

    def history(self) -> list[Entry]:
        """Return all bookings, the oldest first, each with its outcome."""
        return self._history().entries

    def bindings(self) -> list[Binding]:
        """Return when the ledger was bound to its data set, and why to changed data."""
        return self._history().bindings

    def setbacks(self) -> list[tuple[str, str]]:
        """Return where the clock went back: the time of an event, and the earlier of the next."""
        return self._history().setbacks

    def contains(self, hash: str) -> bool:
        """Tell whether an event of the chain has that hash.

        A certificate carries the hash of its entry. If it is missing here, the ledger was replaced
        by an older copy or its end was cut off.
        """
        with self._knowing():
            _replay_account(self._store)
            return self._store.holds(hash)

    def check(self) -> None:
        """Read everything anew and raise if any of it was damaged or changed."""
        with self._knowing():
            self._store.examine()
        self._read_whole(None)
        self._refuse_older_copy()

    def unsaved(self) -> list[Entry]:
        """Return the entries whose release was never saved and is kept for recovery."""
        kept = {item.number for item in all_kept(self.path)}
        return [entry for entry in self.history() if entry.number in kept] if kept else []

    def recover(self, number: int) -> Release:
        """Return a release that was booked but never saved; no data are needed.

        It is kept until it is saved. A release whose process was killed after its data were
        measured is ended in the ledger now.

        Parameters
        ----------
        number
            The number of its entry.
        """
        from sfumato.privacy import door

        return door.recover(self, number)

    def discard(self, number: int) -> None:
        """Remove the kept transcript of a release that is no longer wanted; it stays booked.

        Parameters
        ----------
        number
            The number of its entry.
        """
        UnsavedRelease(self.path, number).discard()

    def witnesses(self) -> list[Path]:
        """Return the files that hold what was last seen of this ledger, away from it."""
        return [sight.file for sight in witness.last_seen(self.identity)]

    def book(
        self,
        guarantee: Guarantee,
        *,
        kind: str,
        method: str,
        parameters: dict[str, Any],
        digest: Digest | None,
    ) -> Entry:
        """Book the whole loss of a release before its data are used.

        Parameters
        ----------
        guarantee
            What the release will promise.
        kind
            The handle it goes through, such as "release" or "session".
        method
            The name of the method.
        parameters
            Its public parameters, as plain JSON.
        digest
            Given the ledger's secret, returns a keyed digest of the data set. The first one binds
            the ledger to the data; later ones must agree with it. None books without looking at
            the data, which only a ledger that is not yet bound allows.

        Raises
        ------
        BudgetExceeded
            If the loss exceeds what is left.
        LedgerError
            If the guarantee cannot be booked here, the data are not the ledger's, or the file
            cannot be written. Nothing is booked then, unless the message says that it may be.
        """
        _refuse_unnamed(kind=kind, method=method)
        witness.prepare()
        charge = self._account.terms.charge(guarantee)
        content = {
            "event": "booked",
            "kind": kind,
            "method": method,
            "parameters": _plain(parameters),
            "guarantee": guarantee.to_json(),
        }
        # Refused without touching the data where that is already clear.
        before = self._current()
        self._affordable(charge, guarantee, before)
        self._warn_of_the_clock(before)
        # Hashing the data may take long, so it is done before the file is locked.
        fingerprint = self._fingerprint(digest)

        def decide(account: Account) -> dict[str, Any]:
            self._refuse_other_data(fingerprint, account)
            charged = self._affordable(charge, guarantee, account)
            return {
                **content,
                "entry": account.bookings + 1,
                "charged": charged.to_json(),
                "spent": account.terms.total(account.spent, charged).to_json(),
                "data": fingerprint,
            }

        booked = self._append(decide)
        return Entry(
            ledger=self.name,
            number=booked.body["entry"],
            time=booked.body["time"],
            kind=kind,
            method=method,
            parameters=booked.body["parameters"],
            guarantee=Guarantee.from_json(booked.body["guarantee"]),
            charged=loss_from_json(booked.body["charged"]),
            status="booked",
            previous=booked.previous,
            hash=booked.hash,
        )

    def finish(self, entry: Entry, *, status: Outcome, note: str = "") -> None:
        """Record the outcome of a booking; it is never refunded.

        Parameters
        ----------
        entry
            What `book` returned.
        status
            "released", "aborted" (nothing was published) or "closed" (a session ended).
        note
            A short note. It is kept permanently and must not contain private values.
        """
        if status not in OUTCOMES:
            raise LedgerError(f"status must be one of {', '.join(OUTCOMES)}; got {status!r}")
        if not isinstance(note, str):
            raise LedgerError(f"a note is text; got {type(note).__name__}")

        def decide(account: Account) -> dict[str, Any]:
            if account.pending.get(entry.number) != entry.hash:
                raise self._not_pending(entry)
            return {"event": "finished", "entry": entry.number, "status": status, "note": note}

        self._append(decide)

    def bind(self, digest: Digest) -> None:
        """Bind the ledger to its data set, or see that it is bound to this one.

        Parameters
        ----------
        digest
            Given the ledger's secret, returns a keyed digest of the data set.
        """
        fingerprint = self._fingerprint(digest)
        account = self._current()
        self._refuse_other_data(fingerprint, account)
        if account.fingerprint is not None:
            return

        def decide(account: Account) -> dict[str, Any]:
            self._refuse_other_data(fingerprint, account)
            return {"event": "bound", "data": fingerprint, "reason": ""}

        self._append(decide)

    def rebind(self, digest: Digest, *, reason: str) -> None:
        """Accept that the data changed; the loss already spent still counts.

        Parameters
        ----------
        digest
            Given the ledger's secret, returns a keyed digest of the data set as it is now.
        reason
            Why these are still the data of the same people; it is kept for ever.
        """
        if not reason.strip():
            raise LedgerError(
                "reason must state why the changed data belong to this ledger; it was empty"
            )
        fingerprint = self._fingerprint(digest)
        self._append(lambda account: {"event": "bound", "data": fingerprint, "reason": reason})

    def _not_pending(self, entry: Entry) -> LedgerError:
        """Return why an entry cannot be ended."""
        for known in self.history():
            if known.hash == entry.hash:
                return LedgerError(f"{entry.reference} has already ended as {known.status}")
        return LedgerError(f"{entry.reference} is not an entry of {self.path}")

    def _history(self) -> History:
        """Return all bookings and bindings; the whole chain is read and checked."""
        history = History()
        self._read_whole(history)
        return history

    def _read_whole(self, history: History | None) -> None:
        """Read the whole chain, and check every event and the checkpoint."""
        with self._knowing(), self._store.reading(whole=True) as reading:
            account = _whole_account(self._store, reading, history)
        self._refuse_other_past(account)
        self._account = account

    def _current(self) -> Account:
        """Return the account as the file has it now."""
        before = self._account
        with self._knowing():
            events = self._store.events(before.number)
        # The local value is returned: another thread may by now have set an older one.
        self._account = account = self._follow_events(before, events)
        return account

    def _append(self, decide: Callable[[Account], dict[str, Any]]) -> Event:
        """Append the event that `decide` makes of the account under the lock, and return it.

        Threads may race for `_account`; each works on its own value and any of them is true.
        """
        before = account = self._account
        last = None

        def content(events: list[Event]) -> dict[str, Any]:
            nonlocal account, last
            account, last = self._follow_events(before, events), events[-1]
            return {**decide(account), "time": _now()}

        with self._knowing():
            event = self._store.append(
                before.number, content, lambda reading: _account(self._store, reading).to_json()
            )
        assert last is not None
        self._account = account = self._follow_events(account, [last, event])
        self._tell_witnesses(account)
        return event

    def _tell_witnesses(self, account: Account) -> None:
        """Have the witnesses see the account as it is after an event that is durable."""
        terms = account.terms
        witness.note(
            witness.Sight(
                identity=account.identity,
                path=str(self.path),
                number=account.number,
                head=account.head,
                time=account.time,
                bookings=account.bookings,
                spent=str(account.spent),
                left=str(terms.left(account.spent)),
            )
        )

    def _refuse_other_past(self, account: Account) -> None:
        """Raise unless an account that was read anew goes on from the one that was known."""
        known = self._account
        if account.number < known.number:
            raise self._store.damage_error(f"event {known.number} is missing")
        if self._store.hash_of(known.number) != known.head:
            raise self._store.damage_error(f"event {known.number} is not the one seen before")

    def _refuse_older_copy(self) -> None:
        """Raise if a witness has seen more of this ledger than the file holds."""
        for sight in witness.last_seen(self.identity):
            # Another process may have booked and told the witness since the file was read.
            newer = sight.number > self._account.number and sight.number > self._current().number
            if newer or self._store.hash_of(sight.number) != sight.head:
                raise LedgerError(
                    f"the ledger {self.path} is older than the one that was last used, or was "
                    f"rewritten: {sight.told()}. Do not release anything from its data set with "
                    "this file. Restore the newest copy; if there is none, create a new ledger "
                    f"that allows the {sight.left} that was left, and keep {sight.file.name} "
                    "with the old one"
                )

    @contextlib.contextmanager
    def _knowing(self) -> Iterator[None]:
        """Have a file that is gone refused as what this handle knows it to be: a loss."""
        try:
            yield
        except Gone:
            known = self._account
            raise self._store.damage_error(
                f"it held {known.bookings:,} bookings ({known.spent} spent) when it was last read "
                f"here, and now {_reason(self.path)}"
            ) from None

    def _warn_of_the_clock(self, account: Account) -> None:
        """Warn if the last event was written at a time that is still to come."""
        if went_back(account.time, _now()):
            warnings.warn(
                f"the clock went back: it reads {_now()}, and the last event of {self.name} was "
                f"written at {account.time}; correct the clock of this machine, or of the one "
                "that wrote it. Times in certificates come from this clock",
                RuntimeWarning,
                stacklevel=3,
            )

    def _follow_events(self, account: Account, events: Sequence[Event]) -> Account:
        """Return the account after events that any process may have appended."""
        try:
            return account.follow(events)
        except Contradiction as error:
            raise self._store.damage_error(str(error)) from error

    def _affordable(self, charge: Loss, guarantee: Guarantee, account: Account) -> Loss:
        """Return the charge as it is booked, or raise if it is more than is left."""
        terms = account.terms
        charged = terms.settle(charge, account.spent)
        if not terms.fits(charged, account.spent):
            raise BudgetExceeded(
                self.name,
                asked=charged,
                left=terms.left(account.spent),
                allowed=terms.allow,
                source=terms.source(guarantee, charge),
            )
        return charged

    def _fingerprint(self, digest: Digest | None) -> str | None:
        """Return the keyed fingerprint of the data set, or None if it is not looked at."""
        if digest is None:
            return None
        secret = self._store.secret()
        value = digest(secret)
        if not isinstance(value, bytes) or len(value) < _SHORTEST_DIGEST:
            raise LedgerError(
                f"digest must return a keyed digest of at least {_SHORTEST_DIGEST} bytes"
            )
        # Keyed once more: the chain's hashes become public, so even a digest that forgot to use
        # the key must not let anybody test a guess of the data against them.
        return hmac.new(secret, b"sfumato fingerprint\0" + value, "sha256").hexdigest()

    def _refuse_other_data(self, fingerprint: str | None, account: Account) -> None:
        """Raise unless the data are those that the ledger is bound to."""
        if account.fingerprint is None or fingerprint == account.fingerprint:
            return
        if fingerprint is None:
            raise LedgerError(
                f"{self.path} is bound to a data set, and this booking has no digest of its "
                "data; pass the digest of the data"
            )
        raise LedgerError(
            f"these are not the data that {self.path} is bound to; nothing was booked. If it is "
            "another data set, open its own ledger. If the data of the same people were "
            "corrected or extended, accept them with ledger.rebind(digest, reason='...'), or "
            "with `sfumato ledger rebind`; the loss already spent still counts"
        )


def _replay_account(store: Store) -> Account:
    """Return the account of a file, after its bytes and the links since its checkpoint held."""
    with store.reading() as reading:
        return _account(store, reading)


def _account(store: Store, reading: Reading) -> Account:
    """Return the account of a chain that is being read, from its checkpoint on."""
    try:
        begun = _begun(store, reading)
        if reading.checkpoint is not None:
            begun = begun.resume(reading.checkpoint)
        return begun.follow(reading.events)
    except Contradiction as error:
        raise store.damage_error(str(error)) from error


def _whole_account(store: Store, reading: Reading, history: History | None) -> Account:
    """Return the account of a whole chain, and see that its checkpoint says the same."""
    try:
        begun = _begun(store, reading)
        if reading.checkpoint is None:
            return begun.follow(reading.events, history)
        resumed = begun.resume(reading.checkpoint)
        passed = begun.follow(islice(reading.events, resumed.number + 1), history)
        if passed != resumed:
            raise Contradiction("its checkpoint is not what its events add up to")
        return passed.follow_on(reading.events, history)
    except Contradiction as error:
        raise store.damage_error(str(error)) from error


def _begun(store: Store, reading: Reading) -> Account:
    """Return the account after the first event, whose secret must be the file's."""
    begun = Account.begin(_name(store.path), reading.first)
    if sha256(reading.secret) != begun.secret_hash:
        raise store.damage_error("its secret was exchanged")
    return begun


def _missing_error(path: Path, error: Gone) -> LedgerError:
    """Return the error for a missing or empty file, with what a witness knows of it."""
    for sight in witness.last_seen_at(path):
        return LedgerError(
            f"the ledger {path} is lost: {sight.told()}, and now {_reason(path)}. Restore it "
            "from a backup that holds all of it; until then release nothing from its data set. "
            f"If there is no backup, create a new ledger elsewhere that allows the {sight.left} "
            "that was left"
        )
    return error


def _reason(path: Path) -> str:
    return "the file is empty" if path.exists() else "there is no such file"


def _refuse_successor(path: Path) -> None:
    """Raise if a ledger with bookings is known to have been where a new one is to be made."""
    if os.path.lexists(path):
        return
    for sight in witness.last_seen_at(path):
        if sight.bookings:
            raise LedgerError(
                f"there was a ledger at {path}: {sight.told()}. A new ledger would lose that "
                "record. Restore the old file, or choose another path. If it was the ledger of a "
                f"data set that no longer exists, delete {sight.file} and try again"
            )


def _absolute(path: str | os.PathLike[str]) -> Path:
    """Return a path that stays the same when the working folder changes."""
    return Path(path).expanduser().absolute()


def _name(path: Path) -> str:
    """Return the name of a file as text that any file can hold.

    A name that is not UTF-8 has no text: what cannot be told of it becomes a question mark. Control
    characters are written as codes, since certificates have no room for them.
    """
    return escape(path.name.encode("utf-8", errors="replace").decode("utf-8"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _refuse_unnamed(**names: str) -> None:
    """Raise for a name that is empty or not text."""
    for name, value in names.items():
        if not isinstance(value, str) or not value.strip():
            raise LedgerError(f"{name} must be a name; got {value!r}")


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the parameters as the ledger will read them back."""
    try:
        copy: dict[str, Any] = json.loads(canonical(parameters))
    except ValueError as error:
        raise LedgerError(f"the parameters cannot be written to the ledger: {error}") from error
    return copy
