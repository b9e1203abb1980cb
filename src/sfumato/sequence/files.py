"""What the published files of releases of sequences share: strings in words, and tables.

Everything here is a function of what is public.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.data.sequences import SequencesPublic
from sfumato.privacy.guarantee import Unit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DECIMALS", "START", "csv", "describe_used", "string_text"]

#: Published counts are rounded to this many decimals, far below the noise.
DECIMALS = 3
#: How the start of a sequence is written.
START = "(start)"


def string_text(public: SequencesPublic, codes: Sequence[int]) -> str:
    """Return a string of symbols as text, the start among them as the code `symbols`.

    Symbols are set apart by blanks; where one holds a blank or looks like the start, the text is a
    JSON list instead, with null for the start.
    """
    start = public.symbols
    if any(_odd(str(label)) for label in public.alphabet):
        symbols = [None if code == start else public.label(code) for code in codes]
        return json.dumps(symbols, ensure_ascii=False)
    return " ".join(START if code == start else str(public.label(code)) for code in codes)


def _odd(label: str) -> bool:
    return label == START or not label or label.startswith("[") or any(map(str.isspace, label))


def csv(frame: pl.DataFrame) -> bytes:
    """Return a frame as CSV."""
    buffer = io.BytesIO()
    frame.write_csv(buffer, float_precision=DECIMALS)
    return buffer.getvalue()


def describe_used(public: SequencesPublic, limit: int) -> str:
    """Return which part of the data the counts are of, in a sentence or two."""
    person = (
        f"Of each person the first {public.contribution:,} sequence"
        f"{'s were' if public.contribution > 1 else ' was'} used. "
        if public.unit is Unit.PERSON
        else ""
    )
    return (
        f"{person}Of each sequence the first {limit:,} symbols were used, its end counted as one; "
        "counts refer to the used part of the data, not to all of it."
    )
