"""The one door between private data and the world.

Every handle (release, open, perturb, fit, rehearse, and the auditor's record and replay) comes
through here. The order never changes: check the parameters against what is public, write down the
specification, reserve room for the transcript, book the loss, open the budget, measure, close the
budget, keep the transcript, check the books, and build the release from specification and
transcript alone.
"""

from __future__ import annotations

import builtins
import json
import os
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sfumato import noise
from sfumato.noise import bits
from sfumato.privacy import registry
from sfumato.privacy.arguments import find_public, open_ledger, require_private
from sfumato.privacy.budget import (
    _KEY,
    Budget,
    BudgetRefusal,
    Driver,
    Sampler,
    SeededDraw,
    _Account,
)
from sfumato.privacy.canonical import canonical
from sfumato.privacy.forks import refuse_broken_fork
from sfumato.privacy.guarantee import Basis, Guarantee
from sfumato.privacy.ledger_store import LedgerError
from sfumato.privacy.loss_check import BooksDoNotAdd, check_accounts, check_headline, record_limit
from sfumato.privacy.program import Prompter, require_same, run_on_data, run_on_transcript
from sfumato.privacy.release import Provenance, Release
from sfumato.privacy.transcript import REHEARSED, SEEDED, Transcript
from sfumato.privacy.transcript import Entry as TranscriptEntry
from sfumato.privacy.unsaved import Reserve, UnsavedRelease

if TYPE_CHECKING:
    from sfumato.privacy.arguments import LedgerLike
    from sfumato.privacy.ledger import Entry, Ledger
    from sfumato.privacy.method import AnyMethod, InteractiveMethod, LocalMethod
    from sfumato.privacy.session import Session

T = TypeVar("T")

#: The public part, among the files of a release that is kept.
_FACTS = "public.json"
#: A release may be larger than its trial on one synthetic record.
_GROWTH = 2

#: Why a transcript with a mark promises nothing.
CAVEATS = {
    SEEDED: "it was made with seeded bits, which are for tests only",
    REHEARSED: "it is a rehearsal on synthetic data",
}


class MeasurementFailed(RuntimeError):
    """A method broke down while it looked at private data; what was booked stays booked."""


@dataclass(frozen=True)
class Specification:
    """A method and a public part as plain bytes, written down before any private value is touched.

    Releases are built from these, so that nothing a method does while it measures can travel
    beside the transcript.
    """

    method_type: type[Any]
    parameters: bytes
    public_type: type[Any]
    facts: bytes

    @classmethod
    def of(cls, method: AnyMethod, public: Any) -> Specification:
        """Write down a method and a public part."""
        return cls(
            type(method),
            canonical(method.parameters()),
            type(public),
            canonical(public.to_json()),
        )

    def of_used(self, transcript: Transcript) -> Specification:
        """Return it with no more of the public part than the questions of a session use."""
        method: Any = self.method()
        public = self.public()
        names = method.used_columns(public, transcript)
        return self if names is None else Specification.of(method, public.only(names))

    def narrowest(self, transcript: Transcript) -> Specification:
        """Return it with no more of the public part than a release of it publishes."""
        if hasattr(self.method_type, "used_columns"):
            return self.of_used(transcript)
        method = self.method()
        return Specification.of(method, keep_used(method, self.public()))

    def method(self) -> AnyMethod:
        """Return the method, read anew."""
        method: AnyMethod = self.method_type.from_parameters(json.loads(self.parameters))
        return method

    def public(self) -> Any:
        """Return the public part, read anew."""
        return self.public_type.from_json(json.loads(self.facts))


def _settle_transcript(transcript: Transcript) -> Transcript:
    """Return a transcript as its readers will see it, from its own files."""
    return Transcript.from_files(transcript.to_files())


def promise(method: AnyMethod, public: Any, marks: tuple[str, ...]) -> Guarantee:
    """Return what a transcript with these marks promises."""
    guarantee = method.guarantee(public)
    for mark in marks:
        guarantee = guarantee.with_caveat(CAVEATS[mark])
    return guarantee


