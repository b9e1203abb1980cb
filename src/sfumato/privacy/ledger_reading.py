"""Reading the events of a ledger: each part is of its kind, or it is refused.

A hash shows that an event was changed, not that it was ever right: whoever rewrites a whole chain
can give it new hashes. So nothing of an event is taken on trust; whatever is not what a ledger
writes raises `ValueError` or `KeyError` before it is used, and before a figure could fill the
memory.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.loss import Loss, loss_from_json

#: Figures are exact fractions; an exponent, which can stand for any number of digits, is none.
_FIGURE = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?")
_LONGEST_FIGURE = 20_000
_IDENTITY = re.compile(r"[0-9a-f]{32}")


def read_text(body: dict[str, Any], name: str) -> str:
    """Return a part of an event that is text."""
    value = body[name]
    if not isinstance(value, str):
        raise ValueError(f"its {name} is not text")
    return value


def read_identity(body: dict[str, Any]) -> str:
    """Return the name of a ledger that no other has; files are named after it."""
    text = read_text(body, "identity")
    if _IDENTITY.fullmatch(text) is None:
        raise ValueError("its identity is none")
    return text


def read_time(body: dict[str, Any]) -> str:
    """Return the time of an event, as it was written."""
    text = read_text(body, "time")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("its time is none") from None
    if moment.tzinfo is None:
        raise ValueError("its time names no time zone")
    return text


def read_number(body: dict[str, Any], name: str) -> int:
    """Return a part of an event that is a whole number."""
    value = body[name]
    if type(value) is not int:
        raise ValueError(f"its {name} is not a whole number")
    return value


def read_object(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a part of an event that is itself a document."""
    value = body[name]
    if not isinstance(value, dict):
        raise ValueError(f"its {name} cannot be read")
    return value


def read_fingerprint(body: dict[str, Any]) -> str | None:
    """Return the fingerprint of the data that an event was written for, if it looked at any."""
    return None if body["data"] is None else read_text(body, "data")


def read_loss(body: dict[str, Any], name: str) -> Loss:
    """Return a part of an event that is a loss."""
    return _loss(read_object(body, name), name)


def read_guarantee(body: dict[str, Any]) -> Guarantee:
    """Return the guarantee of a booking."""
    document = read_object(body, "guarantee")
    also, public = document["also"], document["public"]
    if not isinstance(also, list) or not all(isinstance(loss, dict) for loss in also):
        raise ValueError("its guarantee cannot be read")
    if not isinstance(public, list) or not all(isinstance(words, str) for words in public):
        raise ValueError("its guarantee cannot be read")
    for loss in (read_object(document, "loss"), *also):
        _loss(loss, "guarantee")
    read_number(document, "contribution")
    for name in ("unit", "relation", "basis", "caveat"):
        read_text(document, name)
    for name in ("proof", "ledger"):
        if document[name] is not None:
            read_text(document, name)
    return Guarantee.from_json(document)


def _loss(document: dict[str, Any], name: str) -> Loss:
    """Return a loss whose figures are fractions of a sensible length."""
    for part, figure in document.items():
        if part == "measure":
            continue
        sound = isinstance(figure, str) and len(figure) <= _LONGEST_FIGURE
        if not sound or _FIGURE.fullmatch(figure) is None:
            raise ValueError(f"its {name} holds a figure that is no fraction")
    return loss_from_json(document)
