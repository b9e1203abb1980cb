"""`sfumato audit`: try to refute a method's guarantee on synthetic neighbours. Free."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import catalogue
from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.options import DeltaOption, RelationChoice, refuse_unwritable
from sfumato.cli.schemas import read_schema
from sfumato.cli.screen import JsonOption, Screen, answering, write_json
from sfumato.privacy.registry import command_name

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.audit.replaying import ReplayFindings
    from sfumato.audit.subjects import Subject
    from sfumato.audit.verdict import Audit

#: The pictures that can be written, by the ending of their names.
PICTURES = (".svg", ".png")


def audit(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", help="The method to audit.", autocompletion=lambda: sorted(_names())
        ),
    ],
    epsilon: Annotated[
        str,
        typer.Option(
            metavar="NUMBER", help="The privacy loss that the method promises; there is no default."
        ),
    ],
    delta: DeltaOption = None,
    trials: Annotated[
        int, typer.Option(help="The number of outputs drawn per data set of a pair.", min=100)
    ] = 20_000,
    confidence: Annotated[
        float, typer.Option(help="The confidence of a refutation, over all pairs together.")
    ] = 0.999,
    relation: Annotated[
        RelationChoice | None,
        typer.Option(help="The neighbouring relation; add_remove by default."),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="M", help="Neighbours differ in one person with up to M records.", min=1
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A schema for the synthetic data; by default a small one."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the pair with the largest measured loss, as .svg or .png."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="A seed that makes the audit repeatable.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Try to refute a method's guarantee on synthetic neighbours. Free: reads no private data."""
    with answering(as_json) as screen:
        refuse_unwritable(picture, PICTURES, option="--picture")
        if not 0.5 <= confidence < 1:
            raise Refusal(ExitCode.USAGE, "--confidence must be at least 0.5 and less than 1")
        from sfumato.audit.subjects import subject_of

        subject = subject_of(
            method, epsilon=epsilon, delta=delta, relation=relation, max_rows=max_rows,
            read_public=None if schema is None else partial(_read_public, method, schema),
        )  # fmt: skip
        outcome = _try(screen, subject, trials=trials, confidence=confidence, seed=seed)
        if picture is not None:
            from sfumato.audit.picture import save_picture

            save_picture(outcome, picture)
        if as_json:
            drawn = None if picture is None else str(picture)
            write_json({"ok": not outcome.refuted, **outcome.to_json(), "picture": drawn})
        else:
            _show(screen.out, outcome, picture)
        if outcome.refuted:
            raise typer.Exit(int(ExitCode.REFUTED))


def _names() -> list[str]:
    """Return every method of the catalogue, as commands call it."""
    return [command_name(name) for name in catalogue.METHODS]


def _read_public(called: str, schema: Path, kind: str) -> Any:
    """Return what a schema file declares about data of the kind that a method takes."""
    if kind not in ("table", "points", "sequences"):
        raise Refusal(
            ExitCode.USAGE,
            f"{called} needs data of kind {kind!r}, which has no schema file; leave --schema out",
        )
    return read_schema(schema, kind)


def _try(
    screen: Screen, subject: Subject, *, trials: int, confidence: float, seed: int | None
) -> Audit:
    """Replay and sample every canonical pair."""
    from sfumato.audit.neighbours import canonical_pairs
    from sfumato.audit.verdict import Audit, audit_pairs

    pairs = canonical_pairs(subject.public)
    found = audit_pairs(
        subject.method, pairs,
        trials=trials, confidence=confidence, questions=subject.questions, seed=seed,
    )  # fmt: skip
    tried = []
    for number, pair in enumerate(pairs):
        with _telling(screen, f"pair {number + 1} of {len(pairs)}, {pair.name}"):
            tried.append(next(found))
    return Audit(subject.method, subject.public, tuple(tried), trials, confidence)


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


def _show(console: Console, outcome: Audit, picture: Path | None) -> None:
    """Print the pairs and what they show."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    method, public = outcome.method, outcome.public
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
    for one in outcome.pairs:
        style = "bold red" if one.refuted else "green"
        verdict = "REFUTED" if one.refuted else "not refuted"
        shown = f"{max(one.sampled.bound, 0.0):.3f}"
        grid.add_row(
            one.sampled.pair, str(method.loss()), _exactly(one.replayed), shown,
            Text(verdict, style=style),
        )  # fmt: skip
    console.print(grid)
    for pair, text in outcome.faults:
        console.print(f"{pair}: {text}", soft_wrap=wrap, style="red")
    console.print(outcome.words(), soft_wrap=wrap, style="bold")
    console.print(
        "An audit can refute a guarantee but cannot prove one; the proof is "
        f"docs/proofs/{method.proof}.",
        soft_wrap=wrap,
        style="dim",
    )
    if picture is not None:
        console.print(f"Picture of the pair '{outcome.telling.sampled.pair}': {picture}")


def _exactly(replayed: ReplayFindings | None) -> str:
    """Return the largest loss of a transcript beside what is promised in its measure."""
    if replayed is None:
        return "—"
    figure = "∞" if math.isinf(replayed.largest) else f"{replayed.largest:.6g}"
    return f"{figure} of {replayed.claimed}"
