"""The budget: a filter that every primitive asks before it draws.

Composition lives here and nowhere else. Sequential slices add. Parallel slices take the maximum,
under add/remove and for parts that are disjoint *by unit*; under replace-one a record can move
between two parts, so parallel slices priced for add/remove cost 2·max ε, (2ε, (1+e^ε)δ) or 4·max ρ.
A refusal aborts and nothing is refunded. A budget is opened in `sfumato.privacy.door` only; what it
has spent is kept in one account that handles cannot change, and that stays with one process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from threading import RLock
from typing import Any, NoReturn, Protocol

from sfumato.noise import bits
from sfumato.noise.exact import exact
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, ApproxDP, Joint, Loss, Number, zero
from sfumato.privacy.primitive import Primitive, Run, StatefulPrimitive
from sfumato.privacy.transcript import SEEDED, Entry, Slice, Transcript, settle_output

Path = tuple[str, ...]

# Only the books and the door hold this; without it no budget can be made and no refusal is trusted.
_KEY = object()
#: The input of a primitive that nobody looks at, because a transcript says its output.
UNSEEN = object()


class BudgetRefusal(RuntimeError):
    """The books refuse; the message is made of public figures and names.

    Parameters
    ----------
    text
        The message.
    issuer
        The account that refused. What has none was raised by somebody else, and its message is
        not trusted.
    """

    def __init__(self, text: str, issuer: object = None) -> None:
        super().__init__(text)
        self.issuer = issuer


class SliceExceeded(BudgetRefusal):
    """A primitive asked for more than its slice holds; nothing was drawn."""


class BudgetClosed(BudgetRefusal):
    """A primitive asked for budget after the door was closed, or in another process."""


class SeededDraw(BudgetRefusal):
    """Seeded bits were about to be drawn for a release that is booked as private."""


class Driver(Protocol):
    """Who carries out a measurement: the sampler, or an auditor who records and replays."""

    def measure(self, label: str, path: Path, primitive: Primitive, value: Any) -> Any:
        """Return the output of a one-shot primitive."""

    def start(self, label: str, path: Path, primitive: StatefulPrimitive) -> Run:
        """Return a run of a stateful primitive."""


class Sampler:
    """The driver of every real release: it draws."""

    def measure(self, label: str, path: Path, primitive: Primitive, value: Any) -> Any:
        """Draw the output of a one-shot primitive."""
        return primitive.sample(value)

    def start(self, label: str, path: Path, primitive: StatefulPrimitive) -> Run:
        """Draw the hidden state of a stateful primitive."""
        return primitive.start()


class _Uncopyable:
    """Something that is not copied, pickled or taken into another process."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__.strip('_').lower()} cannot be copied or pickled")

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce__()


@dataclass
class _Draft:
    """An entry of the transcript that is being written."""

    label: str
    path: Path
    signature: dict[str, Any]
    cost: Loss
    stateful: bool
    outputs: list[Any] = field(default_factory=list)

    @property
    def spoken(self) -> bool:
        """Whether something was said: a draw that was interrupted leaves nothing to publish."""
        return self.stateful or bool(self.outputs)

    def entry(self) -> Entry:
        return Entry(
            self.label, self.path, self.signature, self.cost.to_json(), tuple(self.outputs)
        )


@dataclass
class _Slice:
    """What the account knows of a slice."""

    limit: Loss
    relation: Relation
    spent: Loss
    part: bool