def prepare(method: AnyMethod, public: Any) -> Specification:
    """Check all that can be checked without data or budget; return what a release is built from."""
    method.check(public)
    check_headline(method, public)
    method.plan(public)
    method.guarantee(public).words()
    return Specification.of(method, public)


def keep_used(method: AnyMethod, whole: Any) -> Any:
    """Return data, or a public part, with nothing but what a method uses.

    The domain of a column that a release does not look at is not its business to publish.
    """
    public = getattr(whole, "public", whole)
    method.check(public)
    names = method.uses(public)
    return whole if names is None else whole.only(names)


@dataclass(frozen=True)
class Sizes:
    """How many bytes a trial took: its transcript, and all the files it would be saved in."""

    transcript: int
    files: int


def try_out(specification: Specification) -> Sizes:
    """Go through a whole release on one synthetic record, to the files it is saved in.

    Whatever would break after the loss is booked breaks here, before it costs. How large the
    release will be is public, and the trial tells about how large.
    """
    trials = specification.method().trials(specification.public())
    sizes = [_try_one(Specification.of(method, public)) for method, public in trials]
    return Sizes(
        transcript=sum(size.transcript for size in sizes), files=sum(size.files for size in sizes)
    )


def _try_one(specification: Specification) -> Sizes:
    """Go through one trial."""
    from sfumato.privacy.saved import all_files

    data = specification.public().make_synthetic(1, noise.generator(0))
    transcript = run(specification.method(), data, Sampler()).with_mark(REHEARSED)
    files = all_files(build(specification, transcript, time=now(), ledger=None))
    return Sizes(
        transcript=_size(transcript.to_files()) + len(specification.facts),
        files=_size(files),
    )


def _size(files: dict[str, bytes]) -> int:
    return sum(map(len, files.values()))


def build(
    specification: Specification,
    transcript: Transcript,
    *,
    time: str,
    ledger: dict[str, Any] | None,
) -> Release:
    """Check the books of a transcript, and build the release from it and what is public."""
    method, public, transcript = (
        specification.method(),
        specification.public(),
        _settle_transcript(transcript),
    )
    check_headline(method, public)
    guarantee = promise(method, public, transcript.marks)
    if guarantee.basis is Basis.PUBLISHED:
        registry.import_published()
    check_accounts(transcript, method.budget_loss(public), public)
    if ledger is not None:
        guarantee = guarantee.composed_in(ledger["reference"])
    release: Release = rebuild_from_transcript(method, public, transcript)
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


def rebuild_from_transcript(method: AnyMethod, public: Any, transcript: Transcript) -> Any:
    """Run a method with a transcript in place of data, and return what it makes of it.

    Parameters
    ----------
    method, public
        The method, and the public part of the data.
    transcript
        What was said.

    Raises
    ------
    DoesNotFollow
        If the transcript is not what the method would have asked and been told, and nothing else.
    """
    budget, account = _open_budget(method, public, Prompter(iter(transcript)), booked=False)
    result = run_on_transcript(method.program_of(public, budget, transcript))
    account.close()
    require_same(account.transcript(), transcript)
    return result


def prompt_budget(method: AnyMethod, public: Any, said: Sequence[TranscriptEntry]) -> Budget:
    """Return a budget whose primitives say what was said."""
    return _open_budget(method, public, Prompter(iter(said)), booked=False)[0]


