"""From any data frame to plain columns, and from plain columns to the caller's kind of frame.

A column keeps its values, in whatever type its library gave it; what a value says is decided by
`engines.reading`, for that value alone. pandas cannot tell NaN from null, others can; both are
missing values here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.arrow import from_arrow
from sfumato.engines.errors import DataError, Problem, importing, without_values
from sfumato.engines.reading import moments, series_of

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ToFrame",
    "column_of",
    "columns_of",
    "is_relation",
    "names_of",
    "require_order",
    "to_backend",
]


def is_relation(source: Any) -> bool:
    """Return whether something is a DuckDB relation, without importing DuckDB."""
    return type(source).__name__ == "DuckDBPyRelation"


def require_order(source: Any) -> None:
    """Refuse a query: its rows have no fixed order, so none are a person's first ones."""
    if is_relation(source):
        remedy = "Write it to a Parquet file or fetch it as a frame first."
    elif _is_lazy(source):
        remedy = "collect() it first."
    else:
        return
    raise DataError(
        Problem(
            wrong="the first rows of each person are used, and a query without a fixed order may "
            "return other rows on each run",
            remedy=remedy,
        )
    )


def _is_lazy(source: Any) -> bool:
    """Return whether something is a lazy frame, of Polars or behind Narwhals' face."""
    return hasattr(source, "collect_schema") and hasattr(source, "collect")


def _wrap_frame(source: Any) -> Any:
    """Return a frame behind Narwhals' face; a lazy one is run once."""
    import narwhals as nw
    import polars as pl

    if isinstance(source, pl.LazyFrame):
        lazy = source
        # A query may call the user's own functions, which raise whatever they like.
        source = without_values(lambda: lazy.collect(), Exception, _query_failed)
    if isinstance(source, nw.DataFrame):
        return source
    try:
        return nw.from_native(source, eager_only=True)
    except TypeError:
        pass
    raise TypeError(
        "a table needs a pandas, Polars or PyArrow frame or a DuckDB relation; got "
        f"{type(source).__name__}; read a file with read_table(path, schema=…)"
    )


def _query_failed() -> Problem:
    return Problem(
        wrong="the lazy frame could not be computed",
        remedy="Call its collect() to see why; the message may quote the data.",
    )


def names_of(source: Any) -> list[str]:
    """Return the names of a frame's columns, as they are, even if one is there twice."""
    if isinstance(source, str | bytes | Path):
        raise DataError(
            Problem(
                wrong="a table needs a frame; got a path",
                remedy="Read a file with read_table(path, schema=…).",
            )
        )
    # Asked of the frame itself, since Narwhals refuses pandas frames with duplicate names.
    if _is_lazy(source):
        names = source.collect_schema().names()
    elif hasattr(source, "column_names"):
        names = source.column_names
    elif hasattr(source, "columns"):
        names = source.columns
    else:
        names = _wrap_frame(source).columns
    return [str(name) for name in names]


def columns_of(source: Any, names: Sequence[str] | None = None) -> dict[str, pl.Series]:
    """Return some columns of an eager frame, or all, as Polars series.

    Parameters
    ----------
    source
        A frame of any library that Narwhals knows.
    names
        The columns wanted; each must be there once.
    """
    import polars as pl

    if isinstance(source, pl.LazyFrame) and names is not None:
        source = source.select(list(names))
    if _is_pandas(source):
        # pandas allows column labels that are no text, and duplicates of columns not wanted.
        labels = {str(label): label for label in source.columns}
        wanted = labels if names is None else names
        return {name: column_of(source[labels[name]], name) for name in wanted}
    frame = _wrap_frame(source)
    wanted_names = list(frame.columns) if names is None else list(names)
    return {name: column_of(frame.get_column(name).to_native(), name) for name in wanted_names}


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns")


def column_of(values: Any, name: str | None = None) -> pl.Series:
    """Return one column, array or list of values as a series, each value as it is.

    Parameters
    ----------
    values
        A column of pandas, Polars or PyArrow, a NumPy array of one axis, or a list.
    name
        What it is called, for messages.
    """
    import polars as pl

    if isinstance(getattr(values, "dtype", None), np.dtype) and values.dtype.kind == "m":
        raise DataError(
            Problem(
                field=name,
                # In an array with one of them NumPy makes spans of numbers and truth values too.
                wrong="the values are stored as durations, which are neither numbers nor text",
                remedy="Convert them to a number of days or of seconds.",
            )
        )
    if getattr(values, "ndim", 1) != 1 or isinstance(
        values, str | bytes | Mapping | Set | pl.DataFrame
    ):
        raise DataError(
            Problem(
                field=name,
                wrong="the values must be a column, a one-dimensional array or a list",
                remedy="Give a single column; flatten an array of one column with ravel().",
            )
        )
    if isinstance(values, pl.Series):
        return series_of(values.to_list()) if values.dtype == pl.Object else values
    module = type(values).__module__.split(".")[0]
    if module == "pandas" and hasattr(values, "dtype"):
        return _from_pandas(values)
    if module == "pyarrow":
        return from_arrow(values)
    if isinstance(values, np.ndarray):
        return _from_numpy(values)
    return series_of(values.to_list() if hasattr(values, "to_list") else values)


