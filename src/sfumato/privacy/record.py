"""The auditor's handle: record what each primitive was given and said, and replay it elsewhere.

A recording holds private values. It is for an auditor's eyes, is never saved with a release, and
costs nothing because nothing that was drawn here may be published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from sfumato.privacy import door
from sfumato.privacy.budget import Sampler
from sfumato.privacy.primitive import Change, Primitive, Run, StatefulPrimitive
from sfumato.privacy.transcript import Transcript

if TYPE_CHECKING:
    from sfumato.privacy.method import AnyMethod


class Diverged(BaseException):
    """On the neighbour the method asked something else: its control flow depends on the data.

    It is no `Exception`, so that a method cannot catch it by accident; and the replay remembers it,
    so that a method cannot hide it on purpose.
    """


@dataclass
class Recorded:
    """One primitive of a run: what it was given and what it said."""

    label: str
    path: tuple[str, ...]
    primitive: Primitive | StatefulPrimitive
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    #: Whether a stateful primitive had stopped, after none, one, two … of its steps.
    stops: list[bool] = field(default_factory=list)

    def log_probability(self) -> float:
        """Return the log-probability of what was said, given what was given."""
        if isinstance(self.primitive, StatefulPrimitive):
            return self.primitive.log_probability(self.inputs, self.outputs)
        return self.primitive.log_probability(self.inputs[0], self.outputs[0])

    def change(self, other: Recorded) -> Change:
        """Measure how far the inputs of the same primitive are apart in another run."""
        if isinstance(self.primitive, StatefulPrimitive):
            return self.primitive.change(self.inputs, other.inputs)
        return self.primitive.change(self.inputs[0], other.inputs[0])


@dataclass(frozen=True)
class Said:
    """An output that a primitive is forced to say, if it is asked the same."""

    label: str
    path: tuple[str, ...]
    primitive: Primitive | StatefulPrimitive
    output: Any

    def asks(
        self, label: str, path: tuple[str, ...], primitive: Primitive | StatefulPrimitive
    ) -> bool:
        """Tell whether this is the question it was made for."""
        return (label, path, primitive) == (self.label, self.path, self.primitive)


class Recording(Sequence[Recorded]):
    """All primitives of one run, in order."""

    def __init__(self) -> None:
        self.steps: list[Recorded] = []
        self.transcript = Transcript(())

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: Any) -> Any:
        return self.steps[index]

    def __iter__(self) -> Iterator[Recorded]:
        return iter(self.steps)

    def loss_against(self, other: Recording) -> float:
        """Return the exact privacy loss of this transcript against the same one elsewhere."""
        return sum(
            mine.log_probability() - theirs.log_probability()
            for mine, theirs in zip(self, other, strict=True)
        )

    def changes(self, other: Recording) -> list[tuple[Recorded, Change]]:
        """Return how far each primitive's inputs moved, against what it declared."""
        return [(mine, mine.change(theirs)) for mine, theirs in zip(self, other, strict=True)]


class _Recorder(Sampler):
    """A driver that draws, or says what it is told to, and writes down what was given and said.

    Parameters
    ----------
    said
        Outputs that the first primitives are forced to say; later ones draw, as do those for which
        it holds None.
    """

    def __init__(self, said: Sequence[Said | None] = ()) -> None:
        self.recording = Recording()
        self.said = list(said)

    def measure(self, label: str, path: tuple[str, ...], primitive: Primitive, value: Any) -> Any:
        number = len(self.recording)
        step = Recorded(label, path, primitive)
        # A copy: the method may go on to change its arrays in place.
        step.inputs.append(deepcopy(value))
        self.recording.steps.append(step)
        planned = self.said[number] if number < len(self.said) else None
        # Forced only where the very same question is asked: earlier answers may lead elsewhere.
        if planned is not None and planned.asks(label, path, primitive):
            output = planned.output
        else:
            output = super().measure(label, path, primitive, value)
        step.outputs.append(output)
        return output

    def start(self, label: str, path: tuple[str, ...], primitive: StatefulPrimitive) -> Run:
        step = Recorded(label, path, primitive)
        self.recording.steps.append(step)
        return _RecordedRun(super().start(label, path, primitive), step)


