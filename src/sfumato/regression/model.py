"""A released regression: a weight for each feature, in the columns' own units.

A model is made of public values alone; what it says about a record is computed from that record and
the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import columns_of, names_of
from sfumato.data.table import TablePublic
from sfumato.data.weights import WeightTable
from sfumato.engines.intake import Recipe, take
from sfumato.privacy.release import Release
from sfumato.regression.design import UNIT, Design

__all__ = ["RegressionModel"]

Floats = NDArray[np.float64]


class RegressionModel(Release):
    """A linear model of one column by the others, or a logistic one of two classes.

    Parameters
    ----------
    public
        What is public about the table.
    design
        How records become features.
    weights
        The weight of each feature, for features and responses from −1 to 1.
    positive
        For a logistic model, the values of the target that it tells from the others.
    about
        How the weights were found, in a sentence.
    """

    kind = "regression model"

    def __init__(
        self,
        public: TablePublic,
        design: Design,
        weights: Floats,
        *,
        positive: tuple[str, ...] | None = None,
        about: str = "",
    ) -> None:
        self.public = public
        self.design = design
        self.weights = np.array(weights, dtype=np.float64)
        self.weights.setflags(write=False)
        self.positive = positive
        self.about = about

    @property
    def target(self) -> str:
        """The name of the column that is explained."""
        return self.public.columns[self.design.response.column]

    @property
    def coef(self) -> dict[tuple[str, str], float]:
        """The weight of each feature, by its column and value."""
        names = self.design.names(self.public)
        return dict(zip(names, self.weights.tolist(), strict=True))

    def predict(self, frame: Any) -> NDArray[Any]:
        """Return what the model takes the target of each row to be.

        Parameters
        ----------
        frame
            A pandas, Polars or PyArrow frame with the columns of the schema; the target is not
            needed and not looked at.

        Returns
        -------
        predictions
            Numbers within the declared bounds; for a logistic model, whether a row is positive.
        """
        scores = self._scores(frame)
        if self.positive is not None:
            return np.asarray(scores > 0)
        response = self.design.response
        place = (np.clip(scores, -1, 1) + 1) / 2
        return np.asarray(response.low * (1 - place) + response.high * place)

    def probability(self, frame: Any) -> Floats:
        """Return how likely a logistic model takes each row to be positive.

        The mechanism fits a quadratic stand-in for the logistic loss, so probabilities far from
        one half are less sure than they say; the order of the rows is what can be relied on.
        """
        if self.positive is None:
            raise ValueError("probability is for logistic models; use predict")
        return np.asarray(0.5 + 0.5 * np.tanh(self._scores(frame) / 2))

    def _scores(self, frame: Any) -> Floats:
        """Return xᵀω for each row."""
        schema = self.public.schema
        columns = [schema.columns[column] for column in self.design.columns]
        if not columns:
            rows = len(next(iter(columns_of(frame).values()), ()))
            return np.asarray(self.design.features([], rows) @ self.weights / UNIT)
        recipe = Recipe(codings={column.name: column.coding for column in columns})
        recipe.check_names(names_of(frame))
        table = take(columns_of(frame, recipe.needed), recipe).table
        codes = [table.codes(number) for number in range(len(columns))]
        return np.asarray(self.design.features(codes, table.rows) @ self.weights / UNIT)

    @property
    def _table(self) -> WeightTable:
        return WeightTable(self.design.names(self.public), self.weights)

    def files(self) -> dict[str, bytes]:
        """Return the weights in one CSV file."""
        return self._table.files()

    def agrees(self, files: dict[str, bytes]) -> bool:
        """Tell whether published files say what this release says, up to rounding."""
        return self._table.agrees(files)

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        count = len(self.design.factors)
        what = self.target
        if self.positive is not None:
            what = f"whether {self.target} is {' or '.join(self.positive[:4])}"
        response = self.design.response
        scale = (
            f"A sum of −1 stands for {response.low:g} and one of 1 for {response.high:g}."
            if self.positive is None
            else "A sum above 0 means yes."
        )
        return (
            f"A rule that guesses {what} from {count} column{'s' * (count != 1)}. {self.about} "
            "Its weights add up: one that every record has, and one for each value it has. Of two "
            "values one adds the weight and the other subtracts it; a number adds its weight times "
            f"its place between −1, its lower bound, and 1, its upper. {scale}"
        )

    def plot(self) -> Any:
        """Return a figure of the largest weights."""
        return self._table.picture(f"weight towards {self.target}")
