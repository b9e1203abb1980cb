"""Select, measure, generate: a public program that asks, and the two who answer it.

A program is a generator. It sees what is public and the noisy answers to what it asked before, and
nothing else: it has no way to reach the data. While a release is made, its questions are carried
to the data through primitives; when the release is built or verified, the same program runs on the
transcript. So both follow the same steps, and nothing private can decide one of them
(docs/proofs/synthesizer.md).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.mechanisms.choose import Choose, choose_within
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.mechanisms.graphical.layout import running
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss
from sfumato.privacy.transcript import Transcript

__all__ = ["GRID", "Answer", "Ask", "Choice", "Count", "Pool", "Program", "answered", "measured"]

#: Public estimates are rounded to this fraction of a row before they meet private counts, so that
#: scores are whole numbers and their sensitivity is exact.
GRID = 16
#: Estimates beyond this are cut to it: far above any table, far below what overflows.
LARGEST = 2**36
#: Distances beyond this, in steps of the grid, are cut to it: no fit is so wrong.
FARTHEST = 2**50

Set = tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """Ask for noisy counts of some columns; of no columns for the number of rows.

    Parameters
    ----------
    label
        The name of the answer in the transcript, and of its slice.
    columns
        The columns, in the order of the axes.
    shape
        Their sizes.
    loss
        What it may cost, for one record.
    relation
        What a neighbour is.
    """

    label: str
    columns: Set
    shape: tuple[int, ...]
    loss: Loss
    relation: Relation

    @property
    def noise(self) -> CountNoise:
        """The noise: a record is in one cell, so it moves one count by 1."""
        return count_noise(self.shape or (1,), self.loss, self.relation)


@dataclass(frozen=True, eq=False)
class Pool:
    """Sets of columns to choose from, their tables laid one after another.

    Parameters
    ----------
    sets
        The sets, none of them empty.
    sizes
        The domain size of each column.
    """

    sets: tuple[Set, ...]
    sizes: tuple[int, ...]
    cells: NDArray[np.int64] = field(init=False)
    starts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        columns, firsts = self.members
        sizes = np.asarray(self.sizes, dtype=np.int64)
        cells = np.multiply.reduceat(sizes[columns], firsts[:-1]) if self.sets else sizes[:0]
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "starts", running(cells.tolist()))

    @cached_property
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of all sets one after another, and where each set starts."""
        columns = [column for inside in self.sets for column in inside]
        lengths = [len(inside) for inside in self.sets]
        return np.asarray(columns, dtype=np.int64), running(lengths)


@dataclass(frozen=True, eq=False)
class Choice:
    """Ask which of several sets of columns the present estimates get most wrong.

    The score of a set is w·(‖counts − estimates‖₁ − handicap), in steps of the grid.

    Parameters
    ----------
    label
        The name of the answer in the transcript, and of its slice.
    pool
        The sets of columns.
    offered
        The numbers of those that may be chosen now.
    expected
        Returns public counts of every cell of the pool, in steps of the grid. They are needed
        where the private counts are, and not where a release is rebuilt.
    handicap
        What is taken off the distance of each offered set, in steps of the grid.
    weights
        A positive whole number for each offered set.
    loss
        What it may cost, for one record.
    relation
        What a neighbour is.
    """

    label: str
    pool: Pool
    offered: NDArray[np.int64]
    expected: Callable[[], NDArray[np.int64]]
    handicap: NDArray[np.int64]
    weights: NDArray[np.int64]
    loss: Loss
    relation: Relation

    @property
    def primitive(self) -> Choose:
        """The private choice: one record moves an L1 distance by 1, a replaced one by 2."""
        moved = GRID * (2 if self.relation is Relation.REPLACE_ONE else 1)
        sensitivity = Fraction(moved * int(self.weights.max()))
        return choose_within(self.loss, self.offered.size, sensitivity)

    def scores(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the private scores, from the exact counts of every cell of the pool."""
        from sfumato.engines.kernels import distances

        apart = distances(counts, GRID, self.expected(), self.pool.starts)[self.offered]
        apart = np.minimum(apart, FARTHEST)
        return np.asarray(self.weights * (apart - self.handicap), dtype=np.int64)


Ask = tuple[Count, ...] | Choice
Answer = list[NDArray[np.int64]] | int
Program = Generator[Ask, Any, Any]


def measured(make: Callable[[], Program], data: Table, budget: Budget) -> None:
    """Answer a program from private data, through primitives paid from a budget.

    Parameters
    ----------
    make
        Returns the program; it is given nothing private.
    data
        The private table.
    budget
        The whole budget of the release.
    """
    program = make()
    known: dict[int, NDArray[np.int64]] = {}
    answer: Answer | None = None
    while True:
        try:
            ask = program.send(answer)
        except StopIteration:
            return
        if isinstance(ask, Choice):
            if id(ask.pool) not in known:
                known[id(ask.pool)] = data.counts.together(ask.pool.sets)
            scores = ask.scores(known[id(ask.pool)])
            part = budget.take(ask.loss, ask.label)
            answer = int(part.measure(ask.primitive, scores, label=ask.label))
        else:
            tables = data.counts.marginals([count.columns for count in ask])
            answer = [
                budget.take(count.loss, count.label).measure(
                    count.noise, table.reshape(count.noise.shape), label=count.label
                )
                for count, table in zip(ask, tables, strict=True)
            ]


def answered(make: Callable[[], Program], transcript: Transcript) -> Any:
    """Answer a program from a transcript, and return what it returns.

    Raises
    ------
    ValueError
        If the transcript does not hold what the program asks, and nothing else.
    """
    entries = iter(transcript)
    program = make()
    answer: Answer | None = None
    while True:
        try:
            ask = program.send(answer)
        except StopIteration as stop:
            if next(entries, None) is not None:
                raise ValueError("the transcript says more than this method asks") from None
            return stop.value
        if isinstance(ask, Choice):
            answer = int(_said(ask.label, ask.primitive.signature(), entries))
            if not 0 <= answer < ask.offered.size:
                raise ValueError(f"{ask.label} names a set that was not offered")
        else:
            answer = [
                np.asarray(_said(count.label, count.noise.signature(), entries)) for count in ask
            ]


def _said(label: str, signature: dict[str, Any], entries: Any) -> Any:
    """Return the next thing that was said, if it is what was asked."""
    entry = next(entries, None)
    if entry is None or entry.label != label or entry.signature != signature:
        raise ValueError("the transcript is not one of this method with these parameters")
    return entry.outputs[0]
