"""`sfumato verify`: check a saved release without any data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.exits import ExitCode
from sfumato.cli.screen import JsonOption, answering, write_json


def verify(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The release folder.")],
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="The public key (.pub) by which the release must be signed."
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The ledger in which the release must be booked."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify a release without any data: files, signature, ledger, and the release rebuilt."""
    with answering(as_json) as screen:
        from sfumato.privacy.ledger import Ledger
        from sfumato.privacy.saved import verify as check

        book = None if ledger is None else Ledger.open(ledger)
        with screen.working("checking the release"):
            outcome = check(directory, key=key, ledger=book)
        if as_json:
            write_json({"ok": outcome.passed, **outcome.to_json()})
        else:
            for item in outcome.checks:
                style = "bold red" if not item.passed else "yellow" if item.remark else "green"
                screen.out.print(item.mark, style=style, end=" ")
                screen.out.print(item.words, soft_wrap=not screen.out.is_terminal)
            screen.out.print()
            screen.out.print(outcome.words(), soft_wrap=not screen.out.is_terminal)
        if not outcome.passed:
            raise typer.Exit(int(ExitCode.VERIFICATION))