def now() -> str:
    """Return the time, for certificates."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Booking:
    """The booking of one opening; without a ledger it books nothing and composes nothing.

    Parameters
    ----------
    method, data, ledger
        What is run, on what, and where it is booked.
    kind
        The handle the caller came by.
    room
        How many bytes to reserve for the transcript before anything is booked; None where it is
        not kept.
    """

    def __init__(
        self,
        method: AnyMethod,
        data: Any,
        ledger: Ledger | None,
        kind: str,
        *,
        room: int | None,
    ) -> None:
        self.ledger = ledger
        self.entry: Entry | None = None
        self.kept: UnsavedRelease | None = None
        self._kept_digest = ""
        self._reserve: Reserve | None = None
        marks = () if bits().private else (SEEDED,)
        self.guarantee = promise(method, data.public, marks)
        if ledger is None:
            return
        if room is not None:
            self._reserve = Reserve(ledger.path, room)
        try:
            self.entry = ledger.book(
                self.guarantee,
                kind=kind,
                method=method.name,
                parameters=method.parameters(),
                digest=data.digest,
            )
        except BaseException:
            self._let_go()
            raise
        self.guarantee = self.guarantee.composed_in(self.entry.reference)

    @property
    def booked(self) -> bool:
        """Whether the loss is booked in a ledger."""
        return self.entry is not None

    def document(self) -> dict[str, Any] | None:
        """Return what a certificate says of the booking."""
        if self.ledger is None or self.entry is None:
            return None
        return _reference(self.ledger, self.entry)

    def renew(self, transcript: Transcript) -> None:
        """Reserve room for a transcript that goes on from this one, before more is measured."""
        if self._reserve is not None:
            self._reserve.renew(_GROWTH * _size(transcript.to_files()))

    def keep(
        self,
        specification: Specification,
        transcript: Transcript,
        time: str,
        status: Literal["released", "closed"],
    ) -> None:
        """Keep what was paid for beside the ledger, until it is saved.

        If that fails the release is still in memory, which is better than none: it is a warning.
        """
        if self._reserve is None or self.entry is None:
            return
        digest = transcript.digest()
        if digest == self._kept_digest:
            return
        document = {
            "method": specification.method().name,
            "parameters": json.loads(specification.parameters),
            "public": specification.public_type.kind,
            "time": time,
            "ledger": self.document(),
            "transcript": digest,
            "status": status,
        }
        files = {_FACTS: specification.facts, **transcript.to_files()}
        try:
            self.kept = self._reserve.keep(self.entry.number, document, files)
            self._kept_digest = digest
        except OSError as error:
            warnings.warn(
                f"{self.entry.reference} is booked, but its transcript could not be kept beside "
                f"the ledger: {error.strerror}. Save the release at once",
                RuntimeWarning,
                stacklevel=3,
            )

    def finish(self, status: Literal["released", "aborted", "closed"], note: str = "") -> None:
        """Tell the ledger how the opening ended; nothing is refunded."""
        try:
            if self.ledger is not None and self.entry is not None:
                self.ledger.finish(self.entry, status=status, note=note)
        finally:
            self._let_go()

    def mark_released(
        self, status: Literal["released", "closed"], transcript: Transcript, made: Any
    ) -> None:
        """Tell the ledger that something was handed out, and from which transcript."""
        try:
            # Without a ledger nobody is told, and a long transcript takes a while to be hashed.
            self.finish(status, _note(transcript.digest()) if self.booked else "")
        except BaseException as error:
            # It is paid for; whoever catches this still has it.
            error.release = made  # type: ignore[attr-defined]
            error.add_note("the release is the attribute 'release' of this error")
            self._tell(error)
            raise

    def report_failure(self, error: BaseException) -> None:
        """Tell the ledger that nothing came of it, unless it can be built later."""
        if self.kept is not None and not isinstance(error, BooksDoNotAdd):
            self._tell(error)
            self._let_go()
            return
        if self.kept is not None:
            self.kept.discard()
        self.finish("aborted", _kind(error))

    def withdraw(self) -> None:
        """Tell the ledger that a session ended of which nobody wants a release."""
        self.finish("closed")
        if self.kept is not None:
            self.kept.discard()

    def _tell(self, error: BaseException) -> None:
        """Say in an error how its release is recovered, if it is kept."""
        if self.kept is not None:
            error.add_note(self.kept.words())

    def _let_go(self) -> None:
        """Leave what is kept to whoever saves or recovers it."""
        if self._reserve is not None:
            self._reserve.let_go()
            self._reserve = None


def _reference(ledger: Ledger, entry: Entry) -> dict[str, Any]:
    """Return what a certificate says of its entry."""
    return {
        "identity": ledger.identity,
        "entry": entry.number,
        "reference": entry.reference,
        "head": entry.hash,
    }


def _note(digest: str) -> str:
    """Return what the ledger notes of a release that was handed out."""
    return f"transcript {digest}"


def _failure(method: AnyMethod, error: BaseException, booked: bool) -> MeasurementFailed:
    """Return an error that tells where it broke and no private value."""
    spent = "its budget stays booked as spent" if booked else "count its budget as spent"
    return MeasurementFailed(
        f"{method.name} failed with {_kind(error)} at {_place(error)}; {spent}. The message is "
        "withheld because it may hold private values; run it on synthetic data with "
        "sfumato.rehearse to see it"
    )


def _place(error: BaseException) -> str:
    """Return the innermost line of a file that exists: generated code may carry any name."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if os.path.isfile(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return "an unknown place"


