"""A release of noisy tables of counts, repaired to agree with each other."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import TablePublic
from sfumato.mechanisms.consistency import Family, consistent_counts
from sfumato.mechanisms.count_noise import CountNoise
from sfumato.privacy.release import Release
from sfumato.tabular.counting import margin
from sfumato.tabular.tree import best_tree, sample_tree

if TYPE_CHECKING:
    import polars as pl

#: Published counts are rounded to this many decimals, far below the noise.
DECIMALS = 3


def _relative_variances(noises: Sequence[CountNoise]) -> tuple[float, ...]:
    """Return the variances of the cells of each table, relative to the largest."""
    # Squares of deviations would overflow for a tiny epsilon; a huge one leaves no noise at all.
    largest = max(item.standard_deviation for item in noises) or 1.0
    return tuple(max((item.standard_deviation / largest) ** 2, 1e-12) for item in noises)


def _constant(name: str, text: str | None, rows: int) -> pl.Series:
    """Return a column that says the same in every row."""
    import polars as pl

    return pl.Series(name, [text], pl.String).extend_constant(text, rows - 1)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no column has."""
    while name in taken:
        name += "_"
    return name


class NoisyTables(Release):
    """Counts for combinations of columns: non-negative, consistent, of one total.

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
    """

    kind = "noisy tables"

    def __init__(
        self,
        public: TablePublic,
        sets: Sequence[tuple[int, ...]],
        measured: Sequence[NDArray[np.int64]],
        noises: Sequence[CountNoise],
    ) -> None:
        self.public = public
        self.sets = tuple(sets)
        self.measured = tuple(measured)
        self.noises = tuple(noises)
        family = Family(self.sets, public.sizes, _relative_variances(self.noises))
        total = None if public.rows is None else float(public.rows)
        floats = [table.astype(np.float64) for table in self.measured]
        self.tables = tuple(consistent_counts(family, floats, total))
        for table in self.tables:
            table.setflags(write=False)

    @property
    def total(self) -> float:
        """The number of rows, as far as the release tells."""
        return float(self.tables[0].sum())

    def _holder(self, wanted: frozenset[int]) -> int:
        """Return the released table with the least noise on a combination of columns."""
        holders = [i for i, columns in enumerate(self.sets) if wanted <= set(columns)]
        if not holders:
            names = " × ".join(self.public.columns[column] for column in sorted(wanted))
            listed = "; ".join(self._name(i) for i in range(min(len(self.sets), 8)))
            more = "" if len(self.sets) <= 8 else f" and {len(self.sets) - 8} more"
            raise ValueError(
                f"no released table holds {names}; released are {listed}{more}. Release again with "
                "that combination among the tables"
            )
        return min(holders, key=lambda i: self._margin(i, wanted))

    def _name(self, number: int) -> str:
        return " × ".join(self.public.columns[column] for column in self.sets[number])

    def _margin(self, number: int, wanted: frozenset[int]) -> float:
        added = [self.public.sizes[c] for c in self.sets[number] if c not in wanted]
        return margin(self.noises[number], prod(added))

    def counts(self, columns: Sequence[str]) -> NDArray[np.float64]:
        """Return released counts as an array with one axis a column, in the order asked for."""
        if not columns or len(set(columns)) != len(columns):
            raise ValueError("name one or more columns, each once")
        wanted = self.public.schema.indices(columns)
        holder = self._holder(frozenset(wanted))
        held = self.sets[holder]
        gone = tuple(axis for axis, column in enumerate(held) if column not in wanted)
        table = self.tables[holder].sum(axis=gone)
        kept = [column for column in held if column in wanted]
        return np.asarray(np.transpose(table, [kept.index(column) for column in wanted]))

    def marginal(self, columns: Sequence[str], *, backend: str = "polars") -> Any:
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

        return to_backend(self._frame(columns), backend)

    def _frame(self, columns: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        counts = self.counts(columns)
        wanted = self.public.schema.indices(columns)
        holder = self._holder(frozenset(wanted))
        size = round(self._margin(holder, frozenset(wanted)), DECIMALS)
        taken = set(columns)
        return pl.DataFrame(
            [
                *self._labels(columns, counts.shape),
                pl.Series(_free("count", taken), np.round(counts.ravel(), DECIMALS)),
                pl.Series(_free("margin", taken), np.full(counts.size, size)),
            ]
        )

    def _labels(self, columns: Sequence[str], shape: tuple[int, ...]) -> list[pl.Series]:
        """Return the values of each column at every cell, as text."""
        import polars as pl

        places = np.indices(shape).reshape(len(shape), -1)
        return [
            pl.Series(name, np.array(self.public.labels(name), dtype=object)[place], pl.String)
            for name, place in zip(columns, places, strict=True)
        ]

    def sample(
        self,
        rows: int | None = None,
        *,
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
        generator
            A NumPy generator, for rows that can be drawn again; fresh otherwise.
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
        generator = noise.generator() if generator is None else generator
        names, sizes = self.public.columns, self.public.sizes
        covered = {column for columns in self.sets for column in columns}
        missing = [names[column] for column in range(len(names)) if column not in covered]
        if missing:
            raise ValueError(f"rows cannot be drawn: no released table holds {', '.join(missing)}")
        pairs = {
            pair: self.counts([names[pair[0]], names[pair[1]]])
            for pair in sorted({pair for columns in self.sets for pair in combinations(columns, 2)})
        }
        codes = sample_tree(
            rows,
            sizes,
            best_tree(len(names), pairs),
            lambda column: self.counts([names[column]]),
            lambda first, second: self.counts([names[first], names[second]]),
            generator,
        )
        return self.public.frame(codes, generator, backend)

    def files(self) -> dict[str, bytes]:
        """Return the tables in one long CSV file, and a codebook of the columns."""
        return {"marginals.csv": self._long(), "codebook.csv": self._codebook()}

    def _long(self) -> bytes:
        """Return all tables in one CSV: the table's name, up to k columns and values, the count."""
        import polars as pl

        width = max(len(columns) for columns in self.sets)
        frames = []
        for number, (columns, table) in enumerate(zip(self.sets, self.tables, strict=True)):
            names = [self.public.columns[column] for column in columns]
            values = self._labels(names, table.shape)
            series = [_constant("table", " × ".join(names), table.size)]
            for place in range(width):
                known = place < len(names)
                name = names[place] if known else None
                value = values[place] if known else _constant("", None, table.size)
                series.append(_constant(f"column_{place + 1}", name, table.size))
                series.append(value.alias(f"value_{place + 1}"))
            series.append(pl.Series("count", np.round(table.ravel(), DECIMALS)))
            size = round(margin(self.noises[number]), DECIMALS)
            series.append(pl.Series("margin", np.full(table.size, size)))
            frames.append(pl.DataFrame(series))
        buffer = io.BytesIO()
        pl.concat(frames).write_csv(buffer, float_precision=DECIMALS)
        return buffer.getvalue()

    def _codebook(self) -> bytes:
        """Return what every code of every column stands for, as CSV."""
        import polars as pl

        rows = [
            (name, code, label)
            for name in self.public.columns
            for code, label in enumerate(self.public.labels(name))
        ]
        frame = pl.DataFrame(rows, schema=["column", "code", "value"], orient="row")
        buffer = io.BytesIO()
        frame.write_csv(buffer)
        return buffer.getvalue()

    def agrees(self, files: dict[str, bytes]) -> bool:
        """Tell whether published files say what this release says, up to rounding."""
        import polars as pl

        mine = self.files()
        if files.keys() != mine.keys():
            return False
        for name, content in mine.items():
            if content == files[name]:
                continue
            ours, theirs = (pl.read_csv(io.BytesIO(c)) for c in (content, files[name]))
            if ours.schema != theirs.schema or ours.height != theirs.height:
                return False
            for column in ours.columns:
                if ours[column].dtype == pl.Float64:
                    apart = np.abs(ours[column].to_numpy() - theirs[column].to_numpy())
                    # A missing or undefined number compares false, and so disagrees.
                    if not (apart <= 2 * 10.0**-DECIMALS).all():
                        return False
                elif not ours[column].equals(theirs[column]):
                    return False
        return True

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        cells = sum(table.size for table in self.tables)
        largest = max(margin(item) for item in self.noises)
        return (
            f"Counts of rows for {len(self.sets)} combination{'s' * (len(self.sets) > 1)} of "
            f"columns ({cells:,} cells in all), with noise added to every cell so that no "
            f"{self.public.unit} can be recognised. The noise on a cell is no larger than "
            f"{largest:.4g} in 19 cases of 20; the tables were then adjusted to agree with each "
            f"other and to hold no negative counts. About {self.total:,.0f} rows in all."
        )

    def plot(self) -> Any:
        """Return a figure of the one-way counts, with the margins of their noise."""
        from sfumato.tabular.pictures import one_way_picture

        return one_way_picture(self)
