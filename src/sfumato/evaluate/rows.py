"""Released rows beside the private ones: each column in its own units, pairs, and a score.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes, costs no budget because it may not leave the house, and is never part of a
release, a certificate or a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.constraints import Ordered
from sfumato.data.schema import Schema
from sfumato.engines.coding import Coding
from sfumato.engines.coding.base import MISSING
from sfumato.engines.memory import CodeTable
from sfumato.evaluate.classifiers import Classification, compare_rules, split_rows
from sfumato.evaluate.paired_counts import count_sides
from sfumato.evaluate.table import Distance, choose_sets, total_variation
from sfumato.evaluate.values import NUMBERS, Groups, Rows, group_column, read_rows, show_value
from sfumato.evaluate.warning import WARNING
from sfumato.sections import Grid, Text
from sfumato.tabular.synthetic import SyntheticTable

__all__ = [
    "CategoryColumn",
    "NumberColumn",
    "Numbers",
    "Pair",
    "RowComparison",
    "Score",
    "compare_rows",
]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: The parts of the true rows whose score is told beside that of the release.
PARTS = (0.01, 0.05, 0.2)
#: Pairs of columns are counted by whether their error is within each of these.
WITHIN = (0.01, 0.05, 0.1)
#: Of more tables of one, two and three columns than this, a random part is scored.
MOST_TABLES = (5000, 5000, 500)
#: How many values of a category, pairs, and pictures of pairs are told.
MOST_VALUES, MOST_PAIRS, MOST_PICTURES = 5, 10, 4
#: Columns that are told on a terminal.
MOST_COLUMNS = 10
#: How many tables are counted at a time, on all sides.
BATCH = 100


@dataclass(frozen=True)
class Numbers:
    """What the values of a column are on one side.

    Parameters
    ----------
    mean, quantiles
        The mean, and the quantiles at 5, 25, 50, 75 and 95 %; dates in microseconds since 1970.
        `None` where there is no value.
    zeros, frequent, missing
        The shares of rows that hold zero, the most frequent true value, and no value.
    """

    mean: float | None
    quantiles: tuple[float | None, ...]
    zeros: float
    frequent: float
    missing: float


@dataclass(frozen=True)
class _Column:
    """A column on both sides.

    Parameters
    ----------
    name
        The column.
    total_variation
        How far apart its groups are.
    groups
        The groups, each with its share on either side.
    """

    name: str
    total_variation: float
    groups: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class NumberColumn(_Column):
    """A column of numbers or dates on both sides.

    Parameters
    ----------
    truth, released
        The two sides.
    frequent
        The most frequent true value, as it is written.
    coding
        How the column is declared.
    """

    truth: Numbers
    released: Numbers
    frequent: str
    coding: Coding

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        dated = self.coding.kind not in NUMBERS

        def plain(side: Numbers) -> dict[str, Any]:
            found = [side.mean, *side.quantiles]
            told = [show_value(value, self.coding) for value in found] if dated else found
            names = ("mean", *(f"quantile_{round(100 * share)}" for share in QUANTILES))
            return {
                **dict(zip(names, told, strict=True)),
                "zeros": side.zeros,
                "share_of_most_frequent": side.frequent,
                "missing": side.missing,
            }

        return {
            "column": self.name,
            "kind": self.coding.kind,
            "total_variation": self.total_variation,
            "most_frequent": self.frequent,
            "truth": plain(self.truth),
            "released": plain(self.released),
        }

    def lines(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return its two lines of a table, the truth first."""
        first, second = (
            (
                *(show_value(value, self.coding) for value in (side.mean, *side.quantiles)),
                f"{100 * side.zeros:.1f} %",
                f"{100 * side.frequent:.1f} %",
                f"{100 * side.missing:.1f} %",
            )
            for side in (self.truth, self.released)
        )
        return (
            (self.name, "true", *first[:7], f"{self.frequent}: {first[7]}", first[8]),
            ("", "synthetic", *second[:7], f"{self.frequent}: {second[7]}", second[8]),
        )


