"""A release of noisy tables of counts, repaired to agree with each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import ToFrame
from sfumato.data.table import TablePublic
from sfumato.mechanisms.consistency import Family, consistent_counts
from sfumato.mechanisms.count_noise import CountNoise, margin
from sfumato.privacy.arguments import choose_generator, read_names
from sfumato.privacy.release import Release
from sfumato.sections import Section
from sfumato.tabular.constrained import draw_legal
from sfumato.tabular.files import DECIMALS, codebook, csv, free_name, values_of
from sfumato.tabular.found_values import say_found
from sfumato.tabular.simple_models import clip_counts
from sfumato.tabular.tree import best_tree, sample_tree

if TYPE_CHECKING:
    import polars as pl


def relative_variances(noises: Sequence[CountNoise]) -> tuple[float, ...]:
    """Return the variances of the cells of each table, relative to the largest."""
    # Squares of deviations would overflow for a tiny epsilon; a huge one leaves no noise at all.
    largest = max(item.standard_deviation for item in noises) or 1.0
    return tuple(max((item.standard_deviation / largest) ** 2, 1e-12) for item in noises)


def common_total(tables: Sequence[NDArray[np.float64]], variances: Sequence[float]) -> float:
    """Return the precision-weighted mean of the totals of noisy tables.

    Parameters
    ----------
    tables
        Tables of the same rows.
    variances
        The variance of a cell of each; only their ratios matter.
    """
    weights = np.array([1 / (v * t.size) for v, t in zip(variances, tables, strict=True)])
    totals = np.array([table.sum() for table in tables])
    return float(weights @ totals / weights.sum())


def within_possible(
    repair: Callable[[NDArray[np.float64], float], NDArray[np.float64]],
    table: NDArray[np.float64],
    total: float,
    even: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return a table of which the cells that can occur were repaired and the others are 0."""
    repaired = np.zeros_like(table)
    repaired[even > 0] = repair(table[even > 0], total)
    return repaired


