"""Arrow columns as Polars series, for the types Polars knows and for those it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.engines.reading import moments, series_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["from_arrow"]


def from_arrow(column: Any) -> pl.Series:
    """Return an Arrow column as a series; a type Polars does not know is read value by value."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind):
        return _stamps(column, kind.unit)
    # Polars does not refuse this one with an exception but panics.
    series = None if pa.types.is_decimal256(kind) else _known(column)
    return series_of(column.to_pylist()) if series is None else series


def _stamps(column: Any, unit: str) -> pl.Series:
    """Return time stamps by their counts: Polars panics where one lies far in the past."""
    import pyarrow as pa

    missing = column.is_null().to_numpy(zero_copy_only=False)
    counts = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return moments(counts, unit, missing)


def _known(column: Any) -> pl.Series | None:
    """Return an Arrow column as a series, or nothing where Polars cannot hold its type."""
    import polars as pl
    import pyarrow as pa

    try:
        series = pl.from_arrow(column)
    except (pl.exceptions.PolarsError, pa.ArrowException, TypeError, ValueError):
        return None
    return series if isinstance(series, pl.Series) else None
