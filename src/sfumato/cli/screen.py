"""What a command shows: its answer on standard output, everything else on standard error.

With `--json` the output is one JSON document and nothing else, whether the command succeeds or
fails. No private value is ever shown, and no character of a file reaches a terminal as a command.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.exits import ExitCode, explain

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.sections import Grid, Text

JsonOption = Annotated[
    bool, typer.Option("--json", help="Answer with one JSON document on standard output.")
]

#: How wide tables may be where nothing limits them.
WIDE = 160


class Screen:
    """Where a command shows its answer.

    Parameters
    ----------
    as_json
        Answer with a JSON document instead of words.
    """

    def __init__(self, as_json: bool) -> None:
        from sfumato.cli.console import EscapingConsole

        self.as_json = as_json
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A file name need not be text: showing one must not fail after something was spent.
            sys.stdout.reconfigure(errors="backslashreplace")
        # A file or a pipe has no width of its own: tables are as wide as they need to be.
        wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE
        self.out = EscapingConsole(width=wide)
        self.side = EscapingConsole(stderr=True)

    def note(self, words: str, style: str = "dim") -> None:
        """Say something beside the answer, in one line or in several."""
        first, *further = words.split("\n")
        # Further lines are indented: what a file put after a newline never stands at the margin.
        for line in (first, *(line if line.startswith("  ") else f"  {line}" for line in further)):
            self.side.print(line, style=style, soft_wrap=not self.side.is_terminal)

    def working(self, what: str) -> AbstractContextManager[None]:
        """Show progress beside the answer, on a terminal, if it takes more than a second."""
        from sfumato.cli.progress import show_progress

        return show_progress(what, self.side)

    def answer(self, document: dict[str, Any], show: Callable[[Console], None]) -> None:
        """Give the answer of the command.

        Parameters
        ----------
        document
            The answer for programs.
        show
            Prints the answer for people.
        """
        if self.as_json:
            write_json({"ok": True, **document})
        else:
            show(self.out)


def print_table(
    console: Console,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[int] = (),
) -> None:
    """Print a table, the columns of numbers flush right."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD)
    for place, name in enumerate(head):
        grid.add_column(name, justify="right" if place in right else "left")
    for row in rows:
        grid.add_row(*row)
    console.print(grid)


def print_blocks(console: Console, blocks: Iterable[Text | Grid]) -> None:
    """Print sentences and tables."""
    from sfumato.sections import Grid

    for block in blocks:
        if isinstance(block, Grid):
            print_table(console, block.head, block.rows, right=block.numbers)
        else:
            console.print(block.words, soft_wrap=not console.is_terminal)


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure of Matplotlib as .svg, .png or .pdf.

    All its texts are escaped: no name in a picture commands the program that shows it.
    """
    from matplotlib.text import Text

    from sfumato.privacy.escaping import escape

    for text in figure.findobj(Text):
        text.set_text(escape(text.get_text(), lines=True))
    figure.savefig(path, dpi=160)


def write_json(document: dict[str, Any]) -> None:
    """Write the one document of a command; what is not text in a file name becomes `?`."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    whole = json.loads(text.encode("utf-8", errors="replace"))
    # JSON leaves this one control character as it is.
    shown = json.dumps(whole, indent=2, allow_nan=False).replace("\x7f", "\\u007f")
    sys.stdout.write(shown + "\n")
    sys.stdout.flush()


@contextmanager
def answering(as_json: bool) -> Iterator[Screen]:
    """Run a command: its errors become one clear sentence and an exit code.

    Parameters
    ----------
    as_json
        Whether the error, too, is a JSON document.
    """
    screen = Screen(as_json)
    try:
        yield screen
    except (typer.Exit, BrokenPipeError):
        raise
    except (Exception, KeyboardInterrupt, typer.Abort) as error:
        failure = explain(error)
        if failure.code is ExitCode.UNEXPECTED and os.environ.get("SFUMATO_TRACEBACK"):
            screen.side.out(traceback.format_exc())
        if as_json:
            write_json(failure.to_json())
        screen.note(f"sfumato: {failure.message}", style="bold red")
        raise typer.Exit(int(failure.code)) from None
