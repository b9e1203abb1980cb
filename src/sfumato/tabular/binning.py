"""Private bins: many declared codes are joined to few, before a table is modelled.

A method that counts number columns in tables needs few bins, at the right places. Here a small
share of its budget finds them; from then on they are public, and the method goes its usual way
over a table of fewer codes. By default stretches are split further than the method can use, down
to single values that many records share, and are counted once: neighbours are joined to bins, and
within a bin synthetic values follow the finer counts. Which columns get bins follows from the
schema alone. This module may never let the data decide more than where the bins are
(docs/proofs/binning.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import TablePublic
from sfumato.data.table_queries import Marginal, Seen, View, see_through
from sfumato.engines.coding import Categories, Coding, Integers
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import ask_counts, count_noise, margin
from sfumato.mechanisms.privtree import TreeSplits, grow_tree
from sfumato.mechanisms.quantile import quantile_sensitivity
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number, pure_within
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.bin_tree import CodeTree, Node, prune
from sfumato.tabular.binned_model import Bins, Leaves, repair_leaves, undo_bins
from sfumato.tabular.counting_method import TableMethod, rows_about
from sfumato.tabular.queries import CodeCounts, CodeNodes, CutScores
from sfumato.tabular.synthetic import SyntheticTable

__all__ = ["BinnedPublic", "BinningMethod"]

#: Columns of no more codes than this are left as they are declared.
FEW_CODES = 32
#: How many bins there are: by width or quantiles; and at most along a tree.
BINS, MOST_BINS = 16, 32
#: The share of the budget for bins, unless it is given; with finer counts each column adds to it.
BINS_SHARE = Fraction(1, 10)
#: With k columns in finer counts, k/(k + this) of the budget is spent on them, and at most so much.
COLUMNS_BESIDE, MOST_SHARE = 10, Fraction(2, 5)
#: Where bins may come from.
BINNERS = ("auto", "declared", "uniform", "quantile", "privtree")
#: More columns than this are not listed in a sentence.
MOST_NAMED = 6


@dataclass(frozen=True, kw_only=True)
class BinnedPublic(TablePublic):
    """What is public about a table whose columns are seen through bins.

    Parameters
    ----------
    left
        The share of a method's budget that is left once the bins are found.
    known
        The noisy counts of bins that are known before the method begins, by column, and the
        standard deviation of their noise.
    """

    left: Fraction
    known: Mapping[int, tuple[NDArray[np.float64], float]] = field(
        default_factory=dict, compare=False
    )

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
            schema=replace(public.schema, columns=columns, constraints=()),
            unit=public.unit,
            relation=public.relation,
            contribution=public.contribution,
            rows=public.rows,
            rows_about=public.rows_about,
            left=left,
        )


def combine_known(
    public: TablePublic, column: int, counts: NDArray[np.float64], deviation: float
) -> NDArray[np.float64]:
    """Return the mean of a column's noisy counts and of those known before, by their variances."""
    known = public.known.get(column) if isinstance(public, BinnedPublic) else None
    if known is None:
        return counts
    # A huge epsilon leaves no noise at all.
    weights = [1 / max(spread, 1e-6) ** 2 for spread in (deviation, known[1])]
    return np.average([counts, known[0]], axis=0, weights=weights)


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
        Where bins come from, for columns of numbers or dates with more than 32 values. `"auto"`:
        ranges with many records are halved repeatedly, down to single values, and counted; the
        tables of several columns use at most 32 bins of them, and synthetic values follow the finer
        counts within a bin. `"declared"`: from the schema. `"uniform"`: bins of equal width, at no
        privacy loss. `"quantile"`: bins with about equal numbers of records. `"privtree"`: halved
        repeatedly, without finer counts; categories are grouped along their taxonomy.
    bins
        Maximum number of bins per column, 32 by default; 16 for `"uniform"` and `"quantile"`.
    bins_share
        Share of the budget for the bins of all columns. Default: for k such columns with `"auto"`
        k/(k + 10), at most 2/5; with `"quantile"` and `"privtree"` 1/10.

    Notes
    -----
    Privacy: a separate slice of the budget pays for the choice of the bins, and binning by public
    bins maps one record to one record (docs/proofs/binning.md).
    """

    binner: str = parameter(OneOf(BINNERS), "auto")
    bins: int | None = parameter(OrNone(Whole(2, 4096)), None)
    bins_share: Number | None = parameter(OrNone(SHARE), None)

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
            if self._binner != "declared" and self._splits(column.coding)
        }

    @property
    def _binner(self) -> str:
        """Where bins come from; a method whose columns stay as declared says so here."""
        return self.binner

    def _splits(self, coding: Coding) -> bool:
        """Tell whether a column of a coding gets bins."""
        if isinstance(coding, Categories):
            ordered = self._binner == "privtree" and coding.taxonomy is not None
        else:
            ordered = coding.kind in ORDERED
        fewer = self._splits_trees or coding.proper > self.most_bins
        return ordered and fewer and coding.proper > FEW_CODES

    @property
    def most_bins(self) -> int:
        """The most bins of a column."""
        return self.bins or (MOST_BINS if self._splits_trees else BINS)

    @property
    def _splits_trees(self) -> bool:
        """Whether bins are found along trees."""
        return self._binner in ("auto", "privtree")

    def _left(self, public: TablePublic) -> Fraction:
        """Return the share of the budget that is left once the bins are found."""
        number = len(self.columns_to_bin(public))
        if number == 0 or self._binner in ("declared", "uniform"):
            return Fraction(1)
        if self.bins_share is not None:
            return 1 - Fraction(self.bins_share)
        counted = min(Fraction(number, number + COLUMNS_BESIDE), MOST_SHARE)
        return 1 - (counted if self._binner == "auto" else BINS_SHARE)

    def about(self, public: TablePublic) -> TablePublic:
        """Return what will be public once the bins are, with as many of them as there may be."""
        codings = self.columns_to_bin(public)
        numbers = {c: min(self.most_bins, coding.proper) for c, coding in codings.items()}
        return BinnedPublic.seen(public, numbers, self._left(public)) if codings else public

    def program(self, public: TablePublic, budget: Budget) -> Program[SyntheticTable]:
        """Ask for the bins, and then for the table as it is seen through them."""
        codings, left = self.columns_to_bin(public), self._left(public)
        if not codings:
            return (yield from self._table_program(public, budget))
        paid = budget.take(1 - left, "bins") if left < 1 else budget
        # Bins that keep to constraints tell more of the columns that these join.
        segments = {column: public.rules.segments(column) for column in codings}
        leaves: dict[int, Leaves] = {}
        if self._binner == "auto":
            leaves = yield from count_leaves(paid, codings, public.columns, public.rows, segments)
            found = {column: fine.join(self.most_bins) for column, fine in leaves.items()}
        else:
            found = yield from choose_bins(
                paid, self._binner, codings, public.columns, self.most_bins, public.rows, segments
            )
        rest = budget.take(left, "table") if left < 1 else budget
        view = View(
            tuple((c, found[c].groups if c in found else None) for c in range(len(public.sizes)))
        )
        numbers = {column: bins.number for column, bins in found.items()}
        known = {column: fine.counts_of(found[column]) for column, fine in leaves.items()}
        rules = public.rules.see({column: bins.groups for column, bins in found.items()})
        seen = replace(BinnedPublic.seen(public, numbers, left), known=known, seen_rules=rules)
        release = yield from see_through(view, self._table_program(seen, rest))
        return undo_bins(release, public, found, self._bins_words(public, found), leaves)

    def _bins_words(self, public: TablePublic, found: Mapping[int, Bins]) -> str:
        """Say in how many bins columns were counted."""
        how = {"uniform": "equal width", "quantile": "about equally many rows each"}.get(
            self._binner, "widths that follow the rows"
        )
        within = "follow finer counts" if self._binner == "auto" else "are spread evenly"
        named = [
            f"{public.columns[column]} in {bins.number} of {bins.proper:,}"
            for column, bins in found.items()
        ]
        more = len(named) - MOST_NAMED
        tail = f", and {more} more column{'s' * (more != 1)}" if more > 0 else ""
        return (
            f"Columns of many values were counted in bins of {how}, within which rows {within}: "
            f"{', '.join(named[:MOST_NAMED])}{tail}."
        )

    def plan(self, public: TablePublic) -> Plan:
        """Return what a release will cost and how good it will be, before it is spent."""
        self.check(public)
        codings, left = self.columns_to_bin(public), self._left(public)
        if not codings:
            return self._plan_table(public)
        plan = self._plan_table(self.about(public))
        steps = tuple(replace(step, loss=step.loss.share(left)) for step in plan.steps)
        if self._binner == "auto":
            steps = (*self._leaves_steps(public, codings, left), *steps)
        elif left < 1:
            steps = (self._bins_step(public, codings, left), *steps)
        named = _list_names([public.columns[column] for column in codings])
        within = "follow finer counts" if self._binner == "auto" else "are spread evenly"
        note = (
            f"{named}: at most {self.most_bins} bins per column, and errors are those for so "
            "many; a column of fewer bins has less noise in all and more on each of them, and "
            f"within a bin rows {within}."
        )
        return replace(plan, steps=steps, notes=(note, *plan.notes))

    def _leaves_steps(
        self, public: TablePublic, codings: Mapping[int, Coding], left: Fraction
    ) -> tuple[PlanStep, PlanStep]:
        """Return the lines about the splits of columns and about the counts of their leaves."""
        limit, relation = self.record_budget(public)
        rows_part = ROWS_SHARE if public.rows is None else Fraction(0)
        each = limit.share((1 - left) * (1 - rows_part) / len(codings))
        threshold = (rows_about(public) or 0) // LEAVES
        trees = [CodeTree.of(coding, coding.landmarks, ROOTS) for coding in codings.values()]
        splits = each.share(SPLITS_SHARE)
        lost = max(
            float(tree_splits(tree, threshold, splits, relation).decay) * tree.levels
            for tree in trees
        )
        counts = count_noise((1,), each.share(1 - SPLITS_SHARE), relation)
        columns = f"{len(codings)} column{'s' * (len(codings) != 1)}"
        smallest = threshold + lost
        spread = counts.standard_deviation
        paid = self.counted_loss(public).share(1 - left)
        return (
            PlanStep(
                what=f"where {columns} of many values are split",
                loss=paid.share(rows_part + (1 - rows_part) * SPLITS_SHARE),
                noise="private splits",
                error=f"a value of more than about {smallest:,.4g} rows is found",
                figures={"margin": smallest},
            ),
            PlanStep(
                what=f"counts of the parts of {columns}",
                loss=paid.share((1 - rows_part) * (1 - SPLITS_SHARE)),
                noise=f"each ± {spread:,.4g} (1 s.d.)",
                error=f"± {margin(counts):,.4g} per part",
                figures={"margin": margin(counts), "standard_deviation": spread},
            ),
        )

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
            lost = max(float(tree_splits(t, threshold, each, relation).decay) for t in trees)
            off = threshold + lost
            noise, error = "private splits", f"bins of fewer than about {off:,.4g} rows stay whole"
        else:
            part = Part(0, max(coding.proper for coding in codings.values()), self.most_bins)
            level = each.share(Fraction(1, cut_levels(self.most_bins)))
            choice = cut_choice(part, level.per_unit(2) if public.rows is not None else level)
            # P(a cut falls short by t) ≤ places · exp(−rate·t), solved for 1/20.
            off = log(20 * choice.candidates) / float(choice.rate) / part.quantile.denominator
            noise = f"{cut_levels(self.most_bins)} rounds of private choices"
            error = f"each cut at most {off:,.4g} rows off, 19 times in 20"
        return PlanStep(
            what=what,
            loss=self.counted_loss(public).share(1 - left),
            noise=noise,
            error=error,
            figures={"margin": off},
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


#: The kinds of columns whose codes have an order.
ORDERED = ("number", "integer", "date", "datetime")
#: What the number of rows takes of the bins' share, where it is private and sets the threshold.
ROWS_SHARE = Fraction(1, 20)
#: Of what finer counts cost, this share finds the leaves; the rest counts them.
SPLITS_SHARE = Fraction(1, 4)
#: A column is cut into this many parts of equal width before anything is asked about it.
ROOTS = 8
#: A leaf with more than this part of all rows is worth a split.
LEAVES = 256
#: The most leaves of a column.
MOST_LEAVES = 1024
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
    segments: Mapping[int, NDArray[np.int64]] | None = None,
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
    segments
        For each column, the stretch of each code that no bin reaches beyond.
    """
    found: dict[int, Bins] = {}
    left, threshold = Fraction(1), 0
    labels, counted = labels_of(names), CodeCounts(tuple(codings))
    if binner == "privtree":
        rows, left = yield from _count_rows(budget, rows, labels[-1])
        threshold = rows // most
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
        if segments:
            groups = _cut_at(groups, segments[column])
        found[column] = _with_reserved(coding, groups)
    return found


