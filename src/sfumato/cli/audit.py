"""`sfumato audit`: try to refute a method's promise, on made-up neighbours. Costs nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.screen import JsonOption, Screen, answering, write_json
from sfumato.cli.table_options import DeltaOption, read_schema

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.audit.neighbours import Pair
    from sfumato.audit.replaying import ReplayFindings
    from sfumato.audit.sampling import AuditResult
    from sfumato.data.table import TablePublic
    from sfumato.privacy.method import AnyMethod

#: What is declared about the made-up table where no schema is given.
COLUMNS = {"smokes": ["no", "yes"], "age": ["young", "middle", "old"], "insured": ["no", "yes"]}
#: The answers of the made-up survey.
ANSWERS = ("yes", "no", "no answer")
#: The pictures that can be written, by the ending of their names.
PICTURES = (".svg", ".png")


class MethodName(StrEnum):
    """The methods that can be audited: all of the catalogue, by their short names."""

    MARGINALS = "marginals"
    HISTOGRAM = "histogram"
    MAJORITY = "majority"
    PRIVATE_ERM = "private-erm"
    PRIV_GENE = "priv-gene"
    CONTINGENCY = "contingency"
    FOURIER = "fourier"
    INDEPENDENT = "independent"
    MWEM = "mwem"
    PRIV_BAYES = "priv-bayes"
    SYNTHESIZER = "synthesizer"
    AIM = "aim"
    MST = "mst"
    QUESTIONS = "questions"
    RANDOMIZED_RESPONSE = "randomized-response"


#: Methods that promise a pure epsilon and nothing else.
PURE = (
    MethodName.QUESTIONS,
    MethodName.RANDOMIZED_RESPONSE,
    MethodName.MAJORITY,
    MethodName.PRIVATE_ERM,
    MethodName.PRIV_GENE,
)


class RelationName(StrEnum):
    """What a neighbour is."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"


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
        RelationName | None, typer.Option(help="What a neighbour is; add_remove by default.")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(metavar="M", help="Neighbours differ in a person with up to M rows.", min=1),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A schema for the made-up tables; a small one if none."),
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
        subject = _subject(method, epsilon, delta, relation, max_rows, schema)
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
        The public part of the made-up data.
    questions
        What an interactive method is asked: questions that every canonical pair changes.
    """

    method: AnyMethod
    public: Any
    questions: list[dict[str, Any]] | None = None


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


def _subject(
    name: MethodName,
    epsilon: str,
    delta: str | None,
    relation: RelationName | None,
    max_rows: int | None,
    schema: Path | None,
) -> Subject:
    """Return the method that is meant and the public part of the data it is tried on."""
    if delta is not None and name in PURE:
        raise Refusal(ExitCode.USAGE, f"{name} promises a pure epsilon; leave --delta out")
    if name is MethodName.RANDOMIZED_RESPONSE:
        return _survey(epsilon, relation, max_rows, schema)
    public = _table_public(relation, max_rows, schema)
    subject = _table_subject(name, public, epsilon, delta)
    subject.method.check(public)
    return subject


def _survey(
    epsilon: str, relation: RelationName | None, max_rows: int | None, schema: Path | None
) -> Subject:
    """Return a survey of one answer a person."""
    from sfumato.local.randomized import RandomizedResponse

    if schema is not None or max_rows is not None or relation is RelationName.ADD_REMOVE:
        raise Refusal(
            ExitCode.USAGE,
            "randomized-response hides one answer, replaced by another: leave --schema, "
            "--max-rows and --relation out",
        )
    survey = RandomizedResponse(epsilon=epsilon, answers=ANSWERS)
    return Subject(survey, survey.public)


def _table_public(
    relation: RelationName | None, max_rows: int | None, schema: Path | None
) -> TablePublic:
    """Return what is public about the made-up table."""
    from sfumato.data.schema import Schema
    from sfumato.data.table import TablePublic

    if schema is not None:
        if relation is not None or max_rows is not None:
            raise Refusal(
                ExitCode.USAGE, "the schema tells relation and max_rows: leave the options out"
            )
        return TablePublic.of(read_schema(schema))
    told = (RelationName.ADD_REMOVE if relation is None else relation).value
    if max_rows is None:
        return TablePublic.of(Schema.from_dict(COLUMNS, relation=told))
    return TablePublic.of(
        Schema.from_dict(COLUMNS, unit="person", person="who", max_rows=max_rows, relation=told)
    )


def _table_subject(
    name: MethodName, public: TablePublic, epsilon: str, delta: str | None
) -> Subject:
    """Return a method for tables."""
    match name:
        case MethodName.HISTOGRAM:
            from sfumato.tabular.histogram import Histogram

            return Subject(Histogram(epsilon=epsilon, delta=delta), public)
        case MethodName.QUESTIONS:
            from sfumato.tabular.questions import Questions

            asked = _telling_questions(public)
            return Subject(Questions(epsilon=epsilon, questions=len(asked)), public, asked)
        case MethodName.MAJORITY | MethodName.PRIVATE_ERM | MethodName.PRIV_GENE:
            return Subject(_classifying(name, public, epsilon), public)
        case MethodName.CONTINGENCY:
            from sfumato.tabular.contingency import Contingency

            return Subject(Contingency(epsilon=epsilon, delta=delta), public)
        case MethodName.FOURIER:
            from sfumato.tabular.fourier import Fourier

            return Subject(Fourier(epsilon=epsilon, delta=delta), public)
        case MethodName.INDEPENDENT:
            from sfumato.tabular.independent import Independent

            return Subject(Independent(epsilon=epsilon, delta=delta), public)
        case MethodName.MWEM:
            from sfumato.tabular.mwem import MWEM

            return Subject(MWEM(epsilon=epsilon, delta=delta, rounds=2), public)
        case MethodName.SYNTHESIZER:
            from sfumato.tabular.synthesizer import Synthesizer

            # A few rows would be worth no round; a fixed number lets tables be chosen.
            return Subject(Synthesizer(epsilon=epsilon, delta=delta, rounds=2), public)
        case MethodName.AIM:
            from sfumato.tabular.aim import AIM

            return Subject(AIM(epsilon=epsilon, delta=delta), public)
        case MethodName.MST:
            from sfumato.tabular.mst import MST

            return Subject(MST(epsilon=epsilon, delta=delta), public)
        case MethodName.PRIV_BAYES:
            from sfumato.tabular.privbayes import PrivBayes

            # Tables of a few rows would have no parents; a fixed size lets the network be chosen.
            return Subject(PrivBayes(epsilon=epsilon, delta=delta, cells=6), public)
        case _:
            from sfumato.tabular.marginals import Marginals

            return Subject(Marginals(epsilon=epsilon, delta=delta), public)


def _classifying(name: MethodName, public: TablePublic, epsilon: str) -> AnyMethod:
    """Return a method that guesses the last value of the last column."""
    target = public.columns[-1]
    given: dict[str, Any] = {
        "epsilon": epsilon,
        "target": target,
        "positive": [public.labels(target)[-1]],
    }
    match name:
        case MethodName.MAJORITY:
            from sfumato.tabular.majority import Majority

            return Majority(**given)
        case MethodName.PRIVATE_ERM:
            from sfumato.tabular.private_erm import PrivateERM

            return PrivateERM(**given)
        case _:
            from sfumato.tabular.privgene import PrivGene

            # A small one: what a generation loses does not depend on how many are in it.
            return PrivGene(rounds=2, population=8, parents=2, **given)


def _telling_questions(public: TablePublic) -> list[dict[str, Any]]:
    """Return two questions whose answers change, both, on every canonical pair of tables.

    Canonical pairs add rows of all first or of all last values, or replace the one by the other.
    """
    from sfumato.privacy.guarantee import Relation

    column = public.columns[0]
    labels = public.labels(column)
    if public.relation is Relation.REPLACE_ONE:
        return [{column: [labels[0]]}, {column: [labels[-1]]}]
    return [{}, {column: list(dict.fromkeys([labels[0], labels[-1]]))}]


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
