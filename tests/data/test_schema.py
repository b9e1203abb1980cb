"""A schema is a public value that survives its file, and a draft is not yet one."""

import json
import math
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data import DataError, Schema, Table
from sfumato.data.schema import Column
from sfumato.data.toml import MARK
from sfumato.engines import files
from sfumato.engines.coding import Booleans, Categories, Dates, Integers, Numbers, Steps, Times
from sfumato.engines.coding.categories import NOT_A_NUMBER


def test_a_file_that_protects_persons_must_say_how_many_rows_they_have(tmp_path):
    file = tmp_path / "x.schema.toml"
    for more in ("", 'person = "who"\n'):
        file.write_text(
            f'[table]\nunit = "person"\n{more}[columns.a]\nkind = "category"\nvalues = ["x"]\n'
        )
        with pytest.raises(ValueError, match="max_rows = 1 if no person has more than one row"):
            Schema.read(file)
    text = file.read_text().replace('unit = "person"', 'unit = "person"\nmax_rows = 1')
    file.write_text(text)
    assert Schema.read(file).max_rows == 1


def test_short_forms_say_what_they_mean():
    schema = Schema.from_dict(
        {
            "age": (0, 120, 16),
            "share": (0, 1, 8),
            "sex": ["f", "m"],
            "rank": [3, 1, 2],
            "smoker": bool,
            "smoked": [True, False],
            "children": (0, 9),
            "visits": range(1, 5),
            "born": (date(1900, 1, 1), date(2024, 12, 31), 25),
            "dose": {"kind": "number", "edges": [0, 1.5, 10], "outside": "clamp"},
            "code": Categories(values=("x",), outside="other"),
        }
    )
    assert schema.sizes == (16, 8, 2, 3, 2, 2, 10, 4, 25, 2, 2)
    assert schema["age"].coding == Numbers.equal(0, 120, 16, decimals=0)
    assert schema["share"].coding == Numbers.equal(0, 1, 8)
    assert schema["children"].coding == Integers(low=0, high=9)
    assert schema["visits"].coding == Integers(low=1, high=4)
    assert schema["smoked"].coding == Booleans()
    assert isinstance(schema["born"].coding, Dates)
    assert schema.unit == "row"
    assert schema.relation == "add_remove"
    assert schema.confirmed
    assert hash(schema) == hash(Schema.from_json(schema.to_json()))


@pytest.mark.parametrize(
    "short",
    [
        [],
        ["a", "a"],
        [0.5, 1.5],
        (0.0, 1.0),
        (1, 0, 3),
        (0, 1, 0),
        ("a", "b"),
        7,
        (0, 1, 2.5),
        [True],
    ],
    ids=str,
)
def test_a_wrong_short_form_names_the_column(short):
    with pytest.raises(ValueError, match="column 'x': "):
        Schema.from_dict({"x": short})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"unit": "household"}, "unit must be one of"),
        ({"unit": "edge"}, '"row" or "person"'),
        ({"relation": "swap"}, "relation must be one of"),
        ({"person": "id"}, 'unit = "person"'),
        ({"max_rows": 3}, 'unit = "person"'),
        ({"unit": "person", "max_rows": 3}, "needs person"),
        ({"unit": "person", "person": "id", "max_rows": 0}, "from 1"),
        ({"unit": "person", "person": "id", "max_rows": 2, "relation": "replace_one"}, "one row"),
        ({"rows_about": -1}, "rows_about"),
    ],
)
def test_unit_person_and_bound_must_agree(options, reason):
    with pytest.raises(ValueError, match=reason):
        Schema.from_dict({"x": ["a"]}, **options)


def test_a_schema_needs_columns_with_names_of_their_own():
    with pytest.raises(ValueError, match="one or more columns"):
        Schema.from_dict({})
    column = Column("x", Booleans())
    with pytest.raises(ValueError, match="distinct names"):
        Schema(columns=(column, column))


