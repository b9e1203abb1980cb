"""The sets that rounds choose from are those that a slow search by the same rule finds."""

from itertools import combinations
from math import prod
from zlib import crc32

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.graphical.growth_kernels import count_grown_cells
from sfumato.tabular.candidates import candidate_pool, joinable_sets


def lot(columns):
    return crc32(repr(columns).encode())


def slow_pool(sizes, cells, most_sets, most_cells, ways, singles):
    useful = [column for column, size in enumerate(sizes) if size > 1]
    taken = [(column,) for column in useful] if singles else []
    used = sum(sizes[column] for column in useful) if singles else 0
    for length in range(2, (ways or len(useful)) + 1):
        level = [(prod(sizes[c] for c in s), lot(s), s) for s in combinations(useful, length)]
        for size, _, columns in sorted(item for item in level if item[0] <= cells):
            if len(taken) >= most_sets or used + size > most_cells:
                return tuple(sorted(taken))
            taken.append(columns)
            used += size
    return tuple(sorted(taken))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 7, 2**20, 2**31]), min_size=1, max_size=8),
    st.sampled_from([1.0, 6.0, 12.5, 36.0, 1e3, 1e30, float("inf")]),
    st.integers(0, 60),
    st.sampled_from([1, 10, 100, 1000, 2**22]),
    st.sampled_from([None, 1, 2, 3]),
    st.booleans(),
)
def test_a_pool_is_the_one_that_a_slow_search_finds(sizes, cells, sets, most, ways, singles):
    pool = candidate_pool(
        tuple(sizes), cells, most_sets=sets, most_cells=most, ways=ways, singles=singles
    )
    assert pool.sets == slow_pool(sizes, cells, sets, most, ways, singles)
    assert pool.cells.tolist() == [prod(sizes[c] for c in columns) for columns in pool.sets]
    assert pool.starts.tolist() == np.cumsum([0, *pool.cells]).tolist()


def test_lots_of_columns_with_longer_numbers_are_those_of_how_sets_are_written():
    # 120 columns: all pairs, then as many triples as there is room for, by their lots.
    pool = candidate_pool((2,) * 120, 8, most_sets=7200, most_cells=2**22)
    triples = sorted(combinations(range(120), 3), key=lot)[: 7200 - 7140]
    assert pool.sets == tuple(sorted([*combinations(range(120), 2), *triples]))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(2, 5), min_size=2, max_size=9),
    st.lists(st.sets(st.integers(0, 8), min_size=2, max_size=3), max_size=6),
    st.floats(1, 2000),
)
def test_what_can_be_joined_is_what_leaves_the_model_small(sizes, joined, most):
    near = np.eye(len(sizes), dtype=np.bool_)
    for columns in joined:
        inside = [column for column in columns if column < len(sizes)]
        near[np.ix_(inside, inside)] = True
    pool = candidate_pool(tuple(sizes), 1e3, most_sets=200, most_cells=10**6)
    cells = count_grown_cells(near, np.array(sizes, dtype=float), *pool.members)
    offered = joinable_sets(near, pool, most)
    assert offered.tolist() == np.flatnonzero(cells <= most).tolist()
    assert joinable_sets(near, pool, most) is offered
