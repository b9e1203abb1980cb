"""Which codes of a column are joined to one bin: by width, by quantiles, or along a tree.

One course of questions is followed twice: with the data at hand, where primitives answer it, and
with the transcript, from which the same bins are read again. Nothing but the answers decides a bin
(docs/proofs/binning.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.coding import Coding
from sfumato.tabular.bin_tree import CodeTree, Walk, pruned
from sfumato.tabular.binned_model import Bins

__all__ = ["ROWS_SHARE", "Answering", "Answers", "Part", "choose_bins", "cut_levels", "labels_of"]

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


class Answering(Protocol):
    """Who answers the questions about one column."""

    def splits(self, tree: CodeTree, threshold: int) -> Walk:
        """Return the tree as far as it was split."""

    def cuts(self, level: int, levels: int, parts: Sequence[Part]) -> list[int]:
        """Return which of its places each part is cut at."""


class Answers(Protocol):
    """Who answers: primitives, given the data; or the transcript of what they said."""

    def rows(self, share: Fraction, label: str) -> int:
        """Return the number of rows, with noise."""

    def column(self, column: int, share: Fraction, label: str) -> Answering:
        """Return who answers about a column, for a share of the budget."""


def choose_bins(
    binner: str, codings: dict[int, Coding], names: Sequence[str], most: int, rows: int | None
) -> Callable[[Answers], dict[int, Bins]]:
    """Return a course of questions whose answers decide the bins of some columns.

    Parameters
    ----------
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

    def course(answers: Answers) -> dict[int, Bins]:
        found: dict[int, Bins] = {}
        left, threshold = Fraction(1), 0
        labels = labels_of(names)
        if binner == "privtree":
            total = rows
            if total is None:
                total = answers.rows(ROWS_SHARE, labels[-1])
                left -= ROWS_SHARE
            threshold = min(max(total, 0), LARGEST) // most
        for column, coding in codings.items():
            if binner == "uniform":
                groups = np.arange(coding.proper) * min(most, coding.proper) // coding.proper
            else:
                asked = answers.column(column, left / len(codings), labels[column])
                groups = _groups(binner, coding, most, threshold, asked)
            found[column] = _with_reserved(coding, groups)
        return found

    return course


def _groups(
    binner: str, coding: Coding, most: int, threshold: int, asked: Answering
) -> NDArray[np.intp]:
    """Return the bin of each proper code of a column."""
    tree = CodeTree.of(coding)
    if binner == "privtree":
        walk = asked.splits(tree, threshold)
        return tree.grouped(pruned(tree, walk.inner, most))
    parts = [Part(0, coding.proper, most)]
    for level in range(cut_levels(most)):
        # Of two codes there is one cut, and nothing to choose.
        offered = [part for part in parts if part.cuts > 1]
        picks = iter(asked.cuts(level, cut_levels(most), offered) if offered else ())
        cut: list[Part] = []
        for part in parts:
            if part.cuts:
                cut += part.cut(part.first + 1 + (next(picks) if part.cuts > 1 else 0))
            else:
                cut.append(part)
        parts = cut
    return tree.grouped([(part.first, part.last) for part in parts])


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
