"""Neighbouring inputs for readers: the same records in the same kind of input, and one more.

A pair is made as a custodian's programs would make it: a list of values becomes a column, an array
or a file twice, once with a further record in it, and the type, width or encoding may come out
differently. The codes of all other records and everything public must not.
`benchmarks/neighbours.py` runs many such pairs, the tests a few of every kind.
"""

from __future__ import annotations

import gzip
import io
import lzma
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.data.alphabet import Alphabet
from sfumato.data.frames import column_of
from sfumato.data.points import Points, read_points
from sfumato.data.schema import Column, Schema
from sfumato.data.sequence_reading import Coded, code_sequences
from sfumato.data.sequences import SequenceFile
from sfumato.data.table import Table, read_table
from sfumato.engines.coding import Booleans, Categories, Coding, Dates, Integers, Numbers, Reals
from sfumato.engines.errors import DataError
from sfumato.engines.intake import Intake, IntakeRules
from sfumato.engines.reading import text_of
from sfumato.sklearn.naive_bayes import PrivateNaiveBayes

Generator = np.random.Generator

#: Columns as people have them: one kind of value each, so that a library gives them a type.
HABITS: dict[str, list[Any]] = {
    "wholes": [0, 1, 2, 3, -7, 2024],
    "floats": [0.0, 1.0, 2.5, -7.0, 1e-7, 0.1, 2024.0],
    "truths": [True, False],
    "texts": ["a", "b", " a ", "", "c d", "ä"],
    "symbols": ["a", "b", "1", "ä"],
    "numerals": ["1", "1.0", "01", "2.50", "1e-7", "1E3", "-7", "+7", "0"],
    "words of truth": ["True", "TRUE", "false", "yes", "N"],
    "days": [date(2020, 1, 1), date(2020, 2, 29), date(1999, 12, 31)],
    "stamps": [datetime(2020, 1, 1), datetime(2020, 2, 29, 18, 30, 1, 250)],
    "zoned": [
        datetime(2020, 1, 1, 23, tzinfo=timezone(timedelta(hours=-5))),
        datetime(2020, 2, 29, 1, tzinfo=timezone(timedelta(hours=-5))),
    ],
    "written days": ["2020-01-01", "2020-02-29", "1999-12-31"],
    "written stamps": ["2020-01-01T00:00:00", "2020-02-29 18:30", "2020-01-01T23:00:00-05:00"],
    "decimals": [Decimal("1.50"), Decimal("1"), Decimal("-7.0"), Decimal("0.1")],
    "large": [2**53 + 1, 2**60, 5, -(2**55) - 1],
    "identifiers": [100234, 100235, 7, 12],
    "gaps in wholes": [1, 2, None, 3],
    "gaps in floats": [1.5, float("nan"), 2.0],
    "gaps in texts": ["a", None, "1"],
    "gaps in stamps": [np.datetime64("2020-01-01"), np.datetime64("NaT", "D")],
    "far": [1e20, 1e16, 2.5, -1e300],
    "written far": ["1e20", "100000000000000000000", "2.5", "1e+16"],
    "bytes": [b"a", b"1"],
}

#: What one record more may bring with it.
STRANGERS: list[Any] = [
    None, float("nan"), "?", "x", "", " ", "1.5", "NA", 2, 2.5, -1, True, 0.1, 10**30, 2**63,
    -(2**70), 10**5000, float("inf"), Decimal("1.5"), Decimal("NaN"), date(2020, 5, 5),
    datetime(2021, 1, 1, tzinfo=UTC), datetime(1, 1, 1), datetime(9999, 12, 31, 23), "10000-01-01",
    np.datetime64("2020-01-01T00:00:00.123456789"), np.timedelta64(3, "D"), timedelta(days=1),
    np.float32(0.1), np.int8(1), b"x", b"\xff", [1], {"a": 1}, object(), 1j, "ｆullwidth", "\x00",
    "long " * 2000, "\ud800", "a,b", 'quoted "text"', "two\nlines", pd.NaT, pd.NA, "True", "1e400",
    1e20, " 1", "nan", "NaT", np.datetime64("NaT", "D"), np.float16(0.1),
]  # fmt: skip

