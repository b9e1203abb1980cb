"""`sfumato demo`: the whole way to a checked release, with people who do not exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.screen import JsonOption, answering


def demo(
    out: Annotated[Path, typer.Option(help="The folder to make.")] = Path("sfumato-demo"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace the folder of an earlier demo.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make up a clinic, release its visits, check the release, and leave a folder to look at."""
    with answering(as_json) as screen:
        from sfumato.cli.demo.folder import prepare
        from sfumato.cli.demo.story import tell

        prepare(out, force=force)
        document = tell(screen, out)
        screen.answer(document, lambda console: None)
