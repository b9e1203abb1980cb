"""An interactive session: the total is booked when it opens, questions spend inside it.

Closing a session gives a release of all its answers. Re-opening draws fresh hidden state and pays
again; a session cannot be copied or resumed.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sfumato.privacy import door
from sfumato.privacy.budget import Budget, BudgetClosed, SliceExceeded, _Account
from sfumato.privacy.canonical import canonical
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.loss import Loss
from sfumato.privacy.primitive import plain
from sfumato.privacy.transcript import Transcript

if TYPE_CHECKING:
    from sfumato.privacy.method import InteractiveMethod


def question_label(number: int, question: Any) -> str:
    """Return the transcript label of a question: its number and its plain text."""
    return f"{number} {canonical(plain(question)).decode()}"


class Session:
    """An open session on private data."""

    def __init__(
        self,
        method: InteractiveMethod[Any, Any],
        data: Any,
        budget: Budget,
        account: _Account,
        booking: door._Booking,
    ) -> None:
        self._method = method
        self._data = data
        self._public = data.public
        self._budget = budget
        self._account = account
        self._booking = booking
        self._asked = 0

    def __repr__(self) -> str:
        state = "open" if self._account.open else "closed"
        return f"Session({self._method.name}, {self._asked} asked, {state})"

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
        question = self._method.parse_question(self._public, question)
        number = self._asked
        try:
            self._method._ask(self._data, self._budget, question, number)
        except (SliceExceeded, BudgetClosed):
            # A refused spend says what was asked and what is left; it holds no private value.
            raise
        except Exception as error:
            raise door._failure(self._method, error, self._booking.entry is not None) from None
        self._asked += 1
        transcript = Transcript.from_files(self._account.transcript().to_files())
        return self._method._answer(self._public, transcript, question, number)

    def close(self) -> Any:
        """Close the session and return a release of all its answers."""
        self._account.open = False
        self._data = None
        built = door.build(
            self._method,
            self._public,
            self._account.transcript(),
            guarantee=self._booking.guarantee,
            time=door._now(),
            ledger=self._booking.document(),
        )
        self._booking.finish("closed")
        return built

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._account.open:
            self._account.open = False
            self._data = None
            self._booking.finish("aborted" if kind else "closed")
