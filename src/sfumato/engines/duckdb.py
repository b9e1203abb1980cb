"""Tables larger than memory: read by DuckDB, encoded once, counted from a snapshot on disk.

DuckDB reads the file or runs the query and hands over chunk after chunk; each chunk is encoded by
the very code that encodes a frame in memory, so the answers are the same to the last bit. What
stays is a folder of codes, readable by its owner only and gone with the table. The source is read
once: a file that changes later changes nothing. Messages of DuckDB may quote the data and are
never passed on.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.arrow import from_arrow
from sfumato.engines.errors import Problem, importing, without_values
from sfumato.engines.files import TableFile
from sfumato.engines.intake import Intake, IntakeRules, Taken
from sfumato.engines.memory import CodeTable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Bound",
    "Folder",
    "file_chunks",
    "read_relation",
    "relation_chunks",
    "take_file",
    "take_relation",
]

CHUNK = 2**18
"""Rows that are in memory at once."""


def _query_failed() -> Problem:
    return Problem(
        wrong="DuckDB could not run the query",
        remedy="Run it in DuckDB directly to see why; its message may quote the data.",
    )


def take_file(file: TableFile, rules: IntakeRules) -> Taken:
    """Encode a CSV or Parquet file of any size.

    Parameters
    ----------
    file
        The file; a column is absent or twice there only if `rules` does not need it.
    rules
        What to take.
    """
    with Folder() as folder, file_chunks(file, rules.needed, folder) as chunks:
        return _take(chunks, rules, folder)


@contextmanager
def file_chunks(
    file: TableFile, names: Sequence[str], folder: Folder
) -> Iterator[Iterator[dict[str, pl.Series]]]:
    """Read some columns of a CSV or Parquet file of any size in file order, chunk by chunk.

    Parameters
    ----------
    file
        The file; each of the columns is there once.
    names
        The columns.
    folder
        Where DuckDB may put what does not fit into memory.
    """
    with importing("DuckDB", "duckdb"):
        import duckdb
    file.check(names)
    settings = {
        "temp_directory": str(folder.path / "spill"),
        # Which rows of a person are the first ones must not depend on the run.
        "preserve_insertion_order": "true",
    }
    connection = duckdb.connect(":memory:", config=settings)
    try:
        query = _query(file, names, folder.path)
        relation = without_values(lambda: connection.sql(query), duckdb.Error, file.unreadable)
        yield _chunks(relation, file.unreadable)
    finally:
        connection.close()
        # What was read is on no disk any longer than it takes to read it.
        shutil.rmtree(folder.path / "spill", ignore_errors=True)
        for copy in folder.path.glob("source.*"):
            copy.unlink()


def take_relation(relation: Any, rules: IntakeRules) -> Taken:
    """Encode the result of a DuckDB query.

    Parameters
    ----------
    relation
        A DuckDB relation.
    rules
        What to take. It must not bound contributions, since a query has no order of rows.
    """
    if rules.person is not None:
        raise ValueError(
            "the rows of a query have no fixed order, so the first rows of a person are not defined"
        )
    with Folder() as folder:
        return _take(relation_chunks(relation, rules.needed), rules, folder)


def relation_chunks(relation: Any, names: Sequence[str]) -> Iterator[dict[str, pl.Series]]:
    """Yield some columns of the result of a DuckDB query, chunk by chunk."""
    return _chunks(_select_columns(relation, names), _query_failed)


def read_relation(relation: Any, names: Sequence[str]) -> dict[str, pl.Series]:
    """Return some columns of the result of a DuckDB query, in memory."""
    with importing("DuckDB", "duckdb"):
        import duckdb
        import pyarrow as pa
    narrow = _select_columns(relation, names)
    table = without_values(
        lambda: _reader(narrow).read_all(), (duckdb.Error, pa.ArrowException), _query_failed
    )
    return {name: from_arrow(table.column(i)) for i, name in enumerate(names)}


def _select_columns(relation: Any, names: Sequence[str]) -> Any:
    """Return a relation with some of its columns only."""
    with importing("DuckDB", "duckdb"):
        import duckdb
    types = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    chosen = ", ".join(_selection_of(_quote(name, '"'), types[name]) for name in names)
    return without_values(lambda: relation.project(chosen), duckdb.Error, _query_failed)


def _selection_of(name: str, kind: str) -> str:
    """Return how a column is selected; DuckDB makes negative numbers of those from 2**127 on."""
    return f"CAST({name} AS VARCHAR) AS {name}" if kind == "UHUGEINT" else name


def _quote(text: str, mark: str) -> str:
    """Return a name or text as SQL writes it."""
    return mark + text.replace(mark, 2 * mark) + mark


def _query(file: TableFile, names: Sequence[str], folder: Path) -> str:
    """Return the query that reads the needed columns of a file, a CSV file as text."""
    if file.parquet:
        chosen = ", ".join(_quote(name, '"') for name in names)
        return f"SELECT {chosen} FROM read_parquet({_source(file, folder)})"
    header = file.names()
    # Columns are told apart by position, since a file may name one it does not need twice.
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(header)))
    places = {name: place for place, name in enumerate(header)}
    chosen = ", ".join(f"c{places[name]} AS {_quote(name, chr(34))}" for name in names)
    # DuckDB skips lines without any character where there are several columns, and `check` refused
    # rows with all fields empty.
    compression = "gzip" if file.compression == "gz" else "none"
    return (
        f"SELECT {chosen} FROM read_csv({_source(file, folder)}, auto_detect=false, header=true, "
        f"columns={{{columns}}}, delim={_quote(file.delimiter, chr(39))}, quote='\"', "
        f"escape='\"', strict_mode=true, "
        f"compression='{compression}')"
    )


def _source(file: TableFile, folder: Path) -> str:
    """Return the file's place as an SQL text, through a name in which DuckDB sees no pattern."""
    path = file.path.resolve()
    if file.compression == "xz":
        path = folder / "source.csv"
        with file.open() as packed, path.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 2**20)
    elif any(mark in str(path) for mark in "*?[]{}"):
        link = folder / f"source{'.parquet' if file.parquet else '.csv'}"
        link.symlink_to(path)
        path = link
    return _quote(str(path), "'")


