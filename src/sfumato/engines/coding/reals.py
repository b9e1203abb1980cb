"""Columns of real numbers on a fine grid: for fitting models to them, not for counting.

Bins are for counting, and few of them are best. A model needs the numbers themselves; a grid of
2¹⁶ equal steps between the declared bounds tells them to one part in 65,536.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, ulp
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding.base import Coding, Found, Generator, read_double
from sfumato.engines.reading import Floats

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Reals"]

MOST_BITS = 32


@dataclass(frozen=True, kw_only=True)
class Reals(Coding):
    """Numbers from `low` to `high` on a grid of 2**bits equal steps, the last one closed.

    Parameters
    ----------
    low, high
        The declared bounds, both included.
    bits
        How often the range is halved, from 1 to 32.
    """

    kind = "real"
    noun = "a number"

    low: float
    high: float
    bits: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, read_double(name, getattr(self, name)))
        width = self.high - self.low
        if not isfinite(width) or width <= 0:
            raise ValueError("low must be less than high, and both must be finite")
        if type(self.bits) is not int or not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits must be a whole number from 1 to {MOST_BITS}")
        if width / 2**self.bits < ulp(max(abs(self.low), abs(self.high))):
            raise ValueError(
                "low and high are too close together for double precision; declare fewer bits, or "
                "subtract a public constant from the column"
            )

    @property
    def proper(self) -> int:
        """The number of steps."""
        return 1 << self.bits

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        return f"from {self.low!r} to {self.high!r}"

    def _read(self, series: pl.Series) -> Found:
        from sfumato.engines.point_kernels import put_on_grid

        floats = Floats.read(series)
        codes = np.empty(len(floats.values), dtype=np.uint32)
        outside = np.empty(len(floats.values), dtype=np.bool_)
        values = np.ascontiguousarray(floats.values)
        put_on_grid(values, self.low, self.high, float(self.proper), codes, outside)
        outside &= ~(floats.missing | floats.unreadable)
        return Found(codes, floats.missing, floats.unreadable, outside, np.zeros_like(outside))

    def edge(self, steps: NDArray[Any]) -> NDArray[np.float64]:
        """Return where steps begin; step 2**bits is the upper bound itself."""
        share = np.asarray(steps).astype(np.float64) / self.proper
        inner = np.minimum(self.low + (self.high - self.low) * share, self.high)
        return np.where(share >= 1.0, self.high, inner)

    def _values(self, codes: NDArray[np.int64], generator: Generator) -> pl.Series:
        import polars as pl

        lower, upper = self.edge(codes), self.edge(codes + 1)
        inside = lower + (upper - lower) * generator.random(len(codes))
        return pl.Series(np.clip(inside, lower, np.nextafter(upper, lower)))

    def label(self, code: int) -> str:
        """Return a step as an interval."""
        close = "]" if code == self.proper - 1 else ")"
        lower, upper = self.edge(np.array([code, code + 1])).tolist()
        return f"[{lower!r}, {upper!r}{close}"
