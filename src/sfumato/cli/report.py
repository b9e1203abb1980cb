"""`sfumato report`: draw the page of a saved release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.screen import JsonOption, answering


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The release folder.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write; by default report.html in DIR."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write one self-contained HTML page about a release, after checking it."""
    with answering(as_json) as screen:
        from sfumato.report.page import save_report

        with screen.working("drawing the report"):
            page = save_report(directory, out)
        screen.answer(
            {"report": str(page)},
            lambda console: console.print(f"The report is in {page}", soft_wrap=True),
        )
