"""Private bins: many declared codes are joined to few, before a table is modelled.

A method that counts number columns in tables needs few bins, at the right places. Here a small
share of its budget finds them; from then on they are public, and the method goes its usual way
over a table of fewer codes. Which columns get bins follows from the schema alone. This module may
never let the data decide more than where the bins are (docs/proofs/binning.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal, View, see_through
from sfumato.engines.coding import Categories, Coding, Integers
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import ask_counts
from sfumato.mechanisms.privtree import TreeSplits, grow_tree
from sfumato.mechanisms.quantile import quantile_sensitivity
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number, pure_within
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.bin_tree import CodeTree, Node, prune
from sfumato.tabular.binned_model import Bins, undo_bins
from sfumato.tabular.counting_method import TableMethod, rows_about
from sfumato.tabular.queries import CodeCounts, CodeNodes, CutScores
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
            replace(column, coding=_bin_coding(column.coding, numbers[number]))
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


def _bin_coding(coding: Coding, number: int) -> Coding:
    """Return a coding of so many bins, which keeps the reserved codes of another."""
    if isinstance(coding, Categories):
        names = tuple(f"group {group + 1}" for group in range(number))
        return Categories(values=names, missing=coding.missing, outside=coding.outside)
    return Integers(low=0, high=number - 1, missing=coding.missing, outside=coding.outside)


@dataclass(frozen=True, kw_only=True)
class BinningMethod(TableMethod[SyntheticTable]):
    """A method that can group the values of large columns into privately chosen bins.

    Parameters
    ----------
    binner
        Where bins come from, for columns of numbers or dates with more than 32 values.
        `"declared"`: from the schema. `"uniform"`: bins of equal width, at no privacy loss.
        `"quantile"`: bins with about equal numbers of records. `"privtree"`: ranges with many
        records are halved repeatedly; categories are grouped along their taxonomy.
    bins
        Number of bins per column, 16 by default; for `"privtree"` the maximum, 32 by default.
    bins_share
        Share of the budget for choosing the bins of all columns.

    Notes
    -----
    Privacy: a separate slice of the budget pays for the choice of the bins, and binning by public
    bins maps one record to one record (docs/proofs/binning.md).
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

    def columns_to_bin(self, public: TablePublic) -> dict[int, Coding]:
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
        free = self.binner in ("declared", "uniform") or not self.columns_to_bin(public)
        return Fraction(1) if free else 1 - Fraction(self.bins_share)

    def program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for the bins, and then for the table as it is seen through them."""
        codings, left = self.columns_to_bin(public), self._left(public)
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
        return undo_bins(release, public, found, self._bins_words(public, found))

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
        codings, left = self.columns_to_bin(public), self._left(public)
        if not codings:
            return self._plan_table(public)
        numbers = {c: min(self.most_bins, coding.proper) for c, coding in codings.items()}
        plan = self._plan_table(BinnedPublic.seen(public, numbers, left))
        steps = tuple(replace(step, loss=step.loss.share(left)) for step in plan.steps)
        if left < 1:
            steps = (self._bins_step(public, codings, left), *steps)
        named = _list_names([public.columns[column] for column in codings])
        note = (
            f"{named}: at most {self.most_bins} bins per column, and errors are those for so "
            "many; fewer bins mean less noise, and within a bin rows are spread evenly."
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


def _list_names(names: list[str]) -> str:
    """Return names in a sentence, not too many of them."""
    more = len(names) - MOST_NAMED
    if more > 0:
        names = [*names[:MOST_NAMED], f"{more} more column{'s' * (more != 1)}"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# Which codes of a column are joined to one bin: by width, by quantiles, or along a tree.
#
# Nothing but the answers of primitives decides a bin (docs/proofs/binning.md).


#: What the number of rows takes of the bins' share, where it is private and sets the threshold.
ROWS_SHARE = Fraction(1, 20)
#: Noisy numbers of rows are cut to this: far above any table, far below what overflows.
LARGEST = 2**40


@dataclass(frozen=True)
class Part:
    """A stretch of codes that is to be cut into bins of equal numbers of records.

    Parameters
    ----------
    first, last
        The codes, the last one not included.
    bins
        How many bins there shall be.
    """

    first: int
    last: int
    bins: int

    @property
    def quantile(self) -> Fraction:
        """Which part of the records shall lie below the cut."""
        return Fraction(self.bins // 2, self.bins)

    @property
    def cuts(self) -> int:
        """At how many places it may be cut; none where it stays whole."""
        return self.last - self.first - 1 if self.bins > 1 else 0

    def cut(self, place: int) -> tuple[Part, Part]:
        """Return both sides of a cut, given the first code of the second."""
        below = self.bins // 2
        return Part(self.first, place, below), Part(place, self.last, self.bins - below)


def cut_choice(part: Part, loss: Loss) -> Choose:
    """Return the private choice of a cut, for a record of the part added or removed."""
    moved = quantile_sensitivity(part.quantile, Relation.ADD_REMOVE)
    return choose_within(loss, part.cuts, Fraction(moved))


def tree_splits(tree: CodeTree, threshold: int, loss: Loss, relation: Relation) -> TreeSplits:
    """Return the primitive that a slice pays for when a tree is grown with all of it."""
    return TreeSplits(
        epsilon=pure_within(loss),
        fan_out=tree.fan_out,
        levels=tree.levels,
        threshold=threshold,
        relation=relation,
    )


def choose_bins(
    budget: Budget,
    binner: str,
    codings: dict[int, Coding],
    names: Sequence[str],
    most: int,
    rows: int | None,
) -> Program[dict[int, Bins]]:
    """Ask for what decides the bins of some columns, and return them.

    Parameters
    ----------
    budget
        The slice of all bins together.
    binner
        `"uniform"`, `"quantile"` or `"privtree"`.
    codings
        The coding of each column that gets bins, by its number.
    names
        The names of all columns.
    most
        The most bins of a column.
    rows
        The number of rows where it is public.
    """
    found: dict[int, Bins] = {}
    left, threshold = Fraction(1), 0
    labels, counted = labels_of(names), CodeCounts(tuple(codings))
    if binner == "privtree":
        if rows is None:
            part = budget.take(ROWS_SHARE, labels[-1])
            told = yield ask_counts(part, Marginal(()), (1,), label=labels[-1])
            rows = int(told[0])
            left -= ROWS_SHARE
        threshold = min(max(rows, 0), LARGEST) // most
    for column, coding in codings.items():
        if binner == "uniform":
            groups = np.arange(coding.proper) * min(most, coding.proper) // coding.proper
        else:
            part, tree = budget.take(left / len(codings), labels[column]), CodeTree.of(coding)
            if binner == "privtree":
                splits = tree_splits(tree, threshold, part.limit, part.relation)
                root = CodeNodes.root(counted, column, tree)
                levels = yield from grow_tree(part, root, splits, labels[column])
                leaves = prune(tree, tree.inner(levels), most)
            else:
                whole = Part(0, coding.proper, most)
                leaves = yield from _cut(part, counted, column, whole, labels[column])
            groups = tree.group_codes(leaves)
        found[column] = _with_reserved(coding, groups)
    return found


def _cut(
    budget: Budget, counted: CodeCounts, column: int, whole: Part, label: str
) -> Program[list[Node]]:
    """Cut a stretch of codes into bins: level by level, a cut in each part; a record is in one."""
    parts, levels = [whole], cut_levels(whole.bins)
    for level in range(levels):
        # Of two codes there is one cut, and nothing to choose.
        offered = [part for part in parts if part.cuts > 1]
        picks: Iterator[int] = iter(())
        if offered:
            ranges = [f"{part.first} to {part.last}" for part in offered]
            slices = budget.parallel(ranges, Fraction(1, levels), name=f"level {level + 1}")
            picks = iter(
                (
                    yield [
                        Ask(
                            paid,
                            cut_choice(part, paid.limit),
                            CutScores(counted, column, part.first, part.last, part.quantile),
                            f"{label}: {codes}",
                        )
                        for codes, part, paid in zip(ranges, offered, slices, strict=True)
                    ]
                )
            )
        cut: list[Part] = []
        for part in parts:
            if part.cuts:
                cut += part.cut(part.first + 1 + (next(picks) if part.cuts > 1 else 0))
            else:
                cut.append(part)
        parts = cut
    return [(part.first, part.last) for part in parts]


def _with_reserved(coding: Coding, groups: NDArray[Any]) -> Bins:
    """Return bins in which "other" and "missing" keep a cell of their own."""
    reserved = int(groups.max()) + 1 + np.arange(coding.size - coding.proper)
    return Bins(np.concatenate([groups, reserved]).astype(np.intp), coding.proper)


def labels_of(names: Sequence[str]) -> list[str]:
    """Return the labels of all columns' bins, and lastly of the number of rows.

    Methods may label tables by the names of columns, so that no name begins like these.
    """
    begin = "bins"
    while any(name.startswith(begin) for name in names):
        begin = f"({begin})"
    return [*(f"{begin}: {name}" for name in names), f"{begin}, the number of rows"]


def cut_levels(bins: int) -> int:
    """Return after how many cuts of cuts there are so many bins."""
    return (bins - 1).bit_length()
