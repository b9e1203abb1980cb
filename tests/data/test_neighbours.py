"""One record more or less changes how no other record is read, whatever way it comes in."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.data.schema import Column, Schema
from sfumato.data.table import Table, read_table
from sfumato.engines import files, grammar
from sfumato.engines.coding import Categories, Dates, Integers, Numbers
from sfumato.engines.errors import DataError
from sfumato.sklearn import PrivateNaiveBayes
from tests.data.neighbours import LENIENT, Reader, readers, try_pairs

READERS = list(readers())


def try_quietly(reader: Reader, folder, pairs: int, seed: int) -> Counter[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tally, found = try_pairs(reader, np.random.default_rng(seed), folder, pairs)
    assert not found
    return tally


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_one_record_more_changes_no_other_code_and_nothing_public(reader, tmp_path):
    try_quietly(reader, tmp_path, 15, 2)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_two_hundred_records_more_change_no_other_code(reader, tmp_path):
    tally = try_quietly(reader, tmp_path, 200, 1)
    # A test that compares nothing could not fail.
    assert tally["compared"] >= 20, tally


def test_one_label_does_not_change_how_labels_are_read():
    schema = {"x": (0, 1, 2), "y": Categories(values=("0", "1"), outside="other", missing="code")}
    model = PrivateNaiveBayes(epsilon=1, schema=Schema.from_dict(schema), target="y")
    labels = [1.0] * 60 + [0.0] * 40
    features = pl.DataFrame({"x": [0.5] * 101})

    def counts(y):
        return model._table(features.head(len(y)), y).counts.marginals([(1,)])[0].tolist()

    assert counts(np.array(labels)) == counts(labels) == [40, 60, 0, 0]
    assert counts([*labels, "?"]) == counts(np.array([*labels, "?"])) == [40, 60, 1, 0]
    assert counts(pd.Series([*labels, None])) == [40, 60, 0, 1]


@pytest.mark.parametrize("stranger", [None, "?", 2])
def test_one_record_does_not_change_how_a_column_of_truth_values_is_read(stranger):
    schema = Schema(columns=(Column("x", LENIENT["numbers as names"]),))
    truths = [True] * 60 + [False] * 40
    before, after = (
        Table(pd.DataFrame({"x": values}), schema).counts.marginals([(0,)])[0]
        for values in (truths, [*truths, stranger])
    )
    assert before.tolist()[:2] == after.tolist()[:2] == [40, 60]
    assert (after - before).sum() == 1


PARQUET_TYPES = {
    "timestamp s": pa.array([0, 1577836800, None], pa.timestamp("s")),
    "timestamp ms": pa.array([0, 1577836800000, None], pa.timestamp("ms")),
    "timestamp ns": pa.array([0, 1577836800000000000, None], pa.timestamp("ns")),
    "timestamp UTC": pa.array([0, 1577836800000, None], pa.timestamp("ms", "America/New_York")),
    "date32": pa.array([0, 18262, None], pa.int32()).cast(pa.date32()),
    "date64": pa.array([0, 1577836800000, None], pa.date64()),
    "decimal128": pa.array([None, 1, 2], pa.decimal128(20, 4)),
    "decimal256": pa.array([None, 1, 2], pa.decimal256(60, 4)),
    "duration": pa.array([0, 1, None], pa.duration("s")),
    "time32": pa.array([0, 1, None], pa.time32("s")),
    "time64": pa.array([0, 1, None], pa.time64("us")),
    "float16": pa.array(np.array([0.5, 1.0, 0.1], dtype=np.float16)),
    "float32": pa.array([0.1, 1.0, None], pa.float32()),
    "uint64": pa.array([2**64 - 1, 1, None], pa.uint64()),
    "bool": pa.array([True, False, None]),
    "null": pa.nulls(3),
    "binary": pa.array([b"a", b"1", None]),
    "fixed binary": pa.array([b"abcdefghijklmnop", b"1" * 16, None], pa.binary(16)),
    "large text": pa.array(["a", "1", None], pa.large_string()),
    "dictionary": pa.array(["a", "1", None]).dictionary_encode(),
    "list": pa.array([[1], [2], None]),
    "struct": pa.array([{"a": 1}, None, {"a": 2}]),
}


@pytest.mark.parametrize("kind", PARQUET_TYPES)
def test_both_engines_read_every_parquet_type_alike_or_both_refuse(kind, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": PARQUET_TYPES[kind]}), path)
    for name in ("names", "days as names", "wholes", "reals", "days"):
        schema = Schema(columns=(Column("x", LENIENT[name]),))
        outcomes = []
        for engine in ("memory", "duckdb"):
            try:
                outcomes.append(read_table(path, schema, engine=engine).counts.codes(0).tolist())
            except DataError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_a_row_longer_than_the_limit_is_refused_by_both_engines(tmp_path):
    path = tmp_path / "t.csv"
    schema = Schema(columns=(Column("x", Categories(values=("a",), outside="other")),))
    for length, fits in ((grammar.LONGEST - 3, True), (3 * 2**20, False)):
        path.write_text("n,x\n1,a\n1," + "b" * length + "\n")
        for engine in ("memory", "duckdb"):
            if fits:
                codes = read_table(path, schema, engine=engine).counts.codes(0)
                assert codes.tolist() == [0, 1]
            else:
                with pytest.raises(DataError, match=r"line 3: .* more than 1,048,576 bytes"):
                    read_table(path, schema, engine=engine)


def test_the_engine_goes_by_what_is_declared_and_not_by_the_size_of_the_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    file = files.TableFile(path)
    assert file.choose_engine("auto", None, 1) == file.choose_engine("auto", 1000, 1) == "memory"
    assert file.choose_engine("auto", 10**9, 2) == "duckdb"
    monkeypatch.setattr(files, "IN_MEMORY", 1)
    assert file.choose_engine("memory", None, 1) == "memory"
    assert file.choose_engine("auto", 10**9, 2) == "duckdb"
    with pytest.raises(DataError, match=r"--engine duckdb"):
        file.choose_engine("auto", 1000, 1)
    with pytest.raises(ValueError, match="engine must be"):
        read_table(path, {"x": (0, 9, 3)}, engine="spark")


@pytest.mark.parametrize("labels", [["f", 4711.25], [4711, "m"], [4711, object()]])
def test_no_error_about_labels_contains_one(labels):
    model = PrivateNaiveBayes(epsilon=1, schema={"x": ["a"], "y": ["f", "m"]}, target="y")
    with pytest.raises(sf.DataError) as caught:
        model.fit(pl.DataFrame({"x": ["a", "a"]}), labels)
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


def test_identifiers_that_floating_point_may_have_merged_are_refused():
    declared = {"n": (0, 9, 3)}
    schema = Schema.from_dict(declared, unit="person", person="p", max_rows=1)
    ids = [2**53, 2**53 + 1]
    table = Table(pd.DataFrame({"p": ids, "n": [1, 2]}), schema)
    assert table.counts.rows == 2
    frame = pd.DataFrame({"p": [*map(float, ids)], "n": [1, 2]})
    with pytest.raises(DataError, match=r"column 'p', row 1 and 1 more: the identifier is stored"):
        Table(frame, schema)
    # A text of digits is no number, however large it looks.
    assert Table(pd.DataFrame({"p": ["9e20", "90e19"], "n": [1, 2]}), schema).counts.rows == 2


def test_spans_of_time_are_refused_as_a_whole():
    schema = Schema(columns=(Column("x", LENIENT["names"]),))
    frame = pd.DataFrame({"x": np.array([True, np.timedelta64(3, "D")])})
    with pytest.raises(DataError, match=r"column 'x': the values are stored as durations"):
        Table(frame, schema)


def test_numbers_dates_and_names_of_one_column_do_not_depend_on_the_declared_kind_of_others():
    frame = pd.DataFrame({"a": [1, 2], "b": ["1", "x"]})
    columns = (Column("a", Integers(low=0, high=3)), Column("b", LENIENT["names"]))
    table = Table(frame, Schema(columns=columns))
    assert [table.counts.codes(i).tolist() for i in (0, 1)] == [[1, 2], [2, 7]]
    assert Numbers(edges=(0, 1)).encode(pl.Series(["true"])).codes.tolist() == [0]
    assert not Dates(low=pd.Timestamp("2020-01-01").date(), high=pd.Timestamp("2020-01-02").date()
                     ).encode(pl.Series(["2020-01-01T10:00"])).faults  # fmt: skip


def test_labels_of_two_axes_are_refused_and_not_read_as_something_else():
    model = PrivateNaiveBayes(
        epsilon=1,
        schema={"x": ["a"], "y": {"kind": "category", "values": ["f", "m"], "outside": "other"}},
        target="y",
    )
    X = pl.DataFrame({"x": ["a"]})
    for labels in (np.array([["f"]]), pd.DataFrame({"f": ["m"]}), {"f": 1}, {"f"}, "f"):
        with pytest.raises(
            sf.DataError, match="must be a column, a one-dimensional array or a list"
        ):
            model._table(X, labels)


def test_names_that_differ_in_capital_letters_only_are_refused_in_a_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"X": ["a"], "x": ["b"]}), path)
    for engine in ("memory", "duckdb"):
        with pytest.raises(DataError, match="apart from upper and lower case"):
            read_table(path, {"x": ["a", "b"]}, engine=engine)


def test_time_stamps_that_duckdb_cannot_count_are_refused_by_both_engines(tmp_path):
    path = tmp_path / "t.parquet"
    column = pa.array([2**61, 0], pa.timestamp("ms"))
    pq.write_table(pa.table({"x": column}), path)
    for engine in ("memory", "duckdb"):
        with pytest.raises(DataError, match="cannot be read as a Parquet file"):
            read_table(path, Schema(columns=(Column("x", LENIENT["names"]),)), engine=engine)


def test_the_largest_whole_numbers_of_duckdb_stay_large():
    import duckdb

    connection = duckdb.connect()
    relation = connection.sql(f"SELECT {2**128 - 1}::UHUGEINT AS x")
    table = Table(relation, {"x": Numbers(edges=(0, 1, 2), outside="clamp")})
    assert table.counts.codes(0).tolist() == [1]