def _from_numpy(values: NDArray[Any]) -> pl.Series:
    """Return an array of one axis as a series; masked values are missing."""
    import polars as pl

    plain, kind = np.asarray(values), values.dtype.kind
    if kind in "biu":
        series = pl.Series(np.ascontiguousarray(plain))
    elif kind == "f":
        with np.errstate(over="ignore"):
            series = pl.Series(np.ascontiguousarray(plain, dtype=np.float64))
    elif kind == "M" and (stamps := _from_stamps(plain)) is not None:
        series = stamps
    else:
        # Item by item: as a list, time stamps would be whole numbers.
        series = series_of(plain.tolist() if kind in "OSU" else list(plain))
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if masked is None or not masked.any():
        return series
    return pl.select(pl.when(pl.Series(~masked)).then(series)).to_series()


def _from_stamps(values: NDArray[Any]) -> pl.Series | None:
    """Return time stamps of a resolution that `moments` knows."""
    unit = np.datetime_data(values.dtype)[0]
    if unit not in ("s", "ms", "us", "ns") or np.datetime_data(values.dtype)[1] != 1:
        return None
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    return moments(np.ascontiguousarray(native).view(np.int64), unit, np.isnat(native))


def _from_pandas(native: Any) -> pl.Series:
    """Return a pandas column as a series, whether or not PyArrow is installed."""
    import polars as pl

    dtype = native.dtype
    if type(dtype).__name__ == "CategoricalDtype":
        values = _from_pandas(native.cat.categories.to_series())
        codes = pl.Series(native.cat.codes.to_numpy().astype(np.int64))
        present = pl.select(pl.when(codes >= 0).then(codes)).to_series()
        return values.gather(present)
    if type(dtype).__name__ == "ArrowDtype":
        return from_arrow(native.array.__arrow_array__())
    if type(dtype).__name__ == "DatetimeTZDtype":
        native = native.dt.tz_convert(None)
    if isinstance(native.dtype, np.dtype):
        return _from_numpy(native.to_numpy())
    if getattr(dtype, "kind", "") in "biuf" and hasattr(dtype, "numpy_dtype"):
        # pandas' own nullable types: values and a mask.
        values = pl.Series(
            native.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        )
        there = pl.Series(native.notna().to_numpy(dtype=np.bool_))
        return pl.select(pl.when(there).then(values)).to_series()
    return series_of(native.to_numpy(dtype=object))


class ToFrame(ABC):
    """Something published whose main content is a table."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """Return the main table as a Polars frame."""

    def to_pandas(self) -> Any:
        """Return the main table as a pandas frame; needs the extra `pandas`."""
        return to_backend(self.to_polars(), "pandas")


def to_backend(frame: pl.DataFrame, backend: str) -> Any:
    """Return a Polars frame as a frame of another library.

    Parameters
    ----------
    frame
        The frame.
    backend
        `"polars"`, `"pandas"` or `"pyarrow"`.
    """
    if backend == "polars":
        return frame
    if backend == "pyarrow":
        with importing("PyArrow", "duckdb"):
            import pyarrow  # noqa: F401
        return frame.to_arrow()
    if backend == "pandas":
        with importing("pandas", "pandas"):
            import pandas as pd
        return pd.DataFrame({name: _to_pandas(frame[name]) for name in frame.columns})
    raise ValueError(f"backend must be 'polars', 'pandas' or 'pyarrow'; got {backend!r}")


def _to_pandas(series: pl.Series) -> Any:
    """Return a series as a pandas column; missing values keep whole numbers whole."""
    import pandas as pd
    import polars as pl

    if series.dtype == pl.Date:
        return pd.Series(series.cast(pl.Datetime("us")).to_numpy())
    if series.dtype == pl.String:
        return pd.Series(series.to_list(), dtype="str" if _new_text(pd) else "object")
    if series.null_count() == 0:
        return pd.Series(series.to_numpy())
    if series.dtype == pl.Float64:
        return pd.Series(series.fill_null(float("nan")).to_numpy())
    names = {pl.Int64: "Int64", pl.UInt64: "UInt64", pl.Boolean: "boolean"}
    return pd.Series(pd.array(series.to_list(), dtype=names[type(series.dtype)]))


def _new_text(pandas: Any) -> bool:
    """Return whether this pandas has a text type of its own (from version 3)."""
    return int(pandas.__version__.split(".")[0]) >= 3
