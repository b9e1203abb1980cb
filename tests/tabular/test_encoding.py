"""Derived columns and codes of the table are two ways to write the same rows."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data import Schema
from sfumato.data.table import TablePublic
from sfumato.tabular.encoding import ENCODINGS, Encoding


def encoding(name: str, *columns: object) -> Encoding:
    schema = Schema.from_dict({f"column {i}": column for i, column in enumerate(columns)})
    return Encoding.of(name, TablePublic.of(schema))


def every_code(*sizes: int) -> np.ndarray:
    return np.array(list(product(*map(range, sizes))))


def test_binary_and_gray_code_of_eight_bins():
    codes = np.arange(8)[:, None]
    written = {
        name: ["".join(map(str, row)) for row in encoding(name, (0, 7)).encode(codes).tolist()]
        for name in ("binary", "gray")
    }
    assert written["binary"] == ["000", "001", "010", "011", "100", "101", "110", "111"]
    assert written["gray"] == ["000", "001", "011", "010", "110", "111", "101", "100"]


@pytest.mark.parametrize("name", ["binary", "gray"])
@pytest.mark.parametrize("size", range(1, 65))
def test_bits_of_every_code_of_domains_up_to_64_decode_to_it(name, size):
    bits = encoding(name, (1, size))
    width = (size - 1).bit_length()
    assert bits.sizes == (2,) * width
    assert [column.bit for column in bits.columns] == list(range(width))
    codes = np.arange(size)[:, None]
    assert np.array_equal(bits.decode(bits.encode(codes)), codes)
    assert bits.valid(bits.encode(codes)).all()
    everything = every_code(*[2] * width).reshape(2**width, width)
    assert bits.valid(everything).sum() == size
    assert bits.total == (size == 2**width)
    assert bits.possible(range(width)).sum() == size
    assert np.array_equal(bits.possible(range(width)).reshape(-1), bits.valid(everything))


def test_neighbouring_codes_differ_in_one_gray_bit():
    gray = encoding("gray", (0, 63)).encode(np.arange(64)[:, None])
    assert (np.abs(np.diff(gray, axis=0)).sum(axis=1) == 1).all()


@given(st.sampled_from(list(ENCODINGS)), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_rows_of_several_columns_survive_and_are_derived_as_declared(name, sizes):
    derived = encoding(name, *((1, size) for size in sizes))
    codes = np.random.default_rng(1).integers(0, sizes, (50, len(sizes)))
    rows = derived.encode(codes)
    assert rows.shape == (50, len(derived.columns))
    assert (rows < np.array(derived.sizes, dtype=np.int64)).all()
    assert np.array_equal(derived.decode(rows), codes)
    assert derived.valid(rows).all()
    for number, column in enumerate(derived.columns):
        assert np.array_equal(rows[:, number], column.recoding[codes[:, column.source]])
        assert column.size == column.recoding.max() + 1
        assert number in derived.groups[column.source]
        at = column.level if column.bit is None else column.bit
        assert derived.column(column.source, at) == number


@given(st.sampled_from(list(ENCODINGS)), st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_possible_cells_are_those_that_some_code_falls_into(name, sizes):
    derived = encoding(name, *((1, size) for size in sizes))
    rows = derived.encode(every_code(*sizes))
    for width in range(min(4, len(derived.columns)) + 1):
        for columns in combinations(range(len(derived.columns))[::-1], width):
            there = np.zeros([derived.sizes[c] for c in columns], dtype=np.bool_)
            there[tuple(rows[:, c] for c in columns)] = True
            assert np.array_equal(derived.possible(columns), there)


def test_levels_follow_the_taxonomy_and_the_bins():
    work = ["Federal", "State", "Local", "Inc", "Not-inc", "Private", "Without-pay"]
    taxonomy = [["Federal", "State", "Local"], ["Inc", "Not-inc"]]
    columns = [
        {"kind": "category", "values": work, "taxonomy": taxonomy, "missing": "code"},
        (0, 160, 16),
        ["f", "m"],
        ["only"],
    ]
    levels = encoding("hierarchical", *columns)
    assert levels.level_sizes == ((8, 5), (16, 8, 4, 2), (2,), (1,))
    assert levels.columns[1].recoding.tolist() == [0, 0, 0, 1, 1, 2, 3, 4]
    assert levels.groups == ((0, 1), (2, 3, 4, 5), (6,), (7,))
    assert [column.level for column in levels.columns] == [0, 1, 0, 1, 2, 3, 0, 0]
    whole = encoding("vanilla", *columns)
    assert whole.level_sizes == ((8,), (16,), (2,), (1,))
    assert all(recoding is None for _, recoding in whole.recodings)
    assert levels.total
    assert whole.total


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_derived_columns_are_counted_without_being_made(name):
    schema = Schema.from_dict({"a": (0, 4), "b": (0, 16, 4), "c": ["x"]})
    public = TablePublic.of(schema)
    table = public.make_synthetic(300, np.random.default_rng(2))
    derived = Encoding.of(name, public)
    view = table.counts.recode(derived.recodings)
    assert view.sizes == derived.sizes
    codes = np.stack([table.counts.codes(c) for c in range(3)], axis=1)
    rows = derived.encode(codes)
    pairs = list(combinations(range(len(derived.columns)), 2))
    for (left, right), counts in zip(pairs, view.marginals(pairs), strict=True):
        expected = np.zeros((derived.sizes[left], derived.sizes[right]), dtype=np.int64)
        np.add.at(expected, (rows[:, left], rows[:, right]), 1)
        assert np.array_equal(counts, expected)
        assert (counts[~derived.possible((left, right))] == 0).all()


def test_a_table_without_bits_has_no_derived_columns():
    bits = encoding("gray", ["only"], (3, 3))
    assert bits.columns == ()
    nothing = np.zeros((4, 0), dtype=np.int64)
    assert bits.decode(nothing).tolist() == [[0, 0]] * 4
    assert bits.valid(nothing).all()
    assert bits.possible(()).tolist() is True


def test_an_unknown_encoding_is_refused_by_name():
    with pytest.raises(ValueError, match="one of binary, gray, vanilla, hierarchical; got 'octal'"):
        encoding("octal", bool)
