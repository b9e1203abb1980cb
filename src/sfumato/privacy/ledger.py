"""The ledger: the durable account of what was spent on one data set.

A booking is made before private data are used, in one transaction, and is never refunded: whatever
then happens, the ledger never shows less than was spent. Concurrent processes cannot together
overspend. The secret and the fingerprint of the data never leave the file.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from sfumato.noise.bits import bits
from sfumato.privacy.canonical import canonical
from sfumato.privacy.canonical import digest as sha256
from sfumato.privacy.guarantee import Guarantee, Relation, Unit
from sfumato.privacy.ledger_account import (
    OUTCOMES,
    Account,
    Binding,
    Contradiction,
    Entry,
    Outcome,
)
from sfumato.privacy.ledger_store import Event, LedgerError, Store
from sfumato.privacy.ledger_terms import BudgetExceeded, Terms
from sfumato.privacy.loss import Loss, zero

__all__ = ["Binding", "BudgetExceeded", "Digest", "Entry", "Ledger", "LedgerError"]

#: Given a secret key, returns a keyed digest of the whole data set: `lambda key: hmac(key, data)`.
Digest: TypeAlias = Callable[[bytes], bytes]

_SHORTEST_DIGEST = 16


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
            The loss that all releases together may reach. Its measure is the one in which the
            ledger sums: pure, approximate or zero-concentrated.
        unit
            Whose contribution is protected. If one person can have several rows, it is "person".
        relation
            What a neighbour is: "add_remove" or "replace_one".
        """
        terms = Terms(allow=allow, unit=Unit.parse(unit), relation=Relation.parse(relation))
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
        Store.create(_absolute(path), secret, content)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger and check its whole chain.

        Parameters
        ----------
        path
            The file that `Ledger.create` made.
        """
        store = Store(_absolute(path))
        return cls(store, _replayed(store))

    def __reduce__(self) -> tuple[Callable[[Path], Ledger], tuple[Path]]:
        # Another process reads the file itself; what this one knows does not travel.
        return Ledger.open, (self.path,)

    def __repr__(self) -> str:
        terms = self._account.terms
        return (
            f"Ledger({str(self.path)!r}, allow={terms.allow}, unit={terms.unit}, "
            f"relation={terms.relation})"
        )

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
        """A random name that no other ledger has."""
        return self._account.identity

    @property
    def allow(self) -> Loss:
        """The loss that all releases together may reach."""
        return self._account.terms.allow

    @property
    def unit(self) -> Unit:
        """Whose contribution is protected."""
        return self._account.terms.unit

    @property
    def relation(self) -> Relation:
        """What a neighbour is."""
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
    def head(self) -> str:
        """The hash of the last event of the chain."""
        return self._current().head

    def history(self) -> list[Entry]:
        """Return all bookings, the oldest first, each with what became of it."""
        return list(self._current().entries)

    def bindings(self) -> list[Binding]:
        """Return when the ledger was bound to its data set, and why to changed data."""
        return list(self._current().bindings)

    def contains(self, hash: str) -> bool:
        """Tell whether an event of the chain has that hash.

        A certificate carries the hash of its entry. If it is missing here, the ledger was replaced
        by an older copy or its end was cut off.
        """
        events = self._store.events()
        _account(self._store, events)
        return any(event.hash == hash for event in events)

    def check(self) -> None:
        """Read everything anew and raise if any of it was damaged or changed."""
        self._store.examine()
        _replayed(self._store)

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
            If less is left than is asked for.
        LedgerError
            If the guarantee cannot be booked here, the data are not the ledger's, or the file
            cannot be written. Nothing is booked then, unless the message says that it may be.
        """
        _refuse_unnamed(kind=kind, method=method)
        charge = self._account.terms.charge(guarantee)
        content = {
            "event": "booked",
            "kind": kind,
            "method": method,
            "parameters": _plain(parameters),
            "guarantee": guarantee.to_json(),
        }
        # Refused without touching the data where that is already clear.
        self._affordable(charge, guarantee, self._current())
        # Hashing the data may take long, so it is done before the file is locked.
        fingerprint = self._fingerprint(digest)

        def decide(account: Account) -> dict[str, Any]:
            self._refuse_other_data(fingerprint, account)
            charged = self._affordable(charge, guarantee, account)
            return {
                **content,
                "entry": len(account.entries) + 1,
                "charged": charged.to_json(),
                "spent": account.terms.total(account.spent, charged).to_json(),
                "data": fingerprint,
            }

        return self._append(decide).entries[-1]

    def finish(self, entry: Entry, *, status: Outcome, note: str = "") -> None:
        """Record what became of a booking; it is never refunded.

        Parameters
        ----------
        entry
            What `book` returned.
        status
            "released", "aborted" (nothing was published) or "closed" (a session ended).
        note
            A word on it. It is kept for ever and must not hold a private value.
        """
        if status not in OUTCOMES:
            raise LedgerError(f"status must be one of {', '.join(OUTCOMES)}; got {status!r}")
        if not isinstance(note, str):
            raise LedgerError(f"a note is text; got {type(note).__name__}")

        def decide(account: Account) -> dict[str, Any]:
            if not any(known.hash == entry.hash for known in account.entries):
                raise LedgerError(f"{entry.reference} is not an entry of {self.path}")
            known = account.entry(entry.number)
            if known.status != "booked":
                raise LedgerError(f"{entry.reference} has already ended: it was {known.status}")
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
        """Accept that the data changed; what was spent keeps counting.

        Parameters
        ----------
        digest
            Given the ledger's secret, returns a keyed digest of the data set as it is now.
        reason
            Why these are still the data of the same people; it is kept for ever.
        """
        if not reason.strip():
            raise LedgerError(
                "a reason must say why the changed data belong to this ledger; it was empty"
            )
        fingerprint = self._fingerprint(digest)
        self._append(lambda account: {"event": "bound", "data": fingerprint, "reason": reason})

    def _current(self) -> Account:
        """Return the account as the file has it now."""
        before = self._account
        # The local value is returned: another thread may by now have set an older one.
        self._account = account = self._followed(before, self._store.events(before.number))
        return account

    def _append(self, decide: Callable[[Account], dict[str, Any]]) -> Account:
        """Append the event that `decide` makes of the account under the lock; return the new one.

        Threads may race for `_account`; each works on its own value and any of them is true.
        """
        before = account = self._account
        last = None

        def content(events: list[Event]) -> dict[str, Any]:
            nonlocal account, last
            account, last = self._followed(before, events), events[-1]
            return {**decide(account), "time": _now()}

        event = self._store.append(before.number, content)
        assert last is not None
        self._account = account = self._followed(account, [last, event])
        return account

    def _followed(self, account: Account, events: Sequence[Event]) -> Account:
        """Return the account after events that any process may have appended."""
        try:
            return account.follow(events)
        except Contradiction as error:
            raise self._store.damaged(str(error)) from error

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
                f"{self.path} is bound to a data set, and this booking does not show its data; "
                "pass the digest of the data"
            )
        raise LedgerError(
            f"these are not the data that {self.path} is bound to; nothing was booked. If it is "
            "another data set, open its own ledger. If the data of the same people were corrected "
            "or extended, accept them with ledger.rebind(digest, reason='...'), or with `sfumato "
            "ledger rebind`; what was spent keeps counting"
        )


def _replayed(store: Store) -> Account:
    """Return the account of the whole file, every link and the secret checked."""
    account = _account(store, store.events())
    if sha256(store.secret()) != account.secret_hash:
        raise store.damaged("its secret was exchanged")
    return account


def _account(store: Store, events: Sequence[Event]) -> Account:
    """Return the account of a whole chain, every link checked."""
    try:
        return Account.begin(_name(store.path), events)
    except Contradiction as error:
        raise store.damaged(str(error)) from error


def _absolute(path: str | os.PathLike[str]) -> Path:
    """Return a path that stays the same when the working folder changes."""
    return Path(path).expanduser().absolute()


def _name(path: Path) -> str:
    """Return the name of a file as text that any file can hold.

    A name that is not UTF-8 has no text: what cannot be told of it becomes a question mark.
    """
    return path.name.encode("utf-8", errors="replace").decode("utf-8")


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
