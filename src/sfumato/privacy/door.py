"""The one door between private data and the world.

Every handle (release, open, perturb, fit, rehearse, and the auditor's record and replay) comes
through here. The order never changes: check the parameters against what is public, book the loss,
open the budget, measure, close the budget, and build the release from the transcript alone.
"""

from __future__ import annotations

import json
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from sfumato.noise import bits
from sfumato.privacy.budget import _KEY, Budget, Driver, Sampler, _Account
from sfumato.privacy.canonical import canonical
from sfumato.privacy.guarantee import Guarantee, Relation
from sfumato.privacy.loss import Loss
from sfumato.privacy.release import Provenance, Release
from sfumato.privacy.transcript import Transcript

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Entry, Ledger
    from sfumato.privacy.method import AnyMethod, InteractiveMethod, LocalMethod
    from sfumato.privacy.session import Session

_SEEDED = "it was made with seeded bits, which are for tests only"
_REHEARSAL = "it is a rehearsal on made-up data"


class MeasurementFailed(RuntimeError):
    """A method broke down while it looked at private data; what was booked stays booked."""


def record_limit(loss: Loss, public: Any) -> tuple[Loss, Relation]:
    """Return the loss for one record, and its relation, that give `loss` for one unit.

    A unit of up to m records is a group of m: pure losses scale by m, zCDP by m². Replacing a unit
    of several records by another removes up to m records and adds up to m.
    """
    size = public.contribution
    if size > 1 and public.relation is Relation.REPLACE_ONE:
        return loss.per_unit(2 * size), Relation.ADD_REMOVE
    return loss.per_unit(size), public.relation


def _opened(method: AnyMethod, public: Any, driver: Driver) -> tuple[Budget, _Account]:
    """Open the budget of one run."""
    limit, relation = record_limit(method.working_loss(), public)
    account = _Account(driver)
    return Budget(limit=limit, relation=relation, account=account, path=(), key=_KEY), account


def _fresh(method: AnyMethod, public: Any, transcript: Transcript) -> tuple[AnyMethod, Any, Any]:
    """Return copies that went through plain files, so that nothing can travel beside them."""
    parameters = json.loads(canonical(method.parameters()))
    facts = json.loads(canonical(public.to_json()))
    return (
        type(method).from_parameters(parameters),
        type(public).from_json(facts),
        Transcript.from_files(transcript.to_files()),
    )


def build(
    method: AnyMethod,
    public: Any,
    transcript: Transcript,
    *,
    guarantee: Guarantee,
    time: str,
    ledger: dict[str, Any] | None,
) -> Release:
    """Build a release from what is public and from what the primitives said."""
    method, public, transcript = _fresh(method, public, transcript)
    release: Release = method._build(public, transcript)
    release._provenance = Provenance(
        method=method,
        public=public,
        transcript=transcript,
        guarantee=guarantee,
        plan=method.plan(public),
        time=time,
        ledger=ledger,
    )
    return release


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _promise(method: AnyMethod, public: Any) -> Guarantee:
    """Return what will be promised, given the bits that will be drawn."""
    guarantee = method.guarantee(public)
    return guarantee if bits().private else guarantee.with_caveat(_SEEDED)


class _Booking:
    """The booking of one opening; without a ledger it books nothing and composes nothing."""

    def __init__(
        self, method: AnyMethod, data: Any, ledger: Ledger | None, guarantee: Guarantee, kind: str
    ) -> None:
        self.ledger = ledger
        self.entry: Entry | None = None
        self.guarantee = guarantee
        if ledger is not None:
            self.entry = ledger.book(
                guarantee,
                kind=kind,
                method=method.name,
                parameters=method.parameters(),
                digest=data.digest,
            )
            self.guarantee = guarantee.composed_in(self.entry.reference)

    def document(self) -> dict[str, Any] | None:
        """Return what a certificate says of the booking."""
        if self.ledger is None or self.entry is None:
            return None
        return {
            "identity": self.ledger.identity,
            "entry": self.entry.number,
            "reference": self.entry.reference,
            "head": self.entry.hash,
        }

    def finish(self, status: Literal["released", "aborted", "closed"], note: str = "") -> None:
        """Tell the ledger how the opening ended; nothing is refunded."""
        if self.ledger is not None and self.entry is not None:
            self.ledger.finish(self.entry, status=status, note=note)


def _failure(method: AnyMethod, error: Exception, booked: bool) -> MeasurementFailed:
    """Return an error that tells where it broke and no private value."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    spent = "its budget stays booked as spent" if booked else "count its budget as spent"
    return MeasurementFailed(
        f"{method.name} broke down with {type(error).__name__} at {frame.filename}:{frame.lineno}; "
        f"{spent}. The message is withheld because it may hold private values; run "
        "sfumato.rehearse with the same method to see it on made-up data"
    )


def release(method: AnyMethod, data: Any, ledger: Ledger | None, *, kind: str = "release") -> Any:
    """Book, measure and build one release.

    Parameters
    ----------
    method, data, ledger
        What is run, on what, and where it is booked.
    kind
        The handle the caller came by, for the ledger: `release`, or `fit` for an estimator.
    """
    public = data.public
    method.check(public)
    booking = _Booking(method, data, ledger, _promise(method, public), kind)
    try:
        transcript = run(method, data, Sampler())
    except Exception as error:
        booking.finish("aborted", type(error).__name__)
        raise _failure(method, error, ledger is not None) from None
    except BaseException:
        booking.finish("aborted", "interrupted")
        raise
    try:
        built = build(
            method,
            public,
            transcript,
            guarantee=booking.guarantee,
            time=_now(),
            ledger=booking.document(),
        )
    except BaseException as error:
        booking.finish("aborted", type(error).__name__)
        raise
    booking.finish("released")
    return built


def run(method: AnyMethod, data: Any, driver: Driver) -> Transcript:
    """Open the budget, measure with the given driver, close, and return what was said."""
    budget, account = _opened(method, data.public, driver)
    try:
        method._measure(data, budget)
    finally:
        account.open = False
    return account.transcript()


def rehearse(method: AnyMethod, public: Any, *, rows: int, generator: Any) -> Any:
    """Run the whole of a release on made-up data with the same public part; it costs nothing."""
    method.check(public)
    data = public.made_up(rows, generator)
    transcript = run(method, data, Sampler())
    return build(
        method,
        public,
        transcript,
        guarantee=method.guarantee(public).with_caveat(_REHEARSAL),
        time=_now(),
        ledger=None,
    )


def open_session(method: InteractiveMethod[Any, Any], data: Any, ledger: Ledger | None) -> Session:
    """Book the total of a session and open its budget."""
    from sfumato.privacy.session import Session

    public = data.public
    method.check(public)
    booking = _Booking(method, data, ledger, _promise(method, public), "session")
    budget, account = _opened(method, public, Sampler())
    return Session(method, data, budget, account, booking)


def perturb(method: LocalMethod[Any, Any], value: Any, ledger: Ledger | None) -> Any:
    """Randomise one client's own value and return the report."""
    data = method.own(value)
    public = data.public
    method.check(public)
    booking = _Booking(method, data, ledger, _promise(method, public), "perturb")
    transcript = run(method, data, Sampler())
    booking.finish("released")
    fresh, public, transcript = _fresh(method, public, transcript)
    return fresh._build(public, transcript)