class _Account(_Uncopyable):
    """The books of one opening: slices, what each has spent, and what was said.

    Parameters
    ----------
    limit, relation
        The loss for one record that may be spent in all, and what a neighbour is.
    driver
        Who carries out measurements.
    booked
        Whether the loss is booked in a ledger as private; seeded bits are then refused.
    """

    def __init__(self, limit: Loss, relation: Relation, driver: Driver, *, booked: bool) -> None:
        self.driver = driver
        self.lock = RLock()
        self._open = True
        self._process = os.getpid()
        self._booked = booked
        self._seeded = False
        self._slices: dict[Path, _Slice] = {
            (): _Slice(limit, relation, zero(type(limit)), part=False)
        }
        self._drafts: dict[str, _Draft] = {}

    def close(self) -> None:
        """Close the books; nothing is drawn from now on."""
        with self.lock:
            self._open = False

    @property
    def is_open(self) -> bool:
        """Whether something may still be drawn."""
        return self._open

    def slice_at(self, path: Path) -> _Slice:
        """Return what is known of a slice."""
        return self._slices[path]

    @property
    def is_here(self) -> bool:
        """Whether this is the process that opened the books."""
        return os.getpid() == self._process

    def require_open(self, what: str) -> None:
        """Raise unless the books are open, here."""
        if not self.is_here:
            raise BudgetClosed(
                f"{what} asked for budget in another process than the one that opened it; open a "
                "new one there and pay for it",
                _KEY,
            )
        if not self._open:
            raise BudgetClosed(f"{what} asked for budget after the door was closed", _KEY)

    def require_private_bits(self) -> None:
        """Note seeded bits, and refuse them where the loss is booked as private."""
        if not bits().private:
            if self._booked:
                raise SeededDraw(
                    "seeded bits are for tests only, and this release is booked as private", _KEY
                )
            self._seeded = True

    def charge(self, path: Path, cost: Loss, what: str) -> None:
        """Spend from a slice, or refuse before anything is drawn."""
        self.require_open(what)
        known = self._slices[path]
        left = known.limit - known.spent  # type: ignore[operator]
        if not cost.fits(left):  # type: ignore[arg-type]
            raise SliceExceeded(
                f"{what} asks for {cost}, but of {known.limit} in this slice {known.spent} is "
                "spent",
                _KEY,
            )
        known.spent = known.spent + cost  # type: ignore[operator]

    def cut(self, path: Path, limit: Loss, relation: Relation, *, part: bool) -> None:
        """Write down a new slice."""
        self._slices[path] = _Slice(limit, relation, zero(type(limit)), part)

    def require_new_slice(self, path: Path) -> None:
        """Raise if a slice of that name exists."""
        if path in self._slices:
            raise ValueError(f"two slices carry the name {'/'.join(path)!r}")

    def require_new_label(self, label: str) -> None:
        """Raise if a measurement of that label exists."""
        if label in self._drafts:
            raise ValueError(f"two measurements carry the label {label!r}")

    def draft(self, draft: _Draft) -> None:
        """Open an entry of the transcript."""
        self._drafts[draft.label] = draft

    def drop_silent(self, label: str) -> bool:
        """Drop what nothing came of after a failure, and tell whether a label said something.

        What was charged stays charged.
        """
        self._drafts = {name: draft for name, draft in self._drafts.items() if draft.spoken}
        paid = [draft.path for draft in self._drafts.values()]
        kept = {path[:length] for path in paid for length in range(len(path) + 1)} | {()}
        self._slices = {path: known for path, known in self._slices.items() if path in kept}
        return label in self._drafts

    def transcript(self) -> Transcript:
        """Return what was said so far, and the slices that paid for it."""
        with self.lock:
            return Transcript(
                tuple(draft.entry() for draft in self._drafts.values() if draft.spoken),
                tuple(
                    Slice(path, known.limit.to_json(), known.part)
                    for path, known in self._slices.items()
                    if path
                ),
                marks=(SEEDED,) if self._seeded else (),
            )


