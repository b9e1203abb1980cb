"""How a raw column becomes small integer codes, and codes become values again."""

from __future__ import annotations

from typing import Any

from sfumato.engines.coding.base import MISSING, OTHER, Coding, Encoded, Fault, Generator, Ladder
from sfumato.engines.coding.categories import Booleans, Categories
from sfumato.engines.coding.discover import DISCOVER, Discover
from sfumato.engines.coding.numbers import Numbers
from sfumato.engines.coding.ranges import Dates, Integers
from sfumato.engines.coding.reals import Reals
from sfumato.engines.coding.steps import Steps, Times
from sfumato.noise.exact import briefly

__all__ = [
    "DISCOVER",
    "MISSING",
    "OTHER",
    "Booleans",
    "Categories",
    "Coding",
    "Dates",
    "Discover",
    "Encoded",
    "Fault",
    "Generator",
    "Integers",
    "Ladder",
    "Numbers",
    "Reals",
    "Steps",
    "Times",
    "coding_from_json",
]

KINDS: dict[str, type[Coding]] = {
    coding.kind: coding for coding in (Categories, Booleans, Numbers, Reals, Integers, Dates, Times)
}


def coding_from_json(document: dict[str, Any]) -> Coding:
    """Return the coding a document describes, or say what is wrong with it."""
    options = dict(document)
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {briefly(kind)}")
    open_list = kind == Categories.kind and options.get("values") == DISCOVER
    if open_list:
        del options["values"]
    # Numbers without bins have a code for each value.
    stepped = kind == Steps.kind and not {"bins", "edges"} & set(options)
    try:
        return (Discover if open_list else Steps if stepped else KINDS[kind]).from_json(options)
    except (TypeError, OverflowError):
        named = ", ".join(sorted(options)) or "nothing"
        raise ValueError(f"a column of kind {kind!r} cannot be described by {named}") from None
