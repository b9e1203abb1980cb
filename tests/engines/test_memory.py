"""Counting in memory agrees with counting by hand, whatever the shape."""

import pickle
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.engines import Counts
from sfumato.engines import memory as memory_module
from sfumato.engines.cover import cover
from sfumato.engines.memory import CodeTable, code_type


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
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(table)
    assert repr(table) == "CodeTable(sizes=(2, 3))"
    assert isinstance(table, Counts)
