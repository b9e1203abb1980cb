"""Rows of features beside rows of responses: what a record with many answers becomes.

As in `sfumato.regression.rows`, what a rule makes of a record depends on that record alone, and all
sums are exact whole numbers. A response that is missing counts as 0, and the others stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.regression.rows import ANSWER, ROW, SHAPES, RowRule

__all__ = ["ManyRows"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

#: Records that are turned into rows at once: sums of products of whole units stay below 2⁵³.
BLOCK = 2**12
assert BLOCK * ROW * ANSWER <= 2**53


@dataclass(eq=False)
class ManyRows:
    """The rows of features and of responses of a private table. Private.

    Parameters
    ----------
    rules
        One for each response; they differ in the response alone.
    length
        What the rows of responses are divided by; a longer one is shortened.
    data
        The table.
    """

    rules: tuple[RowRule, ...]
    length: float
    data: Table

    def blocks(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield rows of features and of responses in whole units, one line for each of them."""
        from sfumato.regression import row_kernels

        rule, counts, public = self.rules[0], self.data.counts, self.data.public
        values = rule.values(public)
        codes = [counts.codes(column) for column in rule.design.columns]
        answers = [np.nan_to_num(one.answers(public)) for one in self.rules]
        told = [counts.codes(one.design.response.column) for one in self.rules]
        size, shape = rule.dimension, SHAPES.index(rule.shape)
        for start in range(0, counts.rows, BLOCK):
            rows = min(BLOCK, counts.rows - start)
            part, first = np.empty((size, rows)), 0
            for factor, column, table in zip(rule.design.factors, codes, values, strict=True):
                last = first + len(factor.names)
                here = column[start : start + rows]
                row_kernels.look_up(table, factor.places, here, part[first:last])
                first = last
            if rule.design.intercept:
                part[first] = rule.constant
            x, y = np.empty((size, rows), dtype=np.int16), np.empty(rows, dtype=np.int16)
            scratch = np.empty(rows)
            row_kernels.shorten(
                part, np.zeros(rows), shape, float(ROW), float(ANSWER), x, y, scratch
            )
            chosen = [
                one[code[start : start + rows]] for one, code in zip(answers, told, strict=True)
            ]
            yield x.astype(np.float64), self._shorten_rows(np.stack(chosen))

    def _shorten_rows(self, answers: Floats) -> Floats:
        """Return rows of responses of length at most 1 in whole units, cut off towards 0."""
        scaled = answers / self.length
        squares = np.zeros(scaled.shape[1])
        # One response after the other, so that the sum of a record never depends on its place.
        for line in scaled:
            squares += line * line
        factor = ANSWER / np.maximum(np.sqrt(squares), 1.0)
        return np.asarray(np.trunc(scaled * factor))

    def sums(self) -> tuple[Integers64, Integers64]:
        """Return Σ x xᵀ and Σ x yᵀ in whole units squared. Private."""
        size, many = self.rules[0].dimension, len(self.rules)
        xx = np.zeros((size, size), dtype=np.int64)
        xy = np.zeros((size, many), dtype=np.int64)
        for x, y in self.blocks():
            xx += (x @ x.T).astype(np.int64)
            xy += (x @ y.T).astype(np.int64)
        return xx, xy
