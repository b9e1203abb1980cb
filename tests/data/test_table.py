"""A table takes any frame, shows nothing private, and bounds what one person can change."""

import copy
import math
import pickle
import subprocess
import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data import DataError, Public, Schema, Table, TablePublic, read_table

SECRET = "canary-4711"

SCHEMA = Schema.from_dict({"age": (0, 120, 16), "sex": ["f", "m"]})


def codes(table: Table) -> list[list[int]]:
    return [table.counts.codes(c).tolist() for c in range(len(table.public.columns))]


NASTY = Schema.from_dict(
    {
        "number": {
            "kind": "number",
            "low": 0,
            "high": 1,
            "bins": 4,
            "missing": "code",
            "outside": "clamp",
        },
        "whole": {"kind": "integer", "low": 0, "high": 3, "missing": "code", "outside": "clamp"},
        "name": {"kind": "category", "values": ["a", "b"], "missing": "code", "outside": "other"},
        "flag": {"kind": "boolean", "missing": "code"},
        "day": {"kind": "date", "low": "2020-01-01", "high": "2020-01-04", "missing": "code"},
    }
)
VALUES = {
    "number": [0.0, 0.25, math.inf, None, 1.0],
    "whole": [0, 3, None, -4, 9],
    "name": ["a", " b", None, "c", "a"],
    "flag": [True, None, False, True, False],
    "day": [date(2020, 1, 1), None, date(2020, 1, 4), date(2020, 1, 2), date(2020, 1, 3)],
}
EXPECTED = [[0, 1, 3, 4, 3], [0, 3, 4, 0, 3], [0, 1, 3, 2, 0], [1, 2, 0, 1, 0], [0, 4, 3, 1, 2]]


def frames():
    polars = pl.DataFrame(VALUES)
    yield "polars", polars
    yield "lazy", polars.lazy()
    yield "categorical", polars.with_columns(pl.col("name").cast(pl.Categorical))
    yield "arrow", pa.table(VALUES)
    yield (
        "arrow dictionary",
        pa.table({**VALUES, "name": pa.array(VALUES["name"]).dictionary_encode()}),
    )
    yield "pandas", pd.DataFrame(VALUES)
    yield "pandas objects", pd.DataFrame(VALUES, dtype=object)
    nullable = {"number": "Float64", "whole": "Int64", "name": "string", "flag": "boolean"}
    yield "pandas nullable", pd.DataFrame(VALUES).astype(nullable)
    yield "pandas arrow", pa.table(VALUES).to_pandas(types_mapper=pd.ArrowDtype)
    yield "pandas category", pd.DataFrame(VALUES).astype({"name": "category", "whole": "category"})
    times = [None if d is None else datetime(d.year, d.month, d.day, 23) for d in VALUES["day"]]
    yield "pandas times", pd.DataFrame({**VALUES, "day": pd.to_datetime(pd.Series(times))})
    yield "strings", polars.with_columns(pl.all().cast(pl.String))
    mixed = [0, "0.25", math.inf, float("nan"), Decimal("1.0")]
    yield "mixed", pd.DataFrame({**VALUES, "number": pd.Series(mixed, dtype=object)})
    yield "nan", polars.with_columns(number=pl.Series([0.0, 0.25, math.inf, math.nan, 1.0]))
    zoned = pd.to_datetime(pd.Series(times)).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    yield "pandas zones", pd.DataFrame({**VALUES, "day": zoned})
    yield (
        "zones",
        polars.with_columns(
            day=pl.Series(times).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
        ),
    )
    yield "odd index", pd.DataFrame(VALUES, index=[5, 5, 1, 0, 9])


@pytest.mark.parametrize(("kind", "frame"), [pytest.param(k, f, id=k) for k, f in frames()])
def test_every_kind_of_frame_gives_the_same_codes(kind, frame):
    table = Table(frame, NASTY)
    assert codes(table) == EXPECTED
    assert table.digest(b"k" * 32) == Table(pl.DataFrame(VALUES), NASTY).digest(b"k" * 32)


