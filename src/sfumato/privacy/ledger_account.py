"""What the events of a ledger add up to.

The account is a value: following events gives a new one, in a time that grows with their number.
Every figure is recomputed from the chain and compared with what was written, each charge from the
guarantee it was booked for; the first contradiction raises. The account knows the fingerprint of
the data and never shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from sfumato.privacy.escaping import escape
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.ledger_store import GENESIS, Event
from sfumato.privacy.ledger_terms import Terms
from sfumato.privacy.loss import Loss, loss_from_json, zero

Outcome: TypeAlias = Literal["released", "aborted", "closed"]
OUTCOMES: tuple[Outcome, ...] = ("released", "aborted", "closed")
Status: TypeAlias = Literal["booked", "released", "aborted", "closed"]

#: Machines that share a ledger may differ by so much without anything being wrong.
CLOCKS_DIFFER = timedelta(minutes=10)

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
    """A ledger up to one event: all that the next event is checked against.

    Parameters
    ----------
    name
        The name of the ledger's file.
    terms, identity, secret_hash
        What the first event says: it never changes.
    number, head, time
        The last event that was followed, its hash and its time.
    spent
        The sum of all charges.
    bookings
        How many bookings there are.
    pending
        The bookings that have not ended, by number, with their hashes.
    fingerprint
        The keyed digest of the data set; None before the first binding.
    """

    name: str
    terms: Terms
    identity: str
    secret_hash: str
    number: int
    head: str
    time: str
    spent: Loss
    bookings: int = 0
    pending: Mapping[int, str] = field(default_factory=dict)
    fingerprint: str | None = field(default=None, repr=False)

    @classmethod
    def begin(cls, name: str, first: Event) -> Account:
        """Return the account after the first event of a chain."""
        if first.number != 0 or first.previous != GENESIS or first.body.get("event") != "opened":
            raise Contradiction("the first event is missing")
        try:
            return cls._opened(name, first)
        except _UNSOUND as error:
            raise Contradiction("the first event cannot be read") from error

    @classmethod
    def _opened(cls, name: str, first: Event) -> Account:
        """Return the account after the first event."""
        document = read_object(first.body, "terms")
        read_loss(document, "allow")
        terms = Terms.from_json(document)
        nothing = zero(type(terms.allow))
        if read_loss(first.body, "spent") != nothing:
            raise ValueError("a ledger begins with nothing spent")
        return cls(
            name=name,
            terms=terms,
            identity=read_identity(first.body),
            secret_hash=read_text(first.body, "secret"),
            number=0,
            head=first.hash,
            time=read_time(first.body),
            spent=nothing,
        )

    def follow(self, events: Iterable[Event], history: History | None = None) -> Account:
        """Return the account after the events; the first of them must be the last one known.

        Parameters
        ----------
        events
            Events in their order.
        history
            Where bookings and bindings are written down, if anybody wants them.
        """
        following = iter(events)
        first = next(following)
        if first.number != self.number or first.hash != self.head:
            raise Contradiction(f"event {self.number} is not the one seen before")
        return self.follow_on(following, history)

    def follow_on(self, events: Iterable[Event], history: History | None = None) -> Account:
        """Return the account after the events that come next."""
        running = _Running(self, history)
        for event in events:
            running.follow(event)
        return running.account()

    def to_json(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of the account: all that the first event does not say."""
        return {
            "number": self.number,
            "head": self.head,
            "time": self.time,
            "spent": self.spent.to_json(),
            "bookings": self.bookings,
            "pending": [[number, mark] for number, mark in self.pending.items()],
            "data": self.fingerprint,
        }

    def resume(self, document: dict[str, Any]) -> Account:
        """Return the account that a checkpoint keeps, of the ledger that begins like this one."""
        try:
            return replace(
                self,
                number=read_number(document, "number"),
                head=read_text(document, "head"),
                time=read_time(document),
                spent=read_loss(document, "spent"),
                bookings=read_number(document, "bookings"),
                pending={int(number): str(mark) for number, mark in document["pending"]},
                fingerprint=read_fingerprint(document),
            )
        except _UNSOUND as error:
            raise Contradiction("its checkpoint cannot be read") from error


