"""Counting in a table of codes: in memory, or memory-mapped from a snapshot on disk.

A table is encoded once to columns of uint8, uint16 or uint32 and never read again. Rows stream
through the cache in blocks, and every marginal of a batch is counted in the same pass, so a
memory-mapped snapshot is read once a batch. Coarser columns and bits of columns are looked up block
by block and never kept. The codes cannot be written to afterwards.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.batch_counts import Batch, join_cells
from sfumato.engines.bits import ROWS_OF_BITS, is_small, small_tables
from sfumato.engines.counts import MOST_CELLS, Integers64, Listed, Recoding, check_set
from sfumato.engines.distinct_rows import distinct_rows
from sfumato.engines.recall import Recalling
from sfumato.mechanisms.partition_selection import ValueCounts

if TYPE_CHECKING:
    from sfumato.engines.texts import Texts

__all__ = ["CodeTable", "code_type"]

BLOCK = 2**12
"""Rows of one block of counting: its codes and indices stay in the second-level cache."""

CHUNK = 2**20
"""Rows of one chunk of sorting."""

DENSE = 2**22
"""Up to so many cells, distinct rows are found by counting them all."""

MANY_TABLES = 64
"""From so many tables on, it pays to look for the distinct rows first."""

FEW_DISTINCT = 2**16
"""Distinct rows are counted with weights only if they are no more than this."""

MANY_ROWS = 2**16
"""From so many rows on, a pass over them costs more than summing a merged table."""


def code_type(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds the codes of a domain of this size."""
    if size <= 2**8:
        return np.dtype(np.uint8)
    if size <= 2**16:
        return np.dtype(np.uint16)
    if size <= 2**32:
        return np.dtype(np.uint32)
    raise ValueError(f"a domain has at most 2**32 values; got {size}; use fewer bins")


@dataclass(frozen=True)
class _Rows:
    """Rows of codes, column by column, each with a weight unless all weigh one."""

    columns: list[NDArray[Any]]
    length: int
    weights: Integers64 | None = None


