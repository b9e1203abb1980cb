"""What the events of a ledger add up to.

The account is a value: following events gives a new one. Every figure is recomputed from the chain
and compared with what was written, each charge from the guarantee it was booked for; the first
contradiction raises. The account knows the fingerprint of the data and never shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from sfumato.privacy.escaping import escape
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.ledger_reading import (
    read_fingerprint,
    read_guarantee,
    read_loss,
    read_number,
    read_object,
    read_text,
    read_time,
)
from sfumato.privacy.ledger_store import GENESIS, Event
from sfumato.privacy.ledger_terms import Terms
from sfumato.privacy.loss import Loss, zero

Outcome: TypeAlias = Literal["released", "aborted", "closed"]
OUTCOMES: tuple[Outcome, ...] = ("released", "aborted", "closed")
Status: TypeAlias = Literal["booked", "released", "aborted", "closed"]


#: What reading an event that no ledger wrote may raise.
_UNSOUND = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError)


class Contradiction(ValueError):
    """The events of a ledger do not follow from each other."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One booking of a ledger.

    Parameters
    ----------
    ledger
        The name of the ledger's file, as text.
    number
        Its place among the bookings, from 1.
    time
        When it was booked, in UTC.
    kind, method, parameters
        Through which handle it was booked, for which method, with which public parameters.
    guarantee
        What the release promises, as it was booked.
    charged
        What it cost, in the ledger's measure and relation.
    status
        What became of it: `booked` until it is `released`, `aborted` or `closed`. Whatever it is,
        the charge stands.
    note
        A word on how it ended.
    previous, hash
        The links of the chain: the event before, and this booking.
    """

    ledger: str
    number: int
    time: str
    kind: str
    method: str
    parameters: dict[str, Any]
    guarantee: Guarantee
    charged: Loss
    status: Status
    note: str = ""
    previous: str
    hash: str

    @property
    def reference(self) -> str:
        """The entry's name in a guarantee: the ledger's name and the number."""
        return f"{self.ledger}#{self.number}"

    def __str__(self) -> str:
        return escape(
            f"{self.reference} {self.time} {self.kind} {self.method}: {self.charged}, {self.status}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "reference": self.reference,
            "number": self.number,
            "time": self.time,
            "kind": self.kind,
            "method": self.method,
            "parameters": self.parameters,
            "guarantee": self.guarantee.to_json(),
            "charged": self.charged.to_json(),
            "status": self.status,
            "note": self.note,
            "previous": self.previous,
            "hash": self.hash,
        }


@dataclass(frozen=True, kw_only=True)
class Binding:
    """The moment at which a ledger was bound to a data set, or to changed data.

    Parameters
    ----------
    time
        When, in UTC.
    reason
        Why changed data were accepted; empty for the first binding.
    """

    time: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Account:
    """A ledger up to one event.

    Parameters
    ----------
    name
        The name of the ledger's file.
    terms, identity, secret_hash
        What the first event says: it never changes.
    number, head
        The last event that was followed, and its hash.
    spent
        The sum of all charges.
    fingerprint
        The keyed digest of the data set; None before the first binding.
    entries, bindings
        All bookings, and all bindings to data.
    """

    name: str
    terms: Terms
    identity: str
    secret_hash: str
    number: int
    head: str
    spent: Loss
    fingerprint: str | None = field(default=None, repr=False)
    entries: tuple[Entry, ...] = ()
    bindings: tuple[Binding, ...] = ()

    @classmethod
    def begin(cls, name: str, events: Sequence[Event]) -> Account:
        """Return the account of a whole chain."""
        first = events[0]
        if first.number != 0 or first.previous != GENESIS or first.body.get("event") != "opened":
            raise Contradiction("the first event is missing")
        try:
            account = cls._opened(name, first)
        except _UNSOUND as error:
            raise Contradiction("the first event cannot be read") from error
        return account.follow(events)

    @classmethod
    def _opened(cls, name: str, first: Event) -> Account:
        """Return the account after the first event."""
        read_time(first.body)
        document = read_object(first.body, "terms")
        read_loss(document, "allow")
        terms = Terms.from_json(document)
        nothing = zero(type(terms.allow))
        if read_loss(first.body, "spent") != nothing:
            raise ValueError("a ledger begins with nothing spent")
        return cls(
            name=name,
            terms=terms,
            identity=read_text(first.body, "identity"),
            secret_hash=read_text(first.body, "secret"),
            number=0,
            head=first.hash,
            spent=nothing,
        )

    def follow(self, events: Sequence[Event]) -> Account:
        """Return the account after the events; the first of them must be the last one known."""
        if events[0].number != self.number or events[0].hash != self.head:
            raise Contradiction(f"event {self.number} is not the one seen before")
        account = self
        for event in events[1:]:
            if event.number != account.number + 1 or event.previous != account.head:
                raise Contradiction(f"event {event.number} does not follow event {account.number}")
            try:
                account = account._after(event)
            except _UNSOUND as error:
                raise Contradiction(f"event {event.number} cannot be right: {error}") from error
        return account

    def _after(self, event: Event) -> Account:
        """Return the account after one more event."""
        steps = {"booked": self._booked, "finished": self._finished, "bound": self._bound}
        changed = steps[event.body["event"]](event)
        return replace(changed, number=event.number, head=event.hash)

    def _booked(self, event: Event) -> Account:
        body = event.body
        entry = self._read_entry(event)
        spent, data = read_loss(body, "spent"), read_fingerprint(body)
        if entry.number != len(self.entries) + 1:
            raise ValueError("bookings are not numbered in order")
        self._refuse_false_charge(entry)
        if spent != self.terms.total(self.spent, entry.charged):
            raise ValueError("the sum is wrong")
        if self.fingerprint is not None and data != self.fingerprint:
            raise ValueError("it was booked for other data")
        bindings = self.bindings
        if data != self.fingerprint:
            bindings = (*bindings, Binding(time=entry.time, reason=""))
        return replace(
            self,
            spent=spent,
            fingerprint=data,
            entries=(*self.entries, entry),
            bindings=bindings,
        )

    def _read_entry(self, event: Event) -> Entry:
        """Return the booking that an event holds, each part of its kind."""
        body = event.body
        return Entry(
            ledger=self.name,
            number=read_number(body, "entry"),
            time=read_time(body),
            kind=read_text(body, "kind"),
            method=read_text(body, "method"),
            parameters=read_object(body, "parameters"),
            guarantee=read_guarantee(body),
            charged=read_loss(body, "charged"),
            status="booked",
            previous=event.previous,
            hash=event.hash,
        )

    def _refuse_false_charge(self, entry: Entry) -> None:
        """Raise unless a charge covers the guarantee it was booked for, and was affordable.

        More than the guarantee costs may have been charged, since a charge is rounded up where
        the sum would grow too long; less never.
        """
        charged = entry.charged
        if type(charged) is not type(self.spent) or not self.terms.fits(charged, self.spent):
            raise ValueError("more was booked than is allowed")
        if not self.terms.covers(charged, self.terms.charge(entry.guarantee)):
            raise ValueError("less was charged than its guarantee costs")

    def _finished(self, event: Event) -> Account:
        body = event.body
        read_time(body)
        entry = self.entry(read_number(body, "entry"))
        if entry.status != "booked" or body["status"] not in OUTCOMES:
            raise ValueError("an entry ends once, as released, aborted or closed")
        ended = replace(entry, status=body["status"], note=read_text(body, "note"))
        place = entry.number - 1
        entries = (*self.entries[:place], ended, *self.entries[place + 1 :])
        return replace(self, entries=entries)

    def _bound(self, event: Event) -> Account:
        body = event.body
        binding = Binding(time=read_time(body), reason=read_text(body, "reason"))
        return replace(
            self, fingerprint=read_text(body, "data"), bindings=(*self.bindings, binding)
        )

    def entry(self, number: int) -> Entry:
        """Return the booking of that number."""
        if not 1 <= number <= len(self.entries):
            raise ValueError(f"there is no entry {number}")
        return self.entries[number - 1]
