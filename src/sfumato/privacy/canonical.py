"""One way to write a document as bytes, so that equal documents have equal hashes.

The ledger's entries, the certificates and the transcripts are hashed and signed in this form: JSON
with sorted keys and no spaces, in UTF-8. It may never write two different documents alike, nor one
document in two ways; what JSON cannot say exactly (NaN, fractions, keys that are not text) is
refused and never coerced.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

__all__ = ["canonical", "digest"]


def canonical(document: Any) -> bytes:
    """Return the one way to write a JSON document as bytes.

    Tuples are written as lists, floats as their shortest decimal and integers exactly. The caller
    writes a fraction as the text "p/q".

    Parameters
    ----------
    document
        Text, integers, finite floats, booleans, None, and lists and dictionaries of them.

    Raises
    ------
    ValueError
        For anything that JSON cannot say exactly; the message names the place and the type, and
        never the value.
    """
    _refuse_inexact(document, "")
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8")


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _refuse_inexact(value: Any, place: str) -> None:
    """Raise for the first value that has no exact form in JSON."""
    if value is None or isinstance(value, bool | int):
        return
    if isinstance(value, str):
        _refuse_lone_surrogates(value, place)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(
                f"{_name_place(place)} is a float that is not finite, which JSON cannot hold"
            )
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(
                    f"{_name_place(place)} has a key of type {type(key).__name__}; keys must be "
                    "text"
                )
            _refuse_lone_surrogates(key, f"{place}, a key")
            _refuse_inexact(item, f"{place}.{key}" if place else key)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_inexact(item, f"{place}[{index}]")
    else:
        raise ValueError(
            f"{_name_place(place)} is of type {type(value).__name__}; allowed are text, integers, "
            "finite floats, booleans, None, lists and dictionaries (write a fraction as the text "
            '"p/q")'
        )


def _refuse_lone_surrogates(text: str, place: str) -> None:
    """Raise for text that UTF-8 cannot write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{_name_place(place)} holds half of a surrogate pair and is not valid text"
        ) from None


def _name_place(place: str) -> str:
    """Return the place of a value in words."""
    return f"the value at {place}" if place else "the document"