def test_a_schema_does_not_change():
    schema = Schema.from_dict({"x": ["a"]})
    with pytest.raises(AttributeError):
        schema.unit = "person"
    with pytest.raises(AttributeError):
        schema["x"].coding.values = ("b",)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(
    lambda t: t not in ("\0", *NOT_A_NUMBER)
)
codings = st.one_of(
    st.builds(
        Categories,
        values=st.lists(texts, min_size=1, max_size=4, unique=True).map(tuple),
        missing=st.sampled_from(["refuse", "code"]),
        outside=st.sampled_from(["refuse", "other"]),
    ),
    st.builds(
        lambda values: Categories(values=tuple(values), taxonomy=((tuple(values[1:]), values[0]),)),
        st.lists(texts, min_size=3, max_size=5, unique=True),
    ),
    st.builds(
        lambda edges, outside: Numbers(edges=tuple(sorted(edges)), outside=outside),
        st.sets(
            st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
            min_size=2,
            max_size=5,
        ),
        st.sampled_from(["refuse", "clamp"]),
    ),
    st.builds(
        lambda low, span: Integers(low=low, high=low + span),
        st.integers(-(2**62), 2**62),
        st.integers(0, 50),
    ),
    st.builds(Booleans, missing=st.sampled_from(["refuse", "code"])),
    st.builds(lambda low: Dates(low=low, high=low), st.dates()),
)


@given(st.dictionaries(texts, codings, min_size=1, max_size=4))
def test_any_schema_survives_its_file_and_its_document(tmp_path_factory, columns):
    schema = Schema.from_dict(columns, unit="person", person='the "id"', max_rows=4, rows_about=9)
    path = tmp_path_factory.mktemp("schema") / "x.schema.toml"
    schema.write(path)
    assert Schema.read(path) == schema
    assert Schema.from_json(schema.to_json()) == schema
    assert Schema.of(path) == schema
    sorted_keys = json.loads(json.dumps(schema.to_json(), sort_keys=True))
    assert Schema.from_json(sorted_keys) == schema
    assert Schema.from_json(json.loads(schema.canonical())) == schema


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[columns.x]\nkind = 'number'", "column 'x'.*low, high and bins"),
        ("[columns.x]\nkind = 'boolean'\ncolour = 1", "column 'x'.*colour"),
        ("[table]\nepsilon = 1\n[columns.x]\nkind = 'boolean'", "epsilon"),
        ("[tables]\n[columns.x]\nkind = 'boolean'", "tables"),
        ("x = ", "x.toml"),
        ("[table]", "columns"),
        ("[table]\nunit = ''\n[columns.x]\nkind = 'boolean'", "several rows"),
        ("[columns.x]\nkind = 'boolean'", "several rows"),
        ("[columns]\nx = 3", "column 'x'"),
        ("[columns.x]\nkind = 'number'\nlow = 0\nhigh = 1\nbins = 'many'", "column 'x'"),
        ("[columns.x]\nkind = 'number'\nlow = 0\nhigh = inf\nbins = 3", "columns.x.high"),
    ],
)
def test_a_wrong_file_is_refused_with_a_reason(tmp_path, text, reason):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=reason):
        Schema.read(path)
    with pytest.raises(FileNotFoundError, match="no schema file"):
        Schema.read(tmp_path / "absent.toml")


FRAME = pl.DataFrame(
    {
        "age": [18, 93, 40, 41],
        "weight": [50.5, 99.25, None, 70.0],
        "sex": ["f", "m", "m", "f"],
        "smoker": [True, False, None, True],
        "children": [0, 1, 2, 3],
        "seen": [date(2020, 1, 1), date(2024, 1, 1), date(2021, 1, 1), date(2022, 1, 1)],
        "nothing": [None, None, None, None],
    }
)


def test_a_draft_marks_what_it_inferred_and_asks_first_about_persons(tmp_path):
    draft = Schema.draft(FRAME)
    assert not draft.confirmed
    assert draft.unit is None
    assert draft.left_out == ("nothing",)
    assert {c.name: c.coding.kind for c in draft.columns} == {
        "age": "integer",
        "weight": "number",
        "sex": "category",
        "smoker": "boolean",
        "children": "integer",
        "seen": "date",
    }
    assert draft.inferred["weight"] == ("kind", "low", "high", "step", "missing")
    path = tmp_path / "draft.toml"
    draft.write(path)
    text = path.read_text()
    assert text.index("can one person have several rows") < text.index("[columns")
    assert f"low = 18{MARK}" in text
    assert f'values = ["f", "m"]{MARK}' in text
    assert Schema.read(path) == draft


