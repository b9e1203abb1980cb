"""How objects show themselves in a notebook: small tables of public facts.

Names and notes come from files, so every text is escaped, for terminals and for pages. Nothing here
may be given a private value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escape_html

from sfumato.privacy.escaping import escape

__all__ = ["list_some", "show_facts", "show_table"]

#: More items than this are not listed in one line.
MOST_LISTED = 8


def list_some(items: Iterable[str], most: int = MOST_LISTED) -> str:
    """Return items in one line, the first few of many, fit to be shown."""
    listed = list(items)
    shown = [escape(item) for item in listed[:most]]
    if len(listed) > most:
        shown.append(f"… {len(listed) - most:,} more")
    return ", ".join(shown)


def show_facts(title: str, facts: Iterable[tuple[str, object]]) -> str:
    """Return an HTML table with one fact per line: a name and what is true of it."""
    lines = [f"<tr>{_cell('th', name)}{_cell('td', fact)}</tr>" for name, fact in facts]
    return _table(title, lines)


def show_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table with a head."""
    lines = [f"<tr>{''.join(_cell('th', name) for name in head)}</tr>"]
    lines += [f"<tr>{''.join(_cell('td', item) for item in row)}</tr>" for row in rows]
    return _table(title, lines)


def _table(title: str, lines: list[str]) -> str:
    caption = f'<caption style="text-align: left">{_safe(title)}</caption>'
    return f"<table>{caption}{''.join(lines)}</table>"


def _cell(tag: str, content: object) -> str:
    return f'<{tag} style="text-align: left">{_safe(content)}</{tag}>'


def _safe(content: object) -> str:
    return escape_html(escape(str(content)))
