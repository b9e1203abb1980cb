"""The names of nodes: how one value is read as a name, and in which order names are published.

A name is a whole number or a text. Which of them a value is depends on that value alone: on no
other name, on no other edge, and not on the type that a column came to have because of another
edge. The published order is a function of the set of names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.reading import EXACT, UNREADABLE, series_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Labels", "Mask", "Names", "check_labels", "labels_in", "labels_of", "places_of"]

Labels = tuple[int | str, ...]
Mask = NDArray[np.bool_]

#: How a whole number of at most 64 bits is written; the decimals are those of a column of doubles.
_WHOLE = r"^(-?(?:0|[1-9][0-9]{0,18}))(?:\.0+)?$"


@dataclass(frozen=True)
class Names:
    """A column read as names of nodes.

    Parameters
    ----------
    wholes
        The names that are whole numbers, 0 elsewhere.
    whole
        Where they are.
    texts
        The names that are texts, null elsewhere. What is neither names no node.
    """

    wholes: NDArray[np.int64]
    whole: Mask
    texts: pl.Series

    @classmethod
    def read(cls, series: pl.Series) -> Names:
        """Read a column of any type.

        A text loses the blanks around it. `7`, `-7` and `7.0` are whole numbers; `007`, `+7` and
        what has more than 64 bits are texts. A double is a whole number below 2**53 if it is one,
        and names no node beyond; any other double is the text Python writes for it. Times, truth
        values and lists name no node.
        """
        import polars as pl

        kind = series.dtype
        if kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32):
            wholes = series.cast(pl.Int64)
            return cls._of(wholes, pl.repeat(None, len(series), dtype=pl.String, eager=True))
        if kind.is_float():
            return cls._of(*_from_floats(series.cast(pl.Float64)))
        return cls._of(*_from_text(_as_text(series)))

    @classmethod
    def _of(cls, wholes: pl.Series, texts: pl.Series) -> Names:
        whole = np.asarray(wholes.is_not_null().to_numpy(), dtype=np.bool_)
        return cls(wholes.fill_null(0).to_numpy().astype(np.int64), whole, texts)

    @property
    def none(self) -> Mask:
        """Where there is no name."""
        return ~self.whole & np.asarray(self.texts.is_null().to_numpy(), dtype=np.bool_)


def _from_floats(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the whole numbers among doubles, and the others as Python writes them."""
    import polars as pl

    near = series.is_finite() & (series.abs() < EXACT)
    whole = (near & (series == series.floor())).fill_null(False)
    broken = (near & ~whole).fill_null(False)
    wholes = pl.select(pl.when(whole).then(series)).to_series().cast(pl.Int64)
    texts = pl.repeat(None, len(series), dtype=pl.String, eager=True)
    if broken.any():
        written = series_of(series.filter(broken).to_list()).str.strip_chars()
        texts = texts.scatter(broken.arg_true(), written)
    return wholes, texts


def _from_text(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the whole numbers among texts, and the other names."""
    import polars as pl

    text = series.str.strip_chars()
    wholes = text.str.extract(_WHOLE, 1).cast(pl.Int64, strict=False)
    named = wholes.is_null() & (text != "") & (text != UNREADABLE)
    return wholes, pl.select(pl.when(named.fill_null(False)).then(text)).to_series()


def _as_text(series: pl.Series) -> pl.Series:
    """Return a column that holds neither small whole numbers nor doubles as text."""
    import polars as pl

    kind = series.dtype
    if kind == pl.String:
        return series
    if kind == pl.Binary:
        return series_of(series.to_list())
    if isinstance(kind, pl.Decimal):
        # All of a column have as many decimals as the one that has most.
        text = series.cast(pl.String)
        return text.str.replace(r"(\.[0-9]*?)0+$", "$1").str.replace(r"\.$", "")
    if kind in (pl.Categorical, pl.Enum) or kind.is_numeric():
        return series.cast(pl.String)
    return pl.repeat(None, len(series), dtype=pl.String, eager=True)


def labels_of(names: Iterable[Any]) -> Labels:
    """Return declared names in order: whole numbers first, then texts by their characters.

    Raises
    ------
    ValueError
        If one is no name, or two are the same.
    """
    plain = [name.item() if hasattr(name, "item") else name for name in names]
    if not all(isinstance(name, str | int) and not isinstance(name, bool) for name in plain):
        raise ValueError("the names of nodes are texts or whole numbers")
    found = Names.read(series_of(plain))
    if found.none.any():
        raise ValueError("the name of a node is not empty, and UTF-8 can hold it")
    labels = labels_in(found)
    if len(labels) != len(plain):
        raise ValueError(
            "every node is named once; 7, '7' and '7.0' are one name, and blanks around a name do "
            "not count"
        )
    return labels


def labels_in(*columns: Names) -> Labels:
    """Return all names that occur in some columns, in order."""
    import polars as pl

    wholes = np.unique(np.concatenate([names.wholes[names.whole] for names in columns]))
    # Sorted by bytes of UTF-8, which is the order of the characters.
    texts = pl.concat([names.texts for names in columns]).drop_nulls().unique().sort()
    return (*wholes.tolist(), *texts.to_list())


def _split(labels: Labels) -> tuple[Labels, Labels]:
    """Return ordered labels in two parts: those before the first text, and the others."""
    first = next((at for at, name in enumerate(labels) if isinstance(name, str)), len(labels))
    return labels[:first], labels[first:]


def check_labels(labels: Labels) -> None:
    """Raise `ValueError` unless names are what `labels_of` returns."""
    import polars as pl

    wholes, texts = _split(labels)
    right = all(type(name) is int and -(2**63) <= name < 2**63 for name in wholes)
    right = right and all(isinstance(name, str) for name in texts)
    if right:
        series = pl.Series(texts, dtype=pl.String)
        read = Names.read(series)
        right = not (read.whole | read.none).any() and bool((read.texts == series).all())
        ordered = np.array(wholes, dtype=np.int64)
        right = right and bool((ordered[1:] > ordered[:-1]).all())
        right = right and series.is_sorted() and series.n_unique() == len(series)
    if not right:
        raise ValueError(
            "labels are in order, each once: whole numbers first, then texts by their characters"
        )


def places_of(names: Names, labels: Labels) -> tuple[NDArray[np.int64], Mask]:
    """Return the place of each name among ordered labels, and whether it is among them."""
    import polars as pl

    numbers, texts = _split(labels)
    first = len(numbers)
    places = np.zeros(len(names.whole), dtype=np.int64)
    known = np.zeros(len(names.whole), dtype=np.bool_)
    if numbers:
        wholes = np.array(numbers, dtype=np.int64)
        places = np.minimum(np.searchsorted(wholes, names.wholes), first - 1)
        known = names.whole & (wholes[places] == names.wholes)
    if texts:
        codes = names.texts.replace_strict(
            list(texts), list(range(first, len(labels))), default=None, return_dtype=pl.Int64
        )
        found = np.asarray(codes.is_not_null().to_numpy(), dtype=np.bool_)
        places = np.where(found, codes.fill_null(0).to_numpy(), places)
        known = known | found
    return places.astype(np.int64), known
