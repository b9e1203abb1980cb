"""A statistic of a table written as a formula over counts and bounded sums."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import frexp, lcm, prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table, TablePublic
from sfumato.data.table_queries import Accepted, Marginal
from sfumato.engines.coding import Integers, Numbers, Steps
from sfumato.mechanisms.expression.fixed import FixedStatistic
from sfumato.mechanisms.expression.method import FormulaMethod
from sfumato.mechanisms.expression.reading import Argument, Vocabulary
from sfumato.mechanisms.expression.terms import Term, Unit
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Number
from sfumato.tabular.counting_method import MOST_CELLS

__all__ = ["TableStatistic"]


@dataclass(frozen=True, kw_only=True)
class TableStatistic(FormulaMethod[Table]):
    """Release a table statistic given as a formula.

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
        How ε is split over the units: `"equal"`, `"optimal"` (for the values in `guess`), or a
        dictionary of weights by unit.
    guess
        Public guesses of the values of the units. They must not be derived from the private table.
    floor
        Smallest allowed denominator. Denominators are assumed to be positive.
    between
        A public range to which the value is clipped.

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


# What formulas about tables may name: numbers of rows, of values, and sums of bounded columns.
#
# Every unit is a sum over rows of public whole numbers that the row's codes choose, so that its
# sensitivity follows from what is declared. Nothing here looks at a table.


Arguments = tuple[Argument, ...]
#: The numbers of a column have at most 2 to this many steps.
PRECISION = 30


def table_vocabulary(public: TablePublic, relation: Relation) -> Vocabulary:
    """Return what names mean for a table.

    Parameters
    ----------
    public
        The public part of the table.
    relation
        In which sensitivities have to hold.
    """
    names = _Names(public, relation)
    columns: dict[str, Callable[[Arguments], Term | Argument]] = {
        column: _column(column) for column in public.columns
    }
    return {
        **columns,
        "count": names.count,
        "counts": names.counts,
        "known": names.known,
        "rows": names.rows,
        "total": names.total,
    }


def _column(name: str) -> Callable[[Arguments], str]:
    def found(given: Arguments) -> str:
        if given:
            raise ValueError(f"the column {name} takes no arguments; write total({name})")
        return name

    return found


