"""Several released regressions on the same columns, one for each target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import ToFrame
from sfumato.data.weights import weight_file
from sfumato.privacy.release import Release
from sfumato.regression.model import RegressionModel

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RegressionModels"]

#: More targets than this do not fit a picture that can be read.
MOST_LINES = 40


class RegressionModels(Release, ToFrame):
    """A linear model of each of several columns by the same others.

    Parameters
    ----------
    models
        One for each target.
    """

    kind = "regression models"

    def __init__(self, models: dict[str, RegressionModel]) -> None:
        self.models = dict(models)

    def __getitem__(self, target: str) -> RegressionModel:
        """Return the model of one target."""
        if target not in self.models:
            raise KeyError(f"no target {target!r}; the targets are {', '.join(self.models)}")
        return self.models[target]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights, a line for each target."""
        return np.stack([model.weights for model in self.models.values()])

    def predict(self, frame: Any) -> pl.DataFrame:
        """Return what the models take the targets of each row to be, one column each."""
        import polars as pl

        return pl.DataFrame({name: model.predict(frame) for name, model in self.models.items()})

    def to_polars(self) -> pl.DataFrame:
        """Return the weights of all models as a Polars frame."""
        import polars as pl

        lines = [
            {"target": target, "column": column, "value": value, "weight": weight}
            for target, model in self.models.items()
            for (column, value), weight in zip(
                model.design.names(model.public), model.weights.tolist(), strict=True
            )
        ]
        types = {"target": pl.String, "column": pl.String, "value": pl.String, "weight": pl.Float64}
        return pl.DataFrame(lines, schema=types)

    def files(self) -> dict[str, bytes]:
        """Return the weights in one CSV file."""
        return weight_file(self.to_polars())

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        first = next(iter(self.models.values()))
        many, count = len(self.models), len(first.design.factors)
        return (
            f"{many} model{'s' * (many != 1)} that predict as many columns from {count} "
            f"column{'s' * (count != 1)}, one each. {first.about} The products of the columns "
            "were measured once for all targets."
        )

    def plot(self) -> Any:
        """Return a figure of the weights, a line for each target."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        shown = dict(list(self.models.items())[:MOST_LINES])
        first = next(iter(shown.values()))
        names = [" = ".join(filter(None, pair))[:20] for pair in first.design.names(first.public)]
        weights = self.weights[: len(shown)]
        most = float(np.abs(weights).max(initial=0.0)) or 1.0
        with mpl.rc_context({"text.parse_math": False}):
            figure = Figure(figsize=(6, 1.5 + 0.25 * len(shown)), layout="constrained")
            axis = figure.subplots()
            axis.imshow(weights, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
            axis.set_yticks(range(len(shown)), [name[:30] for name in shown], fontsize=8)
            axis.set_xticks(range(len(names)), names, fontsize=8, rotation=90)
        return figure
