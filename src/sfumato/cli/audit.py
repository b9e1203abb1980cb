"""`sfumato audit`: try to refute a method's promise, on made-up neighbours. Costs nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import DeltaOption, RelationChoice
from sfumato.cli.screen import JsonOption, Screen, answering, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.audit.neighbours import Pair
    from sfumato.audit.replaying import ReplayFindings
    from sfumato.audit.sampling import AuditResult
    from sfumato.privacy.method import AnyMethod

#: The pictures that can be written, by the ending of their names.
PICTURES = (".svg", ".png")


def audited_name(name: str) -> str:
    """Return what the command calls a method: `table.PrivBayes` is `priv-bayes`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.partition(".")[2]).lower()


#: Every method that can be audited: all of the catalogue, by their short names.
AUDITED = {audited_name(name): name for name in catalogue.METHODS}

if TYPE_CHECKING:

    class MethodName(StrEnum):
        """The methods that can be audited."""

else:
    MethodName = StrEnum(
        "MethodName", {name.upper().replace("-", "_"): name for name in sorted(AUDITED)}
    )


def audit(
    method: Annotated[MethodName, typer.Argument(metavar="METHOD", help="The method to try.")],
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="The promised loss; there is no default.")
    ],
    delta: DeltaOption = None,
    trials: Annotated[
        int, typer.Option(help="How many outputs to draw on each data set of a pair.", min=100)
    ] = 20_000,
    confidence: Annotated[
        float, typer.Option(help="How sure a refutation must be, over all pairs together.")
    ] = 0.999,
    relation: Annotated[
        RelationChoice | None, typer.Option(help="What a neighbour is; add_remove by default.")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(metavar="M", help="Neighbours differ in a person of up to M records.", min=1),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A schema for the made-up data; a small one if none."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the pair that shows most, as .svg or .png."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="A seed, for an audit that can be repeated.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Try to refute a method's promise on made-up neighbours. Free: no private data are read."""
    with answering(as_json) as screen:
        _check_picture(picture)
        if not 0.5 <= confidence < 1:
            raise Refusal(ExitCode.USAGE, "--confidence must be at least 0.5 and less than 1")
        subject = subject_of(
            method.value, epsilon=epsilon, delta=delta, relation=relation, max_rows=max_rows,
            schema=schema,
        )  # fmt: skip
        outcome = _try(screen, subject, trials=trials, confidence=confidence, seed=seed)
        if picture is not None:
            from sfumato.audit.picture import save_picture

            save_picture(outcome.telling.sampled, picture)
        if as_json:
            drawn = None if picture is None else str(picture)
            write_json({"ok": not outcome.refuted, **outcome.to_json(), "picture": drawn})
        else:
            _show(screen.out, outcome, picture)
        if outcome.refuted:
            raise typer.Exit(int(ExitCode.REFUTED))


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Parameters
    ----------
    method
        The method with its parameters.
    public
        The public part of the synthetic data.
    questions
        What an interactive method is asked: questions that every canonical pair changes.
    """

    method: AnyMethod
    public: Any
    questions: list[Any] | None = None


def subject_of(
    short: str,
    *,
    epsilon: str,
    delta: str | None = None,
    relation: RelationChoice | None = None,
    max_rows: int | None = None,
    schema: Path | None = None,
) -> Subject:
    """Return a method with the example that its class declares, and data it can be tried on.

    Parameters
    ----------
    short
        The short name of the method.
    epsilon, delta
        What it promises.
    relation, max_rows
        What a neighbour is, and how many records of one person there may be.
    schema
        A schema for the synthetic data.
    """
    from sfumato.privacy.guarantee import Relation
    from sfumato.privacy.method import InteractiveMethod
    from sfumato.privacy.registry import resolve

    method = resolve(AUDITED[short])
    if delta is not None and "delta" not in {field.name for field in fields(method)}:
        raise Refusal(ExitCode.USAGE, f"{short} promises a pure epsilon; leave --delta out")
    if schema is None:
        told = None if relation is None else Relation.parse(relation.value)
        public = method.example_public(told, max_rows)
    elif relation is None and max_rows is None:
        public = _declared(short, method.kind, schema)
    else:
        raise Refusal(
            ExitCode.USAGE, "the schema tells relation and max_rows: leave the options out"
        )
    made = method.example_method(epsilon, public, **({} if delta is None else {"delta": delta}))
    made.check(public)
    interactive = issubclass(method, InteractiveMethod)
    return Subject(made, public, method.example_questions(public) if interactive else None)


def _declared(short: str, kind: str, schema: Path) -> Any:
    """Return what a schema file declares about data of a kind."""
    match kind:
        case "table":
            from sfumato.cli.table_schema import read_schema
            from sfumato.data.table import TablePublic

            return TablePublic.of(read_schema(schema))
        case "points":
            from sfumato.cli import points_schema

            return points_schema.read_declared(schema)
        case "sequences":
            from sfumato.cli import sequences_schema

            return sequences_schema.read_declared(schema)
    raise Refusal(
        ExitCode.USAGE,
        f"{short} is for data of the kind {kind!r}, which has no schema file: leave --schema out",
    )


@dataclass(frozen=True)
class Tried:
    """What was found on one pair."""

    replayed: ReplayFindings
    sampled: AuditResult

    @property
    def refuted(self) -> bool:
        """Whether replay found a fault, or samples a larger loss than is promised."""
        return self.sampled.refuted or not self.replayed.passed

    def to_json(self) -> dict[str, Any]:
        """Return a plain document; an infinite loss is told as null."""
        largest = self.replayed.largest
        replayed = {
            "claimed": self.replayed.claimed.to_json(),
            "largest": largest if math.isfinite(largest) else None,
            "faults": list(self.replayed.faults),
        }
        sampled = self.sampled.to_json()
        pair = {"pair": sampled.pop("pair"), "refuted": self.refuted}
        return {**pair, "replayed": replayed, "sampled": sampled}


@dataclass(frozen=True)
class Outcome:
    """What was found on all pairs."""

    subject: Subject
    tried: list[Tried]
    trials: int
    confidence: float

    @property
    def refuted(self) -> bool:
        """Whether any pair refutes the promise."""
        return any(one.refuted for one in self.tried)

    @property
    def telling(self) -> Tried:
        """The pair whose samples show the largest loss."""
        return max(self.tried, key=lambda one: one.sampled.bound)

    @property
    def largest(self) -> float:
        """The largest loss shown by samples; a loss is never negative."""
        return max(self.telling.sampled.bound, 0.0)

    def words(self) -> str:
        """Return what the audit showed, in plain words."""
        sampled, percent = self.telling.sampled, f"{100 * self.confidence:.6g} %"
        faults = [(one.replayed.pair, text) for one in self.tried for text in one.replayed.faults]
        said = []
        if sampled.refuted:
            said.append(
                f"REFUTED at {percent}: {sampled.claimed} is promised, and a loss of "
                f"{self.largest:.4g} is shown on the pair '{sampled.pair}'"
            )
        if faults:
            pair, text = faults[0]
            more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
            said.append(f"REFUTED by replay on the pair '{pair}': {text}{more}")
        return "\n".join(said) or (
            f"not refuted at {percent}: the data are consistent with {sampled.claimed}; "
            f"the largest loss shown is {self.largest:.2f}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        method, public = self.subject.method, self.subject.public
        return {
            "method": method.name,
            "parameters": method.parameters(),
            "claimed": method.loss().to_json(),
            "unit": str(public.unit),
            "contribution": public.contribution,
            "relation": str(public.relation),
            "trials": self.trials,
            "confidence": self.confidence,
            "pairs": [one.to_json() for one in self.tried],
            "refuted": self.refuted,
            "largest": self.largest,
            "words": self.words(),
        }


def _check_picture(picture: Path | None) -> None:
    """Refuse, before any work, a picture that could not be written."""
    if picture is None:
        return
    if picture.suffix.lower() not in PICTURES:
        raise Refusal(ExitCode.USAGE, f"--picture ends in .svg or .png; got {picture.name}")
    if not picture.parent.is_dir():
        raise Refusal(ExitCode.USAGE, f"there is no folder {picture.parent} for the picture")


def _try(
    screen: Screen, subject: Subject, *, trials: int, confidence: float, seed: int | None
) -> Outcome:
    """Replay and sample every canonical pair.

    The pairs share the risk, so that one false refutation among all is as unlikely as is said.
    """
    from sfumato.audit.neighbours import canonical_pairs
    from sfumato.audit.replaying import examine
    from sfumato.audit.sampling import audit as sample

    pairs: list[Pair] = canonical_pairs(subject.public)
    each = 1 - (1 - confidence) / len(pairs)
    tried = []
    for number, pair in enumerate(pairs):
        with _telling(screen, f"pair {number + 1} of {len(pairs)}, {pair.name}"):
            replayed = examine(subject.method, pair, questions=subject.questions)
            sampled = sample(
                subject.method,
                pair,
                trials=trials,
                confidence=each,
                questions=subject.questions,
                # Another stream for every pair: equal noise would make equal samples.
                seed=None if seed is None else 1000 * seed + number,
            )
        tried.append(Tried(replayed, sampled))
    return Outcome(subject, tried, trials, confidence)


@contextmanager
def _telling(screen: Screen, which: str) -> Iterator[None]:
    """Show progress on a terminal, with the pair before what is being done with it."""
    from sfumato.cli.progress import DelayedBar
    from sfumato.privacy.progress import listening

    if not screen.side.is_terminal:
        yield
        return
    bar = DelayedBar(which, screen.side)
    bar.start()
    try:
        # A method tells of its own steps as well; they are over before anyone could read of them.
        with listening(
            lambda what, done, total: (
                bar.tell(f"{which}: {what}", done, total) if what == "drawing" else None
            )
        ):
            yield
    finally:
        bar.stop()


def _show(console: Console, outcome: Outcome, picture: Path | None) -> None:
    """Print the pairs and what they show."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    method, public = outcome.subject.method, outcome.subject.public
    wrap = not console.is_terminal
    console.print(
        f"Audit of {method.name}: {method.loss()} for one {public.unit}, {public.relation}; "
        f"{outcome.trials:,} outputs on each data set",
        soft_wrap=wrap,
    )
    grid = Table(box=box.SIMPLE_HEAD)
    grid.add_column("pair")
    grid.add_column("claimed")
    grid.add_column("largest loss of a transcript")
    grid.add_column("shown by samples", justify="right")
    grid.add_column("verdict")
    for one in outcome.tried:
        style = "bold red" if one.refuted else "green"
        verdict = "REFUTED" if one.refuted else "not refuted"
        shown = f"{max(one.sampled.bound, 0.0):.3f}"
        grid.add_row(
            one.replayed.pair, str(method.loss()), _exactly(one.replayed), shown,
            Text(verdict, style=style),
        )  # fmt: skip
    console.print(grid)
    for one in outcome.tried:
        for text in one.replayed.faults:
            console.print(f"{one.replayed.pair}: {text}", soft_wrap=wrap, style="red")
    console.print(outcome.words(), soft_wrap=wrap, style="bold")
    console.print(
        f"An audit can refute a promise and never prove one; the proof is docs/proofs/"
        f"{method.proof}.",
        soft_wrap=wrap,
        style="dim",
    )
    if picture is not None:
        console.print(f"Picture of the pair '{outcome.telling.sampled.pair}': {picture}")


def _exactly(replayed: ReplayFindings) -> str:
    """Return the largest loss of a transcript beside what is promised in its measure."""
    figure = "∞" if math.isinf(replayed.largest) else f"{replayed.largest:.6g}"
    return f"{figure} of {replayed.claimed}"
