"""Retracing a transcript: the method runs again on made-up data, and its primitives say the same.

Nothing private decides what a method asks. So on any data, when its primitives say what a
transcript says, the method must ask what the transcript says it asked: the same labels, slices,
signatures and costs, in the same order, and nothing else. Whatever in a transcript does not come
out of this was not said by a primitive of this method. No private data are needed for it, and
nothing is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from sfumato import noise
from sfumato.privacy import door
from sfumato.privacy.canonical import canonical
from sfumato.privacy.method import AnyMethod, InteractiveMethod
from sfumato.privacy.primitive import Primitive, Run, StatefulPrimitive
from sfumato.privacy.session import question_label
from sfumato.privacy.transcript import REHEARSED, SEEDED, Entry, Transcript

__all__ = ["DoesNotFollow", "retrace"]

#: What is asked does not depend on how many records there are, so one will do.
RECORDS = 1


class DoesNotFollow(ValueError):
    """A transcript holds something that its method would not have asked or been told."""


def retrace(method: AnyMethod, public: Any, transcript: Transcript) -> None:
    """Raise `DoesNotFollow` unless a method asks exactly what a transcript says it asked.

    Parameters
    ----------
    method, public
        The method, and the public part of the data.
    transcript
        What was said.
    """
    if transcript.marks not in ((), (SEEDED,), (REHEARSED,), (SEEDED, REHEARSED)):
        raise DoesNotFollow("the transcript bears a mark that no transcript has")
    data = public.made_up(RECORDS, noise.generator(0))
    questions = None
    if isinstance(method, InteractiveMethod):
        questions = _questions(method, public, transcript)
    found = door.run(method, data, _Prompter(transcript), questions=questions)
    for mine, theirs in zip_longest(found.entries, transcript.entries):
        _compare_entries(mine, theirs)
    for slice_here, slice_there in zip_longest(found.slices, transcript.slices):
        if not _same(*(cut and vars(cut) for cut in (slice_here, slice_there))):
            odd = slice_there or slice_here
            named = "" if odd is None else "/".join(odd.path)
            raise DoesNotFollow(f"the slice {named!r} of the transcript does not follow")


def _compare_entries(mine: Entry | None, theirs: Entry | None) -> None:
    """Raise unless two entries ask the same, at the same price, and are told as much."""
    if mine is None or theirs is None:
        label = (mine or theirs).label  # type: ignore[union-attr]
        missing = "is missing in the transcript" if theirs is None else "is never asked"
        raise DoesNotFollow(f"the measurement {label!r} {missing}")
    for name in ("label", "path", "signature", "cost"):
        if not _same(getattr(mine, name), getattr(theirs, name)):
            raise DoesNotFollow(f"the {name} of {theirs.label!r} is not that of the method")
    if len(mine.outputs) != len(theirs.outputs):
        raise DoesNotFollow(f"{theirs.label!r} holds more than the method was told")


def _same(mine: Any, theirs: Any) -> bool:
    """Tell whether two plain documents are written alike; for Python 1, 1.0 and True are equal."""
    return canonical(mine) == canonical(theirs)


def _questions(
    method: InteractiveMethod[Any, Any], public: Any, transcript: Transcript
) -> list[Any]:
    """Return the questions of a session, read from the labels of its answers."""
    questions = []
    for number, entry in enumerate(transcript):
        question = method.asked(public, json.loads(entry.label.partition(" ")[2]))
        if question_label(number, method.parse_question(public, question)) != entry.label:
            raise DoesNotFollow(f"{entry.label!r} is not the label of question {number}")
        questions.append(question)
    return questions


class _Prompter:
    """A driver that says what a transcript says, and refuses any other question."""

    def __init__(self, transcript: Transcript) -> None:
        self._entries: Iterator[Entry] = iter(transcript)

    def _next(
        self, label: str, path: tuple[str, ...], primitive: Primitive | StatefulPrimitive
    ) -> Entry:
        entry = next(self._entries, None)
        if entry is None:
            raise DoesNotFollow(f"the method asks for {label!r}, which the transcript lacks")
        if entry.label != label:
            raise DoesNotFollow(f"the method asks for {label!r} and not for {entry.label!r}")
        if entry.path != path or not _same(entry.signature, primitive.signature()):
            raise DoesNotFollow(f"the method asks for {label!r} otherwise than the transcript says")
        return entry

    def measure(self, label: str, path: tuple[str, ...], primitive: Primitive, value: Any) -> Any:
        """Return what the transcript says."""
        entry = self._next(label, path, primitive)
        if len(entry.outputs) != 1:
            raise DoesNotFollow(f"{label!r} says {len(entry.outputs)} things instead of one")
        (output,) = entry.outputs
        try:
            primitive.check_output(output)
        except (ValueError, TypeError) as error:
            raise DoesNotFollow(f"what {label!r} says cannot be said there: {error}") from None
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
        return self._primitive.stopped(self._said)

    def step(self, value: Any) -> Any:
        label = self._entry.label
        if self._taken >= len(self._entry.outputs):
            raise DoesNotFollow(f"{label!r} takes more steps than the transcript holds")
        output = self._entry.outputs[self._taken]
        try:
            self._primitive.check_output(value, self._said, output)
        except (ValueError, TypeError) as error:
            raise DoesNotFollow(f"what {label!r} says cannot be said there: {error}") from None
        self._taken += 1
        return output