def _count_rows(budget: Budget, rows: int | None, label: str) -> Program[tuple[int, Fraction]]:
    """Return the number of rows, asked for where it is private, and the share that is left."""
    left = Fraction(1)
    if rows is None:
        part = budget.take(ROWS_SHARE, label)
        told = yield ask_counts(part, Marginal(()), (1,), label=label)
        rows, left = int(told[0]), 1 - ROWS_SHARE
    return min(max(rows, 0), LARGEST), left


def _cut_at(groups: NDArray[np.intp], segments: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return bins, numbered by their first codes, of which none reaches beyond a segment."""
    apart = segments[: len(groups)]
    if not apart.any():
        return groups
    cut = groups * (int(apart[-1]) + 1) + apart
    _, first, place = np.unique(cut, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


def count_leaves(
    budget: Budget,
    codings: dict[int, Coding],
    names: Sequence[str],
    rows: int | None,
    segments: Mapping[int, NDArray[np.int64]],
) -> Program[dict[int, Leaves]]:
    """Split columns down to single values with many records, and count what they are split into.

    Parameters
    ----------
    budget
        The slice of all columns together.
    codings
        The coding of each column, by its number.
    names
        The names of all columns.
    rows
        The number of rows where it is public.
    segments
        For each column, the stretch of each code that no leaf reaches beyond.
    """
    labels, counted = labels_of(names), CodeCounts(tuple(codings))
    rows, left = yield from _count_rows(budget, rows, labels[-1])
    parts = {c: budget.take(left / len(codings), labels[c]) for c in codings}
    leaves: dict[int, NDArray[np.intp]] = {}
    for column, coding in codings.items():
        tree = CodeTree.of(coding, coding.landmarks, ROOTS)
        paid = parts[column].take(SPLITS_SHARE, "splits")
        splits = tree_splits(tree, rows // LEAVES, paid.limit, paid.relation)
        root = CodeNodes.root(counted, column, tree)
        levels = yield from grow_tree(paid, root, splits, labels[column])
        found = prune(tree, tree.inner(levels), MOST_LEAVES)
        leaves[column] = _cut_at(_number_leaves(coding, tree, found), segments[column])
    view = View(tuple(leaves.items()))
    counts = {c: parts[c].take(1 - SPLITS_SHARE, "counts") for c in codings}
    noises = {
        c: count_noise((int(leaves[c].max()) + 1,), paid.limit, paid.relation)
        for c, paid in counts.items()
    }
    told = yield [
        Ask(counts[c], noises[c], Seen(view, Marginal((place,))), f"{labels[c]}, counts")
        for place, c in enumerate(codings)
    ]
    return {
        c: Leaves(
            label=f"{labels[c]}, counts",
            leaves=leaves[c],
            proper=codings[c].proper,
            counts=repair_leaves(noisy, float(rows), noises[c].standard_deviation),
            deviation=noises[c].standard_deviation,
            segments=segments[c],
        )
        for c, noisy in zip(codings, told, strict=True)
    }


def _number_leaves(coding: Coding, tree: CodeTree, found: Sequence[Node]) -> NDArray[np.intp]:
    """Return the leaf of each code, numbered by their first codes; landmarks have their own."""
    leaves = np.arange(coding.size, dtype=np.intp)
    for first, last in found:
        codes = tree.order[first:last]
        leaves[codes] = codes[0]
    return np.unique(leaves, return_inverse=True)[1].astype(np.intp)


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