LENIENT: dict[str, Coding] = {
    "names": Categories(
        values=("a", "b", "1", "0", "2.5", "1e-07", "2020-01-01", "x"),
        outside="other",
        missing="code",
    ),
    "truths as names": Categories(values=("True", "False"), outside="other", missing="code"),
    "days as names": Categories(
        values=("2020-01-01", "2020-02-29T18:30:01.000250", "2020-01-02 04:00"),
        outside="other",
        missing="code",
    ),
    "twins": Categories(values=("1", "01", "2.5", "2.50", "a"), outside="other", missing="code"),
    "large names": Categories(
        values=(str(2**53 + 1), str(2**60), "5"), outside="other", missing="code"
    ),
    "far names": Categories(values=("1e20", "1e16", "a"), outside="other", missing="code"),
    "blank names": Categories(values=("1", " 1", "a", " a"), outside="other", missing="code"),
    "odd names": Categories(values=("inf", "True", "NA", "0"), outside="other", missing="code"),
    "numbers as names": Categories(values=(0, 1, 2024), outside="other", missing="code"),
    "large wholes": Categories(values=(2**53 + 1, 2**60, 5), outside="other", missing="code"),
    "wholes": Integers(low=-3, high=9, outside="clamp", missing="code"),
    "far wholes": Integers(
        low=2**53, high=2**53 + 9, outside="clamp", missing="code", missing_values=(5,)
    ),
    "bins": Numbers(edges=(-1, 0.1, 0.3, 2, 3), outside="clamp", missing="code"),
    "reals": Reals(low=-8, high=8, outside="clamp", missing="code", missing_values=("?", 2.5)),
    "far missing": Numbers(
        edges=(0, 1, 1e30),
        outside="clamp",
        missing="code",
        missing_values=(1e20, 10**16 - 1, "?", "2.50", 2.5),
    ),
    "truth": Booleans(missing="code"),
    "days": Dates(
        low=date(2000, 1, 1),
        high=date(2020, 12, 31),
        outside="clamp",
        missing="code",
        missing_values=("1999-12-31",),
    ),
}


MILD: list[Any] = [None, float("nan"), "", 1, 0.0, "1.0", True, "NA", Decimal("1.0"), np.int8(1)]
_NUMERIC = ("wholes", "floats", "truths", "numerals", "decimals", "large", "identifiers")
_DATED = ("days", "stamps", "zoned", "written days", "written stamps")
_DATES: list[Any] = [
    None, "", date(2020, 5, 5), datetime(2019, 1, 1), pd.NaT, "2020-01-01", "1999-12-31",
    datetime(1, 1, 1), np.datetime64("2020-01-01T00:00:00.123456789"), "2020-01-01T00:00:00Z",
]  # fmt: skip
#: Which habits a coding reads, and strangers that it reads too.
TAME: dict[str, tuple[tuple[str, ...], list[Any]]] = {
    "truth": (("truths", "words of truth"), [*MILD, "yes", "n"]),
    "days": (_DATED, _DATES),
    "days as names": (_DATED, _DATES),
    "far wholes": (("large",), [*MILD, "x", 10**30]),
    "wholes": (("wholes", "truths", "large", "identifiers"), [*MILD, "1e3", 10**30]),
    "far missing": ((*_NUMERIC, "far", "written far"), [*MILD, "?", 10**30, 1e16]),
    "bins": (_NUMERIC, [*MILD, 2.5, "1e400", 10**5000, np.float32(0.1)]),
    "reals": (_NUMERIC, [*MILD, "?", 2.5, "inf", 10**5000]),
}

Make = Callable[[list[Any], Path, Coding], Callable[[], "Outcome"]]


class CannotMake(Exception):
    """The library that makes the input refuses such values by itself."""


