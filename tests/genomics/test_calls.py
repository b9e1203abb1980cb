"""Calls as arrays, mappings, frames and files; what is no call is refused without its value."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sfumato.data.errors import DataError
from sfumato.genomics.calls import Calls, read_calls, read_sites, read_truth

NAMES = ("rs1-C", "rs2")
VALUES = np.array([[0, 1], [2, -1]], dtype=np.int8)


def test_calls_from_everything_are_the_same(tmp_path):
    columns = {"rs1-C": [0, 2], "rs2": [1, None]}
    (tmp_path / "c.csv").write_text("id,rs1-C,rs2\nann,0,1\nbob,2,NA\n")
    np.save(tmp_path / "c.npy", VALUES)
    (tmp_path / "s.csv").write_text("snp,allele\nrs1,C\nrs2,\n")
    named = Calls.of(VALUES, sites=NAMES)
    for other in (
        Calls.of(columns),
        Calls.of(pl.DataFrame({"id": ["a", "b"], **columns})),
        Calls.of(pd.DataFrame(columns)),
        Calls.of(VALUES.astype(float), sites=NAMES),
        Calls.of(named),
        read_calls(tmp_path / "c.csv"),
        read_calls(tmp_path / "c.npy", sites=read_sites(tmp_path / "s.csv")),
    ):
        assert other.names == NAMES and other.values.tolist() == VALUES.tolist()
    assert Calls.of({"rs1": 2, "rs2": None}).values.tolist() == [[2, -1]]


def test_another_allele_is_turned_and_a_site_without_a_column_is_missing():
    calls = Calls(NAMES, VALUES)
    found = calls.counts_of(["rs2", "rs1", "rs9"], [("A", ""), ("G", ""), ("T", "")])
    assert found.tolist() == [[1, 2, -1], [-1, 0, -1]]
    # C is G on the other strand, and it is not T.
    assert calls.counts_of(["rs1"], [("G", "A")]).tolist() == [[0], [2]]
    assert calls.counts_of(["rs1"], [("not T", "T")]).tolist() == [[0], [2]]
    assert calls.counts_of(["rs1"], [("not C", "C")]).tolist() == [[2], [0]]
    with pytest.raises(DataError, match="column 'rs1-C': a count of the allele C does not fit"):
        calls.counts_of(["rs1"], [("A", "T")])
    assert calls.states_of(["rs1"], [("C", "")], "carrier").tolist() == [[0], [1]]
    bits = Calls(("rs1-C",), np.array([[0], [1], [-1]]), bits=True)
    assert bits.states_of(["rs1"], [("G", "")], "allele").tolist() == [[1], [0], [-1]]
    with pytest.raises(ValueError, match="copies"):
        bits.states_of(["rs1"], [("C", "")], "dosage")


@pytest.mark.parametrize("value", [3, 7.5, -2, float("inf")])
def test_what_is_no_call_is_refused_without_its_value(value):
    array = np.array([[0, 1], [value, 1], [value, 2]])
    with pytest.raises(DataError) as refusal:
        Calls(NAMES, array)
    said = str(refusal.value)
    assert "column 'rs1-C', row 2 and 1 more: a call must be 0, 1 or 2 copies" in said
    assert str(value) not in said.replace("row 2", "")


def test_bad_texts_shapes_and_names_are_refused(tmp_path):
    (tmp_path / "c.csv").write_text("rs1,rs2\n0,1\n1,secret\n")
    with pytest.raises(DataError, match="column 'rs2', row 2") as refusal:
        read_calls(tmp_path / "c.csv")
    assert "secret" not in str(refusal.value)
    with pytest.raises(DataError, match="2 sites in columns"):
        Calls(NAMES, VALUES[:, :1])
    with pytest.raises(DataError, match="rs1 has two columns"):
        Calls(("rs1-C", "rs1"), VALUES)
    with pytest.raises(DataError, match="different numbers"):
        Calls.of({"rs1": [0, 1], "rs2": [0]})
    with pytest.raises(TypeError, match="needs sites"):
        Calls.of(VALUES)
    with pytest.raises(DataError, match="0 or 1"):
        Calls(NAMES, VALUES, bits=True)
    with pytest.raises(DataError, match="0, 1 or 2"):
        Calls(NAMES, np.array([["a", "b"]]))


def test_bad_arrays_and_sites_files_are_refused(tmp_path):
    np.save(tmp_path / "c.npy", VALUES)
    with pytest.raises(ValueError, match="no names of sites"):
        read_calls(tmp_path / "c.npy")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="NumPy array"):
        read_calls(tmp_path / "o.npy", sites=NAMES)
    (tmp_path / "s.csv").write_text("name\nrs1\n")
    with pytest.raises(DataError, match="no column 'site' or 'snp'"):
        read_sites(tmp_path / "s.csv")


def test_the_truth_is_read_by_trait_and_must_be_complete(tmp_path):
    (tmp_path / "t.csv").write_text("id,hepatitis-A,hepatitis-C\na,0,1\nb,1,0\n")
    found = read_truth(tmp_path / "t.csv")
    assert {name: column.tolist() for name, column in found.items()} == {
        "hepatitis-A": [0, 1],
        "hepatitis-C": [1, 0],
    }
    (tmp_path / "t.csv").write_text("asthma,x\n0,1\nNA,0\n")
    with pytest.raises(DataError, match="column 'asthma', row 2"):
        read_truth(tmp_path / "t.csv")