class NoisyTables(Release, ToFrame):
    """Counts for combinations of columns: non-negative and of one total.

    Parameters
    ----------
    public
        What is public about the table.
    sets
        The columns of each released table, increasing.
    measured
        What the primitives said: noisy counts, one array a set.
    noises
        The noise on the cells of each table.
    repair
        `"consistent"`: non-negative tables that agree with each other; `"clip"`: each table
        clipped and rescaled to the common total by itself.
    """

    kind = "noisy tables"

    def __init__(
        self,
        public: TablePublic,
        sets: Sequence[tuple[int, ...]],
        measured: Sequence[NDArray[np.int64]],
        noises: Sequence[CountNoise],
        *,
        repair: str = "consistent",
    ) -> None:
        self.public = public
        self.sets = tuple(sets)
        self.measured = tuple(measured)
        self.noises = tuple(noises)
        self.repair = repair
        variances = relative_variances(self.noises)
        total = None if public.rows is None else float(public.rows)
        floats = [table.astype(np.float64) for table in self.measured]
        if repair == "clip":
            total = common_total(floats, variances) if total is None else total
            repaired = [
                within_possible(clip_counts, table, max(total, 0.0), shares)
                for table, shares in zip(floats, self._even(), strict=True)
            ]
        else:
            family = Family(self.sets, public.sizes, variances)
            repaired = consistent_counts(family, floats, total, self._even())
        self._keep(repaired)

    def _even(self) -> list[NDArray[np.float64]]:
        """Return the shares of each table if all rows that constraints allow are alike."""
        return [self.public.rules.even(columns) for columns in self.sets]

    def _keep(self, tables: Sequence[NDArray[np.float64]]) -> None:
        """Keep the repaired tables, and let nobody write to them."""
        self.tables = tuple(tables)
        for table in self.tables:
            table.setflags(write=False)

    @property
    def total(self) -> float:
        """The number of rows, as far as the release tells."""
        return float(self.tables[0].sum())

    def _holder(self, wanted: frozenset[int]) -> int:
        """Return the released table with the least noise on a combination of columns."""
        holders = set.intersection(*(self._with_column.get(c, set()) for c in wanted))
        if not holders:
            names = " × ".join(self.public.columns[column] for column in sorted(wanted))
            listed = "; ".join(self._name(i) for i in range(min(len(self.sets), 8)))
            more = "" if len(self.sets) <= 8 else f" and {len(self.sets) - 8} more"
            raise ValueError(
                f"no released table contains {names}; the released tables are {listed}{more}. "
                "Another release can include this combination"
            )
        return min(holders, key=lambda i: (self._margin(i, wanted), i))

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return self.public.sizes

    @cached_property
    def _with_column(self) -> dict[int, set[int]]:
        """The numbers of the tables that hold each column."""
        numbers: dict[int, set[int]] = defaultdict(set)
        for number, columns in enumerate(self.sets):
            for column in columns:
                numbers[column].add(number)
        return dict(numbers)

    def _name(self, number: int) -> str:
        return " × ".join(self.public.columns[column] for column in self.sets[number])

    def _margin(self, number: int, wanted: frozenset[int]) -> float:
        added = [self._sizes[c] for c in self.sets[number] if c not in wanted]
        return margin(self.noises[number], prod(added))

    def cell_margin(self, number: int) -> float:
        """Return the 95 % margin of the noise on a cell of a released table."""
        return self._margin(number, frozenset(self.sets[number]))

    def counts(self, columns: str | Sequence[str]) -> NDArray[np.float64]:
        """Return released counts as an array with one axis a column, in the order asked for."""
        columns = read_names(columns)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError("columns must name one or more columns, each once")
        wanted = self.public.schema.indices(columns)
        holder = self._holder(frozenset(wanted))
        held = self.sets[holder]
        gone = tuple(axis for axis, column in enumerate(held) if column not in wanted)
        table = self.tables[holder].sum(axis=gone)
        kept = [column for column in held if column in wanted]
        return np.asarray(np.transpose(table, [kept.index(column) for column in wanted]))

    def marginal(self, columns: str | Sequence[str], *, backend: str = "polars") -> Any:
        """Return released counts as a frame, with the margin of each.

        Parameters
        ----------
        columns
            One or more columns that a released table holds together.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.

        Returns
        -------
        frame
            The columns' values, `count`, and `margin`: 19 times in 20 the noise alone, before
            repair, is no larger. Where a column is called so itself, they are `count_` and
            `margin_`.
        """
        from sfumato.data.frames import to_backend

        return to_backend(self._frame(read_names(columns)), backend)

    def _frame(self, columns: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        counts = self.counts(columns)
        wanted = self.public.schema.indices(columns)
        holder = self._holder(frozenset(wanted))
        size = round(self._margin(holder, frozenset(wanted)), DECIMALS)
        taken = set(columns)
        return pl.DataFrame(
            [
                *values_of(self.public, columns, counts.shape),
                pl.Series(free_name("count", taken), np.round(counts.ravel(), DECIMALS)),
                pl.Series(free_name("margin", taken), np.full(counts.size, size)),
            ]
        )

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        generator: np.random.Generator | None = None,
        backend: str = "polars",
    ) -> Any:
        """Return synthetic rows in the custodian's own columns and types.

        Rows are drawn along the tree of released two-way tables that tells most; columns that no
        table joins are drawn independently.

        Parameters
        ----------
        rows
            How many; by default as many as the release counts.
        seed
            A whole number, for rows that can be drawn again; fresh otherwise.
        generator
            A NumPy generator in place of a seed.
        backend
            `"polars"`, `"pandas"` or `"pyarrow"`.

        Notes
        -----
        Privacy: post-processing of the release; it costs nothing, however often it is done.
        """
        if rows is None:
            rows = round(self.total)
        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        generator = choose_generator(seed, generator)
        names, sizes = self.public.columns, self.public.sizes
        pairs = {
            pair: self.counts([names[pair[0]], names[pair[1]]])
            for pair in sorted({pair for columns in self.sets for pair in combinations(columns, 2)})
        }
        tree = best_tree(len(names), pairs)

        def draw(number: int, source: np.random.Generator) -> NDArray[np.int64]:
            return sample_tree(
                number,
                sizes,
                tree,
                lambda column: self.counts([names[column]]),
                lambda first, second: self.counts([names[first], names[second]]),
                source,
            )

        rules = self.public.rules
        codes = draw_legal(draw, rules, rows, generator) if rules else draw(rows, generator)
        return self.public.frame(codes, generator, backend)

    def files(self) -> dict[str, bytes]:
        """Return the tables in one long CSV file, and a codebook of the columns."""
        return {"marginals.csv": csv(self._long(), DECIMALS), "codebook.csv": codebook(self.public)}

    def to_polars(self) -> pl.DataFrame:
        """Return the counts with their margins as a Polars frame.

        A single table has the columns' values beside the counts, as `marginal` has them. Several
        are in one long table, as in marginals.csv.
        """
        if len(self.sets) > 1:
            return self._long()
        return self._frame([self.public.columns[column] for column in self.sets[0]])

    def _long(self) -> pl.DataFrame:
        """Return all tables in one: the table's name, up to k columns and values, the count."""
        import polars as pl

        cells = [table.size for table in self.tables]
        margins = [round(self.cell_margin(number), DECIMALS) for number in range(len(cells))]
        titles = pl.Series("table", [self._name(number) for number in range(len(cells))], pl.String)
        series = [titles.gather(np.repeat(np.arange(len(cells)), cells))]
        for place in range(max(len(columns) for columns in self.sets)):
            series += self._place(place, cells)
        counts = np.concatenate([table.ravel() for table in self.tables])
        series.append(pl.Series("count", np.round(counts, DECIMALS)))
        series.append(pl.Series("margin", np.repeat(margins, cells)))
        return pl.DataFrame(series)

    def _place(self, place: int, cells: Sequence[int]) -> list[pl.Series]:
        """Return the name and the value that every cell has in one place of its table's columns."""
        import polars as pl

        columns = self.public.columns
        labels = [self.public.labels(name) for name in columns]
        starts = np.cumsum([0, *map(len, labels)])
        # Tables of fewer columns have nothing there: the last entry of either list.
        names = pl.Series(f"column_{place + 1}", [*columns, None], pl.String)
        values = pl.Series(f"value_{place + 1}", [*chain(*labels), None], pl.String)
        which, where = [], []
        for held, table in zip(self.sets, self.tables, strict=True):
            if place < len(held):
                codes = np.arange(table.shape[place])
                after = prod(table.shape[place + 1 :])
                codes = np.tile(np.repeat(codes, after), prod(table.shape[:place]))
                where.append(starts[held[place]] + codes)
                which.append(held[place])
            else:
                where.append(np.full(table.size, starts[-1]))
                which.append(len(columns))
        return [names.gather(np.repeat(which, cells)), values.gather(np.concatenate(where))]

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        cells = sum(table.size for table in self.tables)
        largest = max(self.cell_margin(number) for number in range(len(self.sets)))
        words = (
            f"Counts of rows for {len(self.sets)} combination{'s' * (len(self.sets) > 1)} of "
            f"columns ({cells:,} cells in all), with noise added to every cell so that no one "
            f"{self.public.unit} changes them by much. The noise on a cell is no larger than "
            f"{largest:.4g} in 19 cases of 20; {self._repair_words()}. About {self.total:,.0f} "
            "rows in all."
        )
        if self.public.schema.constraints:
            listed = "; ".join(one.words() for one in self.public.schema.constraints)
            words += f" Counts of what the declared constraints forbid are 0: {listed}."
        return " ".join([words, *say_found(self.discovered)])

    def _repair_words(self) -> str:
        """Say what was done with negative counts."""
        if self.repair == "clip":
            return (
                "negative counts were then set to 0 and each table was rescaled by itself, so that "
                "tables need not agree with each other"
            )
        return (
            "the tables were then adjusted to agree with each other and to hold no negative counts"
        )

    def summary(self) -> dict[str, Any]:
        """Return the total and which columns each table has, for programs."""
        names = self.public.columns
        tables = [[names[column] for column in columns] for columns in self.sets]
        return {"total": round(self.total, 3), "tables": tables}

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.tabular.pages import counts_sections

        return counts_sections(self)

    def plot(self) -> Any:
        """Return a figure of the one-way counts, with the margins of their noise."""
        from sfumato.tabular.pictures import one_way_picture

        covered = {column for columns in self.sets for column in columns}
        return one_way_picture(self, sorted(covered))