@dataclass
class History:
    """All bookings and bindings of a ledger, and where its clock went back.

    Parameters
    ----------
    entries, bindings
        The bookings, each with what became of it, and the bindings to data.
    setbacks
        The times of two events in a row of which the later was written at the earlier time.
    """

    entries: list[Entry] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    setbacks: list[tuple[str, str]] = field(default_factory=list)


class _Running:
    """An account while it follows events, one after another, each in the same time."""

    def __init__(self, before: Account, history: History | None) -> None:
        self._before = before
        self._history = history
        self._terms = before.terms
        self._number, self._head, self._time = before.number, before.head, before.time
        self._spent, self._bookings = before.spent, before.bookings
        self._pending = dict(before.pending)
        self._fingerprint = before.fingerprint
        # Bookings of one method are alike: each guarantee and charge is read and compared once.
        self._priced: dict[str, tuple[Guarantee, Loss]] = {}

    def account(self) -> Account:
        """Return the account after all that was followed."""
        return replace(
            self._before,
            number=self._number,
            head=self._head,
            time=self._time,
            spent=self._spent,
            bookings=self._bookings,
            pending=self._pending,
            fingerprint=self._fingerprint,
        )

    def follow(self, event: Event) -> None:
        """Follow one more event, or raise where it does not follow."""
        if event.number != self._number + 1 or event.previous != self._head:
            raise Contradiction(f"event {event.number} does not follow event {self._number}")
        steps = {"booked": self._booked, "finished": self._finished, "bound": self._bound}
        try:
            time = read_time(event.body)
            steps[event.body["event"]](event)
        except _UNSOUND as error:
            raise Contradiction(f"event {event.number} cannot be right: {error}") from error
        if self._history is not None and went_back(self._time, time):
            self._history.setbacks.append((self._time, time))
        self._number, self._head, self._time = event.number, event.hash, time

    def _booked(self, event: Event) -> None:
        body = event.body
        guarantee, charged = self._price(body)
        entry = self._read_entry(event, guarantee, charged)
        data = read_fingerprint(body)
        if entry.number != self._bookings + 1:
            raise ValueError("bookings are not numbered in order")
        if not self._terms.fits(charged, self._spent):
            raise ValueError("more was booked than is allowed")
        spent = self._terms.total(self._spent, charged)
        # Compared as it is written: there is one way to write a sum.
        if body["spent"] != spent.to_json():
            raise ValueError("the sum is wrong")
        if self._fingerprint is not None and data != self._fingerprint:
            raise ValueError("it was booked for other data")
        if self._history is not None:
            self._history.entries.append(entry)
            if data != self._fingerprint:
                self._history.bindings.append(Binding(time=entry.time, reason=""))
        self._spent, self._fingerprint, self._bookings = spent, data, entry.number
        self._pending[entry.number] = event.hash

    def _read_entry(self, event: Event, guarantee: Guarantee, charged: Loss) -> Entry:
        """Return the booking that an event holds, each part of its kind."""
        body = event.body
        return Entry(
            ledger=self._before.name,
            number=read_number(body, "entry"),
            time=read_text(body, "time"),
            kind=read_text(body, "kind"),
            method=read_text(body, "method"),
            parameters=read_object(body, "parameters"),
            guarantee=guarantee,
            charged=charged,
            status="booked",
            previous=event.previous,
            hash=event.hash,
        )

    def _price(self, body: dict[str, Any]) -> tuple[Guarantee, Loss]:
        """Return the guarantee of a booking and what was charged for it, which must cover it.

        More than the guarantee costs may have been charged, since a charge is rounded up where
        the sum would grow too long; less never.
        """
        text = json.dumps([body["guarantee"], body["charged"]])
        if text not in self._priced:
            guarantee, charged = read_guarantee(body), read_loss(body, "charged")
            if type(charged) is not type(self._spent):
                raise ValueError("it was charged in another measure")
            if not self._terms.covers(charged, self._terms.charge(guarantee)):
                raise ValueError("less was charged than its guarantee costs")
            self._priced[text] = guarantee, charged
        return self._priced[text]

    def _finished(self, event: Event) -> None:
        body = event.body
        number, status, note = read_number(body, "entry"), body["status"], read_text(body, "note")
        if number not in self._pending or status not in OUTCOMES:
            raise ValueError("an entry ends once, as released, aborted or closed")
        del self._pending[number]
        if self._history is not None:
            place = number - 1
            ended = replace(self._history.entries[place], status=status, note=note)
            self._history.entries[place] = ended

    def _bound(self, event: Event) -> None:
        body = event.body
        binding = Binding(time=read_time(body), reason=read_text(body, "reason"))
        self._fingerprint = read_text(body, "data")
        if self._history is not None:
            self._history.bindings.append(binding)


