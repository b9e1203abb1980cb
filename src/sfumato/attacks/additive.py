"""A released linear model as sums: what each value of each column adds.

A model is public, and so is everything here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.privacy.release import Release
from sfumato.regression.design import UNIT
from sfumato.regression.model import RegressionModel
from sfumato.regression.rows import fine_values
from sfumato.tabular.classifier import Classifier, direction

__all__ = ["Additive", "additive"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Additive:
    """A model that adds up one number for each column, and predicts by the sum.

    Parameters
    ----------
    public
        What is public about the table it was made of.
    target
        The number of the column that it predicts.
    tables
        For each column that it looks at, what each code adds.
    constant
        What every record has.
    answers
        For each code of the target that is not missing, the sum that would be right; for classes,
        −1 or 1.
    classes
        Whether it tells two classes apart; a sum above 0 means yes.
    """

    public: TablePublic
    target: int
    tables: Mapping[int, Floats]
    constant: float
    answers: Floats
    classes: bool

    def sums(self, table: Table) -> Floats:
        """Return the sums of all records. Private."""
        total = np.full(table.counts.rows, self.constant)
        for column, adds in self.tables.items():
            total += adds[table.counts.codes(column)]
        return total


def additive(model: Release) -> Additive:
    """Return a released model as sums."""
    if isinstance(model, RegressionModel):
        return _regression(model)
    if isinstance(model, Classifier):
        return _classifier(model)
    raise ValueError(
        "model inversion needs a release of a regression or a classifier of a table; this "
        f"release is of kind {model.kind!r}"
    )


def _regression(model: RegressionModel) -> Additive:
    design, weights, first, tables = model.design, model.weights, 0, {}
    for factor in design.factors:
        tables[factor.column] = weights[first + factor.places] * fine_values(model.public, factor)
        first += len(factor.names)
    constant = float(weights[-1]) if design.intercept else model.offset
    answers = design.response.units / UNIT
    classes = model.positive is not None
    return Additive(model.public, design.response.column, tables, constant, answers, classes)


def _classifier(model: Classifier) -> Additive:
    features, whole, first, tables = model.task.features, direction(model.weights), 0, {}
    for attribute in features.attributes:
        units = attribute.units(features.unit) * whole[first + attribute.places]
        tables[attribute.column] = units.astype(np.float64)
        first += len(attribute.names)
    constant = float(whole[-1] * features.unit)
    answers = np.where(model.task.positive, 1.0, -1.0)
    return Additive(model.public, model.task.target, tables, constant, answers, True)
