"""The hot loops of rows, compiled by Numba.

Imported only when rows are made. A block of rows is kept feature by feature. Every loop treats each
record by itself and adds up in one order, so that what a record becomes does not depend on the
others or on where it stands.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["CLIP", "UNIT_LENGTH", "WEIGH", "look_up", "shorten", "write_clipped_residuals"]

#: What is done to a row: weighed or clipped to a length of at most 1, or brought to a length of 1.
WEIGH, CLIP, UNIT_LENGTH = 0, 1, 2
#: A row that is shorter has no direction: it becomes zeros.
TINY = 2.0**-60


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def look_up(values: Any, places: Any, codes: Any, block: Any) -> None:
    """Write the features of one column of a block.

    Parameters
    ----------
    values
        What each code sets its feature to.
    places
        Which row of `block` that is.
    codes
        The code of each record.
    block
        The column's features, one row each; written.
    """
    if block.shape[0] == 1:
        for i in range(codes.size):
            block[0, i] = values[codes[i]]
        return
    block[:] = 0.0
    for i in range(codes.size):
        block[places[codes[i]], i] = values[codes[i]]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shorten(
    block: Any, answers: Any, shape: int, row: float, answer: float, x: Any, y: Any, scratch: Any
) -> None:
    """Write the whole units of rows of length at most 1 and of their answers.

    Parameters
    ----------
    block
        The features, one row each.
    answers
        The answer of each record, from −1 to 1; NaN where it has none.
    shape
        `WEIGH`, `CLIP` or `UNIT_LENGTH`.
    row, answer
        How many units 1 is.
    x, y
        The rows, feature by feature, and the answers, in whole units; written.
    scratch
        One number for each record.
    """
    scratch[:] = 0.0
    for j in range(block.shape[0]):
        for i in range(answers.size):
            scratch[i] += block[j, i] * block[j, i]
    for i in range(answers.size):
        length = np.sqrt(scratch[i])
        part = answers[i]
        factor = row
        if np.isnan(part) or not np.isfinite(length):
            # No answer; or no numbers, which a rule never makes.
            part, factor = 0.0, 0.0
        elif length > 1.0 or (shape == UNIT_LENGTH and length > TINY):
            factor = row / length
            if shape == WEIGH:
                part = part / length
        scratch[i] = factor
        y[i] = np.int16(part * answer)
    for j in range(block.shape[0]):
        for i in range(answers.size):
            # Turning a float into an integer cuts it off towards 0.
            x[j, i] = np.int16(block[j, i] * scratch[i]) if scratch[i] > 0 else np.int16(0)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def write_clipped_residuals(x: Any, y: Any, weights: Any, bound: float, scratch: Any) -> None:
    """Write y − xᵀw of every record in whole units, cut off towards 0 and at ±bound.

    Parameters
    ----------
    x, y
        Rows, feature by feature, and answers, in whole units.
    weights
        One finite weight for each feature.
    bound
        A whole number.
    scratch
        One number for each record; written.
    """
    for i in range(y.size):
        scratch[i] = y[i]
    for j in range(x.shape[0]):
        for i in range(y.size):
            scratch[i] -= weights[j] * x[j, i]
    for i in range(y.size):
        scratch[i] = np.trunc(min(max(scratch[i], -bound), bound))