@dataclass(frozen=True)
class Outcome:
    """What a reader made of an input: the codes of each record and what is public, or nothing."""

    records: list[Any] | None
    public: Any = None


def _guarded(make: Callable[[], Any]) -> Any:
    """Return an input, or say that its own library does not make it."""
    try:
        return make()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise CannotMake from None


def read_or_refuse(read: Callable[[], Outcome]) -> Outcome:
    """Return what a reader makes of an input; a refusal in words is an outcome."""
    try:
        return read()
    except DataError:
        return Outcome(None)


# Inputs


def _csv_text(values: list[Any]) -> str:
    """Return a file with one column more, as a spreadsheet would write it."""
    out = io.StringIO()
    out.write("n,x\n")
    for value in values:
        text = "" if value is None or value is pd.NaT or value is pd.NA else str(value)
        if isinstance(value, float) and value != value:
            text = ""
        quoted = text.replace('"', '""')
        out.write(f'1,"{quoted}"\n' if any(c in text for c in ',"\n') else f"1,{text}\n")
    return out.getvalue()


def polars_series(values: list[Any]) -> pl.Series:
    """Return a column whose type Polars takes from its first values.

    What does not fit becomes null, loses digits or hours, or becomes a time or a number there,
    before anybody else sees it: no such column is tried.
    """
    series = pl.Series(values, strict=False)
    kind = series.dtype
    stamps = [v for v in values if isinstance(v, date | np.datetime64)]
    lost = series.null_count() > sum(text_of(value) is None for value in values)
    if stamps and kind != pl.Object:
        days = all(type(v) is date for v in stamps)
        lost = lost or not kind.is_temporal() or (kind == pl.Date and not days)
    if lost or any(map(_changed, values, series.to_list())):
        raise CannotMake
    return series


def _changed(given: Any, kept: Any) -> bool:
    """Tell whether a number became another one, or none; rounding to a double is no change."""
    if not isinstance(given, int | float | Decimal | np.number) or text_of(given) is None:
        return False
    if not isinstance(kept, int | float | Decimal):
        return isinstance(kept, date | timedelta)
    try:
        return float(kept) != float(given)
    except OverflowError:
        return False


def arrow_array(values: list[Any]) -> pa.Array:
    """Return an Arrow array, but none in which PyArrow made times of numbers, or days of times."""
    array = pa.array(values, from_pandas=True)
    dated = all(
        text_of(value) is None or isinstance(value, date | np.datetime64) for value in values
    )
    days = not any(isinstance(value, datetime | np.datetime64) for value in values)
    if pa.types.is_temporal(array.type) and not dated:
        raise CannotMake
    if pa.types.is_date(array.type) and not days:
        raise CannotMake
    return array


FRAMES: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(values)}),
    "pandas objects": lambda values: pd.DataFrame({"x": pd.Series(values, dtype=object)}),
    "pandas concat": lambda values: pd.concat(
        [pd.DataFrame({"x": pd.Series(part)}) for part in (values[:1], values[1:])],
        ignore_index=True,
    ),
    "pandas nullable": lambda values: pd.DataFrame({"x": pd.Series(values)}).convert_dtypes(),
    "pandas category": lambda values: pd.DataFrame({"x": pd.Series(values).astype("category")}),
    "pandas from CSV": lambda values: pd.read_csv(io.StringIO(_csv_text(values))),
    "pandas chunks from CSV": lambda values: pd.concat(
        [pd.read_csv(io.StringIO(_csv_text(part))) for part in (values[:3], values[3:])],
        ignore_index=True,
    ),
    "pandas arrow from CSV": lambda values: pd.read_csv(
        io.StringIO(_csv_text(values)), dtype_backend="pyarrow"
    ),
    "pandas dates from CSV": lambda values: pd.read_csv(
        io.StringIO(_csv_text(values)), parse_dates=["x"]
    ),
    "pandas arrow": lambda values: pd.DataFrame(
        {"x": pd.Series(pd.arrays.ArrowExtensionArray(arrow_array(values)))}
    ),
    "polars": lambda values: pl.DataFrame({"x": polars_series(values)}),
    "polars from CSV": lambda values: pl.read_csv(
        io.BytesIO(_csv_text(values).encode()), infer_schema_length=None
    ),
    "polars objects": lambda values: pl.DataFrame({"x": pl.Series(values, dtype=pl.Object)}),
    "pyarrow": lambda values: pa.table({"x": arrow_array(values)}),
    "pyarrow dictionary": lambda values: pa.table(
        {"x": arrow_array(values).dictionary_encode()}
    ),
    "numpy in pandas": lambda values: pd.DataFrame({"x": np.array(values)}),
}  # fmt: skip

COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy objects": lambda values: np.array([*values, None], dtype=object)[:-1],
    "pandas": pd.Series,
    "polars": lambda values: polars_series(values),
    "pyarrow": lambda values: arrow_array(values),
}


def _table_outcome(table: Table) -> Outcome:
    columns = [table.counts.codes(number).tolist() for number in range(len(table.public.sizes))]
    return Outcome(list(zip(*columns, strict=True)), table.public.to_json())


def frame_reader(kind: str) -> Make:
    """Return how a frame of one kind becomes a table."""

    def make(values: list[Any], folder: Path, coding: Coding) -> Callable[[], Outcome]:
        schema = Schema(columns=(Column("x", coding),))
        frame = _guarded(lambda: FRAMES[kind](values))
        return lambda: _table_outcome(Table(frame, schema))

    return make


def _write_csv(path: Path, values: list[Any]) -> None:
    data = _csv_text(values).encode()
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(data))


def _write_parquet(path: Path, values: list[Any]) -> None:
    # As text where the values have no type in common, as a custodian would do.
    try:
        column = arrow_array(values)
    except (pa.ArrowException, OverflowError, CannotMake):
        column = pa.array([None if value is None else str(value) for value in values])
    pq.write_table(pa.table({"x": column}), path)


FILES: dict[str, Callable[[Path, list[Any]], None]] = {
    "t.csv": _write_csv,
    "t.csv.gz": _write_csv,
    "t.csv.xz": _write_csv,
    "t.parquet": _write_parquet,
}


def file_reader(name: str, engine: str) -> Make:
    """Return how a file becomes a table, by one engine."""

    def make(values: list[Any], folder: Path, coding: Coding) -> Callable[[], Outcome]:
        schema = Schema(columns=(Column("x", coding),))
        path = folder / name
        _guarded(lambda: FILES[name](path, values))

        return lambda: _table_outcome(read_table(path, schema, engine=engine))

    return make


def relation_reader() -> Make:
    """Return how a DuckDB query becomes a table."""
    import duckdb

    def make(values: list[Any], folder: Path, coding: Coding) -> Callable[[], Outcome]:
        schema = Schema(columns=(Column("x", coding),))
        connection = duckdb.connect()
        table = _guarded(lambda: pa.table({"x": arrow_array(values)}))
        relation = _guarded(lambda: connection.from_arrow(table))
        return lambda: _table_outcome(Table(relation, schema))

    return make


def label_reader(kind: str) -> Make:
    """Return how the labels of a scikit-learn estimator become a column."""

    def make(values: list[Any], folder: Path, coding: Coding) -> Callable[[], Outcome]:
        schema = Schema(columns=(Column("feature", Integers(low=0, high=1)), Column("x", coding)))
        estimator = PrivateNaiveBayes(epsilon=1, schema=schema, target="x")
        labels = _guarded(lambda: COLUMNS[kind](values))
        features = pl.DataFrame({"feature": [0] * len(values)})
        return lambda: _table_outcome(estimator._table(features, labels))

    return make


def person_reader(kind: str) -> Make:
    """Return how identifiers say which records are one person's."""

    def make(values: list[Any], folder: Path, coding: Coding) -> Callable[[], Outcome]:
        identifiers = _guarded(lambda: COLUMNS[kind](values))

        def read() -> Outcome:
            intake = Intake(IntakeRules(codings={}, person="person", max_rows=1))
            _, persons = intake.encode({"person": column_of(identifiers)})
            intake.finish()
            return Outcome(persons.to_list())

        return read

    return make


