"""What columns add to a prediction in their own units: worked out, written, compared, told.

Coefficients are public arithmetic on released weights; nothing here sees a record.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COEFFICIENTS", "Coefficients"]

Floats = NDArray[np.float64]
Names = tuple[str, str]

#: What the file of coefficients is called.
COEFFICIENTS = "coefficients.csv"
#: Published coefficients may differ from rebuilt ones by this share of what weights could do.
SHARE_APART = 1e-9


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What each column and value adds to a prediction, and how sure that is.

    Parameters
    ----------
    names
        The column and the value that each coefficient stands for.
    adds
        What it adds, in the units of the target for one unit of the column.
    deviations
        The standard deviation of each, of noise and sample together; None where not known.
    apart
        By how much rounding may move each of them.
    """

    names: tuple[Names, ...]
    adds: Floats
    deviations: Floats | None
    apart: Floats

    @classmethod
    def of(
        cls, told: Callable[[Floats], dict[Names, float]], weights: Floats, spread: Floats | None
    ) -> Coefficients:
        """Return the coefficients of a model.

        Parameters
        ----------
        told
            What the weights, with the offset last, amount to in own units: an affine map.
        weights
            The weights, with the offset last.
        spread
            Their covariance, None where not known.
        """
        found, none = told(weights), told(np.zeros_like(weights))
        base = np.array(list(none.values()))
        columns = [np.array(list(told(one).values())) - base for one in np.eye(weights.size)]
        matrix = np.column_stack(columns)
        deviations = None
        if spread is not None:
            variances = np.einsum("ij,jk,ik->i", matrix, spread, matrix)
            deviations = np.sqrt(np.maximum(variances, 0.0))
        largest = np.abs(weights).max(initial=0.0)
        apart = SHARE_APART * (np.abs(matrix).sum(axis=1) * largest + np.abs(base))
        return cls(tuple(found), np.array(list(found.values())), deviations, apart)

    def frame(self) -> pl.DataFrame:
        """Return the coefficients as a Polars frame."""
        import polars as pl

        held = {
            "column": [column for column, _ in self.names],
            "value": [value for _, value in self.names],
            "adds": self.adds,
        }
        if self.deviations is not None:
            held["standard_deviation"] = self.deviations
        types = {"column": pl.String, "value": pl.String}
        return pl.DataFrame(held, schema_overrides=types)

    def written(self) -> bytes:
        """Return the coefficients as a CSV file."""
        buffer = io.BytesIO()
        self.frame().write_csv(buffer)
        return buffer.getvalue()

    def agrees(self, content: bytes) -> bool:
        """Tell whether a published file says these coefficients, up to rounding."""
        import polars as pl

        mine = self.frame()
        header = content.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        if header.split(",") != mine.columns:
            return False
        theirs = pl.read_csv(io.BytesIO(content), schema=dict(mine.schema))
        named = ["column", "value"]
        if theirs.height != mine.height or not mine.select(named).equals(theirs.select(named)):
            return False
        # A missing or undefined number compares false, and so disagrees.
        if not _near(self.adds, theirs["adds"], self.apart):
            return False
        if self.deviations is None:
            return True
        # A square root near 0 is as rough as the root of the rounding.
        rough = 1e-6 * self.deviations.max(initial=0.0)
        return _near(self.deviations, theirs["standard_deviation"], np.asarray(rough))


def _near(mine: Floats, theirs: pl.Series, apart: Floats) -> bool:
    """Tell whether two lists of numbers differ by rounding alone."""
    return bool((np.abs(mine - theirs.to_numpy()) <= apart).all())
