"""Columns of texts that nobody listed: every value is read by itself, by both engines alike."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.coding import Discover
from sfumato.engines.counts import Listed
from sfumato.engines.texts import Texts

MISSING = {"kind": "category", "values": "discover", "missing": "code", "missing_values": ["?", 9]}
SCHEMA = sf.Schema.from_dict({"town": MISSING, "sex": ["f", "m"]})


def read(values, schema=SCHEMA, kind=pl.String):
    frame = pl.DataFrame({"town": pl.Series(values, dtype=kind), "sex": ["f"] * len(values)})
    return sf.Table(frame, schema)


def occurring(table):
    return table.counts.value_counts(0).as_dict()


def test_a_value_is_its_text_without_surrounding_blanks():
    table = read(["Rome", " Rome ", "\tRome", "rome", "007", "7", "7.0", "São Paulo", "NA x"])
    assert occurring(table) == {
        "Rome": 3, "rome": 1, "007": 1, "7": 1, "7.0": 1, "São Paulo": 1, "NA x": 1,
    }  # fmt: skip


def test_what_is_missing_and_what_is_no_value():
    table = read(
        [None, "", "  ", "NA", "?", "9", "9.0", "(other)", "(missing)", "a\x07", "b" * 201]
    )
    assert occurring(table) == {}
    # Missing are seven; the rest is other, for texts that cannot be shown or are reserved.
    np.testing.assert_array_equal(table.counts.marginals([(0,)])[0], [4, 7])


def test_a_missing_value_is_refused_where_it_has_no_code():
    with pytest.raises(sf.DataError, match="column 'town', row 2: the value is missing"):
        read(["a", None], sf.Schema.from_dict({"town": "discover", "sex": ["f"]}))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2]),
        pd.Series([1.5, None]),
        pd.Series([True, False]),
        pd.Series([pd.Timestamp("2024-01-01")] * 2),
        pd.Series(["a", 7], dtype=object),
        pd.Series(["a", 7.5], dtype=object),
        pd.Series(["a", True], dtype=object),
        pd.Series(["a", date(2024, 2, 29)], dtype=object),
        pd.Series(["a", " 007"], dtype=object),
        pd.Series(["a", [1]], dtype=object),
    ],
)
def test_what_is_no_text_is_refused_whatever_other_rows_hold(column):
    """A word in another row makes text of numbers: "007" would have been read as 7 without it."""
    frame = pd.DataFrame({"town": column, "sex": ["f", "f"]})
    with pytest.raises(sf.DataError, match="the value is not text"):
        sf.Table(frame, SCHEMA)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"]), pl.String])
def test_texts_of_any_type_are_the_same(kind):
    assert occurring(read(["a", "b", "a", None], kind=kind)) == {"a": 2, "b": 1}


def test_both_engines_read_the_same(tmp_path):
    rng = np.random.default_rng(0)
    towns = [f" town {i}" if i % 7 else "NA" for i in rng.integers(0, 90, 5000)]
    who = [f"p{i}" for i in rng.integers(0, 900, 5000)]
    frame = pl.DataFrame({"town": towns, "sex": ["f", "m"] * 2500, "who": who})
    frame.write_csv(tmp_path / "t.csv")
    schema = sf.Schema.from_dict(
        {"town": MISSING, "sex": ["f", "m"]}, unit="person", person="who", max_rows=3
    )
    tables = [sf.read_table(tmp_path / "t.csv", schema, engine=e) for e in ("memory", "duckdb")]
    tables.append(sf.Table(frame, schema))
    first = occurring(tables[0])
    assert sum(first.values()) < 5000 and "town 1" in first
    for table in tables[1:]:
        assert occurring(table) == first
        assert table.digest(b"k" * 16) == tables[0].digest(b"k" * 16)
        views = [t.counts.recode([(0, Listed(("town 1", "town 2"))), (1, None)]) for t in tables]
        np.testing.assert_array_equal(views[0].marginals([(0, 1)]), views[1].marginals([(0, 1)]))


def test_chunks_share_one_dictionary(monkeypatch, tmp_path):
    from sfumato.engines import duckdb

    monkeypatch.setattr(duckdb, "CHUNK", 2048)
    towns = [f"t{i % 100}" if i % 3 else "same" for i in range(9000)]
    frame = pl.DataFrame({"town": towns, "sex": ["f"] * 9000})
    frame.write_csv(tmp_path / "t.csv")
    table = sf.read_table(tmp_path / "t.csv", SCHEMA, engine="duckdb")
    assert occurring(table) == dict(pl.Series(towns).value_counts().iter_rows())


def test_a_digest_tells_texts_apart():
    key = b"k" * 16
    assert read(["a", "b"]).digest(key) != read(["a", "c"]).digest(key)
    assert read(["a", "b"]).digest(key) == read(["a", " b"]).digest(key)


def test_a_view_is_made_of_public_texts_and_leaves_the_rest_other():
    table = read(["a", "b", None, "c", "a"])
    view = table.counts.recode([(0, Listed(("a", "nowhere"))), (1, None)])
    assert view.sizes == (4, 2)
    np.testing.assert_array_equal(view.marginals([(0,)])[0], [2, 0, 2, 1])
    # A view of a view, and of some of the columns.
    again = view.recode([(0, np.array([0, 0, 1, 1]))])
    np.testing.assert_array_equal(again.marginals([(0,)])[0], [2, 3])
    only = table.only(["town"])
    np.testing.assert_array_equal(
        only.counts.recode([(0, Listed(("c",)))]).marginals([(0,)])[0], [1, 3, 1]
    )
    with pytest.raises(ValueError, match="not one whose values"):
        table.counts.recode([(1, Listed(("f",)))])


def test_rows_and_columns_can_be_left_out():
    from sfumato.data.table import with_rows, without_columns

    table = read(["a", "b", "a"])
    assert occurring(with_rows(table, np.array([True, False, True]))) == {"a": 2}
    assert without_columns(table, ("sex",)).counts.value_counts(0).as_dict() == {"a": 2, "b": 1}


def test_nothing_of_the_texts_is_shown():
    texts = Texts(["secret"])
    assert "secret" not in repr(texts)
    assert "secret" not in repr(read(["secret"])) + str(read(["secret"]).counts)
    assert Discover().allowed == "a text of at most 200 characters"
