"""`sfumato demo`: the full workflow, from data to a verified release, on synthetic patients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.screen import JsonOption, answering


def demo(
    out: Annotated[Path, typer.Option(help="The folder to create.")] = Path("sfumato-demo"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace the folder of an earlier demo.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run the full workflow on synthetic patients and write the results to a folder."""
    with answering(as_json) as screen:
        from sfumato.cli.demo.folder import prepare
        from sfumato.cli.demo.story import tell

        prepare(out, force=force)
        document = tell(screen, out)
        screen.answer(document, lambda console: None)
