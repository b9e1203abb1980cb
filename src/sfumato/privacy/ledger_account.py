"""What the events of a ledger add up to.

The account is a value: following events gives a new one. Every figure is recomputed from the chain
and compared with what was written; the first contradiction raises. The account knows the
fingerprint of the data and never shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.ledger_store import GENESIS, Event
from sfumato.privacy.ledger_terms import Terms
from sfumato.privacy.loss import Loss, loss_from_json, zero

Outcome: TypeAlias = Literal["released", "aborted", "closed"]
OUTCOMES: tuple[Outcome, ...] = ("released", "aborted", "closed")
Status: TypeAlias = Literal["booked", "released", "aborted", "closed"]


class Contradiction(ValueError):
    """The events of a ledger do not follow from each other."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One booking of a ledger.

    Parameters
    ----------
    ledger
        The name of the ledger's file.
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
        return (
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
            terms = Terms.from_json(first.body["terms"])
            account = cls(
                name=name,
                terms=terms,
                identity=str(first.body["identity"]),
                secret_hash=str(first.body["secret"]),
                number=0,
                head=first.hash,
                spent=zero(type(terms.allow)),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise Contradiction("the first event cannot be read") from error
        return account.follow(events)

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
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise Contradiction(f"event {event.number} cannot be right: {error}") from error
        return account

    def _after(self, event: Event) -> Account:
        """Return the account after one more event."""
        steps = {"booked": self._booked, "finished": self._finished, "bound": self._bound}
        changed = steps[event.body["event"]](event)
        return replace(changed, number=event.number, head=event.hash)

    def _booked(self, event: Event) -> Account:
        body = event.body
        charged, spent = loss_from_json(body["charged"]), loss_from_json(body["spent"])
        if body["entry"] != len(self.entries) + 1:
            raise ValueError("bookings are not numbered in order")
        if type(charged) is not type(self.spent) or not self.terms.fits(charged, self.spent):
            raise ValueError("more was booked than is allowed")
        if spent != self.terms.total(self.spent, charged):
            raise ValueError("the sum is wrong")
        if self.fingerprint is not None and body["data"] != self.fingerprint:
            raise ValueError("it was booked for other data")
        entry = Entry(
            ledger=self.name,
            number=body["entry"],
            time=body["time"],
            kind=body["kind"],
            method=body["method"],
            parameters=body["parameters"],
            guarantee=Guarantee.from_json(body["guarantee"]),
            charged=charged,
            status="booked",
            previous=event.previous,
            hash=event.hash,
        )
        bindings = self.bindings
        if body["data"] != self.fingerprint:
            bindings = (*bindings, Binding(time=body["time"], reason=""))
        return replace(
            self,
            spent=spent,
            fingerprint=body["data"],
            entries=(*self.entries, entry),
            bindings=bindings,
        )

    def _finished(self, event: Event) -> Account:
        body = event.body
        entry = self.entry(body["entry"])
        if entry.status != "booked" or body["status"] not in OUTCOMES:
            raise ValueError("an entry ends once, as released, aborted or closed")
        ended = replace(entry, status=body["status"], note=body["note"])
        place = entry.number - 1
        entries = (*self.entries[:place], ended, *self.entries[place + 1 :])
        return replace(self, entries=entries)

    def _bound(self, event: Event) -> Account:
        binding = Binding(time=event.body["time"], reason=event.body["reason"])
        if not isinstance(event.body["data"], str):
            raise ValueError("there is no fingerprint")
        return replace(self, fingerprint=event.body["data"], bindings=(*self.bindings, binding))

    def entry(self, number: int) -> Entry:
        """Return the booking of that number."""
        if not 1 <= number <= len(self.entries):
            raise ValueError(f"there is no entry {number}")
        return self.entries[number - 1]