def _kind(error: BaseException) -> str:
    """Return the name of an exception's type, if it is one that no private value can have named."""
    kind = type(error)
    known = hasattr(builtins, kind.__name__) or kind.__module__.startswith("sfumato.")
    return kind.__name__ if known else "an error"


def run_guarded(
    method: AnyMethod, booking: Booking, work: Callable[[], T], *, ends: bool = True
) -> T:
    """Run what looks at private data; an error loses its message, and the ledger is told.

    Parameters
    ----------
    method
        The method that runs.
    booking
        Its booking.
    work
        What to run.
    ends
        Whether a failure ends the opening.
    """
    failure: BaseException
    note = "interrupted"
    try:
        return work()
    except BudgetRefusal as error:
        # Only what the books themselves refused may be repeated; the text of others is withheld.
        own = error.issuer is _KEY and (not ends or isinstance(error, SeededDraw))
        failure = type(error)(str(error)) if own else _failure(method, error, booking.booked)
        note = _kind(error)
    except KeyboardInterrupt:
        failure = KeyboardInterrupt()
    except BaseException as error:
        failure, note = _failure(method, error, booking.booked), _kind(error)
    # Raised outside the handler, so that the error that may hold private values is not chained.
    if ends:
        booking.finish("aborted", note)
    raise failure


def _open_budget(
    method: AnyMethod, public: Any, driver: Driver, *, booked: bool
) -> tuple[Budget, _Account]:
    """Open the budget of one run."""
    limit, relation = record_limit(method.budget_loss(public), public)
    account = _Account(limit, relation, driver, booked=booked)
    return Budget(account=account, path=(), key=_KEY), account


def run(
    method: AnyMethod,
    data: Any,
    driver: Driver,
    *,
    booked: bool = False,
    questions: Sequence[Any] | None = None,
) -> Transcript:
    """Open the budget, measure with the given driver, close, and return what was said.

    Parameters
    ----------
    method, data, driver
        What is run, on what, and who carries out its measurements.
    booked
        Whether the loss is booked in a ledger.
    questions
        For an interactive method, the questions an auditor asks; a release has none.
    """
    budget, account = _open_budget(method, data.public, driver, booked=booked)
    try:
        if questions is None:
            run_on_data(method.program(data.public, budget), data)
        for number, question in enumerate(questions or ()):
            asker: Any = method
            parsed = asker.parse_question(data.public, question)
            run_on_data(asker.answer(data.public, budget, parsed, number), data)
    finally:
        account.close()
    return account.transcript()


