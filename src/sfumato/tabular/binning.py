"""Private bins: many declared codes are joined to few, before a table is modelled.

A method that counts number columns in tables needs few bins, at the right places. Here a small
share of its budget finds them; from then on they are public, and the method goes its usual way
over a table of fewer codes. Which columns get bins follows from the schema alone. This module may
never let the data decide more than where the bins are (docs/proofs/binning.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import View, see_through
from sfumato.engines.coding import Categories, Coding, Integers
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Program
from sfumato.tabular.bin_choice import (
    ROWS_SHARE,
    Part,
    choose_bins,
    cut_choice,
    cut_levels,
    tree_splits,
)
from sfumato.tabular.bin_tree import CodeTree
from sfumato.tabular.binned_model import Bins, unbinned
from sfumato.tabular.counting_method import TableMethod, rows_about
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["BinningMethod"]

#: Columns of no more codes than this are left as they are declared.
FEW_CODES = 32
#: How many bins there are: by width or quantiles; and at most along a tree.
BINS, MOST_BINS = 16, 32
#: More columns than this are not listed in a sentence.
MOST_NAMED = 6


@dataclass(frozen=True, kw_only=True)
class BinnedPublic(TablePublic):
    """What is public about a table whose columns are seen through bins.

    Parameters
    ----------
    left
        The share of a method's budget that is left once the bins are found.
    """

    left: Fraction

    @classmethod
    def seen(cls, public: TablePublic, numbers: Mapping[int, int], left: Fraction) -> BinnedPublic:
        """Return the public part of a table with so many bins of declared values in some columns.

        Parameters
        ----------
        public
            What is public about the table as it is declared.
        numbers
            The number of bins of each such column.
        left
            The share of the budget that is left.
        """
        columns = tuple(
            replace(column, coding=_binned(column.coding, numbers[number]))
            if number in numbers
            else column
            for number, column in enumerate(public.schema.columns)
        )
        return cls(
            schema=replace(public.schema, columns=columns),
            unit=public.unit,
            relation=public.relation,
            contribution=public.contribution,
            rows=public.rows,
            rows_about=public.rows_about,
            left=left,
        )


def _binned(coding: Coding, number: int) -> Coding:
    """Return a coding of so many bins, which keeps the reserved codes of another."""
    if isinstance(coding, Categories):
        names = tuple(f"group {group + 1}" for group in range(number))
        return Categories(values=names, missing=coding.missing, outside=coding.outside)
    return Integers(low=0, high=number - 1, missing=coding.missing, outside=coding.outside)


@dataclass(frozen=True, kw_only=True)
class BinningMethod(TableMethod[SyntheticTable]):
    """A method whose columns of many codes may be seen through bins that are found privately.

    Parameters
    ----------
    binner
        Where the bins of columns of more than 32 numbers, whole numbers or dates come from.
        `"declared"`: the schema; `"uniform"`: bins of equal width, which cost nothing;
        `"quantile"`: bins of about equally many records; `"privtree"`: halved wherever there are
        many records. The last also joins categories along their taxonomy.
    bins
        How many bins a column gets, 16 by default; for `"privtree"` how many at most, 32 by
        default.
    bins_share
        The share of the budget that finds the bins of all columns together.

    Notes
    -----
    Privacy: the bins are chosen by primitives that are paid from a slice of their own, and a record
    seen through public bins is still one record (docs/proofs/binning.md).
    """

    binner: str = parameter(OneOf(("declared", "uniform", "quantile", "privtree")), "declared")
    bins: int | None = parameter(OrNone(Whole(2, 4096)), None)
    bins_share: Number = parameter(SHARE, Fraction(1, 10))

    @abstractmethod
    def _plan_table(self, public: TablePublic) -> Plan:
        """Return the plan for columns as they are given."""

    @abstractmethod
    def _table_program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for what the release of columns as they are given needs, and return it."""

    def record_budget(self, public: TablePublic) -> tuple[Loss, Relation]:
        """Return the loss for one record, less what bins took, and its relation."""
        limit, relation = super().record_budget(public)
        return limit.share(public.left) if isinstance(public, BinnedPublic) else limit, relation

    def binned(self, public: TablePublic) -> dict[int, Coding]:
        """Return the columns that get bins, by their numbers. Public."""
        return {
            number: column.coding
            for number, column in enumerate(public.schema.columns)
            if self.binner != "declared" and self._splits(column.coding)
        }

    def _splits(self, coding: Coding) -> bool:
        """Tell whether a column of a coding gets bins."""
        if isinstance(coding, Categories):
            ordered = self.binner == "privtree" and coding.taxonomy is not None
        else:
            ordered = coding.kind in ("number", "integer", "date")
        fewer = self.binner == "privtree" or coding.proper > self.most_bins
        return ordered and fewer and coding.proper > FEW_CODES

    @property
    def most_bins(self) -> int:
        """The most bins of a column."""
        return self.bins or (MOST_BINS if self.binner == "privtree" else BINS)

    def _left(self, public: TablePublic) -> Fraction:
        """Return the share of the budget that is left once the bins are found."""
        free = self.binner in ("declared", "uniform") or not self.binned(public)
        return Fraction(1) if free else 1 - Fraction(self.bins_share)

    def program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for the bins, and then for the table as it is seen through them."""
        codings, left = self.binned(public), self._left(public)
        if not codings:
            return (yield from self._table_program(public, budget))
        found = yield from choose_bins(
            budget.take(1 - left, "bins") if left < 1 else budget,
            self.binner,
            codings,
            public.columns,
            self.most_bins,
            public.rows,
        )
        rest = budget.take(left, "table") if left < 1 else budget
        view = View(
            tuple((c, found[c].groups if c in found else None) for c in range(len(public.sizes)))
        )
        release = yield from see_through(view, self._table_program(self._seen(public, found), rest))
        return unbinned(release, public, found, self._bins_words(public, found))

    def _seen(self, public: TablePublic, found: Mapping[int, Bins]) -> BinnedPublic:
        """Return what is public once the bins are."""
        numbers = {column: bins.number for column, bins in found.items()}
        return BinnedPublic.seen(public, numbers, self._left(public))

    def _bins_words(self, public: TablePublic, found: Mapping[int, Bins]) -> str:
        """Say in how many bins columns were counted."""
        how = {"uniform": "equal width", "quantile": "about equally many rows each"}.get(
            self.binner, "widths that follow the rows"
        )
        named = [
            f"{public.columns[column]} in {bins.number} of {bins.proper:,}"
            for column, bins in found.items()
        ]
        more = len(named) - MOST_NAMED
        tail = f", and {more} more column{'s' * (more != 1)}" if more > 0 else ""
        return (
            f"Columns of many values were counted in bins of {how}, within which rows are spread "
            f"evenly: {', '.join(named[:MOST_NAMED])}{tail}."
        )

    def plan(self, public: TablePublic) -> Plan:
        """Return what a release will cost and how good it will be, before it is spent."""
        self.check(public)
        codings, left = self.binned(public), self._left(public)
        if not codings:
            return self._plan_table(public)
        numbers = {c: min(self.most_bins, coding.proper) for c, coding in codings.items()}
        plan = self._plan_table(BinnedPublic.seen(public, numbers, left))
        steps = tuple(replace(step, loss=step.loss.share(left)) for step in plan.steps)
        if left < 1:
            steps = (self._bins_step(public, codings, left), *steps)
        named = _listed([public.columns[column] for column in codings])
        note = (
            f"{named}: at most {self.most_bins} bins a column, "
            "and errors are those for so many; fewer bins mean less noise, and within a bin rows "
            "are spread evenly."
        )
        return replace(plan, steps=steps, notes=(note, *plan.notes))

    def _bins_step(
        self, public: TablePublic, codings: Mapping[int, Coding], left: Fraction
    ) -> PlanStep:
        """Return the line about the bins, for the column in which they are found worst."""
        limit, relation = self.record_budget(public)
        each = limit.share((1 - left) / len(codings))
        what = f"the bins of {len(codings)} column{'s' * (len(codings) != 1)}"
        if self.binner == "privtree":
            if public.rows is None:
                each = each.share(1 - ROWS_SHARE)
            threshold = (rows_about(public) or 0) // self.most_bins
            trees = [CodeTree.of(coding) for coding in codings.values()]
            off = max(float(tree_splits(t, threshold, each, relation).decay) for t in trees)
            error = f"bins of fewer than about {threshold + off:,.4g} rows stay whole"
            noise, margin = "private splits", threshold + off
        else:
            part = Part(0, max(coding.proper for coding in codings.values()), self.most_bins)
            level = each.share(Fraction(1, cut_levels(self.most_bins)))
            choice = cut_choice(part, level.per_unit(2) if public.rows is not None else level)
            # P(a cut falls short by t) ≤ places · exp(−rate·t), solved for 1/20.
            margin = log(20 * choice.candidates) / float(choice.rate) / part.quantile.denominator
            noise = f"{cut_levels(self.most_bins)} rounds of private choices"
            error = f"each cut at most {margin:,.4g} rows off, 19 times in 20"
        return PlanStep(
            what=what,
            loss=self.working_loss().share(1 - left),
            noise=noise,
            error=error,
            figures={"margin": margin},
        )


def _listed(names: list[str]) -> str:
    """Return names in a sentence, not too many of them."""
    more = len(names) - MOST_NAMED
    if more > 0:
        names = [*names[:MOST_NAMED], f"{more} more column{'s' * (more != 1)}"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