def point_reader(kind: str) -> Make:
    """Return how coordinates become points."""
    bounds = [(-8, 8)]

    def make(values: list[Any], folder: Path, coding: Coding) -> Callable[[], Outcome]:
        if kind in FILES:
            _guarded(lambda: FILES[kind](folder / kind, values))
        else:
            source = _guarded(lambda: _points_source(kind, values))

        def read() -> Outcome:
            if kind in FILES:
                points = read_points(folder / kind, columns=["x"], bounds=bounds, outside="clamp")
            else:
                points = Points(source, bounds=bounds, outside="clamp")
            keys = [int(key) for block in points.counts.blocks(2**20) for key in block]
            return Outcome(keys, points.public.to_json())

        return read

    return make


def _points_source(kind: str, values: list[Any]) -> Any:
    if kind in FRAMES:
        frame = FRAMES[kind](values)
        return frame if kind.startswith("pyarrow") else frame[["x"]]
    if kind == "lists":
        return [[value] for value in values]
    return np.array([[value] for value in values], dtype=object if "objects" in kind else None)


def sequence_reader(kind: str) -> Make:
    """Return how sequences become codes: a value makes a sequence of it and a fixed symbol."""

    def make(values: list[Any], folder: Path, coding: Coding) -> Callable[[], Outcome]:
        text = any(isinstance(value, str) for value in values[:1])
        alphabet = Alphabet.of(["a", "b", "c d", "1", "ä"] if text else [0, 1, 2, 3, -7, 2024])
        listed = [[value, "a" if text else 1] for value in values]
        if kind == "file":
            path = folder / "s.txt"
            _guarded(lambda: path.write_text("".join(f"{a}\t{b}\n" for a, b in listed)))
            file = SequenceFile(path, separator="\t")
            return lambda: _coded_outcome(file.read(alphabet, leading=False)[0])
        source = _guarded(lambda: SEQUENCES[kind](listed))
        return lambda: _coded_outcome(code_sequences(source, alphabet))

    return make


SEQUENCES: dict[str, Callable[[list[list[Any]]], Any]] = {
    "lists": list,
    "numpy": np.array,
    "numpy objects": lambda listed: np.array(listed, dtype=object),
    "arrays": lambda listed: [np.array(sequence) for sequence in listed],
    "pandas": pd.Series,
    "polars": lambda listed: pl.Series(listed, strict=False),
    "pyarrow": pa.array,
}


def _coded_outcome(coded: Coded) -> Outcome:
    ends = np.cumsum(coded.lengths)[:-1]
    return Outcome([tuple(part.tolist()) for part in np.split(coded.codes, ends)])


# Pairs


#: What identifies persons, what are coordinates, and what are symbols.
PERSONS = ("identifiers", "texts", "floats", "wholes", "days", "stamps")
NUMBERS = ("wholes", "floats", "truths", "numerals", "decimals", "large", "identifiers")
SYMBOLS = ("wholes", "texts", "symbols", "identifiers")
SEQUENCED = (
    ("wholes", "symbols"),
    [1, 2, 3, -7, "a", "b", "1", np.int8(1), np.uint64(2), 2024, "ä"],
)


STRANGERS_EACH = 5


@dataclass(frozen=True)
class Reader:
    """A way in: how values become an input, and what of two outcomes must be the same."""

    name: str
    make: Make
    ordered: bool = True
    habits: tuple[str, ...] = tuple(HABITS)
    tame: tuple[tuple[str, ...], list[Any]] | None = None


