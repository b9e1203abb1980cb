"""The former wording of saved releases, so that a folder that has it still verifies to the byte.

A folder is compared in the present wording, and if that fails in the former one: both follow from
the release, so neither leaves room for anything else. `former_words.json` holds pairs of a pattern
of the present text and the former text in its place, longest first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

__all__ = ["restore_former"]


@cache
def _pairs() -> list[tuple[str, str]]:
    """Return the patterns and what replaces them."""
    return [
        (pattern, former)
        for pattern, former in json.loads(
            Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
        )
    ]


def restore_former(text: str, quote: Callable[[str], str] = str) -> str:
    """Return a text of a release as it was worded before.

    Parameters
    ----------
    text
        The text in the present wording.
    quote
        How the text was quoted, such as for HTML.

    Examples
    --------
    >>> restore_former("This is not a private release: it is a rehearsal on synthetic data.")
    'This is not a private release: it is a rehearsal on made-up data.'
    """
    for pattern, former in _pairs():
        text = re.sub(quote(pattern), quote(former), text)
    return text
