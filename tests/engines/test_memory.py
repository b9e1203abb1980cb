"""Counting in memory agrees with counting by hand, whatever the shape."""

import pickle
import tracemalloc
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.engines import Counts
from sfumato.engines import memory as memory_module
from sfumato.engines.distinct_rows import distinct_rows
from sfumato.engines.memory import CodeTable, code_type, cover


def random_table(rows: int, sizes: tuple[int, ...], seed: int = 0) -> CodeTable:
    generator = np.random.default_rng(seed)
    return CodeTable(
        [generator.integers(0, size, rows).astype(code_type(size)) for size in sizes], sizes
    )


def by_hand(table: CodeTable, columns: tuple[int, ...]) -> np.ndarray:
    counts = np.zeros([table.sizes[c] for c in columns], dtype=np.int64)
    np.add.at(counts, tuple(table.codes(c) for c in columns), 1)
    return counts if columns else np.array(table.rows)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 7, 255, 256, 257, 300]), min_size=1, max_size=5),
    rows=st.integers(0, 200),
    data=st.data(),
)
def test_marginals_agree_with_counting_by_hand(sizes, rows, data):
    table = random_table(rows, tuple(sizes))
    subsets = st.permutations(range(len(sizes))).flatmap(
        lambda order: st.integers(0, min(3, len(order))).map(lambda k: tuple(order[:k]))
    )
    sets = data.draw(st.lists(subsets.filter(lambda s: prod(sizes[c] for c in s) < 10**6)))
    answers = table.marginals(sets)
    for columns, counts in zip(sets, answers, strict=True):
        assert counts.dtype == np.int64
        assert counts.shape == tuple(sizes[c] for c in columns)
        assert np.array_equal(counts, by_hand(table, columns))


def test_many_marginals_over_several_blocks(monkeypatch):
    monkeypatch.setattr(memory_module, "BLOCK", 1000)
    table = random_table(5_500, (16, 4, 300, 2, 9, 70_000))
    sets = [s for k in (1, 2) for s in combinations(range(5), k)] + [(5,), (3, 5)]
    for columns, counts in zip(sets, table.marginals(sets), strict=True):
        assert np.array_equal(counts, by_hand(table, columns))


def test_many_rows_are_counted_in_a_few_merged_tables(monkeypatch):
    monkeypatch.setattr(memory_module, "MANY_ROWS", 0)
    table = random_table(3_000, (16, 4, 300, 2, 9, 1))
    sets = [(), (5,), *combinations(range(6), 2), (3, 1, 0), (4, 3)]
    merged: list[int] = []
    monkeypatch.setattr(memory_module, "cover", lambda *asked: merged.append(1) or cover(*asked))
    for columns, counts in zip(sets, table.marginals(sets), strict=True):
        assert np.array_equal(counts, by_hand(table, columns))
    assert merged


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 5, 300]), min_size=5, max_size=7),
    rows=st.integers(0, 300),
    kinds=st.integers(1, 40),
    data=st.data(),
)
def test_batches_of_many_tables_agree_with_counting_by_hand(sizes, rows, kinds, data):
    # Few kinds of rows are counted with weights, many kinds one by one.
    few = random_table(kinds, tuple(sizes))
    chosen = np.random.default_rng(rows).integers(0, kinds, rows)
    table = CodeTable([few.codes(c)[chosen] for c in range(len(sizes))], sizes)
    subsets = [s for k in (0, 1, 2, 3) for s in combinations(range(len(sizes)), k)]
    subsets = [s for s in subsets if prod(sizes[c] for c in s) < 10**5]
    sets = data.draw(st.permutations([*subsets, *subsets, *subsets, *(s[::-1] for s in subsets)]))
    assert len(sets) >= memory_module.MANY_TABLES
    for columns, counts in zip(sets, table.marginals(sets), strict=True):
        assert counts.dtype == np.int64
        assert np.array_equal(counts, by_hand(table, columns))


