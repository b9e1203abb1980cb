"""The one way to a terminal: what is printed is text, and every text is escaped.

A string is one line: a newline in it came from a name and is shown as its code. Texts of several
lines are printed line by line, or with `out`.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.control import Control
from rich.table import Table
from rich.text import Text

from sfumato.privacy.escaping import escape

__all__ = ["EscapingConsole"]


class EscapingConsole(Console):
    """A console on which nothing but this program gives orders.

    Parameters
    ----------
    options
        Those of Rich's console; its markup and its highlighting are off.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print lines and tables, escaped."""
        super().print(*map(_escape_item, objects), **options)

    def out(self, *objects: Any, **options: Any) -> None:
        """Print a whole text as it is, escaped but for its newlines and tabs."""
        text = " ".join(escape(str(item), lines=True) for item in objects)
        # As Rich does it; its own `out` would come back to `print` and have the lines escaped.
        super().print(text, no_wrap=True, overflow="ignore", crop=False, **options)


def _escape_item(item: Any) -> Any:
    """Return something to be printed with all its texts escaped."""
    if isinstance(item, str):
        return escape(item)
    if isinstance(item, Text):
        item.plain = escape(item.plain)
    elif isinstance(item, Table):
        for column in item.columns:
            column.header = _escape_item(column.header)
            column._cells = [_escape_item(cell) for cell in column.cells]
    elif not isinstance(item, Control):
        # Progress bars send controls; anything else would need an escaping of its own.
        raise TypeError(f"only text and tables are printed; got {type(item).__name__}")
    return item
