"""Arrow columns as Polars series, for the types Polars knows and for those it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.engines.errors import Problem, without_values
from sfumato.engines.reading import moments, series_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["from_arrow"]


def from_arrow(column: Any) -> pl.Series:
    """Return an Arrow column as a series; a type Polars does not know is read value by value."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type):
        # What follows is about types of values.
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        decoded = [chunk.dictionary_decode() for chunk in chunks]
        return from_arrow(pa.chunked_array(decoded, type=kind.value_type))
    if pa.types.is_timestamp(kind):
        return _stamps(column, kind.unit)
    if _is_text(kind) or pa.types.is_dictionary(kind) or pa.types.is_nested(kind):
        # Polars trusts the bytes to be text and reads outside its memory where they are not.
        without_values(lambda: column.validate(full=True), pa.ArrowException, _no_text)
    # Polars does not refuse this one with an exception but panics, also within lists.
    series = None if "decimal256" in str(kind) else _read_known(column)
    return series_of(column.to_pylist()) if series is None else series


def _is_text(kind: Any) -> bool:
    """Tell whether a type is one of the types of text."""
    import pyarrow as pa

    views = getattr(pa.types, "is_string_view", lambda _: False)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or views(kind))


def _no_text() -> Problem:
    return Problem(
        wrong="a text column of Arrow holds bytes that are not UTF-8",
        remedy="Convert it to UTF-8, or give its type as binary.",
    )


def _stamps(column: Any, unit: str) -> pl.Series:
    """Return time stamps by their counts: Polars panics where one lies far in the past."""
    import pyarrow as pa

    missing = column.is_null().to_numpy(zero_copy_only=False)
    counts = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return moments(counts, unit, missing)


def _read_known(column: Any) -> pl.Series | None:
    """Return an Arrow column as a series, or nothing where Polars cannot hold its type."""
    import polars as pl
    import pyarrow as pa

    try:
        series = pl.from_arrow(column)
    except (pl.exceptions.PolarsError, pa.ArrowException, TypeError, ValueError):
        return None
    return series if isinstance(series, pl.Series) else None
