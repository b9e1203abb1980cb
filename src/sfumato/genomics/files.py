"""What the published files of all releases of genotypes share.

Everything here is a function of what is public.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.sites import Sites
from sfumato.privacy.figures import figure

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DIGITS", "site_columns", "write_table"]

#: How many significant digits computed figures are published with.
DIGITS = 6


def site_columns(sites: Sites, repeat: int = 1) -> dict[str, list[str] | list[int]]:
    """Return names, places and alleles of sites, each as often as it is needed."""
    names, chromosomes, positions, effects, others = (
        np.repeat(np.array(column, dtype=object), repeat).tolist() for column in sites.listed
    )
    return {
        "site": names,
        "chromosome": chromosomes,
        "position": [int(text) for text in positions],
        "effect_allele": effects,
        "other_allele": others,
    }


def write_table(frame: pl.DataFrame, *, separator: str = ",") -> bytes:
    """Return a frame as CSV, or with tabs, with few digits."""
    import polars as pl

    texts = {
        name: [None if x is None else figure(x, DIGITS) for x in frame[name].to_list()]
        for name, kind in frame.schema.items()
        if kind == pl.Float64
    }
    written = frame.with_columns([pl.Series(name, text, pl.String) for name, text in texts.items()])
    buffer = io.BytesIO()
    written.write_csv(buffer, separator=separator, null_value="" if separator == "," else "#NA")
    return buffer.getvalue()