@dataclass(frozen=True)
class CategoryColumn(_Column):
    """A column of categories on both sides.

    Parameters
    ----------
    differences
        The values whose shares differ most, each with its true and its released share.
    """

    differences: tuple[tuple[str, float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "column": self.name,
            "kind": "category",
            "total_variation": self.total_variation,
            "largest_differences": [
                {"value": value, "truth": truth, "released": released}
                for value, truth, released in self.differences
            ],
        }

    def words(self) -> str:
        """Return the largest differences in one line."""
        return ", ".join(
            f"{value} {100 * truth:.1f} → {100 * released:.1f} %"
            for value, truth, released in self.differences
        )


@dataclass(frozen=True)
class Pair(Distance):
    """Two columns whose table is far off, with both tables.

    Parameters
    ----------
    labels
        What the groups of either column hold.
    truth, released
        The shares of rows in each cell.
    """

    labels: tuple[tuple[str, ...], tuple[str, ...]]
    truth: NDArray[np.float64]
    released: NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """How far some rows are from the truth, in a few figures.

    Parameters
    ----------
    what
        Which rows.
    rows
        How many they are.
    distances
        The average total variation of all tables of one, two and three columns; `None` where the
        table has fewer columns.
    within
        The share of pairs of columns that are off by at most 1, 5 and 10 %.
    """

    what: str
    rows: int
    distances: tuple[float | None, ...]
    within: tuple[float, ...]

    @property
    def k_marginal(self) -> float | None:
        """The K-marginal score of NIST's SDNist: 1000 (1 - average distance of pairs)."""
        pairs = self.distances[1]
        return None if pairs is None else 1000 * (1 - pairs)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "what": self.what,
            "rows": self.rows,
            "k_marginal": self.k_marginal,
            "average_total_variation": list(self.distances),
            "pairs_within": dict(zip(map(str, WITHIN), self.within, strict=False)),
        }

    def cells(self) -> tuple[str, ...]:
        """Return its line of a table."""
        score = self.k_marginal
        return (
            self.what,
            f"{self.rows:,}",
            "—" if score is None else f"{score:.0f}",
            *("—" if found is None else f"{100 * found:.2f} %" for found in self.distances),
            *(f"{100 * share:.0f} %" for share in self.within or ()),
            *("—" for _ in WITHIN if not self.within),
        )


