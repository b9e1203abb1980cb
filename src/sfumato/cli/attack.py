"""`sfumato attack`: what an adversary could infer from a release. Not private."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.attack_genomics import add_commands
from sfumato.cli.exits import EPILOG, ExitCode, Refusal
from sfumato.cli.options import (
    EngineChoice,
    EngineOption,
    ReleaseArgument,
    SeparatorOption,
    parse_names,
    refuse_unwritable,
)
from sfumato.cli.releasing import load_release, show_comparison
from sfumato.cli.screen import JsonOption, answering, print_table
from sfumato.cli.table_schema import TABLES, FileArgument, ReadingOptions

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.attacks.outcome import InversionOutcome


class SourceChoice(StrEnum):
    """Where an attacker has the shares of values and the errors of a model from."""

    TRAIN = "train"
    PUBLIC = "public"
    DP = "dp"


app = typer.Typer(
    help="Attack a release to measure what it discloses. Not private: for the custodian only.",
    epilog=EPILOG,
    no_args_is_help=True,
)


@app.callback()
def _attacks() -> None:
    """Try an attack on a release. NOT PRIVATE: for the custodian's eyes only."""


@app.command("inversion", epilog=EPILOG)
def inversion(
    file: FileArgument,
    release: ReleaseArgument,
    sensitive: Annotated[
        str, typer.Option(metavar="NAME", help="The column that the attacker infers.")
    ],
    known: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="The columns that the attacker knows besides the target, as age,sex; by "
            'default all others; none with --known "".',
        ),
    ] = None,
    pi: Annotated[
        SourceChoice,
        typer.Option(
            help="Where the shares of values and the errors of the model are known from: the "
            "private table itself, a public one (--public), or a private release (--pi-epsilon)."
        ),
    ] = SourceChoice.TRAIN,
    pi_epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The privacy loss of that release, for --pi dp."),
    ] = None,
    public: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public table, for --pi public.")
    ] = None,
    others: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows outside the training data, attacked as well."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a report of the attack, as .html. Not private."),
    ] = None,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer a column of each person through a released model. NOT PRIVATE: for the custodian."""
    with answering(as_json) as screen:
        from sfumato.attacks.model_inversion import ModelInversion
        from sfumato.regression.model import RegressionModel
        from sfumato.report.model_inversion import save_inversion
        from sfumato.tabular.classifier import Classifier

        refuse_unwritable(out, (".html",))
        if (pi is SourceChoice.PUBLIC) != (public is not None):
            raise Refusal(ExitCode.USAGE, "--pi public and --public FILE must be given together")
        if (pi is SourceChoice.DP) != (pi_epsilon is not None):
            raise Refusal(ExitCode.USAGE, "--pi dp and --pi-epsilon NUMBER must be given together")
        made = load_release(
            screen,
            release,
            (RegressionModel, Classifier),
            "model inversion needs a release of a regression or a classifier",
        )
        names = None if known is None else parse_names(known) if known.strip() else ()
        attack = ModelInversion(sensitive=sensitive, known=names, pi=pi.value, epsilon=pi_epsilon)
        reading = ReadingOptions(engine, separator)
        table, *further = (
            None if path is None else TABLES.read_known(screen, path, made.public, reading)
            for path in (file, public, others)
        )
        assert table is not None
        with screen.working("attacking"):
            outcome = attack.run(table, made, public=further[0], others=further[1])
        if out is not None:
            save_inversion(outcome, out)
        document = {**outcome.to_json(), "page": None if out is None else str(out)}
        show_comparison(screen, document, lambda console: _show(console, outcome, out))


def _show(console: Console, outcome: InversionOutcome, page: Path | None) -> None:
    """Print how often each way of guessing is right, and what that means."""
    head = [f"{outcome.sensitive} is guessed by", "right", "± by chance"]
    head += ["right of others"] if outcome.others else []
    rows = []
    for place, item in enumerate(outcome.guesses):
        cells = [item.name, f"{100 * item.right:.1f} %", f"{100 * item.margin:.1f}"]
        if outcome.others:
            cells.append(f"{100 * outcome.others[place].right:.1f} %")
        rows.append(cells)
    print_table(console, head, rows, right=(1, 2, 3))
    for sentence in outcome.sentences():
        console.print(sentence, soft_wrap=not console.is_terminal)
    if page is not None:
        console.print(f"Report (not private): {page}", soft_wrap=True)


add_commands(app)
