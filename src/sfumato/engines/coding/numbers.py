"""Columns of numbers in bins."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding.base import (
    Coding,
    Found,
    Generator,
    Ladder,
    hashable,
    read_double,
    read_number,
    read_whole,
)
from sfumato.engines.reading import Floats
from sfumato.noise.exact import briefly, exact

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Numbers"]

FEW = 2**10
"""Edges of up to so many bins are remembered."""


@dataclass(frozen=True, kw_only=True)
class Numbers(Coding):
    """Numbers in bins [lower, upper), the last one closed.

    Parameters
    ----------
    edges
        The bounds of the bins, in increasing order; one more than there are bins. They are
        compared with the data as doubles, exactly.
    decimals
        If given, synthetic values have this many decimals (0: whole numbers).
    """

    kind = "number"
    noun = "a number"

    edges: tuple[float, ...]
    decimals: int | None = None
    _digits: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        edges = self.edges if isinstance(self.edges, list | tuple) else ()
        doubles = tuple(read_double("each of the edges", edge) for edge in edges)
        object.__setattr__(self, "edges", doubles)
        if len(self.edges) < 2:
            raise ValueError("edges must be a list of two or more finite numbers")
        if any(b <= a for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError("edges must increase; use fewer bins or a wider range")
        # All 17 digits of a double only where fewer would make two edges look alike.
        short = {f"{edge:.15g}" for edge in self.edges}
        digits = ".15g" if len(short) == len(self.edges) else ".17g"
        object.__setattr__(self, "_digits", digits)
        if self.decimals is not None:
            if type(self.decimals) is not int or not 0 <= self.decimals <= 9:
                raise ValueError(f"decimals must be 0 to 9; got {briefly(self.decimals)}")
            low, high = self._grid
            if (high < low).any():
                raise ValueError(
                    f"every bin must hold a number of {self.decimals} decimals; "
                    "use fewer bins or more decimals"
                )

    @staticmethod
    def equal_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
        """Return the edges of bins of equal width, each the double nearest to the exact edge."""
        if not 1 <= read_whole("bins", bins) <= 2**20:
            raise ValueError(f"there must be 1 to 2**20 bins; got {bins}")
        if read_number("low", low) >= read_number("high", high):
            raise ValueError(f"low must be less than high; got {briefly(low)} and {briefly(high)}")
        return _few_edges(low, high, bins) if bins <= FEW else _edges(low, high, bins)

    @classmethod
    def equal(cls, low: float, high: float, bins: int, **options: Any) -> Numbers:
        """Return bins of equal width."""
        return cls(edges=cls.equal_edges(low, high, bins), **options)

    @property
    def proper(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return f"from {self.edges[0]:{self._digits}} to {self.edges[-1]:{self._digits}}"

    def _read(self, series: pl.Series) -> Found:
        floats = Floats.read(series)
        edges = np.array(self.edges)
        codes = np.searchsorted(edges, floats.values, side="right") - 1
        outside = (floats.values < edges[0]) | (floats.values > edges[-1])
        outside &= ~floats.missing & ~floats.unreadable
        codes = np.clip(codes, 0, self.proper - 1)
        return Found(codes, floats.missing, floats.unreadable, outside, np.zeros_like(outside))

    @property
    def _grid(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The least and greatest multiple of the last decimal within each bin."""
        scaled = [Fraction(repr(edge)) * 10 ** (self.decimals or 0) for edge in self.edges]
        low = [ceil(edge) for edge in scaled[:-1]]
        high = [ceil(edge) - 1 for edge in scaled[1:-1]] + [floor(scaled[-1])]
        if max(map(abs, low + high)) >= 2**53:
            raise ValueError(
                "numbers with decimals must be less than 2**53 units of the last decimal"
            )
        return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        import polars as pl

        if self.decimals is not None:
            low, high = self._grid
            return self.climb(generator.integers(low[codes], high[codes], endpoint=True))
        lower, upper = np.array(self.edges[:-1])[codes], np.array(self.edges[1:])[codes]
        share = generator.random(len(codes))
        inside = lower * (1.0 - share) + upper * share
        return pl.Series(np.clip(inside, lower, np.nextafter(upper, lower)))

    def ladder(self) -> Ladder | None:
        """Return the multiples of the last decimal; `None` without `decimals`."""
        if self.decimals is None:
            return None
        return Ladder("number", Fraction(0), Fraction(1, 10**self.decimals), *self._grid)

    def climb(self, rungs: NDArray[np.int64]) -> pl.Series:
        """Return multiples of the last decimal as numbers."""
        import polars as pl

        return pl.Series(rungs / 10.0**self.decimals if self.decimals else rungs)

    def label(self, code: int) -> str:
        """Return the bin as an interval."""
        close = "]" if code == self.proper - 1 else ")"
        low, high = (f"{edge:{self._digits}}" for edge in self.edges[code : code + 2])
        return f"[{low}, {high}{close}"

    def _proper_labels(self) -> list[str]:
        # Each edge is written once, and not for two bins.
        texts = [format(edge, self._digits) for edge in self.edges]
        names = [f"[{low}, {high})" for low, high in pairwise(texts)]
        return [*names[:-1], self.label(self.proper - 1)]

    def _document(self) -> dict[str, Any]:
        low, high, bins = self.edges[0], self.edges[-1], self.proper
        document: dict[str, Any] = {"edges": list(map(_short, self.edges))}
        if self.edges == self.equal_edges(low, high, bins):
            document = {"low": _short(low), "high": _short(high), "bins": bins}
        if self.decimals is not None:
            document["decimals"] = self.decimals
        return document

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the coding of a document with either `edges`, or `low`, `high` and `bins`."""
        options = dict(document)
        if "edges" not in options:
            ends = [options.pop(name, None) for name in ("low", "high", "bins")]
            if any(end is None for end in ends):
                raise ValueError("a number needs low, high and bins, or edges")
            options["edges"] = cls.equal_edges(*ends)
        return cls(**{name: hashable(value) for name, value in options.items()})


def _edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """Return the doubles nearest to the exact edges of equal bins."""
    ends = exact(low), exact(high)
    below = lcm(ends[0].denominator, ends[1].denominator)
    first, last = (end.numerator * (below // end.denominator) for end in ends)
    # Python divides whole numbers exactly and then rounds to the nearest double.
    return tuple((first * (bins - i) + last * i) / (below * bins) for i in range(bins + 1))


#: Exact edges take their time, and a release reads its schema several times. True is not 1 here.
_few_edges = lru_cache(maxsize=256, typed=True)(_edges)


def _short(number: float) -> float | int:
    """Return a whole double as an integer, for documents people read."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