@dataclass(frozen=True)
class RowComparison:
    """Released rows beside the private ones. Not private.

    Parameters
    ----------
    rows
        How many private rows were compared.
    columns
        Every column, the one furthest off first.
    pairs
        The pairs of columns that are furthest off, the worst first.
    left_out
        How many pairs were not compared because they are too many.
    pictured
        The worst of them with their tables.
    scores
        The score of the release, then those of columns shuffled and of parts of the true rows.
    classification
        How well a rule learnt from the released rows predicts private ones, if that was asked for.
    violations
        The declared constraints, each with the number of released rows that violate it.
    """

    rows: int
    columns: tuple[NumberColumn | CategoryColumn, ...]
    pairs: tuple[Distance, ...]
    left_out: int
    pictured: tuple[Pair, ...]
    scores: tuple[Score, ...]
    classification: Classification | None = None
    violations: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        told = self.classification
        return {
            "private": False,
            "warning": WARNING,
            "rows": self.rows,
            "columns": [column.to_json() for column in self.columns],
            "worst_pairs": [asdict(pair) for pair in self.pairs],
            "pairs_left_out": self.left_out,
            "scores": [score.to_json() for score in self.scores],
            "classification": None if told is None else told.to_json(),
            **({"violations": dict(self.violations)} if self.violations else {}),
        }

    def blocks(self) -> list[Text | Grid]:
        """Return the same for people, in short."""
        worst = self.pairs[0] if self.pairs else None
        pair = "" if worst is None else f" Worst pair{self.among()}: {_pair_words(worst)}."
        left = max(len(self.columns) - MOST_COLUMNS, 0)
        more = f" {left} more columns are closer." if left else ""
        return [
            *self.column_blocks(MOST_COLUMNS),
            Text(f"Columns are sorted by their distance, the worst first.{more}{pair}"),
            self.score_block(),
            Text(self.reading()),
            *([] if self.classification is None else [Text(self.classification.words())]),
            *self.violation_blocks(),
        ]

    def violation_blocks(self) -> list[Text]:
        """Say how many released rows violate each constraint, if any is declared."""
        listed = "; ".join(f"{words}: {number:,}" for words, number in self.violations)
        return [Text(f"Synthetic rows that violate a constraint: {listed}.")] if listed else []

    def column_blocks(self, most: int | None = None) -> list[Text | Grid]:
        """Return tables of the columns, of numbers first; of the `most` worst, or of all."""
        shown = self.columns[:most]
        numbers = [column for column in shown if isinstance(column, NumberColumn)]
        others = [column for column in shown if isinstance(column, CategoryColumn)]
        head = ("column", "rows", "mean", "5 %", "25 %", "median", "75 %", "95 %", "zeros")
        blocks: list[Text | Grid] = []
        if numbers:
            lines = tuple(line for column in numbers for line in column.lines())
            told = (*head, "most frequent", "missing")
            blocks.append(Grid(told, lines, numbers=tuple(range(2, len(told)))))
        if others:
            lines = tuple(
                (column.name, f"{100 * column.total_variation:.2f} %", column.words())
                for column in others
            )
            names = ("column", "distance", "largest differences, true → synthetic")
            blocks.append(Grid(names, lines, numbers=(1,)))
        return blocks

    def score_block(self) -> Grid:
        """Return the table of scores."""
        head = (
            "rows", "number", "K-marginal", "1-way", "2-way", "3-way",
            *(f"pairs within {100 * bound:.0f} %" for bound in WITHIN),
        )  # fmt: skip
        lines = tuple(score.cells() for score in self.scores)
        return Grid(head, lines, numbers=tuple(range(1, len(head))))

    def among(self) -> str:
        """Say that pairs were left out, if any were."""
        return f" of a random part ({self.left_out:,} were left out)" if self.left_out else ""

    def reading(self) -> str:
        """Say what the score means beside its baselines."""
        score = self.scores[0].k_marginal
        if score is None:
            return "A table of one column has no pairs, so that there is no score."
        shuffled, *parts = (item.k_marginal or 0.0 for item in self.scores[1:])
        beaten = [part for part, reached in zip(PARTS, parts, strict=True) if score >= reached]
        sample = (
            f"at least as good as a sample of {100 * max(beaten):.0f} % of the true rows"
            if beaten
            else f"not as good as a sample of {100 * PARTS[0]:.0f} % of the true rows"
        )
        lost = "" if score > shuffled else "; this is no better"
        return (
            f"K-marginal score {score:.0f} of 1,000, {sample}. Columns shuffled independently "
            f"have {shuffled:.0f}{lost}."
        )

    def save_page(self, path: str | Path) -> Path:
        """Write one self-contained HTML page. Not private: for the custodian's eyes.

        Parameters
        ----------
        path
            The file; an older one is replaced. A path inside a release folder is refused.
        """
        # By its name: pages are drawn by a layer above this one.
        page: Path = import_module("sfumato.report.comparison").save_comparison(self, path)
        return page