def test_few_distinct_rows_are_found_once_and_shared_by_views(monkeypatch):
    few = random_table(20, (2,) * 8)
    chosen = np.random.default_rng(1).integers(0, 20, 5_000)
    table = CodeTable([few.codes(c)[chosen] for c in range(8)], few.sizes)
    sets = list(combinations(range(8), 4))
    expected = [by_hand(table, s) for s in sets]
    assert all(map(np.array_equal, table.marginals(sets), expected))
    monkeypatch.setattr(memory_module, "distinct_rows", None)
    view = table.recode([(c, None) for c in range(8)])
    assert all(map(np.array_equal, view.marginals(sets), expected))


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 7, 300]), min_size=1, max_size=4),
    rows=st.integers(0, 100),
    number=st.integers(0, 5),
    data=st.data(),
)
def test_a_recoded_table_counts_as_one_whose_codes_were_looked_up(sizes, rows, number, data):
    table = random_table(rows, tuple(sizes))
    generator = np.random.default_rng(number)
    derived, columns, new_sizes = [], [], []
    for _ in range(number):
        source = data.draw(st.integers(0, len(sizes) - 1))
        recoding = generator.integers(0, data.draw(st.sampled_from([1, 2, 400])), sizes[source])
        derived.append((source, data.draw(st.sampled_from([None, recoding]))))
        changed = np.arange(sizes[source]) if derived[-1][1] is None else recoding
        columns.append(changed[table.codes(source)])
        new_sizes.append(int(changed.max()) + 1)
    view = table.recode(derived)
    assert isinstance(view, Counts)
    assert view.sizes == tuple(new_sizes)
    assert view.rows == rows
    assert [view.codes(c).tolist() for c in range(number)] == [c.tolist() for c in columns]
    copied = [c.astype(code_type(s)) for c, s in zip(columns, new_sizes, strict=True)]
    same = CodeTable(copied, new_sizes) if number else None
    sets = [(), *combinations(range(number), 1), *combinations(range(number), 2)]
    for one, counts in zip(sets, view.marginals(sets), strict=True):
        assert np.array_equal(counts, by_hand(same, one) if same else np.array(rows))
    if same is not None:
        for found, wanted in zip(view.distinct([0]), same.distinct([0]), strict=True):
            assert np.array_equal(found, wanted)
        values = [np.arange(size) for size in new_sizes]
        everything = range(number)
        assert (view.products(everything, values) == same.products(everything, values)).all()


