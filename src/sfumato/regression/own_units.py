"""From features between −1 and 1 to the columns' own units: public arithmetic on weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.regression.design import INTERCEPT, UNORDERED, Design, centres
from sfumato.regression.rows import fine_values, is_number

__all__ = ["fine_features", "own_units"]

Floats = NDArray[np.float64]


def fine_features(
    public: TablePublic, design: Design, codes: list[NDArray[Any]], rows: int
) -> Floats:
    """Return the features of records from −1 to 1, as fine as the columns are declared.

    Parameters
    ----------
    public, design
        What is public about the table, and which features records have.
    codes
        The codes of the columns that explain, one array each.
    rows
        How many records there are.
    """
    found = np.zeros((rows, design.dimension))
    every, first = np.arange(rows), 0
    for factor, column in zip(design.factors, codes, strict=True):
        values = fine_values(public, factor)
        where = first if factor.single else first + factor.places[column]
        found[every, where] = values[column]
        first += len(factor.names)
    if design.intercept:
        found[:, -1] = 1.0
    return found


def own_units(
    public: TablePublic,
    design: Design,
    weights: Floats,
    offset: float,
    target: tuple[float, float],
) -> dict[tuple[str, str], float]:
    """Return what columns add to the target in their own units, and the constant.

    Parameters
    ----------
    public, design
        What is public about the table, and which features records have.
    weights, offset
        Of features from −1 to 1.
    target
        What a sum of 0 stands for, and what a sum of 1 adds to it.
    """
    middle, half = target
    found: dict[tuple[str, str], float] = {}
    constant, first = float(offset), 0
    for factor in design.factors:
        coding = public.schema.columns[factor.column].coding
        name, parts = public.columns[factor.column], weights[first : first + len(factor.names)]
        if is_number(coding):
            # A feature is (v − middle of the bounds)/half of their width.
            _, low, high = centres(coding)
            width, centre = high / 2 - low / 2, low / 2 + high / 2
            found[name, ""] = float(half * (parts[0] / width))
            back = float(parts[0] * (centre / width))
            constant -= back
            for label, part in zip(factor.names[1:], parts[1:], strict=True):
                found[name, label] = float(half * (part + back))
        elif factor.single and isinstance(coding, UNORDERED) and coding.size > 2:
            # Places in a declared list: what one place further adds.
            found[name, ""] = float(half * parts[0] * 2 / (coding.size - 1))
            constant -= float(parts[0])
        elif factor.single:
            # The second of two values against the first.
            found[name, factor.names[0]] = float(half * 2 * parts[0])
            constant -= float(parts[0])
        else:
            # Each against the first that is declared, which adds nothing.
            for label, part in zip(factor.names, parts, strict=True):
                found[name, label] = float(half * (part - parts[0]))
            constant += float(parts[0])
        first += len(factor.names)
    if design.intercept:
        constant += float(weights[-1])
    found[INTERCEPT, ""] = middle + half * constant
    return found