def compare_rows(
    truth: Any,
    release: Any,
    *,
    schema: Schema | None = None,
    target: str | None = None,
    separator: str | None = None,
) -> RowComparison:
    """Compare released rows with the private ones in the units of their columns. Not private.

    Parameters
    ----------
    truth
        The private table: a frame, or the path of a file.
    release
        A release of synthetic rows, or such rows as a frame or as the path of a file.
    schema
        The declaration of the columns; by default that of the release.
    target
        A column that is predicted from all others by rules learnt from released and from private
        rows: its values, or, for numbers and dates, whether it is above the true median. Needs
        scikit-learn.
    separator
        The separator of the private file, if it is CSV.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published. Numbers are
    compared by their values. For tables and scores they are cut at the quantiles of the truth, a
    value of one row in twenty or more being a group of its own; of categories the nineteen most
    frequent true values stay apart. The K-marginal score is that of NIST's SDNist (all pairs).
    """
    made = release if isinstance(release, SyntheticTable) else None
    if schema is None:
        if made is None:
            raise ValueError("rows that are no release need a schema; pass schema=…")
        schema = made.public.schema
    if target is not None:
        schema.index(target)
    private = read_rows(truth, schema, bounded=True, separator=separator)
    released = read_rows(release if made is None else made.published, schema, bounded=False)
    codings = [column.coding for column in schema.columns]
    groups = [group_column(c, private, released, n) for n, c in enumerate(codings)]
    sizes = tuple(len(group.labels) for group in groups)
    sides = [[group.truth for group in groups], [group.released for group in groups]]
    tables = [CodeTable(codes, sizes) for codes in [*sides, *_baselines(sides[0])]]
    scores, pairs = _score_sides(tables, sizes)
    worst = sorted(pairs, key=lambda item: -item[1])[:MOST_PAIRS]
    columns = [
        _compare_column(column.name, column.coding, number, private, released, groups[number])
        for number, column in enumerate(schema.columns)
    ]
    return RowComparison(
        rows=len(private),
        columns=tuple(sorted(columns, key=lambda column: -column.total_variation)),
        pairs=tuple(Distance(_name(schema, pair), distance) for pair, distance in worst),
        left_out=comb(len(sizes), 2) - len(pairs),
        pictured=_picture_pairs(schema, groups, tables[:2], worst[:MOST_PICTURES]),
        scores=scores,
        classification=None if target is None else _predict(schema, groups, private, target),
        violations=_count_violations(schema, released),
    )


def _count_violations(schema: Schema, rows: Rows) -> tuple[tuple[str, int], ...]:
    """Return in how many rows each constraint is violated; orders are looked at by value."""
    found = []
    for constraint in schema.constraints:
        wrong = np.zeros(len(rows), dtype=np.bool_)
        if isinstance(constraint, Ordered):
            values = [rows.values[number] for number in schema.indices(constraint.columns)]
            for low, high in combinations(values, 2):
                assert low is not None and high is not None
                wrong |= (low >= high) if constraint.strict else (low > high)
        else:
            for part in constraint.parts(schema.columns):
                wrong |= ~part.allows([rows.codes[column] for column in part.columns])
        found.append((constraint.words(), int(wrong.sum())))
    return tuple(found)


def _name(schema: Schema, columns: Sequence[int]) -> tuple[str, ...]:
    return tuple(schema.names[column] for column in columns)


def _pair_words(pair: Distance) -> str:
    return f"{pair.name}, {100 * pair.total_variation:.1f} %"


