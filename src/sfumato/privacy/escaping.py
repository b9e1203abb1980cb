"""Text that came from a file, as it may be shown: nothing in it commands a terminal or a page.

Names, categories, notes and messages are declared or written by somebody else. A control character
among them could clear a screen and write "all checks passed" on it, and a bidirectional override
could turn a sentence round. Whatever is shown passes through `escape`, which replaces such
characters with their codes. What is saved keeps them.
"""

from __future__ import annotations

import re

__all__ = ["escape"]

#: Control characters (C0, DEL and C1), line and paragraph separators, everything that sets the
#: direction of writing, and halves of surrogate pairs, which no output can encode. Joiners stay:
#: Persian and many signs need them.
_COMMANDS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str, *, lines: bool = False) -> str:
    """Return a text with its unprintable characters replaced by their codes.

    Parameters
    ----------
    text
        The text.
    lines
        Keep newlines and tabs: for whole texts, never for a name that stands in a line.
    """
    if text.isprintable():
        return text
    return _COMMANDS.sub(
        lambda found: found[0] if lines and found[0] in "\n\t" else _code(found[0]), text
    )


def _code(character: str) -> str:
    return _SHORT.get(character, f"\\u{ord(character):04x}")
