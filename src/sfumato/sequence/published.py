"""What the published files of releases of sequences share: strings in words, and their comparison.

Everything here is a function of what is public.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.sequences import SequencesPublic
from sfumato.privacy.guarantee import Unit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DECIMALS", "START", "csv", "same_files", "string_text", "used_words"]

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


def same_files(ours: dict[str, bytes], theirs: dict[str, bytes]) -> bool:
    """Tell whether two sets of CSV files say the same, up to rounding."""
    return ours.keys() == theirs.keys() and all(
        content == theirs[name] or _same(content, theirs[name]) for name, content in ours.items()
    )


def _same(ours: bytes, theirs: bytes) -> bool:
    import polars as pl

    here, there = (pl.read_csv(io.BytesIO(content)) for content in (ours, theirs))
    if here.schema != there.schema or here.height != there.height:
        return False
    for column in here.columns:
        if here[column].dtype == pl.Float64:
            mine, other = here[column].to_numpy(), there[column].to_numpy()
            # A missing or undefined number compares false, and so disagrees.
            if not (np.abs(mine - other) <= 2 * 10.0**-DECIMALS + 1e-9 * np.abs(mine)).all():
                return False
        elif not here[column].equals(there[column]):
            return False
    return True


def used_words(public: SequencesPublic, limit: int) -> str:
    """Return which part of the data the counts are of, in a sentence or two."""
    person = (
        f"Of each person the first {public.contribution:,} sequence"
        f"{'s were' if public.contribution > 1 else ' was'} used. "
        if public.unit is Unit.PERSON
        else ""
    )
    return (
        f"{person}Of each sequence the first {limit:,} symbols were used, its end counted as one; "
        "counts are of what was used, not of all that is in the data."
    )