def went_back(before: str, after: str) -> bool:
    """Tell whether a time lies before an earlier one by more than clocks of machines differ."""
    return datetime.fromisoformat(after) < datetime.fromisoformat(before) - CLOCKS_DIFFER


# Reading the events of a ledger: each part is of its kind, or it is refused.
#
# A hash shows that an event was changed, not that it was ever right: whoever rewrites a whole
# chain can give it new hashes. So nothing of an event is taken on trust; whatever is not what a
# ledger writes raises `ValueError` or `KeyError` before it is used, and before a figure could fill
# the memory.


#: Figures are exact fractions; an exponent, which can stand for any number of digits, is none.
_FIGURE = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?")
_LONGEST_FIGURE = 20_000
_IDENTITY = re.compile(r"[0-9a-f]{32}")


def read_text(body: dict[str, Any], name: str) -> str:
    """Return a part of an event that is text."""
    value = body[name]
    if not isinstance(value, str):
        raise ValueError(f"its {name} is not text")
    return value


def read_identity(body: dict[str, Any]) -> str:
    """Return the name of a ledger that no other has; files are named after it."""
    text = read_text(body, "identity")
    if _IDENTITY.fullmatch(text) is None:
        raise ValueError("its identity is none")
    return text


def read_time(body: dict[str, Any]) -> str:
    """Return the time of an event, as it was written."""
    text = read_text(body, "time")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("its time is none") from None
    if moment.tzinfo is None:
        raise ValueError("its time names no time zone")
    return text


def read_number(body: dict[str, Any], name: str) -> int:
    """Return a part of an event that is a whole number."""
    value = body[name]
    if type(value) is not int:
        raise ValueError(f"its {name} is not a whole number")
    return value


def read_object(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a part of an event that is itself a document."""
    value = body[name]
    if not isinstance(value, dict):
        raise ValueError(f"its {name} cannot be read")
    return value


def read_fingerprint(body: dict[str, Any]) -> str | None:
    """Return the fingerprint of the data that an event was written for, if it looked at any."""
    return None if body["data"] is None else read_text(body, "data")


def read_loss(body: dict[str, Any], name: str) -> Loss:
    """Return a part of an event that is a loss."""
    return _loss(read_object(body, name), name)


def read_guarantee(body: dict[str, Any]) -> Guarantee:
    """Return the guarantee of a booking."""
    document = read_object(body, "guarantee")
    also, public = document["also"], document["public"]
    if not isinstance(also, list) or not all(isinstance(loss, dict) for loss in also):
        raise ValueError("its guarantee cannot be read")
    if not isinstance(public, list) or not all(isinstance(words, str) for words in public):
        raise ValueError("its guarantee cannot be read")
    for loss in (read_object(document, "loss"), *also):
        _loss(loss, "guarantee")
    read_number(document, "contribution")
    for name in ("unit", "relation", "basis", "caveat"):
        read_text(document, name)
    for name in ("proof", "ledger"):
        if document[name] is not None:
            read_text(document, name)
    return Guarantee.from_json(document)


def _loss(document: dict[str, Any], name: str) -> Loss:
    """Return a loss whose figures are fractions of a sensible length."""
    for part, figure in document.items():
        if part == "measure":
            continue
        sound = isinstance(figure, str) and len(figure) <= _LONGEST_FIGURE
        if not sound or _FIGURE.fullmatch(figure) is None:
            raise ValueError(f"its {name} holds a figure that is no fraction")
    return loss_from_json(document)