def readers() -> Iterator[Reader]:
    """Yield every reader of tables, labels, persons, points and sequences with every input."""
    for kind in FRAMES:
        # pandas rounds large numbers to doubles and calls them whole again: nobody can see it.
        lost = ("large",) if kind == "pandas nullable" else ()
        # Polars makes null of a time stamp that stands beside a number.
        lost += ("gaps in stamps",) if kind == "polars" else ()
        habits = tuple(habit for habit in HABITS if habit not in lost)
        yield Reader(f"table/{kind}", frame_reader(kind), habits=habits)
    for name in FILES:
        for engine in ("memory", "duckdb"):
            yield Reader(f"file/{name}/{engine}", file_reader(name, engine))
    yield Reader("table/duckdb", relation_reader())
    for kind in COLUMNS:
        habits = tuple(h for h in HABITS if kind != "polars" or h != "gaps in stamps")
        yield Reader(f"labels/{kind}", label_reader(kind), habits=habits)
        yield Reader(f"persons/{kind}", person_reader(kind), habits=PERSONS)
    for kind in [*FRAMES, *FILES, "lists", "numpy", "numpy objects"]:
        yield Reader(f"points/{kind}", point_reader(kind), ordered=False, habits=NUMBERS)
    for kind in [*SEQUENCES, "file"]:
        yield Reader(f"sequences/{kind}", sequence_reader(kind), habits=SYMBOLS, tame=SEQUENCED)


def try_pairs(
    reader: Reader, generator: Generator, folder: Path, pairs: int
) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Try pairs of neighbours; return what happened how often, and what differs.

    Parameters
    ----------
    reader
        The way in.
    generator
        Chooses the records.
    folder
        Where files are written.
    pairs
        How many pairs.
    """
    tally: Counter[str] = Counter()
    found: list[dict[str, Any]] = []
    for name in ("one", "two"):
        (folder / name).mkdir(exist_ok=True)
    while sum(tally.values()) < pairs:
        name = str(generator.choice(list(LENIENT)))
        habits, strangers = reader.habits, STRANGERS
        if generator.random() < 0.6:
            # Records that the coding does not refuse, so that there is something to compare.
            tame, strangers = reader.tame or TAME.get(name, (habits, MILD))
            habits = tuple(habit for habit in habits if habit in tame) or habits
        habit = str(generator.choice(list(habits)))
        values = [HABITS[habit][i] for i in generator.integers(len(HABITS[habit]), size=6)]
        chosen = [strangers[i] for i in generator.integers(len(strangers), size=STRANGERS_EACH)]
        if reader.name.startswith("persons/"):
            # The strangers must be nobody who is there, however they are written.
            known = {text_of(stranger) for stranger in chosen}
            values = [value for value in values if text_of(value) not in known]
        try:
            mine = read_or_refuse(reader.make(values, folder / "one", LENIENT[name]))
        except CannotMake:
            tally["no input"] += 1
            continue
        if mine.records is None:
            tally["refused"] += 1
            continue
        for stranger in chosen:
            place = int(generator.integers(len(values) + 1))
            neighbour = [*values[:place], stranger, *values[place:]]
            try:
                theirs = read_or_refuse(reader.make(neighbour, folder / "two", LENIENT[name]))
            except CannotMake:
                tally["no input"] += 1
                continue
            if theirs.records is None:
                tally["refused"] += 1
                continue
            tally["compared"] += 1
            if not _alike(reader, mine, theirs, place):
                pair = {"values": values, "stranger": stranger, "place": place}
                found.append({"reader": reader.name, "coding": name, **pair})
    return tally, found


def _alike(reader: Reader, mine: Outcome, theirs: Outcome, place: int) -> bool:
    """Tell whether all records but the stranger, and everything public, are read alike."""
    assert mine.records is not None and theirs.records is not None
    if mine.public != theirs.public:
        return False
    if not reader.ordered:
        return not Counter(mine.records) - Counter(theirs.records)
    rest = theirs.records[:place] + theirs.records[place + 1 :]
    if reader.name.startswith("persons/"):
        return _partition(mine.records) == _partition(rest)
    return bool(mine.records == rest)


def _partition(persons: list[Any]) -> list[int]:
    """Return for each record the first one of the same person."""
    return [persons.index(person) for person in persons]
