"""Who answers the questions about bins: primitives, given the data; or a transcript.

Only `Asking` sees private counts, and shows them to primitives alone. `Reading` gives the same
answers from what was said, and refuses a transcript that does not hold them
(docs/proofs/binning.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.counts import Counts
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import count_noise
from sfumato.mechanisms.privtree import TreeSplits, grow
from sfumato.mechanisms.quantile import quantile_sensitivity
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, pure_within
from sfumato.privacy.primitive import Primitive, StatefulPrimitive
from sfumato.privacy.transcript import Entry
from sfumato.tabular.bin_choice import Answering, Part
from sfumato.tabular.bin_tree import CodeTree, PrivateWalk, Walk

__all__ = ["Asking", "Reading", "cut_choice", "cut_scores", "tree_splits"]


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


class Asking:
    """Answers from private data, through primitives paid from a slice.

    Parameters
    ----------
    counts
        What counts in the table.
    columns
        The columns that will be asked about.
    budget
        The slice of all bins together.
    """

    def __init__(self, counts: Counts, columns: Sequence[int], budget: Budget) -> None:
        self._counts = counts
        self._columns = columns
        self._budget = budget

    @cached_property
    def _tables(self) -> dict[int, NDArray[np.int64]]:
        tables = self._counts.marginals([(column,) for column in self._columns])
        return dict(zip(self._columns, tables, strict=True))

    def rows(self, share: Fraction, label: str) -> int:
        """Return the number of rows, with noise."""
        part = self._budget.take(share, label)
        noise = count_noise((1,), part.limit, part.relation)
        counted = np.array([self._counts.rows], dtype=np.int64)
        return int(part.measure(noise, counted, label=label)[0])

    def column(self, column: int, share: Fraction, label: str) -> Answering:
        """Return who answers about a column, for a share of the budget."""
        return _AskedColumn(self._tables[column], self._budget.take(share, label), label)


class _AskedColumn:
    """Answers about one column from its private counts."""

    def __init__(self, counts: NDArray[np.int64], budget: Budget, label: str) -> None:
        self._counts = counts
        self._budget = budget
        self._label = label

    def splits(self, tree: CodeTree, threshold: int) -> Walk:
        """Grow the tree with all of the slice."""
        walk = PrivateWalk(tree, self._counts)
        grow(
            self._budget,
            walk,
            fan_out=tree.fan_out,
            levels=tree.levels,
            threshold=threshold,
            label=self._label,
        )
        return walk

    def cuts(self, level: int, levels: int, parts: Sequence[Part]) -> list[int]:
        """Choose a cut in each part; a record is in one of them."""
        names = [f"{part.first} to {part.last}" for part in parts]
        slices = self._budget.parallel(names, Fraction(1, levels), name=f"level {level + 1}")
        picks = []
        for name, part, paid in zip(names, parts, slices, strict=True):
            label = f"{self._label}: {name}"
            scores = cut_scores(part, self._counts)
            picks.append(int(paid.measure(cut_choice(part, paid.limit), scores, label=label)))
        return picks


def cut_scores(part: Part, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return −|b·#{below} − a·#{all}| for each place to cut a part at the quantile a/b. Private."""
    below = np.cumsum(counts[part.first : part.last], dtype=np.int64)
    wanted = part.quantile
    scores: NDArray[np.int64] = -np.abs(
        wanted.denominator * below[:-1] - wanted.numerator * below[-1]
    )
    return scores


class Reading:
    """Answers from a transcript; what it was not asked is left in `entries`.

    Parameters
    ----------
    entries
        What was said, in order.
    loss, relation
        The loss for one record of all bins together, and what a neighbour is.
    """

    def __init__(self, entries: Iterator[Entry], loss: Loss, relation: Relation) -> None:
        self._entries = entries
        self._loss = loss
        self._relation = relation

    def rows(self, share: Fraction, label: str) -> int:
        """Return the number of rows that was said."""
        noise = count_noise((1,), self._loss.share(share), self._relation)
        (told,) = said(self._entries, label, noise)
        return int(told[0])

    def column(self, column: int, share: Fraction, label: str) -> Answering:
        """Return what was said about a column."""
        return _ReadColumn(self._entries, self._loss.share(share), self._relation, label)


class _ReadColumn:
    """Answers about one column from a transcript."""

    def __init__(
        self, entries: Iterator[Entry], loss: Loss, relation: Relation, label: str
    ) -> None:
        self._entries = entries
        self._loss = loss
        self._relation = relation
        self._label = label

    def splits(self, tree: CodeTree, threshold: int) -> Walk:
        """Return the tree that was said."""
        walk = Walk(tree)
        primitive = tree_splits(tree, threshold, self._loss, self._relation)
        for split in said(self._entries, self._label, primitive):
            walk.descend(np.asarray(split, dtype=np.bool_))
        return walk

    def cuts(self, level: int, levels: int, parts: Sequence[Part]) -> list[int]:
        """Return the cuts that were said."""
        loss = self._loss.share(Fraction(1, levels))
        if self._relation is Relation.REPLACE_ONE:
            # Parallel parts are paid as groups of two: a record can leave one and enter another.
            loss = loss.per_unit(2)
        picks = []
        for part in parts:
            label = f"{self._label}: {part.first} to {part.last}"
            (pick,) = said(self._entries, label, cut_choice(part, loss))
            if not 0 <= int(pick) < part.cuts:
                raise ValueError(f"{label!r} names a place that was not offered")
            picks.append(int(pick))
        return picks


def said(
    entries: Iterator[Entry], label: str, primitive: Primitive | StatefulPrimitive
) -> tuple[Any, ...]:
    """Return what a primitive said next, if it is the one that was asked."""
    entry = next(entries, None)
    if entry is None or (entry.label, entry.signature) != (label, primitive.signature()):
        raise ValueError("the transcript is not one of this method with these parameters")
    return entry.outputs
