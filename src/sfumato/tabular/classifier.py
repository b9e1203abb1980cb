"""A released classifier: a linear rule that tells positive records from others.

A classifier is made of public values alone. Its decisions are taken in whole numbers, so that they
are the same everywhere, and so that private records can be counted by them without rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import ToFrame, columns_of, names_of
from sfumato.data.table import TablePublic
from sfumato.data.weights import WeightTable
from sfumato.engines.intake import Recipe, take
from sfumato.privacy.release import Release
from sfumato.tabular.features import Task

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Classifier", "direction"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Weights in whole numbers are at most 2 to this: products with features stay exact in floats.
DIRECTION_BITS = 24


def direction(weights: Floats) -> Integers64:
    """Return weights in whole numbers, scaled so that the largest is 2²⁴.

    Parameters
    ----------
    weights
        Public weights, or one column of weights for each of several rules. Only the ratios within
        one rule matter to its decisions.
    """
    largest = np.abs(weights).max(axis=0)
    scaled = weights / np.where(largest > 0, largest, 1.0) * 2**DIRECTION_BITS
    whole: Integers64 = np.rint(scaled).astype(np.int64)
    return whole


class Classifier(Release, ToFrame):
    """A linear rule for one target.

    Parameters
    ----------
    public
        What is public about the table.
    task
        What is told apart by what.
    weights
        The weight of each feature, the bias last.
    about
        How the weights were found, in a sentence.
    """

    kind = "classifier"

    def __init__(self, public: TablePublic, task: Task, weights: Floats, about: str) -> None:
        self.public = public
        self.task = task
        self.weights = np.array(weights, dtype=np.float64)
        self.weights.setflags(write=False)
        self.about = about

    @property
    def target(self) -> str:
        """The name of the target column."""
        return self.public.columns[self.task.target]

    @property
    def positive(self) -> tuple[str, ...]:
        """The values of the target that count as positive."""
        labels = self.public.labels(self.target)
        return tuple(label for label, yes in zip(labels, self.task.positive, strict=True) if yes)

    def predict(self, frame: Any) -> NDArray[np.bool_]:
        """Return for each row whether it is taken to be positive.

        Parameters
        ----------
        frame
            A pandas, Polars or PyArrow frame with the columns of the schema; the target is not
            needed and not looked at.
        """
        schema = self.public.schema
        columns = [schema.columns[column] for column in self.task.features.columns]
        if not columns:
            return self.decide(np.zeros((_rows(frame), 0), dtype=np.int64))
        recipe = Recipe(codings={column.name: column.coding for column in columns})
        recipe.check_names(names_of(frame))
        table = take(columns_of(frame, recipe.needed), recipe).table
        return self.decide(np.stack([table.codes(c) for c in range(len(columns))], axis=1))

    def decide(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for each record whether it is taken to be positive.

        Parameters
        ----------
        codes
            The codes of all columns but the target and those of one value, shape (rows, columns).
        """
        places, values = self.task.features.entries(codes)
        whole = direction(self.weights)
        scores = (values * whole[places]).sum(axis=1)
        return np.asarray(scores > 0)

    @property
    def _table(self) -> WeightTable:
        return WeightTable(self.task.features.names(self.public), self.weights)

    def to_polars(self) -> pl.DataFrame:
        """Return the weights as a Polars frame."""
        return self._table.frame()

    def files(self) -> dict[str, bytes]:
        """Return the weights in one CSV file."""
        return self._table.files()

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        count = len(self.task.features.attributes)
        named = _listed(self.positive)
        return (
            f"A rule that guesses from {count} column{'s' * (count != 1)} whether {self.target} is "
            f"{named}. {self.about} A record is taken to be so if its weights add up to more than "
            f"0: one that every record has, and one for each value it has. Of two values one adds "
            f"the weight and the other subtracts it; a number adds its weight times its place "
            f"between −1, the lowest, and 1, the highest."
        )

    def plot(self) -> Any:
        """Return a figure of the largest weights."""
        return self._table.picture(f"weight towards {self.target}: {_listed(self.positive)}")


def _rows(frame: Any) -> int:
    """Return how many rows a frame has."""
    columns = columns_of(frame)
    return len(next(iter(columns.values()))) if columns else 0


def _listed(labels: Sequence[str]) -> str:
    """Return a few labels in words."""
    shown = ", ".join(labels[:4])
    return shown if len(labels) <= 4 else f"{shown} or one of {len(labels) - 4} more"
