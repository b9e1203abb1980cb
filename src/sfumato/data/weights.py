"""The weights of a linear model by column and value: written and drawn.

Weights are public by the time they are here. They may differ in their last digits from one machine
to another, which are not written.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.figures import round_figures

if TYPE_CHECKING:
    import polars as pl

__all__ = ["WEIGHTS", "WeightTable", "weight_file"]

#: What the file of weights is called.
WEIGHTS = "weights.csv"
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
        """Return the weights in one CSV file, each to some digits of the largest."""
        return weight_file(self.frame())

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


def weight_file(frame: pl.DataFrame) -> dict[str, bytes]:
    """Return a frame with a column of weights as a CSV file, each to some digits of the largest."""
    import polars as pl

    weights = frame["weight"].to_numpy()
    kept = pl.Series("weight", round_figures(weights, np.abs(weights).max(initial=0.0)), pl.Float64)
    buffer = io.BytesIO()
    frame.with_columns(kept).write_csv(buffer)
    return {WEIGHTS: buffer.getvalue()}