def _baselines(truth: list[NDArray[Any]]) -> list[list[NDArray[Any]]]:
    """Return the true rows with their columns shuffled, and parts of them, alike each time."""
    generator = noise.generator(0)
    rows = len(truth[0])
    shuffled = [generator.permutation(codes) for codes in truth]
    order = generator.permutation(rows)
    parts = [order[: -(-rows * round(100 * part) // 100)] for part in PARTS]
    return [shuffled, *([codes[kept] for codes in truth] for kept in parts)]


def _score_sides(
    tables: Sequence[CodeTable], sizes: tuple[int, ...]
) -> tuple[tuple[Score, ...], list[tuple[tuple[int, ...], float]]]:
    """Return the score of each side against the first, and all pairs of columns of the second."""
    found: list[list[NDArray[np.float64]]] = []
    pairs: list[tuple[tuple[int, ...], float]] = []
    for ways, most in enumerate(MOST_TABLES, start=1):
        sets = choose_sets(len(sizes), ways, most)[0]
        distances = []
        for first in range(0, len(sets), BATCH):
            for columns, (truth, *others) in count_sides(
                tables, sets[first : first + BATCH], sizes
            ):
                distances.append([total_variation(truth, other) for other in others])
                if ways == 2:
                    pairs.append((columns, distances[-1][0]))
        found.append([np.array(side) for side in zip(*distances, strict=True)])
    names = (
        "the release",
        "true columns, shuffled independently",
        *(f"{100 * part:.0f} % of the true rows" for part in PARTS),
    )
    scores = [
        Score(
            name,
            table.rows,
            tuple(float(side[number].mean()) if side else None for side in found),
            tuple(float(np.mean(found[1][number] <= bound)) for bound in WITHIN if found[1]),
        )
        for number, (name, table) in enumerate(zip(names, tables[1:], strict=True))
    ]
    return tuple(scores), pairs


def _compare_column(
    name: str, coding: Coding, number: int, private: Rows, released: Rows, groups: Groups
) -> NumberColumn | CategoryColumn:
    """Compare one column in its own units."""
    counts = [np.bincount(side, minlength=len(groups.labels)) for side in
              (groups.truth, groups.released)]  # fmt: skip
    shares = [_shares(side) for side in counts]
    distance = total_variation(*counts)
    told = tuple(zip(groups.labels, *(side.tolist() for side in shares), strict=True))
    truth, made = private.values[number], released.values[number]
    if truth is not None and made is not None:
        known, times = np.unique(truth[~np.isnan(truth)], return_counts=True)
        frequent = float(known[times.argmax()]) if known.size else None
        return NumberColumn(
            name, distance, told,
            _describe(truth, frequent), _describe(made, frequent), show_value(frequent, coding),
            coding,
        )  # fmt: skip
    first, second = (
        _shares(np.bincount(rows.codes[number], minlength=coding.size))
        for rows in (private, released)
    )
    most = np.argsort(-np.abs(first - second), kind="stable")[:MOST_VALUES].tolist()
    differences = tuple(
        (coding.labels[code], float(first[code]), float(second[code]))
        for code in most
        if first[code] != second[code]
    )
    return CategoryColumn(name, distance, told, differences)


def _shares(counts: NDArray[Any]) -> NDArray[np.float64]:
    return counts / max(float(counts.sum()), 1.0)


def _describe(values: NDArray[np.float64], frequent: float | None) -> Numbers:
    """Return the figures of one side of a column of numbers."""
    known = values[~np.isnan(values)]
    rows = max(len(values), 1)
    quantiles: tuple[float | None, ...] = (None,) * len(QUANTILES)
    if known.size:
        quantiles = tuple(np.quantile(known, QUANTILES, method="inverted_cdf").tolist())
    return Numbers(
        mean=float(known.mean()) if known.size else None,
        quantiles=quantiles,
        zeros=float((known == 0).sum()) / rows,
        frequent=0.0 if frequent is None else float((known == frequent).sum()) / rows,
        missing=float(len(values) - known.size) / rows,
    )


def _picture_pairs(
    schema: Schema,
    groups: list[Groups],
    tables: Sequence[CodeTable],
    worst: Sequence[tuple[tuple[int, ...], float]],
) -> tuple[Pair, ...]:
    """Return the tables of the worst pairs on both sides."""
    sizes = tuple(len(group.labels) for group in groups)
    distances = dict(worst)
    return tuple(
        Pair(
            _name(schema, pair), distances[pair],
            (groups[pair[0]].labels, groups[pair[1]].labels), _shares(truth), _shares(released),
        )
        for pair, (truth, released) in count_sides(tables, list(distances), sizes)
    )  # fmt: skip


def _predict(schema: Schema, groups: list[Groups], private: Rows, target: str) -> Classification:
    """Learn to predict a column from the groups of all others, and test it on private rows."""
    column = schema.index(target)
    values = private.values[column]
    sizes = tuple(len(group.labels) for group in groups)
    classes, what = np.arange(sizes[column]), target
    if values is not None:
        # Groups are in the order of their values, the missing ones last.
        counts = np.bincount(groups[column].truth[~np.isnan(values)], minlength=sizes[column])
        below = np.cumsum(counts) - counts
        above = (2 * below >= counts.sum()) & (np.array(groups[column].labels) != MISSING)
        classes = above.astype(np.int64)
        what = f"whether {target} is above its median"
    truth, released = (
        np.column_stack(side).astype(np.int64)
        for side in ([group.truth for group in groups], [group.released for group in groups])
    )
    sides = *split_rows(truth), released
    return compare_rules(what, sides, column, classes, sizes)
