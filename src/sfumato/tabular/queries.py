"""What tabular methods ask beyond counts: the scores of choices, the nodes of trees, examples.

Each query is a frozen public value. What several of them need is kept by the engine, which finds it
again by a public key that the program holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table_queries import Counted
from sfumato.mechanisms.huber import Examples
from sfumato.mechanisms.privtree import Frontier, FrontierQuery
from sfumato.privacy.program import Query
from sfumato.tabular.bin_tree import CodeTree, Nodes
from sfumato.tabular.candidates import Pool
from sfumato.tabular.classifier import Task
from sfumato.tabular.scores import Score
from sfumato.tabular.structure import Node, WorkingColumns
from sfumato.tabular.walsh import Coefficients

__all__ = [
    "FARTHEST",
    "GRID",
    "CodeCounts",
    "CodeNodes",
    "CutScores",
    "Dependence",
    "Distances",
    "Labelled",
    "NodeScores",
    "PoolTable",
    "Records",
    "RuleScores",
    "Scoring",
    "WalshCoefficients",
]

Integers64 = NDArray[np.int64]

#: Public estimates are rounded to this fraction of a row before they meet private counts, so that
#: scores are whole numbers and their sensitivity is exact.
GRID = 16
#: Distances beyond this, in steps of the grid, are cut to it: no fit is so wrong.
FARTHEST = 2**50
#: A dependence beyond this is cut to it: no table is so large.
MOST_DEPENDENCE = 2**62
#: Products of two counts are exact in 64 bits up to so many rows.
MOST_ROWS_IN_64_BITS = 2**30
#: Tables of candidates of a network are scored in batches of so many cells.
BATCH = 2**23
#: Scores that are held at once while mistakes are counted.
MOST_SCORES = 2**22


def _pool_counts(pool: Pool, data: Counted) -> Integers64:
    """Return the exact counts of every cell of a pool. Private."""
    return data.counts.recall(pool, lambda: data.counts.count_batch(pool.sets))


@dataclass(frozen=True, eq=False)
class Distances(Query):
    """How wrong public estimates are about sets of columns.

    The score of a set is w·(‖counts − estimates‖₁ − handicap), in steps of the grid.

    Parameters
    ----------
    pool
        The sets of columns.
    offered
        The numbers of those that are scored.
    expected
        Returns public counts of every cell of the pool, in steps of the grid. They are needed
        where the private counts are, and not where a release is rebuilt.
    handicap
        What is taken off the distance of each offered set, in steps of the grid.
    weights
        A positive whole number for each offered set.
    """

    pool: Pool
    offered: Integers64
    expected: Callable[[], Integers64]
    handicap: Integers64
    weights: Integers64

    def answer(self, data: Counted) -> Integers64:
        """Return the score of each offered set."""
        return self.scores(_pool_counts(self.pool, data))

    def scores(self, counts: Integers64) -> Integers64:
        """Return the scores, from the exact counts of every cell of the pool. Private."""
        from sfumato.engines.kernels import distances

        apart = distances(counts, GRID, self.expected(), self.pool.starts)[self.offered]
        apart = np.minimum(apart, FARTHEST)
        return np.asarray(self.weights * (apart - self.handicap), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Dependence(Query):
    """How far pairs of columns are from independent, all together, as an array of one number.

    With r and c the row and column totals of a pair's counts T of n rows, it is the sum over the
    pairs of Σ|T − r·c/n|, in steps of the grid and rounded down.

    Parameters
    ----------
    pairs
        The pairs.
    """

    pairs: Pool

    @property
    def moves(self) -> int:
        """By how much one added or removed row changes it at most (docs/proofs/synthesizer.md)."""
        return 4 * GRID * len(self.pairs.sets)

    def answer(self, data: Counted) -> Integers64:
        """Return the sum."""
        rows = data.counts.rows
        counts = data.counts.count_batch(self.pairs.sets)
        exact: Any = np.int64 if rows <= MOST_ROWS_IN_64_BITS else object
        total = 0
        for number, (first, second) in enumerate(self.pairs.sets):
            low, high = self.pairs.starts[number : number + 2]
            shape = self.pairs.sizes[first], self.pairs.sizes[second]
            table = counts[low:high].reshape(shape).astype(exact)
            apart = rows * table - np.multiply.outer(table.sum(axis=1), table.sum(axis=0))
            total += int(np.abs(apart).sum())
        return np.asarray([min(GRID * total // max(rows, 1), MOST_DEPENDENCE)], dtype=np.int64)


@dataclass(frozen=True)
class PoolTable(Query):
    """The counts of one set of a pool, in one row.

    Parameters
    ----------
    pool
        The sets of columns.
    number
        Which of them.
    """

    pool: Pool
    number: int

    def answer(self, data: Counted) -> Integers64:
        """Return the counts."""
        first, last = self.pool.starts[self.number : self.number + 2]
        return _pool_counts(self.pool, data)[first:last]


@dataclass(frozen=True, eq=False)
class WalshCoefficients(Query):
    """Sums of ±1 over the records: the Walsh–Hadamard coefficients of a table.

    Parameters
    ----------
    layout
        Which coefficients.
    """

    layout: Coefficients

    def answer(self, data: Counted) -> Integers64:
        """Return the coefficients."""
        return self.layout.of_tables(data.counts.marginals(self.layout.sets))


@dataclass(frozen=True, eq=False)
class Scoring:
    """How the candidates of a network are scored.

    Parameters
    ----------
    columns
        The working columns.
    score
        The score.
    """

    columns: WorkingColumns
    score: Score


@dataclass(frozen=True)
class NodeScores(Query):
    """How much the parents of candidates of a network tell about their children.

    It is asked of a view in the derived columns of an encoding. A candidate is scored once, however
    often it is offered: at each step only those that hold the newest column are new.

    Parameters
    ----------
    scoring
        How they are scored.
    nodes
        The candidates.
    """

    scoring: Scoring
    nodes: Sequence[Node]

    def answer(self, data: Counted) -> Integers64:
        """Return the score of each candidate."""
        columns, known = self.scoring.columns, data.counts.recall(self.scoring, dict[Node, int])
        by_shape: dict[tuple[int, int], list[Node]] = {}
        for node in self.nodes:
            if node not in known:
                size = columns.sizes[node.child][0]
                by_shape.setdefault((size, columns.cells(node)), []).append(node)
        for (size, cells), group in by_shape.items():
            step = max(1, BATCH // cells)
            for first in range(0, len(group), step):
                part = group[first : first + step]
                sets = [columns.derive_columns(((node.child, 0), *node.parents)) for node in part]
                counted = data.counts.marginals(sets)
                tables = np.stack([table.reshape(size, -1) for table in counted])
                known.update(zip(part, self.scoring.score(tables).tolist(), strict=True))
        return np.array([known[node] for node in self.nodes], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CodeCounts:
    """The counts of the codes of some columns, kept while their bins are found.

    Parameters
    ----------
    columns
        The columns.
    """

    columns: tuple[int, ...]

    def of(self, data: Counted, column: int) -> Integers64:
        """Return how often each code of a column occurs. Private."""
        tables = data.counts.recall(
            self, lambda: data.counts.marginals([(column,) for column in self.columns])
        )
        return tables[self.columns.index(column)]


@dataclass(frozen=True)
class CutScores(Query):
    """How well each place cuts a stretch of codes at a quantile: −|b·#{below} − a·#{all}|.

    Parameters
    ----------
    counted
        Where the codes are counted.
    column
        The column.
    first, last
        The codes, the last one not included.
    quantile
        Which part a/b of the records shall lie below the cut.
    """

    counted: CodeCounts
    column: int
    first: int
    last: int
    quantile: Fraction

    def answer(self, data: Counted) -> Integers64:
        """Return the score of each place to cut, in order."""
        counts = self.counted.of(data, self.column)[self.first : self.last]
        below, wanted = np.cumsum(counts, dtype=np.int64), self.quantile
        scores: Integers64 = -np.abs(wanted.denominator * below[:-1] - wanted.numerator * below[-1])
        return scores


@dataclass(frozen=True, eq=False)
class CodeNodes(FrontierQuery):
    """The numbers of records in the nodes of a tree over the codes of a column.

    Parameters
    ----------
    counted
        Where the codes are counted.
    column
        The column.
    tree
        The tree.
    nodes
        The nodes that may be split now.
    above
        For each of them, its parent's place in the frontier before.
    """

    counted: CodeCounts
    column: int
    tree: CodeTree
    nodes: Nodes
    above: NDArray[np.intp]

    @classmethod
    def root(cls, counted: CodeCounts, column: int, tree: CodeTree) -> CodeNodes:
        """Return the query for the roots of a tree."""
        return cls(counted, column, tree, tree.root, np.zeros(len(tree.root), dtype=np.intp))

    @property
    def parents(self) -> NDArray[np.intp]:
        """For each node that may be split now, its parent's place in the frontier before."""
        return self.above

    def descend(self, split: NDArray[np.bool_]) -> CodeNodes:
        """Return the query for the children of the nodes that were split."""
        nodes, above = self.tree.descend(self.nodes, split)
        return replace(self, nodes=nodes, above=above)

    def answer(self, data: Counted) -> Frontier:
        """Return the number of records in each node."""
        counts = self.counted.of(data, self.column)
        # Codes beyond the tree's are left out.
        up_to = np.concatenate([[0], np.cumsum(counts[self.tree.order])]).astype(np.int64)
        return Frontier(self.above, up_to[self.nodes[:, 1]] - up_to[self.nodes[:, 0]])


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a table as signed examples, equal ones together, dealt to one or more parts.

    Parameters
    ----------
    task
        What is told apart by what.
    parts
        How many parts there are. One record is in one of them, whatever the others are.
    """

    task: Task
    parts: int = 1

    def of(self, data: Counted) -> list[Examples]:
        """Return the examples of each part. Private."""
        return data.counts.recall(self, lambda: self._deal(data))

    def _deal(self, data: Counted) -> list[Examples]:
        features = self.task.features
        rows, counts = data.counts.distinct((*features.columns, self.task.target))
        places, values = features.entries(rows[:, :-1])
        signed = values * self.task.signs(rows[:, -1])[:, None]
        if self.parts == 1:
            return [Examples(places, signed, counts, features.dimension)]
        shares = np.ascontiguousarray(parts_of(rows, counts, self.parts).T)
        # Rows of weight 0 change no sum, but they would change the floating-point search, and with
        # it what is said of a part that the record in question is not in.
        return [
            Examples(places[share > 0], signed[share > 0], share[share > 0], features.dimension)
            for share in shares
        ]


@dataclass(frozen=True)
class Labelled(Query):
    """The examples of one part.

    Parameters
    ----------
    records
        The records.
    part
        The part.
    """

    records: Records
    part: int = 0

    def answer(self, data: Counted) -> Examples:
        """Return the examples."""
        return self.records.of(data)[self.part]


@dataclass(frozen=True, eq=False)
class RuleScores(Query):
    """For each of several rules, minus the number of records that it puts on the wrong side.

    Parameters
    ----------
    records
        The records.
    directions
        One direction a column, from `classifier.direction`.
    part
        On which part they are tried.
    """

    records: Records
    directions: Integers64
    part: int = 0

    def answer(self, data: Counted) -> Integers64:
        """Return the score of each rule."""
        return -_mistakes(self.records.of(data)[self.part], self.directions)


def _mistakes(examples: Examples, directions: Integers64) -> Integers64:
    """Return how many records each direction puts on the wrong side. Private.

    Parameters
    ----------
    examples
        Signed examples, whose last entry is the bias and so tells the sign.
    directions
        One direction a column.

    Notes
    -----
    A score w·x > 0 means positive. Scores are whole numbers below 2⁵³, exact in floats in any
    order of the additions.
    """
    matrix, floats = examples.matrix, directions.astype(np.float64)
    total = np.zeros(directions.shape[1], dtype=np.int64)
    # So many rows at once that their scores stay small in memory, however many records there are.
    block = max(1, MOST_SCORES // max(directions.shape[1], 1))
    for first in range(0, len(examples.weights), block):
        part = slice(first, first + block)
        scores = matrix[part].astype(np.float64) @ floats
        positive = examples.values[part, -1:] > 0
        # Signed scores: a tie is a mistake for a positive record only.
        wrong = np.where(positive, scores <= 0, scores < 0)
        total += examples.weights[part] @ wrong.astype(np.int64)
    return total


# A partition of the records of a table that looks like chance and depends on nothing but them.
#
# Equal records cannot be told apart, so a table is what it holds of each: of a record that occurs
# n times there is a first, a second, … an nth copy. Each copy goes to a part that a fixed public
# function of its codes and its number names. One record more, of whatever kind, is one copy more,
# in one part; every other part is what it was (docs/proofs/objective-perturbation.md). The rows'
# order in the table plays no role. Nothing here may draw.


Words = NDArray[np.uint64]

#: Copies that are assigned at a time.
BLOCK = 2**22

# The constants of SplitMix64 (Steele, Lea and Flood, 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def parts_of(codes: NDArray[Any], counts: Integers64, parts: int) -> Integers64:
    """Return how many copies of each distinct record go to each part, shape (records, parts).

    Parameters
    ----------
    codes
        The codes of the distinct records, shape (records, columns).
    counts
        How often each occurs.
    parts
        How many parts there are.
    """
    names = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        names = _mix_words(names + _STEP + column.astype(np.uint64))
    shares = np.zeros((len(codes), parts), dtype=np.int64)
    done = np.zeros_like(counts)
    while (left := counts - done).any():
        take = _within(left, BLOCK)
        owners = np.repeat(np.arange(len(codes)), take)
        starts = np.repeat(done - (np.cumsum(take) - take), take)
        numbers = (starts + np.arange(len(owners))).astype(np.uint64)
        chosen = _mix_words(names[owners] + (numbers + np.uint64(1)) * _STEP) % np.uint64(parts)
        place = owners * parts + chosen.astype(np.int64)
        shares += np.bincount(place, minlength=shares.size).reshape(shares.shape)
        done = done + take
    return shares


def _within(left: Integers64, most: int) -> Integers64:
    """Return how many copies of each record to take next, at most so many in all."""
    before = np.cumsum(left) - left
    return np.asarray(np.clip(most - before, 0, left))


def _mix_words(words: Words) -> Words:
    """Return words whose every bit depends on every bit given."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return np.asarray(words ^ (words >> np.uint64(31)))
