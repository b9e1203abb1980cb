"""Parent sets are exactly the maximal ones, however columns may be generalised."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tabular.parents import (
    TooManyParentSets,
    count_parent_sets,
    maximal_parent_sets,
    sample_parent_sets,
)


def named(sizes: dict[str, list[int]], limit: int) -> set[str]:
    """Return the maximal sets by name, such as A1B0."""
    names = list(sizes)
    found = maximal_parent_sets(list(sizes.values()), limit)
    assert len(set(found)) == len(found)
    return {"".join(f"{names[c]}{level}" for c, level in one) for one in found}


@pytest.mark.parametrize(
    ("limit", "sets"),
    [
        (0, set()),
        (1, {""}),
        (3, {"A0", "B0"}),
        (6, {"A0B0", "C0", "D0"}),
        (12, {"A0B0", "A0C0", "A0D0", "B0C0"}),
        (24, {"A0B0C0", "A0D0", "B0D0", "C0D0"}),
        (10**6, {"A0B0C0D0"}),
    ],
)
def test_columns_of_2_3_4_and_5_values(limit, sets):
    assert named({"A": [2], "B": [3], "C": [4], "D": [5]}, limit) == sets


@pytest.mark.parametrize(
    ("limit", "sets"),
    [
        (8, {"C0", "A1C1", "B0C2", "A0C2", "A1B0"}),
        (24, {"B0C0", "A1C0", "A1B0C1", "A0C1", "A0B0C2"}),
    ],
)
def test_columns_with_levels(limit, sets):
    assert named({"A": [4, 2], "B": [3], "C": [8, 4, 2]}, limit) == sets


def by_hand(sizes: list[list[int]], limit: int) -> set[tuple[tuple[int, int], ...]]:
    """Return every feasible choice of levels to which no other feasible one is finer."""
    left_out = [len(levels) for levels in sizes]
    cost = [[*levels, 1] for levels in sizes]
    choices = product(*(range(count + 1) for count in left_out))
    feasible = [
        choice
        for choice in choices
        if prod(cost[c][level] for c, level in enumerate(choice)) <= limit
    ]
    maximal = [
        one
        for one in feasible
        if not any(
            other != one and all(a <= b for a, b in zip(other, one, strict=True))
            for other in feasible
        )
    ]
    return {
        tuple((c, level) for c, level in enumerate(choice) if level < left_out[c])
        for choice in maximal
    }


LEVELS = st.sets(st.integers(1, 9), min_size=1, max_size=3).map(lambda s: sorted(s, reverse=True))


@given(st.lists(LEVELS, max_size=4), st.integers(-1, 200))
def test_parent_sets_agree_with_trying_everything(sizes, limit):
    found = maximal_parent_sets(sizes, limit)
    assert len(set(found)) == len(found)
    assert set(found) == by_hand(sizes, limit)
    assert all(list(one) == sorted(one) for one in found)
    assert count_parent_sets(sizes, limit) == len(found)


@given(st.lists(LEVELS, max_size=5), st.integers(0, 200), st.integers(1, 12))
def test_more_sets_than_asked_for_are_refused_and_only_then(sizes, limit, most):
    number = count_parent_sets(sizes, limit)
    if number > most:
        with pytest.raises(TooManyParentSets, match=f"more than {most} maximal"):
            maximal_parent_sets(sizes, limit, most=most)
    else:
        assert len(maximal_parent_sets(sizes, limit, most=most)) == number


@given(st.lists(LEVELS, max_size=4), st.integers(-1, 200), st.integers(1, 12))
def test_a_sample_of_parent_sets_holds_different_maximal_ones(sizes, limit, most):
    everything = maximal_parent_sets(sizes, limit)
    some = sample_parent_sets(sizes, limit, most, np.random.default_rng(most))
    assert len(some) == len(set(some)) == min(most, len(everything))
    assert set(some) <= set(everything)


def test_samples_reach_every_maximal_set_and_follow_their_generator():
    sizes = [[4, 2], [3], [8, 4, 2]]
    found = set()
    for seed in range(40):
        some = sample_parent_sets(sizes, 24, 2, np.random.default_rng(seed))
        assert some == sample_parent_sets(sizes, 24, 2, np.random.default_rng(seed))
        found.update(some)
    assert found == set(maximal_parent_sets(sizes, 24))


def test_millions_of_sets_are_counted_and_refused_at_once():
    sizes = [[16, 8, 4, 2]] * 40
    assert count_parent_sets(sizes, 2**8) > 10**6
    some = sample_parent_sets(sizes, 2**8, 100, np.random.default_rng(0))
    assert len(set(some)) == 100
    assert all(prod(sizes[c][level] for c, level in one) == 2**8 for one in some)
    with pytest.raises(TooManyParentSets):
        maximal_parent_sets(sizes, 2**8, most=1_000)


def test_hundreds_of_columns_are_no_deeper_than_one():
    assert maximal_parent_sets([[2]] * 2_000, 1) == [()]
    assert len(maximal_parent_sets([[2]] * 200, 2)) == 200


@pytest.mark.parametrize("levels", [[], [0], [4, 4], [2, 3], [4, 0]])
def test_sizes_that_are_not_those_of_levels_are_refused(levels):
    with pytest.raises(ValueError, match="column 1 needs one or more sizes from 1"):
        maximal_parent_sets([[2], levels], 10)