class Folder:
    """A private temporary folder that is removed with its last user.

    As a context it is removed at once where the block fails: an error may be kept for long.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="sfumato-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._remove()

    def column(self, number: int) -> Path:
        """Return where the codes of a column are kept."""
        return self.path / f"{number}.codes"


def _take(chunks: Iterator[dict[str, pl.Series]], rules: IntakeRules, folder: Folder) -> Taken:
    """Encode a table chunk by chunk into a folder, then bound contributions there."""
    intake = Intake(rules)
    types = intake.types
    files = [folder.column(i).open("wb") for i in range(len(types))]
    bound = Bound(folder.path / "persons.duckdb") if rules.person else None
    try:
        for columns in chunks:
            first = intake.rows
            codes, persons = intake.encode(columns)
            for file, column in zip(files, codes, strict=True):
                file.write(column.tobytes())
            if bound is not None and persons is not None:
                bound.add(persons, first)
        intake.finish()
        keep = None
        if bound is not None and rules.max_rows is not None:
            keep = bound.within(rules.max_rows, intake.rows)
    finally:
        for file in files:
            file.close()
        if bound is not None:
            bound.close()
    if keep is not None:
        for number, kind in enumerate(types):
            _compact(folder.column(number), kind, keep)
    codes = [_map_codes(folder.column(number), kind) for number, kind in enumerate(types)]
    dropped = 0 if keep is None else int(len(keep) - np.count_nonzero(keep))
    return Taken(CodeTable(codes, rules.sizes, texts=intake.texts, keep=folder), dropped)


def _reader(relation: Any) -> Any:
    """Return a relation's rows as Arrow batches; DuckDB renamed the way to ask in version 2."""
    ask = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return ask(CHUNK)


def _chunks(relation: Any, problem: Callable[[], Problem]) -> Iterator[dict[str, pl.Series]]:
    """Yield the relation's rows in order, chunk by chunk."""
    import duckdb
    import pyarrow as pa

    failures = (duckdb.Error, pa.ArrowException)
    reader = without_values(lambda: _reader(relation), failures, problem)
    while True:
        batch = without_values(lambda: next(reader, None), failures, problem)
        if batch is None:
            return
        yield {name: from_arrow(batch.column(i)) for i, name in enumerate(batch.schema.names)}


class Bound:
    """Whose each row is, kept on disk until it is known which rows are within the bound."""

    def __init__(self, path: Path) -> None:
        import duckdb

        self._path = path
        self._connection = duckdb.connect(str(path))
        self._connection.execute("CREATE TABLE persons (person VARCHAR, place BIGINT)")

    def add(self, persons: pl.Series, first: int) -> None:
        """Note the persons of the rows that start at row `first`."""
        import polars as pl

        places = pl.int_range(first, first + len(persons), eager=True)
        chunk = pl.DataFrame({"person": persons, "place": places})
        self._connection.register("chunk", chunk.to_arrow())
        self._connection.execute("INSERT INTO persons SELECT person, place FROM chunk")
        self._connection.unregister("chunk")

    def within(self, most: int, rows: int) -> NDArray[np.bool_]:
        """Return which rows are among the first `most` of their person."""
        keep = np.ones(rows, dtype=np.bool_)
        late = self._connection.sql(
            "SELECT place FROM (SELECT place, row_number() OVER (PARTITION BY person ORDER BY "
            f"place) AS nth FROM persons) WHERE nth > {int(most)}"
        )
        for batch in _reader(late):
            keep[batch.column(0).to_numpy()] = False
        return keep

    def close(self) -> None:
        """Forget the persons."""
        self._connection.close()
        self._path.unlink(missing_ok=True)


def _map_codes(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return the codes of a file, mapped into memory; an empty file cannot be mapped."""
    if path.stat().st_size == 0:
        return np.zeros(0, dtype=kind)
    return np.memmap(path, dtype=kind, mode="r")


def _compact(path: Path, kind: np.dtype[Any], keep: NDArray[np.bool_]) -> None:
    """Rewrite a file of codes without the rows that are not kept."""
    codes = _map_codes(path, kind)
    shorter = path.with_suffix(".kept")
    with shorter.open("wb") as file:
        for first in range(0, len(codes), CHUNK):
            part = slice(first, first + CHUNK)
            file.write(codes[part][keep[part]].tobytes())
    shorter.replace(path)
