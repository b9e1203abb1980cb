"""An interactive session: the total is booked when it opens, questions spend inside it.

Closing a session gives a release of all its answers. Re-opening draws fresh hidden state and pays
again; a session cannot be copied, resumed, or taken into another process.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sfumato.privacy import door
from sfumato.privacy.budget import Budget, _Account, _Uncopyable
from sfumato.privacy.canonical import canonical
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.loss import Loss
from sfumato.privacy.primitive import plain
from sfumato.privacy.program import run_on_data, run_on_transcript
from sfumato.privacy.transcript import Transcript

if TYPE_CHECKING:
    from sfumato.privacy.method import InteractiveMethod


def question_label(number: int, question: Any) -> str:
    """Return the transcript label of a question: its number and its plain text."""
    return f"{number} {canonical(plain(question)).decode()}"


class Session(_Uncopyable):
    """An open session on private data."""

    def __init__(
        self,
        method: InteractiveMethod[Any, Any],
        data: Any,
        specification: door.Specification,
        budget: Budget,
        account: _Account,
        booking: door.Booking,
    ) -> None:
        self._method = method
        self._data = data
        self._specification = specification
        self._budget = budget
        self._account = account
        self._booking = booking
        self._asked = 0

    def __repr__(self) -> str:
        state = "open" if self._account.is_open else "closed"
        return f"Session({self._method.name!r}, {self._asked} asked, {state})"

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for all answers together."""
        return self._booking.guarantee

    @property
    def remaining(self) -> Loss:
        """What may still be spent inside this session, for one record."""
        return self._budget.remaining

    def ask(self, question: Any) -> Any:
        """Answer one question, paid from the session's booked total.

        Parameters
        ----------
        question
            What to ask; it becomes public with the answer.
        """
        fresh, public = self._specification.method(), self._specification.public()
        parsed = fresh.parse_question(public, question)  # type: ignore[attr-defined]
        # Asked before the lock too, which may have been held when this process was forked.
        self._account.require_open("the question")
        with self._account.lock:
            self._account.require_open("the question")
            self._booking.renew(self._account.transcript())
            number = self._asked
            try:
                door.run_guarded(
                    self._method,
                    self._booking,
                    lambda: self._measure_question(parsed, number),
                    ends=False,
                )
            except BaseException:
                # What it spent stays spent; where nothing was said, it leaves no name behind.
                self._asked += self._account.drop_silent(question_label(number, parsed))
                raise
            self._asked += 1
            transcript = Transcript.from_files(self._account.transcript().to_files())
            specification = self._specification.of_used(transcript)
            self._booking.keep(specification, transcript, door.now(), "closed")
            said = transcript.entries[-1:]
        budget = door.prompt_budget(fresh, public, said)
        return run_on_transcript(fresh.answer(public, budget, parsed, number))  # type: ignore[attr-defined]

    def _measure_question(self, question: Any, number: int) -> None:
        """Measure what a question needs."""
        public = self._specification.public()
        run_on_data(self._method.answer(public, self._budget, question, number), self._data)

    def close(self) -> Any:
        """Close the session and return a release of all its answers."""
        self._account.require_open("the release")
        with self._account.lock:
            self._account.require_open("the release")
            self._account.close()
            self._data = None
            transcript, time = self._account.transcript(), door.now()
            try:
                specification = self._specification.of_used(transcript)
                self._booking.keep(specification, transcript, time, "closed")
                built = door.build(
                    specification, transcript, time=time, ledger=self._booking.document()
                )
            except BaseException as error:
                self._booking.report_failure(error)
                raise
            built._unsaved = self._booking.kept
            self._booking.mark_released("closed", built.transcript, built)
        return built

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._account.is_here:
            return
        with self._account.lock:
            if self._account.is_open:
                self._account.close()
                self._data = None
                if error is not None:
                    self._booking.report_failure(error)
                else:
                    self._booking.withdraw()