@dataclass(frozen=True)
class _Names:
    """The names of formulas about one table."""

    public: TablePublic
    relation: Relation

    def rows(self, given: Arguments) -> Term | Argument:
        """Return the number of rows: public under replace-one."""
        _several("rows", given, 0)
        if self.public.rows is not None:
            return self.public.rows
        return self._sum("rows", {}, None)

    def count(self, given: Arguments) -> Term:
        """Return how many rows have given values."""
        wanted = self._conditions("count", given)
        if not wanted:
            raise ValueError("count needs columns with values, such as count(sex, 'f')")
        return self._sum(f"count({_argument_text(given)})", wanted, None)

    def known(self, given: Arguments) -> Term:
        """Return how many rows have a proper value in a column, of those with given values."""
        column = self._named("known", given)
        wanted = self._conditions("known", given[1:])
        proper = self.public.schema[column].coding.proper
        if column in wanted:
            raise ValueError(f"known({column}) must not have a condition on {column} itself")
        return self._sum(
            f"known({_argument_text(given)})", {**wanted, column: list(range(proper))}, None
        )

    def total(self, given: Arguments) -> Term:
        """Return the sum of a column over the rows with given values."""
        column = self._named("total", given)
        wanted = self._conditions("total", given[1:])
        if column in wanted:
            raise ValueError(f"total({column}) must not have a condition on {column} itself")
        return self._sum(f"total({_argument_text(given)})", wanted, column)

    def counts(self, given: Arguments) -> Term:
        """Return the vector of how often each value of a column occurs."""
        _several("counts", given, 1)
        column = self._named("counts", given)
        count, size = Marginal(self.public.schema.indices([column])), self.public.domain[column]
        # Under replace-one a row leaves one value and enters another.
        sensitivity = 1 if self.relation is Relation.ADD_REMOVE else 2
        return Unit(f"counts({column})", size, FixedStatistic(count, sensitivity, size))

    def _named(self, name: str, given: Arguments) -> str:
        if not given:
            raise ValueError(
                f"{name} needs a column as its first argument: one of "
                f"{', '.join(self.public.columns)}"
            )
        self.public.schema.index(str(given[0]))
        return str(given[0])

    def _conditions(self, name: str, given: Arguments) -> dict[str, list[int]]:
        """Return the accepted code of each column in column, value, column, value, …"""
        if len(given) % 2:
            raise ValueError(f"{name} needs a value after each column, such as {name}(…, sex, 'f')")
        wanted: dict[str, list[int]] = {}
        for column, value in zip(given[::2], given[1::2], strict=True):
            labels = self.public.labels(self._named(name, (column,)))
            if str(value) not in labels:
                some = f"{', '.join(labels[:20])}{' …' if len(labels) > 20 else ''}"
                raise ValueError(f"column {column!r} has the values {some}; got {value!r}")
            if str(column) in wanted:
                raise ValueError(f"{name} has the column {column} twice; name each column once")
            wanted[str(column)] = [labels.index(str(value))]
        return wanted

    def _sum(self, text: str, wanted: dict[str, list[int]], weighted: str | None) -> Unit:
        """Return the sum over the rows that fit of a column's numbers, or of ones."""
        weights, step = np.ones(1, dtype=np.int64), Fraction(1)
        if weighted is not None:
            weights, step = _numbers(self.public, weighted)
            wanted = {**wanted, weighted: list(range(len(weights)))}
        cells = prod(self.public.domain[name] for name in wanted)
        if cells > MOST_CELLS:
            raise ValueError(
                f"{text} spans {cells:,} combinations of values; at most {MOST_CELLS:,} are "
                "allowed; name fewer columns, or declare fewer bins"
            )
        count = Accepted(
            self.public.schema.indices(list(wanted)),
            tuple(map(tuple, wanted.values())),
            tuple(weights.tolist()),
        )
        fits_all = all(len(codes) == self.public.domain[name] for name, codes in wanted.items())
        return Unit(text, None, FixedStatistic(count, self._reach(weights, fits_all), None, step))

    def _reach(self, weights: NDArray[np.int64], fits_all: bool) -> int:
        """Return by how much one row changes a sum: what it adds, or how far two rows differ."""
        added = [int(weights.min()), int(weights.max()), *([] if fits_all else [0])]
        if self.relation is Relation.ADD_REMOVE:
            return max(*(abs(end) for end in added), 1)
        return max(max(added) - min(added), 1)


def _numbers(public: TablePublic, column: str) -> tuple[NDArray[np.int64], Fraction]:
    """Return the number each proper code stands for, in whole steps, and the step. Public.

    A bin stands for its middle. Steps are 1 or ½ where that is exact, else fine and a power of two.
    """
    coding = public.schema[column].coding
    if isinstance(coding, Integers):
        count = coding.high - coding.low + 1
        bins = coding.proper
        starts = [coding.low + i * count // bins for i in range(bins + 1)]
        middles = [Fraction(a + b - 1, 2) for a, b in pairwise(starts)]
    elif isinstance(coding, Steps):
        values = coding.values(np.arange(coding.proper)).tolist()
        middles = [Fraction(repr(value)) for value in values]
    elif isinstance(coding, Numbers):
        edges = [Fraction(repr(edge)) for edge in coding.edges]
        middles = [(a + b) / 2 for a, b in pairwise(edges)]
    else:
        raise ValueError(
            f"total needs a column of numbers; {column!r} is not one: use count or counts"
        )
    largest = max(abs(middle) for middle in middles)
    step = Fraction(1, lcm(*(middle.denominator for middle in middles)))
    if step < Fraction(1, 2) or largest / step > 2**PRECISION:
        step = Fraction(2) ** (frexp(float(largest))[1] - PRECISION)
    return np.array([round(middle / step) for middle in middles], dtype=np.int64), step


def _argument_text(given: Arguments) -> str:
    """Return arguments as text, no two lists of them alike."""
    return ", ".join(repr(argument) for argument in given)


def _several(name: str, given: Arguments, many: int) -> None:
    if len(given) != many:
        raise ValueError(f"{name} takes {many or 'no'} arguments; got {len(given)}")
