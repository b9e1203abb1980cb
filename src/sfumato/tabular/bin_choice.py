"""Which codes of a column are joined to one bin: by width, by quantiles, or along a tree.

Nothing but the answers of primitives decides a bin (docs/proofs/binning.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table_queries import Marginal
from sfumato.engines.coding import Coding
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import ask_counts
from sfumato.mechanisms.privtree import TreeSplits, grow_tree
from sfumato.mechanisms.quantile import quantile_sensitivity
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, pure_within
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.bin_tree import CodeTree, Node, pruned
from sfumato.tabular.binned_model import Bins
from sfumato.tabular.queries import CodeCounts, CodeNodes, CutScores

__all__ = [
    "ROWS_SHARE",
    "Part",
    "choose_bins",
    "cut_choice",
    "cut_levels",
    "labels_of",
    "tree_splits",
]

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
                leaves = pruned(tree, tree.inner(levels), most)
            else:
                whole = Part(0, coding.proper, most)
                leaves = yield from _cut(part, counted, column, whole, labels[column])
            groups = tree.grouped(leaves)
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