def test_a_draft_keeps_decimals_leading_zeros_and_times_of_day(tmp_path):
    moments = [datetime(2024, 2, 29, 18, minute) for minute in (0, 30, 45)]
    frame = pl.DataFrame(
        {
            "price": ["0.30", "99.25", "7.00"],
            "zip": ["00501", "10001", "99950"],
            "lot": ["007", "12", "1234"],
            "seen": moments,
            "income": [0, 3_000_000_000, 5],
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    draft = Schema.draft(tmp_path / "t.csv")
    codings = {column.name: column.coding for column in draft.columns}
    assert codings == {
        "price": Steps(low=0.3, high=99.25, step=0.01),
        "zip": Integers(low=501, high=99_950, digits=5),
        "lot": Categories(values=("007", "12", "1234")),
        "seen": Times(low=moments[0], high=moments[2], step=60),
        # More than a million values: rounded, and zero stays zero.
        "income": Steps(low=0, high=3_000_000_000, step=10_000),
    }
    draft.write(tmp_path / "t.toml")
    assert Schema.read(tmp_path / "t.toml") == draft
    again = sf.read_table(tmp_path / "t.csv", draft.confirm(unit="row"))
    codes = np.array([again.counts.codes(column) for column in range(5)]).T
    rows = again.public.frame(codes, np.random.default_rng(0))
    assert rows["zip"].to_list() == ["00501", "10001", "99950"]
    assert rows["price"].to_list() == [0.3, 99.25, 7.0]
    assert rows["seen"].to_list() == moments
    assert rows["lot"].to_list() == ["007", "12", "1234"]
    assert rows["income"].to_list() == [0, 3_000_000_000, 0]


def test_a_draft_of_a_csv_file_is_the_same(tmp_path):
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_parquet(tmp_path / "t.parquet")
    assert Schema.draft(tmp_path / "t.csv") == Schema.draft(FRAME)
    assert Schema.draft(str(tmp_path / "t.parquet")) == Schema.draft(FRAME)


def test_a_draft_of_a_query_is_the_same():
    import duckdb

    assert Schema.draft(duckdb.from_arrow(FRAME.to_arrow())) == Schema.draft(FRAME)
    assert Schema.draft(FRAME.lazy()) == Schema.draft(FRAME)


def test_a_file_too_large_for_memory_is_not_drafted_from(tmp_path, monkeypatch):
    FRAME.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(files, "IN_MEMORY", 10)
    with pytest.raises(DataError, match=r"too large to draft a schema from.*some of its rows"):
        Schema.draft(tmp_path / "t.csv")


def test_a_draft_leaves_a_column_out_that_names_its_missing_values_as_we_do():
    frame = pl.DataFrame({"x": ["(missing)", None, "a"], "y": ["(missing)", "b", "a"]})
    draft = Schema.draft(frame)
    assert draft.left_out == ("x",)
    assert draft.names == ("y",)


def test_a_draft_takes_a_few_words_among_many_numbers_for_missing():
    numbers = [str(i / 7) for i in range(200)]
    draft = Schema.draft(pl.DataFrame({"x": [*numbers, "?", " ? "], "y": [*numbers, "a", "b"]}))
    assert draft["x"].coding.missing_values == ("?",)
    assert draft["x"].coding.missing == "code"
    assert "missing_values" in draft["x"].inferred
    assert draft["y"].coding.missing_values == ("a", "b")
    many = pl.DataFrame({"x": numbers[:100] + [f"name {i}" for i in range(100)], "z": [1] * 200})
    assert Schema.draft(many).left_out == ("x",)


def test_a_draft_makes_no_table_until_it_is_confirmed(tmp_path):
    draft = Schema.draft(FRAME)
    with pytest.raises(DataError, match="not confirmed"):
        Table(FRAME, draft)
    confirmed = draft.confirm(unit="row")
    table = Table(FRAME, confirmed)
    assert table.public.schema.inferred["age"] == ("kind", "low", "high")
    assert "inferred from the data and confirmed" in table.public.assumptions()[1]
    draft.write(tmp_path / "draft.toml")
    text = (tmp_path / "draft.toml").read_text()
    text = text.replace("confirmed = false", "confirmed = true")
    (tmp_path / "halfway.toml").write_text(text)
    with pytest.raises(ValueError, match="several rows"):
        Schema.read(tmp_path / "halfway.toml")
    (tmp_path / "whole.toml").write_text(text.replace('unit = ""', 'unit = "row"'))
    assert Schema.read(tmp_path / "whole.toml") == confirmed


def test_a_draft_leaves_names_and_free_text_out():
    frame = pl.DataFrame({"name": [f"person {i}" for i in range(100)], "x": [0.5] * 100})
    draft = Schema.draft(frame)
    assert draft.left_out == ("name",)
    Table(frame, draft.confirm(unit="row"))
    with pytest.raises(DataError, match="every column has too many different values"):
        Schema.draft(frame.select("name"))


@pytest.mark.parametrize(
    "values",
    [
        [5e-324, 1e-323],
        [1e308, -1e308],
        [2.0**53, 2.0**53 + 2],
        [7.0],
        pl.Series([2**63, 2**64 - 1], dtype=pl.UInt64),
        [0, 10**15],
        ["1", "x", None],
        [True],
        ["yes", "no"],
        ["0", "1"],
        ["2020-01-01", "2024-06-01"],
        [-3.5, math.nan],
    ],
    ids=str,
)
def test_whatever_a_draft_says_fits_the_data_it_was_made_from(values):
    frame = pl.DataFrame({"x": pl.Series(values, strict=True)})
    Table(frame, Schema.draft(frame).confirm(unit="row"))


GROUPED = {
    "kind": "category",
    "values": ["federal", "state", "local", "own", "private", "unpaid"],
    "taxonomy": [[["federal", "state"], "local"], ["own", "private"]],
    "missing": "code",
}


def test_a_taxonomy_survives_the_file_the_document_and_the_dictionary(tmp_path):
    schema = Schema.from_dict({"work": GROUPED, "age": (0, 120, 16)})
    assert schema["work"].coding.level_sizes == (7, 5, 4)
    assert schema.to_json()["columns"]["work"]["taxonomy"] == GROUPED["taxonomy"]
    schema.write(tmp_path / "schema.toml")
    text = (tmp_path / "schema.toml").read_text(encoding="utf-8")
    assert 'taxonomy = [[["federal", "state"], "local"], ["own", "private"]]' in text
    assert "taxonomy" not in text.split("age")[1]
    again = Schema.read(tmp_path / "schema.toml")
    assert again == schema == Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert hash(again) == hash(schema)
    assert again.canonical() == schema.canonical()


def test_schemas_with_different_taxonomies_differ_and_without_one_nothing_changed():
    plain = {key: value for key, value in GROUPED.items() if key != "taxonomy"}
    other = {**GROUPED, "taxonomy": [["federal", "state"]]}
    schemas = [Schema.from_dict({"work": column}) for column in (GROUPED, plain, other)]
    assert len({schema.canonical() for schema in schemas}) == len(set(schemas)) == 3
    assert b"taxonomy" not in schemas[1].canonical()


def test_a_wrong_taxonomy_is_refused_with_the_column_and_the_remedy(tmp_path):
    wrong = {**GROUPED, "taxonomy": [["federal", "provincial"]]}
    message = "column 'work': the taxonomy holds 'provincial', .* remove it from the taxonomy"
    with pytest.raises(ValueError, match=message):
        Schema.from_dict({"work": wrong})
    file = tmp_path / "schema.toml"
    file.write_text(
        '[table]\nunit = "row"\n[columns.work]\nkind = "category"\nvalues = ["a", "b"]\n'
        'taxonomy = [["a", "c"]]\n'
    )
    with pytest.raises(ValueError, match=r"schema\.toml: column 'work': the taxonomy holds 'c'"):
        Schema.read(file)