class _RecordedRun:
    """A run that writes down its steps."""

    def __init__(self, run: Run, step: Recorded) -> None:
        self._run = run
        self._step = step
        step.stops.append(run.done)

    @property
    def done(self) -> bool:
        return self._run.done

    def step(self, value: Any) -> Any:
        self._step.inputs.append(deepcopy(value))
        output = self._run.step(value)
        self._step.outputs.append(output)
        self._step.stops.append(self._run.done)
        return output


class _Replayer:
    """A driver that says what was said before, and refuses any other question."""

    def __init__(self, script: Recording) -> None:
        self.script = list(script)
        self.recording = Recording()
        self.diverged: Diverged | None = None

    def _diverge(self, text: str) -> Diverged:
        """Return a divergence, and remember the first."""
        self.diverged = self.diverged or Diverged(text)
        return self.diverged

    def _next(
        self, label: str, path: tuple[str, ...], primitive: Primitive | StatefulPrimitive
    ) -> tuple[Recorded, Recorded]:
        number = len(self.recording)
        if number >= len(self.script):
            raise self._diverge(f"the neighbour asks for {label!r}, never asked before")
        planned = self.script[number]
        asked = Recorded(label, path, primitive)
        if (label, path, primitive) != (planned.label, planned.path, planned.primitive):
            raise self._diverge(
                f"step {number}: {planned.label!r} in {planned.path} with {planned.primitive} "
                f"became {label!r} in {path} with {primitive} on the neighbour"
            )
        self.recording.steps.append(asked)
        return planned, asked

    def measure(self, label: str, path: tuple[str, ...], primitive: Primitive, value: Any) -> Any:
        planned, asked = self._next(label, path, primitive)
        asked.inputs.append(deepcopy(value))
        asked.outputs.append(planned.outputs[0])
        return planned.outputs[0]

    def start(self, label: str, path: tuple[str, ...], primitive: StatefulPrimitive) -> Run:
        planned, asked = self._next(label, path, primitive)
        return _ReplayedRun(planned, asked, self)


class _ReplayedRun:
    """A run that says what was said before."""

    def __init__(self, planned: Recorded, asked: Recorded, replayer: _Replayer) -> None:
        self._planned = planned
        self._asked = asked
        self._replayer = replayer

    @property
    def done(self) -> bool:
        # What the primitive itself said: a method that ends for a reason of its own is seen.
        return self._planned.stops[len(self._asked.outputs)]

    def step(self, value: Any) -> Any:
        number = len(self._asked.outputs)
        if number >= len(self._planned.outputs):
            raise self._replayer._diverge(
                f"the neighbour takes more steps of {self._planned.label!r}"
            )
        self._asked.inputs.append(deepcopy(value))
        output = self._planned.outputs[number]
        self._asked.outputs.append(output)
        return output


def record(
    method: AnyMethod,
    data: Any,
    *,
    questions: Sequence[Any] | None = None,
    said: Sequence[Said | None] = (),
) -> Recording:
    """Run a method and return what each primitive was given and said.

    Parameters
    ----------
    method, data
        What is run, on what.
    questions
        What an interactive method is asked.
    said
        Outputs that the first one-shot primitives are forced to say.
    """
    recorder = _Recorder(said)
    recorder.recording.transcript = door.run(method, data, recorder, questions=questions)
    return recorder.recording


def replay(
    method: AnyMethod, data: Any, script: Recording, *, questions: Sequence[Any] | None = None
) -> Recording:
    """Run a method on a neighbour, forcing every primitive to say what it said before.

    Raises
    ------
    Diverged
        If anything that a transcript publishes beside the outputs is not the same.
    """
    replayer = _Replayer(script)
    transcript = door.run(method, data, replayer, questions=questions)
    if replayer.diverged is not None:
        raise replayer.diverged
    # Everything that a transcript publishes beside the outputs must be the same: labels, slices and
    # their limits, signatures (fields that a primitive does not compare among them) and costs.
    for here, there in zip(script.transcript.shape(), transcript.shape(), strict=True):
        if here != there:
            changed = [pair for pair in zip_longest(here, there) if pair[0] != pair[1]]
            raise Diverged(f"the neighbour publishes {changed[0][1]} for {changed[0][0]}")
    replayer.recording.transcript = transcript
    return replayer.recording
