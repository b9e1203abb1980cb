"""`sfumato table evaluate`: compare a release with the private table. Not private."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.exits import ExitCode, Refusal
from sfumato.cli.screen import JsonOption, answering
from sfumato.cli.table_options import (
    EngineChoice,
    EngineOption,
    FileArgument,
    SeparatorOption,
    read_private,
    read_schema,
)


def evaluate(
    file: FileArgument,
    release: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the release.")],
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The schema file; by default the release's own schema."),
    ] = None,
    ways: Annotated[
        int, typer.Option(help="Compare all tables of up to this many columns.", min=1, max=4)
    ] = 2,
    engine: EngineOption = EngineChoice.AUTO,
    separator: SeparatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a release with the private table. NOT PRIVATE: for the custodian's eyes only."""
    with answering(as_json) as screen:
        from sfumato.cli.words import show_evaluation
        from sfumato.evaluate.table import WARNING
        from sfumato.evaluate.table import evaluate as compare
        from sfumato.privacy.saved import load
        from sfumato.tabular.noisy_tables import NoisyTables

        with screen.working("rebuilding the release"):
            made = load(release)
        if not isinstance(made, NoisyTables):
            raise Refusal(
                ExitCode.USAGE, f"only released tables can be compared; {release} holds {made.kind}"
            )
        declared = made.public.schema if schema is None else read_schema(schema)
        table = read_private(screen, file, declared, engine, separator)
        most = min(ways, len(declared.names))
        with screen.working("comparing"):
            outcome = compare(table, made, ways=range(1, most + 1))
        if as_json:
            screen.note(WARNING, style="bold red")
        screen.answer(outcome.to_json(), lambda console: show_evaluation(console, outcome, WARNING))