def test_a_duckdb_relation_is_a_frame_too():
    import duckdb

    arrow = pa.table(VALUES)
    assert codes(Table(duckdb.from_arrow(arrow), NASTY)) == EXPECTED


def test_files_are_read_by_either_engine(tmp_path):
    pl.DataFrame(VALUES).write_csv(tmp_path / "t.csv")
    pl.DataFrame(VALUES).write_csv(tmp_path / "t.tsv", separator="\t")
    pl.DataFrame(VALUES).write_parquet(tmp_path / "t.parquet")
    NASTY.write(tmp_path / "t.schema.toml")
    digests = set()
    for name in ("t.csv", "t.tsv", "t.parquet"):
        for engine in ("auto", "memory", "duckdb"):
            table = read_table(tmp_path / name, schema=tmp_path / "t.schema.toml", engine=engine)
            assert codes(table) == EXPECTED
            digests.add(table.digest(b"k" * 32))
    assert len(digests) == 1
    with pytest.raises(ValueError, match="engine must be"):
        read_table(tmp_path / "t.csv", NASTY, engine="spark")
    with pytest.raises(FileNotFoundError, match="no file"):
        read_table(tmp_path / "absent.csv", NASTY)
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"\.parquet"):
        read_table(tmp_path / "t.xlsx", NASTY)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="is empty"):
        read_table(tmp_path / "empty.csv", NASTY)


def test_problems_are_collected_and_name_field_row_and_remedy_but_no_value():
    frame = pl.DataFrame({"age": [5, 4711, None], "sex": ["f", SECRET, "m"]})
    with pytest.raises(DataError) as caught:
        Table(frame, SCHEMA)
    text = str(caught.value)
    assert "column 'age', row 2" in text
    assert "column 'age', row 3" in text
    assert "column 'sex', row 2" in text
    assert "0 to 120" in text
    assert "'f', 'm'" in text
    assert 'outside = "clamp"' in text
    assert "4711" not in text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_only_the_first_problems_are_listed():
    schema = Schema.from_dict({f"c{i}": bool for i in range(30)})
    with pytest.raises(DataError, match="and 20 more problems") as caught:
        Table(pl.DataFrame({f"c{i}": [SECRET] for i in range(30)}), schema)
    assert len(caught.value.problems) == 30
    assert str(caught.value).count("column") <= 20


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": [1, SECRET], "sex": ["f", "m"]}),
        pd.DataFrame({"age": [1, object()], "sex": ["f", SECRET]}),
        pd.DataFrame({"age": [1, 2], "sex": ["f", SECRET + "\ud800"]}, dtype=object),
        pl.DataFrame({"age": ["1", SECRET], "sex": ["f", "m"]}),
        pl.LazyFrame({"age": ["1", SECRET], "sex": ["f", "m"]}).with_columns(
            pl.col("age").cast(pl.Int64)
        ),
        pa.table({"age": ["1", SECRET], "sex": ["f", "m"]}),
    ],
    ids=["pandas", "object", "surrogate", "polars", "lazy", "arrow"],
)
def test_no_error_of_a_frame_contains_a_value(frame):
    with pytest.raises(DataError) as caught:
        Table(frame, SCHEMA)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {error!r} {error.args!r}"
        error = error.__cause__ or error.__context__