def test_a_view_of_a_view_looks_up_twice_and_cannot_be_written_to():
    table = random_table(200, (9, 4))
    halves = table.recode([(1, None), (0, np.arange(9) // 2)])
    quarters = halves.recode([(1, np.arange(5) // 2), (0, [3, 2, 1, 0])])
    assert quarters.sizes == (3, 4)
    assert quarters.codes(0).tolist() == (table.codes(0) // 4).tolist()
    assert quarters.codes(1).tolist() == (3 - table.codes(1)).tolist()
    with pytest.raises(ValueError, match="read-only"):
        quarters.codes(0)[0] = 1


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ((2, None), "numbered 0 to 1"),
        ((0, np.arange(8)), "each of its 9 codes"),
        ((0, np.arange(9) - 1), "whole number from 0"),
        ((0, np.arange(9) / 2), "whole number from 0"),
    ],
)
def test_a_recoding_that_does_not_fit_its_column_is_refused(column, message):
    with pytest.raises(ValueError, match=message):
        random_table(5, (9, 4)).recode([column])


def test_a_view_of_a_mapped_table_looks_up_a_block_at_a_time(tmp_path):
    rows, path = 2**22, tmp_path / "codes"
    (np.arange(rows) % 16).astype(np.uint8).tofile(path)
    table = CodeTable([np.memmap(path, dtype=np.uint8, mode="r")], (16,))
    view = table.recode([(0, np.arange(16) >> bit & 1) for bit in range(4)])
    view.marginals([(0,)])  # compiled and mapped before memory is watched
    tracemalloc.start()
    pairs = view.marginals(list(combinations(range(4), 2)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows / 4
    assert all((counts == rows // 4).all() for counts in pairs)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.data())
def test_a_cover_contains_every_set_and_enlarges_none_too_far(sizes, data):
    number = st.integers(0, len(sizes) - 1)
    sets = data.draw(st.lists(st.frozensets(number).map(lambda s: tuple(sorted(s))), min_size=1))
    tables = cover(sets, tuple(sizes), 64)
    for columns in sets:
        assert any(set(columns) <= set(table) for table in tables)
    for table in tables:
        assert prod(sizes[c] for c in table) <= 64 or table in sets


def test_a_cover_of_all_pairs_is_much_smaller_than_the_pairs():
    pairs = list(combinations(range(12), 2))
    assert len(cover(pairs, (16,) * 12)) <= 30


@pytest.mark.parametrize("dense", [0, 2**22])
@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    rows=st.integers(0, 60),
    data=st.data(),
)
def test_distinct_rows_agree_with_a_dictionary(monkeypatch, dense, sizes, rows, data):
    monkeypatch.setattr(memory_module, "DENSE", dense)
    table = random_table(rows, tuple(sizes))
    columns = data.draw(st.permutations(range(len(sizes))))[
        : data.draw(st.integers(1 if dense == 0 else 0, 4))
    ]
    found, weights = table.distinct(columns)
    expected: dict[tuple[int, ...], int] = {}
    for i in range(rows):
        key = tuple(int(table.codes(c)[i]) for c in columns)
        expected[key] = expected.get(key, 0) + 1
    listed = [tuple(map(int, row)) for row in found]
    assert listed == sorted(expected)
    assert weights.tolist() == [expected[key] for key in listed]


def test_distinct_rows_over_several_chunks(monkeypatch):
    table = random_table(1000, (3, 5))
    whole = table.distinct((1, 0))
    monkeypatch.setattr(memory_module, "DENSE", 0)
    monkeypatch.setattr(memory_module, "CHUNK", 64)
    parts = table.distinct((1, 0))
    assert np.array_equal(whole[0], parts[0])
    assert np.array_equal(whole[1], parts[1])


def test_rows_too_wide_for_one_word_are_told_apart_and_ordered():
    sizes = (2**32, 2, 2**32, 3, 2**32)
    columns = [[5, 5, 2**32 - 1, 5, 0], [1, 0, 1, 1, 0], [7, 7, 7, 7, 0], [2] * 5, [0, 9, 0, 0, 0]]
    table = CodeTable(
        [np.array(c, dtype=code_type(s)) for c, s in zip(columns, sizes, strict=True)], sizes
    )
    rows, weights = table.distinct((0, 1, 2, 3, 4))
    expected = [[0, 0, 0, 2, 0], [5, 0, 7, 2, 9], [5, 1, 7, 2, 0], [2**32 - 1, 1, 7, 2, 0]]
    assert rows.tolist() == expected
    assert weights.tolist() == [1, 1, 2, 1]


def test_distinct_rows_are_given_up_when_they_are_too_many():
    chunk = [np.arange(10, dtype=np.uint8), np.zeros(10, dtype=np.uint8)]
    assert distinct_rows([chunk, chunk], (10, 2), most=9) is None
    found = distinct_rows([chunk, chunk], (10, 2), most=10)
    assert found is not None
    assert found[1].tolist() == [2] * 10


def test_products_are_exact_beyond_64_bits_and_do_not_depend_on_order():
    sizes = (4, 3, 5)
    table = random_table(500, sizes)
    values = [np.array([(-1) ** i * (i + 1) * 2**40 for i in range(size)]) for size in sizes]
    order = np.random.default_rng(5).permutation(500)
    shuffled = CodeTable([table.codes(c)[order] for c in range(3)], sizes)
    found = table.products((0, 2, 1), [values[0], values[2], values[1]])
    columns = [[int(values[c][code]) for code in table.codes(c)] for c in (0, 2, 1)]
    for i in range(3):
        for j in range(3):
            total = sum(a * b for a, b in zip(columns[i], columns[j], strict=True))
            assert found[i, j] == total
            assert type(found[i, j]) is int
    again = shuffled.products((0, 2, 1), [values[0], values[2], values[1]])
    assert (found == again).all()


def test_what_cannot_be_counted_is_refused_in_public_terms():
    table = random_table(10, (70_000, 70_000, 2))
    with pytest.raises(ValueError, match="cells, more than"):
        table.marginals([(0, 1)])
    with pytest.raises(ValueError, match="numbered 0 to 2"):
        table.marginals([(3,)])
    with pytest.raises(ValueError, match="each column once"):
        table.marginals([(0, 0)])
    with pytest.raises(ValueError, match="one whole number"):
        table.products((2,), [np.array([0.5, 1.0])])


def test_a_table_of_codes_is_checked_read_only_and_not_pickled():
    with pytest.raises(ValueError, match="outside its domain"):
        CodeTable([np.array([0, 2], dtype=np.uint8)], (2,))
    with pytest.raises(ValueError, match="type uint8"):
        CodeTable([np.array([0, 1])], (2,))
    with pytest.raises(ValueError, match="as many columns"):
        CodeTable([], ())
    table = random_table(5, (2, 3))
    with pytest.raises(ValueError, match="read-only"):
        table.codes(0)[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        table.codes(0).flags.writeable = True
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(table)
    assert repr(table) == "CodeTable(sizes=(2, 3))"
    assert isinstance(table, Counts)


def test_whoever_made_the_codes_cannot_change_them_afterwards(tmp_path):
    codes = np.array([0, 1, 1], dtype=np.uint8)
    codes.flags.writeable = False
    table = CodeTable([codes, codes[::-1]], (2, 2))
    codes.flags.writeable = True
    codes[:] = 0
    assert table.codes(0).tolist() == [0, 1, 1]
    assert table.codes(1).tolist() == [1, 1, 0]
    codes.tofile(tmp_path / "codes")
    open_map = np.memmap(tmp_path / "codes", dtype=np.uint8, mode="r+")
    copied = CodeTable([open_map], (2,))
    open_map[:] = 1
    assert copied.codes(0).tolist() == [0, 0, 0]
    mapped = np.memmap(tmp_path / "codes", dtype=np.uint8, mode="r")
    kept = CodeTable([mapped], (2,)).codes(0)
    assert np.shares_memory(kept, mapped)
    with pytest.raises(ValueError, match="WRITEABLE"):
        kept.flags.writeable = True
