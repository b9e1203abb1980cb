"""A schema of bins serves a regression too: numbers are read on a fine grid, in one ledger."""

from datetime import date

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.coding import Categories, Dates, Integers, Numbers, Reals

SCHEMA = sf.Schema.from_dict(
    {
        "age": {"kind": "number", "low": 0, "high": 120, "bins": 12, "outside": "clamp"},
        "nights": {"kind": "integer", "low": 0, "high": 365, "bins": 5, "missing": "code"},
        "income": {"kind": "integer", "low": 0, "high": 10**6, "bins": 5},
        "born": (date(1900, 1, 1), date(2020, 12, 31), 10),
        "sex": ["f", "m"],
        "visits": (0, 9),
    },
    rows_about=7,
)


def test_numbers_lose_their_bins_and_keep_everything_else():
    fine = SCHEMA.use_fine_grid()
    assert fine["age"].coding == Reals(low=0, high=120, outside="clamp")
    assert fine["nights"].coding == Integers(low=0, high=365, missing="code")
    assert fine["income"].coding == Reals(low=0, high=10**6)
    assert fine["born"].coding == Dates(low=date(1900, 1, 1), high=date(2020, 12, 31))
    assert isinstance(fine["sex"].coding, Categories)
    assert fine["visits"] == SCHEMA["visits"]
    assert fine.rows_about == 7 and fine.use_fine_grid() == fine


def test_what_was_read_off_the_data_stays_marked():
    column = sf.Schema.from_dict({"age": (0, 120, 12)}).columns[0]
    marked = type(column)("age", column.coding, ("low", "high", "bins"))
    edges = type(column)("size", Numbers(edges=(0, 1, 9)), ("edges",))
    fine = sf.Schema(columns=(marked, edges)).use_fine_grid()
    assert fine.inferred == {"age": ("low", "high"), "size": ("low", "high")}


def test_bounds_that_are_too_close_for_a_grid_stay_in_bins():
    near = Numbers(edges=(1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)))
    schema = sf.Schema.from_dict({"x": near})
    assert schema.use_fine_grid() == schema


def frame(rows=50, seed=1):
    ages = np.random.default_rng(seed).uniform(0, 120, rows)
    return pl.DataFrame({"age": ages, "sex": ["f", "m"] * (rows // 2)})


DECLARED = sf.Schema.from_dict({"age": (0, 120, 12), "sex": ["f", "m"]})


def test_a_ledger_knows_a_table_on_whatever_grid_it_is_read(tmp_path):
    coarse, fine = sf.Table(frame(), DECLARED), sf.Table(frame(), DECLARED, fine_grid=True)
    assert fine.public.schema == DECLARED.use_fine_grid()
    assert fine.counts.sizes == (2**16, 2)
    key = b"k" * 32
    assert fine.digest(key) == coarse.digest(key)
    assert fine.digest(key) != sf.Table(frame(seed=2), DECLARED, fine_grid=True).digest(key)
    ledger = sf.Ledger.create(tmp_path / "l", allow=sf.PureDP(3), unit="row")
    sf.Marginals(epsilon=1, ways=1).release(coarse, ledger=ledger)
    sf.FunctionalRegression(epsilon=1, target="age").release(fine, ledger=ledger)
    assert ledger.remaining == sf.PureDP(1)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_files_are_read_on_a_fine_grid_too(engine, tmp_path):
    frame().write_csv(tmp_path / "a.csv")
    read = sf.read_table(tmp_path / "a.csv", DECLARED, engine=engine, fine_grid=True)
    made = sf.Table(frame(), DECLARED, fine_grid=True)
    assert (read.counts.codes(0) == made.counts.codes(0)).all()
    assert read.digest(b"k" * 32) == made.digest(b"k" * 32)


def test_a_release_says_in_one_line_what_it_is():
    table = sf.Table(frame(), DECLARED)
    release = sf.Marginals(epsilon=1, ways=1).release(table)
    assert repr(release) == (
        "<noisy tables by table.Marginals, ε = 1 for any one row added or removed, proved, not "
        "composed with other releases>"
    )