class Hostile:
    """An object whose every use would tell the secret."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(SECRET)


ODD = {
    "hostile": lambda: pd.DataFrame({"x": pd.Series([1, Hostile()], dtype=object)}),
    "object": lambda: pl.DataFrame({"x": pl.Series([Hostile()], dtype=pl.Object)}),
    "list": lambda: pl.DataFrame({"x": [[SECRET]]}),
    "struct": lambda: pl.DataFrame({"x": [{"a": SECRET}]}),
    "duration": lambda: pl.DataFrame({"x": [timedelta(4711)]}),
    "bytes": lambda: pl.DataFrame({"x": [b"\xff" + SECRET.encode()]}),
    "period": lambda: pd.DataFrame({"x": pd.period_range("2020", periods=2)}),
    "complex": lambda: pd.DataFrame({"x": [4711 + 2j]}),
    "decimal256": lambda: pa.table({"x": pa.array([Decimal("4711.5")], pa.decimal256(60, 3))}),
    "map": lambda: pa.table({"x": pa.array([[("a", SECRET)]], pa.map_(pa.string(), pa.string()))}),
    "endless date": lambda: relation("'infinity'::date"),
    "endless time": lambda: relation("'infinity'::timestamp"),
    "old date": lambda: relation("'0044-03-15 (BC)'::date"),
    "interval": lambda: relation("interval 4711 day"),
    "huge": lambda: relation("170141183460469231731687303715884105727::hugeint"),
    "duckdb list": lambda: relation("[4711]"),
}


def relation(sql: str):
    import duckdb

    return duckdb.sql(f"SELECT {sql} AS x")


@pytest.mark.parametrize(
    "short",
    [(0, 10, 2), (0, 10), ["a"], [1], bool, (date(2000, 1, 1), date(2001, 1, 1), 4)],
    ids=["number", "integer", "category", "code", "boolean", "date"],
)
@pytest.mark.parametrize("odd", ODD)
def test_columns_of_types_that_fit_nothing_are_refused_in_words(odd, short):
    with pytest.raises(DataError, match="column 'x', row") as caught:
        Table(ODD[odd](), Schema.from_dict({"x": short}))
    error: BaseException | None = caught.value
    while error is not None:
        assert "4711" not in f"{error} {error!r}"
        error = error.__cause__ or error.__context__


def test_columns_missing_or_there_twice_are_refused():
    with pytest.raises(DataError, match="no such column"):
        Table(pl.DataFrame({"Age": [1], "sex": ["f"]}), SCHEMA)
    twice = pd.DataFrame([[1, 2, "f"]], columns=["age", "age", "sex"])
    with pytest.raises(DataError, match="several columns"):
        Table(twice, SCHEMA)
    unused = pd.DataFrame([[1, 2, 3, "f"]], columns=["x", "x", "age", "sex"])
    assert codes(Table(unused, SCHEMA)) == [[0], [0]]
    with pytest.raises(DataError, match="no such column"):
        Table(pl.DataFrame(), SCHEMA)
    with pytest.raises(TypeError, match="pandas, Polars or PyArrow"):
        Table([1, 2], SCHEMA)
    with pytest.raises(DataError, match="read_table"):
        Table("patients.csv", SCHEMA)


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_and_tiny_tables(rows):
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        table = Table(frame({"age": [7] * rows, "sex": ["m"] * rows}), SCHEMA)
        assert table.counts.rows == rows
        assert table.counts.marginals([(0, 1)])[0].sum() == rows
        assert table.counts.distinct((0, 1))[1].tolist() == [1] * rows


def test_a_table_shows_only_what_is_public_and_does_not_change():
    frame = pl.DataFrame({"age": [1, 2, 3], "sex": ["f", "m", "f"]})
    table = Table(frame, SCHEMA)
    assert repr(table) == "Table({'age': 16, 'sex': 2}, unit='row', relation='add_remove')"
    assert table.public.rows is None
    with pytest.raises(AttributeError, match="cannot be changed"):
        table.extra = 1
    for attempt in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            attempt(table)
    replaced = Schema.from_dict({"age": (0, 120, 16)}, relation="replace_one")
    assert Table(frame, replaced).public.rows == 3


def test_the_public_part_survives_its_document():
    for relation in ("add_remove", "replace_one"):
        schema = Schema.from_dict({"age": (0, 120, 16)}, relation=relation, rows_about=100)
        public = Table(pl.DataFrame({"age": [1, 2]}), schema).public
        again = Public.from_json(public.to_json())
        assert again == public
        assert isinstance(again, TablePublic)
        assert ("the number of records" in public.assumptions()) == (relation == "replace_one")
    with pytest.raises(ValueError, match="kind of data"):
        Public.from_json({"kind": "soup"})
    with pytest.raises(ValueError, match="private under add/remove"):
        TablePublic.of(SCHEMA, rows=3)


def test_a_public_number_of_rows_needs_one_row_a_unit():
    @dataclass(frozen=True, kw_only=True)
    class Pile(Public):
        def _document(self):
            return {}

        @classmethod
        def _from_document(cls, document):
            return cls(**document)

    with pytest.raises(ValueError, match="only if each unit has one row; got contribution = 2"):
        Pile(unit="person", relation="replace_one", contribution=2, rows=5)
    Pile(unit="person", relation="replace_one", contribution=1, rows=5)
    Pile(unit="person", relation="add_remove", contribution=2)


def test_what_is_declared_about_persons_is_among_the_assumptions():
    unchecked = "that no person has more than one row (declared, not checked)"
    told = "which rows belong to one person is told by column id"
    columns = {"x": bool}

    def said(**options):
        return TablePublic.of(Schema.from_dict(columns, **options)).assumptions()[1:]

    assert said(unit="row") == ()
    assert said(unit="person") == (unchecked,)
    assert said(unit="person", person="id") == (told,)
    assert said(unit="person", person="id", max_rows=3) == (told,)


def test_the_digest_does_not_depend_on_how_values_may_be_joined():
    column = {"kind": "category", "values": ["a", "b", "c"]}
    frame = pl.DataFrame({"x": ["a", "c", "b"]})
    plain = Table(frame, {"x": column})
    joined = Table(frame, {"x": {**column, "taxonomy": [["a", "b"]]}})
    assert plain.public != joined.public
    assert plain.digest(b"k" * 32) == joined.digest(b"k" * 32)


def test_the_digest_depends_on_key_data_and_schema():
    frame = pl.DataFrame({"age": [1, 2, 3], "sex": ["f", "m", "f"]})
    table = Table(frame, SCHEMA)
    other = Table(frame.with_columns(sex=pl.Series(["f", "f", "f"])), SCHEMA)
    wider = Table(frame, Schema.from_dict({"age": (0, 121, 16), "sex": ["f", "m"]}))
    digests = [t.digest(k * 32) for t in (table, other, wider) for k in (b"a", b"b")]
    assert len(set(digests)) == 6
    assert table.digest(b"a" * 32) == digests[0]
    with pytest.raises(ValueError, match="at least 16"):
        table.digest(b"short")


PERSONS = Schema.from_dict(
    {"x": ["a", "b", "c"], "y": bool}, unit="person", person="id", max_rows=2
)


def test_the_first_rows_of_each_person_are_kept():
    frame = pl.DataFrame({"id": [1, 2, 1, 1, 2], "x": ["a", "b", "b", "c", "c"], "y": [True] * 5})
    table = Table(frame, PERSONS)
    assert codes(table)[0] == [0, 1, 1, 2]
    assert table.dropped_rows == 1
    assert table.public.contribution == 2
    assert "dropped" not in str(table.public.to_json())
    gaps = frame.with_columns(id=pl.Series(["1", None, "", "2", "3"]))
    with pytest.raises(DataError, match="column 'id', row 2 and 1 more: the row has no identifier"):
        Table(gaps, PERSONS)
    lists = frame.with_columns(id=pl.Series([[1]] * 5))
    with pytest.raises(DataError, match="the row has no identifier"):
        Table(lists, PERSONS)


def test_a_query_in_no_fixed_order_cannot_be_bounded():
    import duckdb
    import narwhals as nw

    frame = pl.DataFrame({"id": [1, 1, 1], "x": ["a", "b", "c"], "y": [True] * 3})
    expected = codes(Table(frame, PERSONS))
    for eager in (frame.to_pandas(), frame.to_arrow(), nw.from_native(frame)):
        assert codes(Table(eager, PERSONS)) == expected
    for lazy in (frame.lazy(), nw.from_native(frame.lazy())):
        with pytest.raises(DataError, match=r"other rows on each run.*collect\(\) it first"):
            Table(lazy, PERSONS)
    query = duckdb.from_arrow(frame.to_arrow())
    with pytest.raises(DataError, match=r"other rows on each run.*Parquet file or fetch"):
        Table(query, PERSONS)
    free = Schema.from_dict({"x": ["a", "b", "c"], "y": bool}, unit="person")
    assert codes(Table(query, free)) == codes(Table(frame.lazy(), free)) == [[0, 1, 2], [1, 1, 1]]


def test_one_person_is_one_however_the_identifier_is_written():
    written = [" 7", "7", "7 "]
    frame = pl.DataFrame({"id": written, "x": ["a"] * 3, "y": [True] * 3})
    assert Table(frame, PERSONS).counts.rows == 2
    floats = pl.DataFrame({"id": [0.0, -0.0, 0.0], "x": ["a"] * 3, "y": [True] * 3})
    assert Table(floats, PERSONS).counts.rows == 2


@settings(deadline=None, max_examples=30)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.booleans()), max_size=15),
    most=st.integers(1, 3),
    order=st.randoms(use_true_random=False),
)
def test_one_person_changes_every_marginal_by_at_most_the_bound(rows, most, order):
    schema = Schema.from_dict(
        {"x": ["a", "b", "c"], "y": bool}, unit="person", person="id", max_rows=most
    )
    types = {"id": pl.Int64, "x": pl.String, "y": pl.Boolean}

    def build(chosen):
        return Table(pl.DataFrame(chosen, schema=types, orient="row"), schema).counts

    order.shuffle(rows)
    sets = [s for k in range(3) for s in combinations(range(2), k)]
    everyone = build(rows).marginals(sets)
    for person in range(4):
        others = build([row for row in rows if row[0] != person]).marginals(sets)
        for one, two in zip(everyone, others, strict=True):
            assert np.abs(one - two).sum() <= most


def test_made_up_tables_have_the_shape_and_nothing_of_the_data():
    frame = pl.DataFrame(VALUES)
    public = Table(frame, NASTY).public
    rehearsal = public.make_synthetic(500, np.random.default_rng(0))
    assert rehearsal.public == public
    assert rehearsal.counts.rows == 500
    for column, size in enumerate(public.sizes):
        assert set(rehearsal.counts.codes(column).tolist()) == set(range(size))
    replaced = TablePublic.of(Schema.from_dict({"x": bool}, relation="replace_one"), rows=9)
    assert replaced.make_synthetic(9, np.random.default_rng(0)).public == replaced
    assert replaced.make_synthetic(0, np.random.default_rng(0)).counts.rows == 0


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_synthetic_codes_become_the_custodians_columns_and_read_back_alike(backend):
    public = Table(pl.DataFrame(VALUES), NASTY).public
    made_up = public.make_synthetic(300, np.random.default_rng(3)).counts
    wanted = [made_up.codes(c) for c in range(len(public.sizes))]
    frame = public.frame(wanted, np.random.default_rng(4), backend=backend)
    assert codes(Table(frame, NASTY)) == [column.tolist() for column in wanted]
    stacked = public.frame(np.stack(wanted, axis=1), np.random.default_rng(4), backend=backend)
    assert stacked.equals(frame)
    empty = public.frame(
        np.zeros((0, 5), dtype=np.int64), np.random.default_rng(4), backend=backend
    )
    assert len(empty) == 0


def test_synthetic_columns_have_the_types_a_custodian_expects():
    schema = Schema.from_dict(
        {"age": (0, 120, 16), "share": (0, 1, 4), "n": (0, 9), "sex": ["f", "m"], "ok": bool}
    )
    frame = TablePublic.of(schema).frame(np.ones((4, 5), dtype=int), np.random.default_rng(0))
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Int64, pl.String, pl.Boolean]
    assert frame["age"].is_between(8, 14).all()
    with pytest.raises(ValueError, match="there are 5 columns"):
        TablePublic.of(schema).frame(np.ones((4, 4), dtype=int), np.random.default_rng(0))
    with pytest.raises(ValueError, match="codes must be"):
        TablePublic.of(schema).frame(np.full((4, 5), 99), np.random.default_rng(0))
    with pytest.raises(ValueError, match="backend must be"):
        TablePublic.of(schema).frame(np.ones((4, 5), dtype=int), np.random.default_rng(0), "dask")


def test_importing_the_data_layer_imports_nothing_heavy():
    heavy = ("narwhals", "polars", "pandas", "pyarrow", "numba", "duckdb", "scipy")
    program = f"import sys, sfumato.data; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
