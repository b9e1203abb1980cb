"""A statistic of a table written as a formula over counts and bounded sums."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sfumato.data.table import Table, TablePublic
from sfumato.mechanisms.expression.method import FormulaMethod
from sfumato.mechanisms.expression.reading import Vocabulary
from sfumato.privacy.loss import Number
from sfumato.tabular.table_units import table_vocabulary

__all__ = ["TableStatistic"]


@dataclass(frozen=True, kw_only=True)
class TableStatistic(FormulaMethod[Table]):
    """Release a statistic of a table that is written as a formula.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table, shared among the units of the formula.
    expression
        The formula, with `+ - * / **`, numbers, brackets and `choose2`, `choose3`, `share`, `sum`,
        `mean`, `sqrt`, `log`, `exp`, `abs`. Units: `rows`; `count(sex, 'f')`, the rows with a
        value, or with several: `count(sex, 'f', ward, 'east')`; `total(age)`, the sum of a column
        of numbers (a bin counts as its middle), or `total(age, sex, 'f')`; `known(age)`, the rows
        with a value there; `counts(sex)`, the vector of how often each value occurs.
    split
        How ε is shared: `"equal"`, `"optimal"` for the values in `guess`, or weights by unit.
    guess
        Public guesses at the values of the units, made without looking at the table.
    floor
        The least a denominator may be; denominators are taken to be positive.
    between
        A public range that the value is moved into.

    Notes
    -----
    Privacy: one row changes a count by at most 1 and a sum by no more than the declared range of
    its column; the units are measured with geometric noise and parts of ε that add up, all else is
    post-processing (docs/proofs/expressions.md).
    """

    kind: ClassVar[str] = "table"
    proof: ClassVar[str] = "expressions.md"
    small: ClassVar[str] = "numbers, at most 20,000 terms"

    @classmethod
    def example_method(cls, epsilon: Number, public: TablePublic, **more: Any) -> Self:
        """Return the sum of squares of how often each value of the last column occurs."""
        expression = f"sum(counts({public.columns[-1]!r}) ** 2)"
        return super().example_method(epsilon, public, expression=expression, **more)

    def uses(self, public: TablePublic) -> tuple[str, ...]:
        """Return the columns that the formula names."""
        return tuple(name for name in public.columns if self._names(name))

    def _names(self, column: str) -> bool:
        """Tell whether the formula names a column; one that quotes may hide counts as named."""
        whole = rf"(?<!\w){re.escape(column)}(?!\w)"
        return bool(set("'\"\\") & set(column)) or re.search(whole, self.expression) is not None

    def _vocabulary(self, public: TablePublic) -> Vocabulary:
        _, relation = self.record_budget(public)
        return table_vocabulary(public, relation)