def release(
    method: AnyMethod,
    data: Any,
    ledger: LedgerLike,
    *,
    kind: str = "release",
    reserve: Callable[[int], None] | None = None,
) -> Any:
    """Book, measure and build one release.

    Parameters
    ----------
    method, data, ledger
        What is run, on what, and where it is booked.
    kind
        The handle the caller came by, for the ledger: `release`, or `fit` for an estimator.
    reserve
        Given about how many bytes the release will be saved in, raises if there is no room for
        them; called before anything is booked or measured.
    """
    refuse_broken_fork()
    require_private(data, kind=method.kind, verb=kind)
    ledger = open_ledger(ledger)
    data = keep_used(method, data)
    specification = prepare(method, data.public)
    sizes = try_out(specification)
    if reserve is not None:
        reserve(_GROWTH * sizes.files)
    booking = Booking(method, data, ledger, kind, room=_GROWTH * sizes.transcript)
    transcript = run_guarded(
        method, booking, lambda: run(method, data, Sampler(), booked=booking.booked)
    )
    time = now()
    try:
        booking.keep(specification, transcript, time, "released")
        built = build(specification, transcript, time=time, ledger=booking.document())
    except BaseException as error:
        booking.report_failure(error)
        raise
    built._unsaved = booking.kept
    booking.mark_released("released", built.transcript, built)
    return built


def recover(ledger: Ledger, number: int) -> Release:
    """Finish a release from what was kept of it, without touching any data.

    Parameters
    ----------
    ledger
        The ledger in which it is booked.
    number
        The number of its entry.
    """
    kept = UnsavedRelease(ledger.path, number)
    if kept.in_use():
        raise LedgerError(
            f"entry {number} of {ledger.path} is still being made by another process; wait for it"
        )
    document, files = kept.read()
    entries = [entry for entry in ledger.history() if entry.number == number]
    if not entries or document["ledger"] != _reference(ledger, entries[0]):
        raise LedgerError(f"{kept.file} does not belong to entry {number} of {ledger.path}")
    (entry,) = entries
    method = registry.resolve(document["method"]).from_parameters(document["parameters"])
    public = registry.resolve(f"public.{document['public']}").from_json(json.loads(files[_FACTS]))
    built = build(
        Specification.of(method, public),
        Transcript.from_files(files),
        time=document["time"],
        ledger=document["ledger"],
    )
    if built.transcript.digest() != document["transcript"]:
        raise LedgerError(f"{kept.file} is damaged: its transcript is not the one that was kept")
    note = _note(document["transcript"])
    if entry.status == "booked":
        ledger.finish(entry, status=document["status"], note=note)
    elif entry.note != note:
        raise LedgerError(f"{entry.reference} ended as {entry.status}, for another transcript")
    built._unsaved = kept
    return built


def rehearse(method: AnyMethod, public: Any, *, rows: int, generator: Any) -> Any:
    """Run a full release on synthetic data with the same public part, at no privacy loss."""
    refuse_broken_fork()
    public = keep_used(method, find_public(public, kind=method.kind, verb="rehearse"))
    specification = prepare(method, public)
    transcript = run(method, public.make_synthetic(rows, generator), Sampler())
    return build(specification, transcript.with_mark(REHEARSED), time=now(), ledger=None)


def open_session(method: InteractiveMethod[Any, Any], data: Any, ledger: LedgerLike) -> Session:
    """Book the total of a session and open its budget."""
    from sfumato.privacy.session import Session

    refuse_broken_fork()
    require_private(data, kind=method.kind, verb="open")
    ledger = open_ledger(ledger)
    specification = prepare(method, data.public)
    booking = Booking(method, data, ledger, "session", room=len(specification.facts))
    budget, account = _open_budget(method, data.public, Sampler(), booked=booking.booked)
    return Session(method, data, specification, budget, account, booking)


def perturb(method: LocalMethod[Any, Any], value: Any, ledger: LedgerLike) -> Any:
    """Randomise one client's own value and return the report."""
    ledger = open_ledger(ledger)
    data = method.own(value)
    specification = prepare(method, data.public)
    if not bits().private:
        raise SeededDraw("a report cannot be marked as a test; draw it outside noise.seeded()")
    booking = Booking(method, data, ledger, "perturb", room=None)
    transcript = _settle_transcript(
        run_guarded(method, booking, lambda: run(method, data, Sampler(), booked=True))
    )
    fresh, public = specification.method(), specification.public()
    check_accounts(transcript, fresh.budget_loss(public), public)
    report = rebuild_from_transcript(fresh, public, transcript)
    booking.mark_released("released", transcript, report)
    return report
