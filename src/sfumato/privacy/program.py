"""A program: what a method asks, and what it makes of the answers.

A program is a generator. It is given what is public and a budget, yields requests, is sent noisy
answers and returns the release. It holds no data and no way to reach them: a query is a frozen
public value, and only the door evaluates it. The door runs a program twice: on the data, where
primitives answer and whatever it returns is thrown away, and on a fresh copy with the transcript,
where its result is the release. So nothing private can decide what is asked or what is released
(docs/proofs/composition.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, TypeVar

from sfumato.privacy.budget import UNSEEN, Budget, Steps
from sfumato.privacy.canonical import canonical
from sfumato.privacy.primitive import Primitive, Run, StatefulPrimitive
from sfumato.privacy.transcript import Entry, Transcript

__all__ = [
    "FINISH",
    "Ask",
    "DoesNotFollow",
    "Finish",
    "Program",
    "Prompter",
    "Query",
    "Request",
    "Start",
    "Step",
    "answer_together",
    "require_same",
    "run_on_data",
    "run_on_transcript",
]

T = TypeVar("T")


class Query(ABC):
    """A public question about private data; its exact answer is private.

    A query is a frozen dataclass out of the vocabulary of its kind of data (`queries.py` of each
    kind). Programs make queries; only the door evaluates them.
    """

    @abstractmethod
    def answer(self, data: Any) -> Any:
        """Return the exact answer. Private."""

    @classmethod
    def answer_all(cls, queries: Sequence[Any], data: Any) -> list[Any]:
        """Return the exact answers to several queries of this class; an engine may batch them."""
        return [query.answer(data) for query in queries]

    def blank(self) -> Any:
        """Return an answer of the same shape without data, where a primitive needs the shape."""
        return UNSEEN


@dataclass(frozen=True, eq=False)
class Ask:
    """Request a noisy answer; the program is sent what the primitive returned.

    Parameters
    ----------
    budget
        The slice that pays.
    primitive
        The noise, with its public signature.
    query
        What is asked.
    label
        The name of the answer in the transcript.
    """

    budget: Budget
    primitive: Primitive
    query: Query
    label: str


@dataclass(frozen=True, eq=False)
class Start:
    """Start a stateful primitive; the program is sent a handle with `done`."""

    budget: Budget
    primitive: StatefulPrimitive
    label: str


@dataclass(frozen=True, eq=False)
class Step:
    """Take one step of a running primitive; the program is sent its output."""

    run: Steps
    query: Query


class Finish:
    """Nothing more is asked: what follows is post-processing, which runs once."""


FINISH: Final = Finish()

#: A list of asks is answered together, and the program is sent a list of answers.
Request = Ask | Sequence[Ask] | Start | Step | Finish
Program = Generator[Request, Any, T]
Evaluate = Callable[[Sequence[Query]], list[Any]]


class DoesNotFollow(ValueError):
    """A transcript holds something that its method would not have asked or been told."""


def run_on_data(program: Program[Any], data: Any) -> None:
    """Run a program to its last request, its queries answered by the data.

    What it returns is thrown away.
    """
    _run(program, lambda queries: answer_together(queries, data), finish=False)


def answer_together(queries: Sequence[Query], data: Any) -> list[Any]:
    """Return the exact answers to queries; those of one class are evaluated together. Private."""
    answers: dict[int, Any] = {}
    for kind in dict.fromkeys(type(query) for query in queries):
        places = [place for place, query in enumerate(queries) if type(query) is kind]
        found = kind.answer_all([queries[place] for place in places], data)
        answers.update(zip(places, found, strict=True))
    return [answers[place] for place in range(len(queries))]


def run_on_transcript(program: Program[T]) -> T:
    """Run a program whose budget says what a transcript says, and return its result."""
    result: T = _run(program, lambda queries: [query.blank() for query in queries], finish=True)
    return result


def _run(program: Program[Any], evaluate: Evaluate, *, finish: bool) -> Any:
    """Send a program the replies to its requests, until it ends.

    On data it ends when it says that nothing more is asked. If it asks for more after that, its
    transcript lacks the answer, and nothing can be built of it.
    """
    reply: Any = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            return end.value
        if not isinstance(request, Finish):
            reply = _reply(request, evaluate)
        elif finish:
            reply = None
        else:
            program.close()
            return None


def _reply(request: Request, evaluate: Evaluate) -> Any:
    """Carry out one request."""
    if isinstance(request, Start):
        return request.budget.start(request.primitive, label=request.label)
    if isinstance(request, Step):
        return request.run.step(evaluate([request.query])[0])
    asks = [request] if isinstance(request, Ask) else request
    assert not isinstance(asks, Finish)
    values = evaluate([ask.query for ask in asks])[::-1]
    replies = [ask.budget.measure(ask.primitive, values.pop(), label=ask.label) for ask in asks]
    return replies[0] if isinstance(request, Ask) else replies


def require_same(found: Transcript, given: Transcript) -> None:
    """Raise `DoesNotFollow` unless a transcript is what a method asked for, and nothing else.

    Parameters
    ----------
    found
        What the method asked when its primitives said what the transcript says.
    given
        The transcript.
    """
    for mine, theirs in zip_longest(found.entries, given.entries):
        _compare_entries(mine, theirs)
    for slice_here, slice_there in zip_longest(found.slices, given.slices):
        if not _same(*(cut and vars(cut) for cut in (slice_here, slice_there))):
            odd = slice_there or slice_here
            named = "" if odd is None else "/".join(odd.path)
            raise DoesNotFollow(f"the slice {named!r} of the transcript is not one of the method")


def _compare_entries(mine: Entry | None, theirs: Entry | None) -> None:
    """Raise unless two entries ask the same, at the same price, and are told as much."""
    if mine is None or theirs is None:
        label = (mine or theirs).label  # type: ignore[union-attr]
        missing = "is missing in the transcript" if theirs is None else "is not one of the method"
        raise DoesNotFollow(f"the measurement {label!r} {missing}")
    # Label, path and signature were compared when the prompter was asked.
    if not _same(mine.cost, theirs.cost):
        raise DoesNotFollow(f"the cost of {theirs.label!r} is not that of the method")
    if len(mine.outputs) != len(theirs.outputs):
        raise DoesNotFollow(f"{theirs.label!r} holds more outputs than the method uses")


def _same(mine: Any, theirs: Any) -> bool:
    """Tell whether two plain documents are written alike; for Python 1, 1.0 and True are equal."""
    # Plain documents that print alike are written alike, and printing is much quicker.
    return repr(mine) == repr(theirs) or canonical(mine) == canonical(theirs)


class Prompter:
    """A driver that says what a transcript says, and refuses any other question."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._entries = entries

    def _next(
        self, label: str, path: tuple[str, ...], primitive: Primitive | StatefulPrimitive
    ) -> Entry:
        entry = next(self._entries, None)
        if entry is None:
            raise DoesNotFollow(f"the method measures {label!r}, which the transcript lacks")
        if entry.label != label:
            raise DoesNotFollow(f"the method measures {label!r} and not {entry.label!r}")
        if entry.path != path or not _same(entry.signature, primitive.signature()):
            raise DoesNotFollow(f"the method measures {label!r} otherwise than the transcript")
        return entry

    def measure(self, label: str, path: tuple[str, ...], primitive: Primitive, value: Any) -> Any:
        """Return what the transcript says."""
        entry = self._next(label, path, primitive)
        if len(entry.outputs) != 1:
            raise DoesNotFollow(f"{label!r} has {len(entry.outputs)} outputs instead of one")
        (output,) = entry.outputs
        try:
            primitive.check_output(output)
        except (ValueError, TypeError) as error:
            raise DoesNotFollow(f"the output of {label!r} is impossible: {error}") from None
        return output

    def start(self, label: str, path: tuple[str, ...], primitive: StatefulPrimitive) -> Run:
        """Return a run that says what the transcript says."""
        return _PromptedRun(self._next(label, path, primitive), primitive)


class _PromptedRun:
    """A run of a stateful primitive whose steps are those of a transcript."""

    def __init__(self, entry: Entry, primitive: StatefulPrimitive) -> None:
        self._entry = entry
        self._primitive = primitive
        self._taken = 0

    @property
    def _said(self) -> Sequence[Any]:
        return self._entry.outputs[: self._taken]

    @property
    def done(self) -> bool:
        return self._primitive.is_stopped(self._said)

    def step(self, value: Any) -> Any:
        label = self._entry.label
        if self._taken >= len(self._entry.outputs):
            raise DoesNotFollow(f"{label!r} takes more steps than the transcript holds")
        output = self._entry.outputs[self._taken]
        try:
            self._primitive.check_output(value, self._said, output)
        except (ValueError, TypeError) as error:
            raise DoesNotFollow(f"the output of {label!r} is impossible: {error}") from None
        self._taken += 1
        return output