class Budget(_Uncopyable):
    """A handle on a slice of privacy budget, in exact fractions.

    Parameters
    ----------
    account
        The books.
    path
        Which slice of them this is.
    """

    def __init__(self, *, account: _Account, path: Path, key: object) -> None:
        if key is not _KEY:
            raise PermissionError(
                "a budget cannot be opened directly; call release, open, perturb or fit"
            )
        self._account = account
        self._path = path

    def __repr__(self) -> str:
        known = self._account.slice_at(self._path)
        name = "/".join(self._path) or "whole"
        return f"Budget({name!r}: {known.spent} of {known.limit} spent)"

    @property
    def path(self) -> Path:
        """The names of the slices this one was cut from, and its own."""
        return self._path

    @property
    def limit(self) -> Loss:
        """The loss this slice may spend, for one record of the data."""
        return self._account.slice_at(self._path).limit

    @property
    def relation(self) -> Relation:
        """What a neighbour is for the primitives paid from this slice.

        Their declared sensitivities must hold under it.
        """
        return self._account.slice_at(self._path).relation

    @property
    def remaining(self) -> Loss:
        """What this slice may still spend."""
        known = self._account.slice_at(self._path)
        return known.limit - known.spent  # type: ignore[operator]

    def _cut(self, limit: Loss, relation: Relation, name: str, *, part: bool) -> Budget:
        path = (*self._path, name)
        self._account.cut(path, limit, relation, part=part)
        return Budget(account=self._account, path=path, key=_KEY)

    def take(self, share: Number | Loss, name: str) -> Budget:
        """Return a sequential slice: a share of this slice's limit, or a given loss.

        Its whole limit is spent from this slice at once, whatever is used of it later. A joint
        slice may be cut into slices of either of its two measures.
        """
        if isinstance(share, type(self.limit)) or (
            isinstance(self.limit, Joint) and isinstance(share, ApproxDP | ZCDP)
        ):
            limit: Loss = share
        else:
            part = exact(share)
            if not 0 < part <= 1:
                raise ValueError(f"a share must be greater than 0 and at most 1; got {share!r}")
            limit = self.limit.share(part)
        with self._account.lock:
            self._account.require_new_slice((*self._path, name))
            spent = Joint.of(limit) if isinstance(self.limit, Joint) else limit
            self._account.charge(self._path, spent, f"the slice {name!r}")
            return self._cut(limit, self.relation, name, part=False)

    def split(self, names: Sequence[str], weights: Sequence[Number] | None = None) -> list[Budget]:
        """Split all of this slice into sequential slices, equally or by weight."""
        parts = [exact(weight) for weight in weights] if weights else [Fraction(1)] * len(names)
        total = sum(parts, Fraction(0))
        return [self.take(part / total, name) for part, name in zip(parts, names, strict=True)]

    def parallel(self, names: Sequence[str], share: Number = 1, *, name: str) -> list[Budget]:
        """Return slices for parts of the data that are disjoint by unit, all for one price.

        Under replace-one the children are priced for add/remove, and hold half of the share (a
        quarter for zCDP), because the replaced record can leave one part and enter another.

        Parameters
        ----------
        names
            One name a part.
        share
            The share of this slice's limit that the parallel parts cost together.
        name
            The name of the partition.
        """
        if len(set(names)) != len(names):
            raise ValueError(f"two parallel parts of {name!r} carry one name")
        with self._account.lock:
            whole = self.take(share, name)
            limit = whole.limit
            if self.relation is Relation.REPLACE_ONE:
                limit = limit.per_unit(2)
            self._account.charge(whole.path, whole.limit, f"the parallel parts of {name!r}")
            return [whole._cut(limit, Relation.ADD_REMOVE, part, part=True) for part in names]

    def measure(self, primitive: Primitive, value: Any, *, label: str) -> Any:
        """Pay for a primitive, then let it speak.

        Parameters
        ----------
        primitive
            What is drawn, with its public signature.
        value
            The private input.
        label
            A name for the output in the transcript.
        """
        account = self._account
        account.require_open(f"{primitive.kind} {label!r}")
        with account.lock:
            draft = self._pay(primitive, label)
            if value is not UNSEEN:
                primitive.check(value)
            output = settle_output(account.driver.measure(label, self._path, primitive, value))
            draft.outputs.append(output)
        return output

    def start(self, primitive: StatefulPrimitive, *, label: str) -> Steps:
        """Pay for a stateful primitive and start it; its steps cost nothing further."""
        account = self._account
        with account.lock:
            draft = self._pay(primitive, label)
            run = account.driver.start(label, self._path, primitive)
        return Steps(primitive, run, draft, account)

    def _pay(self, primitive: Primitive | StatefulPrimitive, label: str) -> _Draft:
        """Charge a primitive and open its entry, or refuse before anything is drawn."""
        account = self._account
        account.require_new_label(label)
        account.require_private_bits()
        declared = getattr(primitive, "relation", self.relation)
        if declared != self.relation:
            raise ValueError(
                f"{primitive.kind} {label!r} is priced for {declared}, and its slice for "
                f"{self.relation}"
            )
        cost = primitive.cost(type(self.limit))
        account.charge(self._path, cost, f"{primitive.kind} {label!r}")
        stateful = isinstance(primitive, StatefulPrimitive)
        draft = _Draft(label, self._path, primitive.signature(), cost, stateful)
        account.draft(draft)
        return draft


class Steps(_Uncopyable):
    """A running stateful primitive whose outputs go to the transcript."""

    def __init__(
        self, primitive: StatefulPrimitive, run: Run, draft: _Draft, account: _Account
    ) -> None:
        self._primitive = primitive
        self._run = run
        self._draft = draft
        self._account = account

    @property
    def done(self) -> bool:
        """Whether the primitive has stopped."""
        return self._run.done

    def step(self, value: Any) -> Any:
        """Take one private input and return what the primitive says to it."""
        account = self._account
        # Asked before the lock, which another thread may have held when this process was forked.
        account.require_open(f"a step of {self._draft.label!r}")
        with account.lock:
            account.require_open(f"a step of {self._draft.label!r}")
            account.require_private_bits()
            if self._run.done:
                raise RuntimeError("this primitive has stopped; start a new one and pay for it")
            if value is not UNSEEN:
                self._primitive.check(value)
            output = settle_output(self._run.step(value))
            self._draft.outputs.append(output)
        return output
