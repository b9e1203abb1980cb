"""The weights of a linear model by column and value: written, compared and drawn.

Weights are public by the time they are here. They may differ in their last digits from one machine
to another, and are compared with that in mind.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["WEIGHTS", "WeightTable"]

#: What the file of weights is called.
WEIGHTS = "weights.csv"
#: Published weights may differ from rebuilt ones by this share of the largest.
SHARE_APART = 1e-9
#: More weights than this do not fit a picture that can be read.
MOST_BARS = 30


@dataclass(frozen=True)
class WeightTable:
    """The weight of each feature of a model.

    Parameters
    ----------
    names
        The column and the value that each feature stands for.
    weights
        Their weights.
    """

    names: Sequence[tuple[str, str]]
    weights: NDArray[np.float64]

    def frame(self) -> pl.DataFrame:
        """Return the weights as a Polars frame."""
        import polars as pl

        return pl.DataFrame(
            {
                "column": [column for column, _ in self.names],
                "value": [value for _, value in self.names],
                "weight": self.weights,
            },
            schema={"column": pl.String, "value": pl.String, "weight": pl.Float64},
        )

    def files(self) -> dict[str, bytes]:
        """Return the weights in one CSV file."""
        buffer = io.BytesIO()
        self.frame().write_csv(buffer)
        return {WEIGHTS: buffer.getvalue()}

    def agrees(self, files: dict[str, bytes]) -> bool:
        """Tell whether published files say these weights, up to rounding."""
        import polars as pl

        if files.keys() != {WEIGHTS}:
            return False
        mine = self.frame()
        types = {"column": pl.String, "value": pl.String, "weight": pl.Float64}
        theirs = pl.read_csv(io.BytesIO(files[WEIGHTS]), schema=types)
        if theirs.height != mine.height:
            return False
        apart = np.abs(mine["weight"].to_numpy() - theirs["weight"].to_numpy())
        # A missing or undefined number compares false, and so disagrees.
        near = bool((apart <= SHARE_APART * np.abs(self.weights).max(initial=0.0)).all())
        return near and mine.drop("weight").equals(theirs.drop("weight"))

    def picture(self, label: str) -> Any:
        """Return a figure of the largest weights.

        Parameters
        ----------
        label
            What a weight leads to, below the axis.
        """
        import matplotlib as mpl
        from matplotlib.figure import Figure

        order = np.argsort(-np.abs(self.weights), kind="stable")[:MOST_BARS][::-1]
        with mpl.rc_context({"text.parse_math": False}):
            figure = Figure(figsize=(6, 1.2 + 0.25 * len(order)), layout="constrained")
            axis = figure.subplots()
            colours = ["#1d3557" if self.weights[i] > 0 else "#c1121f" for i in order]
            axis.barh(range(len(order)), self.weights[order], color=colours)
            labels = [" = ".join(filter(None, self.names[i]))[:40] for i in order]
            axis.set_yticks(range(len(order)), labels, fontsize=8)
            axis.set_xlabel(label[:80])
            axis.axvline(0, color="black", linewidth=0.8)
            axis.spines[["top", "right"]].set_visible(False)
        return figure
