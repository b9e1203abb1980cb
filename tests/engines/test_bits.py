"""Counting 64 rows at a time agrees with counting row by row."""

from itertools import combinations, islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engines import bits
from sfumato.engines import memory as memory_module
from sfumato.engines.batch_counts import count_tables
from sfumato.engines.bits import is_small, small_tables
from sfumato.engines.memory import CodeTable, code_type

sizes_of = st.lists(st.sampled_from([1, 2, 2, 3, 5, 12, 200]), min_size=1, max_size=5).map(tuple)


def columns_of(sizes, rows, seed):
    generator = np.random.default_rng(seed)
    return [generator.integers(0, size, rows).astype(code_type(size)) for size in sizes]


def by_hand(columns, sizes, table):
    counts = np.zeros([sizes[c] for c in table], dtype=np.int64)
    np.add.at(counts, tuple(columns[c] for c in table), 1)
    return counts.reshape(-1)


def some_tables(data, sizes):
    every = [t for k in (1, 2, 3) for t in combinations(range(len(sizes)), k)]
    affordable = [t for t in every if np.prod([sizes[c] for c in t]) < 10**5]
    return tuple(data.draw(st.lists(st.sampled_from(affordable), min_size=1, unique=True)))


@settings(max_examples=40, deadline=None)
@given(sizes=sizes_of, rows=st.integers(0, 200), seed=st.integers(0, 99), data=st.data())
def test_many_tables_at_once_agree_with_counting_by_hand(sizes, rows, seed, data):
    columns, tables = columns_of(sizes, rows, seed), some_tables(data, sizes)
    expected = np.concatenate([by_hand(columns, sizes, table) for table in tables])
    assert np.array_equal(count_tables(tables, sizes, columns), expected)
    table = CodeTable(columns, sizes)
    answer = table.count_batch(tables)
    assert answer.dtype == np.int64
    assert np.array_equal(answer, expected)
    # A view that turns all codes round counts the same cells backwards.
    turned = table.recode([(c, np.arange(size)[::-1]) for c, size in enumerate(sizes)])
    backwards = turned.count_batch(tables)
    for low, high in pairwise(np.cumsum([0, *cells_of(tables, sizes)])):
        assert np.array_equal(backwards[low:high][::-1], answer[low:high])


def test_blocks_and_chunks_of_rows_add_up(monkeypatch):
    monkeypatch.setattr(bits, "BLOCK", 2)
    monkeypatch.setattr(memory_module, "ROWS_OF_BITS", 300)
    sizes, rows = (2, 3, 2, 4), 1000
    columns = columns_of(sizes, rows, 1)
    tables = tuple(t for k in (2, 3, 4) for t in combinations(range(4), k))
    expected = np.concatenate([by_hand(columns, sizes, table) for table in tables])
    assert np.array_equal(CodeTable(columns, sizes).count_batch(tables), expected)


@settings(max_examples=40, deadline=None)
@given(sizes=sizes_of.filter(lambda s: np.prod(s) < 10**5), seed=st.integers(0, 9), data=st.data())
def test_tables_are_summed_from_a_table_of_everything(sizes, seed, data):
    tables = some_tables(data, sizes)
    together = small_tables(tables, sizes)
    inside = [sizes[column] for column in together.columns]
    whole = np.random.default_rng(seed).integers(0, 1000, inside).astype(float)
    # However the cells lie in memory.
    answer = together.summed(np.asfortranarray(whole))
    bounds = pairwise(np.cumsum([0, *cells_of(tables, sizes)]))
    for table, (low, high) in zip(tables, bounds, strict=True):
        gone = tuple(a for a, column in enumerate(together.columns) if column not in table)
        np.testing.assert_allclose(answer[low:high], whole.sum(axis=gone).reshape(-1))


def cells_of(tables, sizes):
    return [int(np.prod([sizes[c] for c in table])) for table in tables]


def test_a_few_large_sets_are_not_taken_apart_into_all_their_subsets():
    assert small_tables((tuple(range(20)),), (2,) * 20) is None
    assert small_tables(tuple(islice(combinations(range(90), 12), 5)), (2,) * 90) is None
    columns = columns_of((2,) * 20, 50, 0)
    table = CodeTable(columns, (2,) * 20)
    asked = ((0, 1), tuple(range(20)))
    expected = np.concatenate([by_hand(columns, table.sizes, one) for one in asked])
    assert np.array_equal(table.count_batch(asked), expected)


def test_a_table_is_small_by_the_cells_that_have_to_be_counted():
    assert is_small((0,) * 20, (2,))
    assert is_small((0, 1), (129, 2))
    assert not is_small((0, 1), (130, 2))


@pytest.mark.parametrize(
    "tables", [((1, 0),), ((0, 0),), ((),), ((0, 2),), ((-1, 0),), ((0,),) * 2]
)
def test_tables_that_are_not_in_order_are_refused(tables):
    table = CodeTable(columns_of((2, 2), 10, 0), (2, 2))
    with pytest.raises(ValueError, match="increasing order"):
        table.count_batch(tables)
    assert table.count_batch(()).size == 0