class _Codes:
    """The codes that a table and all its recoded views share."""

    __slots__ = ("_condensed", "_sought", "keep", "rows", "sizes", "texts")

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        sizes: tuple[int, ...],
        texts: Mapping[int, Texts],
        keep: object,
    ) -> None:
        self.texts = dict(texts)
        # Of a column of texts the codes are private, and so is their number.
        self.sizes = tuple(
            texts[number].size if number in texts else size for number, size in enumerate(sizes)
        )
        self.keep = keep
        length = len(columns[0])
        self.rows = _Rows([self._adopt(i, c, length) for i, c in enumerate(columns)], length)
        self._condensed: _Rows | None = None
        self._sought = False

    def _adopt(self, number: int, column: NDArray[Any], length: int) -> NDArray[Any]:
        """Check one column of codes and return it as one that nobody can write to."""
        size = self.sizes[number]
        if column.ndim != 1 or len(column) != length:
            raise ValueError(f"column {number} must be one array as long as the others")
        if number in self.texts:
            if column.dtype != np.uint32:
                raise ValueError(f"column {number} must have type uint32, because it holds texts")
        elif column.dtype != code_type(size):
            raise ValueError(f"column {number} must have type {code_type(size)} for {size} codes")
        column = _immutable(column)
        if length and size < 2 ** (8 * column.itemsize) and int(column.max()) >= size:
            raise ValueError(f"column {number} holds a code outside its domain of {size}")
        return column

    def find_distinct(self) -> _Rows:
        """Return the distinct rows with their weights where they are few, else all rows."""
        if not self._sought:
            # Which it is depends on private values, but changes nothing besides the time.
            most = min(self.rows.length // 4, FEW_DISTINCT)
            parts = _parts(self.rows.length, 2 * FEW_DISTINCT)
            chunks = ([column[part] for column in self.rows.columns] for part in parts)
            found = distinct_rows(chunks, self.sizes, most)
            if found is not None:
                columns, weights = found
                narrow = [c.astype(code_type(s)) for c, s in zip(columns, self.sizes, strict=True)]
                self._condensed = _Rows(narrow, len(weights), weights)
            self._sought = True
        return self.rows if self._condensed is None else self._condensed


class CodeTable(Recalling):
    """A private table of codes, column by column, and every way of counting in it.

    Parameters
    ----------
    columns
        One array of codes for each column, all of the same length. An array that could still be
        written to is copied; a read-only memory map is kept.
    sizes
        The public size of each column's domain.
    texts
        The texts that codes stand for, in columns whose values nobody listed, by number. Such a
        column is counted as "other" and "missing" alone.
    keep
        Whatever must live as long as the codes do, such as the folder of a snapshot.
    """

    __slots__ = ("_codes", "_recodings", "_sizes")

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        *,
        texts: Mapping[int, Texts] | None = None,
        keep: object = None,
    ) -> None:
        super().__init__()
        if len(columns) != len(sizes) or not columns:
            raise ValueError(f"{len(sizes)} sizes need as many columns; got {len(columns)}")
        self._sizes = tuple(int(size) for size in sizes)
        known = texts or {}
        self._codes = _Codes(columns, self._sizes, known, keep)
        self._recodings: tuple[tuple[int, NDArray[Any] | None], ...] = tuple(
            (c, _immutable(_list_texts(known[c], (), size)) if c in known else None)
            for c, size in enumerate(self._sizes)
        )

    @property
    def rows(self) -> int:
        """The number of rows that were let in. Private under add/remove."""
        return self._codes.rows.length

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each column's domain. Public."""
        return self._sizes

    def __repr__(self) -> str:
        return f"CodeTable(sizes={self._sizes})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private table cannot be pickled; save a release of it instead")

    def codes(self, column: int) -> NDArray[Any]:
        """Return the read-only codes of one column. Private."""
        codes = self._look_up(self._codes.rows, column, slice(None))
        codes.flags.writeable = False
        return codes

    def _look_up(self, rows: _Rows, column: int, part: slice) -> NDArray[Any]:
        """Return the codes of one column in some of the rows."""
        source, recoding = self._recodings[column]
        codes = rows.columns[source][part]
        return codes if recoding is None else recoding[codes]

    def recode(self, columns: Sequence[Recoding]) -> CodeTable:
        """Return a view whose columns are looked up from columns of this table.

        Parameters
        ----------
        columns
            For each column of the view: the column it comes from, and which new code each code of
            that column becomes, or `None` for the column as it is. Public. The new codes are
            0 … size−1, of which the largest occurs. For a column whose values nobody listed,
            `Listed` gives the texts that get a code of their own.

        Notes
        -----
        Codes are looked up when they are counted, so a view takes no memory. A row of the view
        is a function of the same row of the table: what one record can change stays the same.
        """
        view = CodeTable.__new__(CodeTable)
        Recalling.__init__(view)
        view._codes = self._codes
        pairs = [self._recoding(int(source), recoding) for source, recoding in columns]
        view._recodings = tuple(recoding for recoding, _ in pairs)
        view._sizes = tuple(size for _, size in pairs)
        return view

    def _recoding(
        self, source: int, recoding: NDArray[Any] | Listed | None
    ) -> tuple[tuple[int, NDArray[Any] | None], int]:
        """Return one column of a view in terms of the codes that are kept, and its size."""
        check_set((source,), self._sizes)
        if recoding is None:
            return self._recodings[source], self._sizes[source]
        if isinstance(recoding, Listed):
            kept, texts = self._texts_of(source)
            size = len(recoding.values) + self._sizes[source]
            return (kept, _immutable(_list_texts(texts, recoding.values, size))), size
        new = np.asarray(recoding)
        if new.shape != (self._sizes[source],) or new.dtype.kind not in "iu" or new.min() < 0:
            raise ValueError(
                f"a recoding of column {source} gives each of its {self._sizes[source]} codes a "
                "whole number from 0"
            )
        size = int(new.max()) + 1
        new = new.astype(code_type(size))
        inner, before = self._recodings[source]
        return (inner, _immutable(new if before is None else new[before])), size

    def _texts_of(self, column: int) -> tuple[int, Texts]:
        """Return which kept column a column of texts is, and its texts. Private."""
        kept = self._recodings[column][0]
        if kept not in self._codes.texts:
            raise ValueError(f"column {column} is not one whose values are still to be found")
        return kept, self._codes.texts[kept]

    def value_counts(self, column: int) -> ValueCounts:
        """Return the different texts of a column whose values nobody listed, and their counts."""
        kept, texts = self._texts_of(column)
        codes, counts = self._codes.rows.columns[kept], np.zeros(texts.size, dtype=np.int64)
        for part in _parts(self.rows, CHUNK):
            counts += np.bincount(codes[part], minlength=texts.size)
        counts = counts[-len(texts) :] if len(texts) else counts[:0]
        values = texts.values
        return ValueCounts([values[i] for i in np.flatnonzero(counts).tolist()], counts[counts > 0])

    def kept(self, column: int) -> tuple[NDArray[Any], Texts | None]:
        """Return the codes of one column as they are kept, and the texts of an open one. Private.

        What a copy of the table, or a hash of it, has to hold.
        """
        source = self._recodings[column][0]
        texts = self._codes.texts.get(source)
        return (self.codes(column) if texts is None else self._codes.rows.columns[source]), texts

    def marginals(self, sets: Sequence[Sequence[int]]) -> list[Integers64]:
        """Return one contingency table for each set of columns, all from one pass."""
        asked = [check_set(columns, self._sizes) for columns in sets]
        for columns in asked:
            cells = prod(self._sizes[c] for c in columns)
            if cells > MOST_CELLS:
                raise ValueError(
                    f"the marginal of columns {columns} has {cells} cells, more than {MOST_CELLS}; "
                    "ask for fewer columns or declare fewer bins"
                )
        counted = self._count_small(asked)
        inside = {columns: tuple(sorted(columns)) for columns in asked}
        left = [columns for columns in asked if inside[columns] not in counted]
        rows = self._codes.rows if len(left) < MANY_TABLES else self._codes.find_distinct()
        # Finding what to merge costs more with every table, a pass over the rows with every row.
        if left and rows.length >= max(MANY_ROWS, 8 * len(left)):
            inside |= self._merge_sets(left)
        counted |= self._count({inside[columns] for columns in left}, rows)
        return [self._project(s, inside[s], counted[inside[s]]) for s in asked]

    def count_batch(self, tables: tuple[tuple[int, ...], ...]) -> Integers64:
        """Return the cells of many tables, one table after another."""
        _check_tables(tables, len(self._sizes))
        return join_cells(tables, self._sizes, self._chunks, self.marginals)

    def _chunks(self, columns: Sequence[int]) -> Iterator[list[NDArray[Any]]]:
        """Yield the rows, chunk after chunk: the codes of some columns."""
        rows = self._codes.rows
        for part in _parts(rows.length, ROWS_OF_BITS):
            yield [self._look_up(rows, column, part) for column in columns]

    def _count_small(self, asked: list[tuple[int, ...]]) -> dict[tuple[int, ...], Integers64]:
        """Count the small ones of many tables, flat, 64 rows at a time."""
        small = {tuple(sorted(columns)) for columns in asked if is_small(columns, self._sizes)}
        tables = tuple(sorted(small - {()}))
        together = small_tables(tables, self._sizes) if len(tables) >= MANY_TABLES else None
        if together is None:
            return {}
        flat = together.count(self._chunks(together.columns))
        ends = np.cumsum([prod([self._sizes[c] for c in table]) for table in tables]).tolist()
        return {t: flat[a:b] for t, a, b in zip(tables, [0, *ends], ends, strict=False)}

    def _merge_sets(self, asked: list[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Return for each set the smallest of a few larger tables that hold them all."""
        tables = cover(asked, self._sizes, SMALL_TABLE)
        tables.sort(key=lambda table: prod(self._sizes[column] for column in table))
        members = [(set(table), table) for table in tables]
        return {
            columns: next(table for inside, table in members if inside.issuperset(columns))
            for columns in asked
        }

    def _count(
        self, tables: set[tuple[int, ...]], rows: _Rows
    ) -> dict[tuple[int, ...], Integers64]:
        """Count each table, flat, in one pass over the rows."""
        batch = Batch([table for table in tables if table], self._sizes, BLOCK)
        for first in range(0, rows.length if batch.tables else 0, BLOCK):
            part = slice(first, first + BLOCK)
            codes = [self._look_up(rows, column, part) for column in batch.columns]
            batch.add(codes, None if rows.weights is None else rows.weights[part])
        return {(): np.full(1, self.rows, dtype=np.int64), **batch.cells()}

    def _project(
        self, columns: tuple[int, ...], table: tuple[int, ...], counts: Integers64
    ) -> Integers64:
        """Sum a counted table down to some of its columns, in the order asked for."""
        cube = counts.reshape([self._sizes[c] for c in table])
        if columns == table:
            return cube.copy()
        rest = tuple(axis for axis, column in enumerate(table) if column not in columns)
        summed = cube.sum(axis=rest, dtype=np.int64) if rest else cube
        kept = sorted(columns)
        return np.array(np.transpose(summed, [kept.index(c) for c in columns]), dtype=np.int64)

    def distinct(self, columns: Sequence[int]) -> tuple[NDArray[np.uint32], Integers64]:
        """Return the distinct rows of some columns, in lexicographic order, and their counts."""
        asked = check_set(columns, self._sizes)
        sizes = [self._sizes[column] for column in asked]
        if prod(sizes) <= DENSE:
            # A dense table is quicker than any sort.
            counts = self.marginals([asked])[0]
            cells = np.argwhere(counts > 0).astype(np.uint32)
            return cells, counts[counts > 0].reshape(-1)
        parts = (
            [self._look_up(self._codes.rows, column, part) for column in asked]
            for part in _parts(self.rows, CHUNK)
        )
        found = distinct_rows(parts, sizes)
        assert found is not None
        return np.stack(found[0], axis=1), found[1]

    def products(
        self, columns: Sequence[int], values: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.object_]:
        """Return the matrix of sums over rows of the products of each two columns.

        They are taken from the two-way marginals, in integers that cannot overflow.
        """
        asked = tuple(int(column) for column in columns)
        check_set(asked, self._sizes)
        tables = [_whole(v, self._sizes[c]) for c, v in zip(asked, values, strict=True)]
        pairs = [(i, j) for i in range(len(asked)) for j in range(i + 1)]
        sets = [(asked[i],) if i == j else (asked[i], asked[j]) for i, j in pairs]
        matrix = np.zeros((len(asked), len(asked)), dtype=object)
        for (i, j), counts in zip(pairs, self.marginals(sets), strict=True):
            if i == j:
                total = _dot(counts, tables[i] * tables[i])
            else:
                total = _dot(np.array([_dot(row, tables[j]) for row in counts]), tables[i])
            matrix[i, j] = matrix[j, i] = total
        return matrix


def _parts(rows: int, length: int) -> Iterator[slice]:
    """Yield the rows of a table in chunks of some length."""
    for first in range(0, rows, length):
        yield slice(first, first + length)


def _check_tables(tables: tuple[tuple[int, ...], ...], columns: int) -> None:
    """Raise unless all tables have increasing columns that are there, at least one, and differ."""
    flat = np.fromiter(chain.from_iterable(tables), dtype=np.int64)
    lengths = np.fromiter(map(len, tables), dtype=np.int64, count=len(tables))
    grows = np.append(np.diff(flat) > 0, True)
    grows[np.cumsum(lengths) - 1] = True
    there = not flat.size or (int(flat.min()) >= 0 and int(flat.max()) < columns)
    if not (there and lengths.all() and grows.all() and len(set(tables)) == len(tables)):
        raise ValueError(
            f"tables differ, and each has one or more of the columns 0 to {columns - 1}, in "
            "increasing order"
        )


def _immutable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that nobody can make writable again, a copy unless it is one already."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    # An array that owns its memory can always be made writable again by whoever holds it.
    if isinstance(owner, bytes | mmap.mmap) and memoryview(owner).readonly:
        return array.view(np.ndarray)
    return np.frombuffer(array.tobytes(), dtype=array.dtype)


def _list_texts(texts: Texts, names: tuple[str, ...], size: int) -> NDArray[Any]:
    """Return the new code of every text: its place among some names, else "other" behind them."""
    # Where missing values have no code, there are none.
    return texts.read_through(names, min(len(names) + 1, size - 1)).astype(code_type(size))


def _whole(values: NDArray[np.int64], size: int) -> NDArray[np.object_]:
    """Return the fixed-point values of a column's codes as integers of any size."""
    array = np.asarray(values)
    if array.shape != (size,) or array.dtype.kind not in "iuO":
        raise ValueError(f"one whole number is needed for each of the {size} codes of a column")
    return np.array([int(value) for value in array], dtype=object)


def _dot(counts: NDArray[Any], values: NDArray[np.object_]) -> int:
    """Return the exact sum of the products of two vectors of integers."""
    return sum(int(c) * v for c, v in zip(counts, values, strict=True) if c)


# Which few larger tables to count so that all marginals asked for follow from them.
#
# Counting costs a pass over the rows for each table; summing a small table costs nothing. All 66
# two-way marginals of twelve columns of 16 values follow from 26 three-way ones. The choice
# depends on public sizes and on the number of rows, changes no answer, and is not private.


SMALL_TABLE = 2**14
"""Most cells of a merged table: its counts stay in the second-level cache."""


def cover(
    sets: list[tuple[int, ...]], sizes: tuple[int, ...], most_cells: int = SMALL_TABLE
) -> list[tuple[int, ...]]:
    """Return tables such that every set is contained in one of them.

    Parameters
    ----------
    sets
        The sets of columns asked for.
    sizes
        The domain size of every column.
    most_cells
        No set is enlarged beyond this number of cells; larger sets stay as they are.
    """
    wanted = np.zeros((len(sets), len(sizes)), dtype=np.bool_)
    for row, columns in enumerate(sets):
        wanted[row, list(columns)] = True
    wanted = np.unique(wanted, axis=0)
    # Large tables first: they cover small ones for nothing.
    wanted = wanted[np.argsort(-(wanted * np.log(sizes)).sum(axis=1), kind="stable")]
    tables: list[tuple[int, ...]] = []
    while len(wanted):
        table = _grow(wanted[0].copy(), wanted, sizes, most_cells)
        tables.append(tuple(int(c) for c in np.flatnonzero(table)))
        wanted = wanted[(wanted & ~table).any(axis=1)]
    return tables


def _grow(
    table: NDArray[np.bool_], wanted: NDArray[np.bool_], sizes: tuple[int, ...], most_cells: int
) -> NDArray[np.bool_]:
    """Add columns to a table while that covers further sets and the table stays small."""
    cells = prod(sizes[c] for c in np.flatnonzero(table))
    while True:
        lacking = wanted & ~table
        one_short = lacking.sum(axis=1) == 1
        gain = lacking[one_short].sum(axis=0)
        gain[[cells * size > most_cells for size in sizes]] = 0
        best = int(np.argmax(gain))
        if gain[best] == 0:
            return table
        table[best] = True
        cells *= sizes[best]
