"""What the published files of all releases of tables share: values in words, and a codebook.

Everything here is a function of what is public.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.table import TablePublic

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DECIMALS", "FORMULA", "codebook", "csv", "free_name", "values_of"]

#: The codes of a column with more than this are not listed one by one.
MOST_LISTED = 4096
#: Published counts are rounded to this many decimals, far below the noise.
DECIMALS = 3
#: How a text begins that a spreadsheet may run as a formula, quoted or not; a plain number is
#: harmless. Texts are released as they are, so that data are read back exactly.
FORMULA = re.compile(r"[=@\t\r]|[+-](?![0-9.,]*$)")


def free_name(name: str, taken: set[str]) -> str:
    """Return a name that no column has."""
    while name in taken:
        name += "_"
    return name


def values_of(
    public: TablePublic, columns: Sequence[str], shape: tuple[int, ...]
) -> list[pl.Series]:
    """Return the values of each column at every cell of a table, as text."""
    import polars as pl

    places = np.indices(shape).reshape(len(shape), -1)
    return [
        pl.Series(name, np.array(public.labels(name), dtype=object)[place], pl.String)
        for name, place in zip(columns, places, strict=True)
    ]


def csv(frame: pl.DataFrame, decimals: int | None = None) -> bytes:
    """Return a frame as CSV."""
    buffer = io.BytesIO()
    frame.write_csv(buffer, float_precision=decimals)
    return buffer.getvalue()


def codebook(public: TablePublic) -> bytes:
    """Return what every code of every column stands for, as CSV.

    Of a column with very many codes the first and the last declared value are listed, and what
    stands for others.
    """
    import polars as pl

    rows = []
    for column in public.schema.columns:
        coding, size = column.coding, column.size
        proper, reserved = coding.proper, coding.reserved_labels
        few = size <= MOST_LISTED
        listed = range(size) if few else sorted({0, proper - 1, *range(proper, size)})
        rows += [
            (column.name, code, coding.label(code) if code < proper else reserved[code - proper])
            for code in listed
        ]
    return csv(pl.DataFrame(rows, schema=["column", "code", "value"], orient="row"))
