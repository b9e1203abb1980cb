"""What columns add to a prediction in their own units: worked out, written, told.

Coefficients are public arithmetic on released weights; nothing here sees a record.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.figures import rounded

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COEFFICIENTS", "Coefficients"]

Floats = NDArray[np.float64]
Names = tuple[str, str]

#: What the file of coefficients is called.
COEFFICIENTS = "coefficients.csv"


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
    sizes
        How large each of them could be with such weights: rounding errors are in proportion.
    """

    names: tuple[Names, ...]
    adds: Floats
    deviations: Floats | None
    sizes: Floats

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
        sizes = np.abs(matrix).sum(axis=1) * largest + np.abs(base)
        return cls(tuple(found), np.array(list(found.values())), deviations, sizes)

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
        """Return the coefficients as a CSV file, without digits that depend on the platform."""
        import polars as pl

        kept = [pl.Series("adds", rounded(self.adds, self.sizes))]
        if self.deviations is not None:
            # A square root near 0 is as rough as the root of the rounding.
            largest = self.deviations.max(initial=0.0)
            kept.append(pl.Series("standard_deviation", rounded(self.deviations, largest, 5)))
        buffer = io.BytesIO()
        self.frame().with_columns(kept).write_csv(buffer)
        return buffer.getvalue()
