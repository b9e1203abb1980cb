"""Rare values that share codes: worked examples, and what holds for any counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import noise
from sfumato.tabular.binned_model import Bins
from sfumato.tabular.coarsening import WORTH_A_CODE, Coarsening, merge_rare


@pytest.mark.parametrize(
    ("masses", "threshold", "groups"),
    [
        ([5, 6, 7], 5, [0, 1, 2]),
        # 2 + 1 rows are fewer than 5: they join the rarest of the others.
        ([2, 9, 6, 1], 5, [1, 0, 1, 1]),
        # 3 + 3 + 4 + 2 = 12 rows: two codes, in the declared order.
        ([3, 9, 3, 4, 2], 5, [0, 1, 0, 2, 2]),
        ([1, 1, 1], 5, [0, 0, 0]),
        ([0, 0], 5, [0, 0]),
        ([0, 3], 0, [0, 1]),
    ],
)
def test_worked_examples(masses, threshold, groups):
    found = merge_rare(np.array(masses, dtype=float), threshold)
    # What matters is which values share a code.
    same = np.equal.outer(found, found)
    assert (same == np.equal.outer(groups, groups)).all()


counts = st.lists(st.floats(0, 1e6), min_size=1, max_size=60).map(np.array)


@given(counts, st.floats(1e-3, 1e6))
def test_codes_are_numbered_without_gaps_and_frequent_values_stay_apart(masses, threshold):
    groups = merge_rare(masses, threshold)
    assert set(groups) == set(range(groups.max() + 1))
    frequent = groups[masses >= threshold]
    assert len(set(frequent)) == len(frequent)
    held = np.bincount(groups, masses)
    # A group is filled before the next begins: it falls short by less than one rare value.
    assert len(held) == 1 or held.min() >= threshold - masses[masses < threshold].max(initial=0)


@given(st.lists(counts, min_size=1, max_size=5), st.floats(1e-3, 1e4))
def test_the_number_of_codes_is_known_before_values_are_merged(columns, spread):
    coarsening = Coarsening(dict(enumerate(columns)))
    codes, bins = coarsening.codes(spread), coarsening.bins(spread)
    for column, masses in enumerate(columns):
        size = bins[column].size if column in bins else len(masses)
        # Groups that no value falls into have no code.
        assert size <= codes[column]


def test_less_noise_leaves_more_codes_and_none_leaves_all():
    generator = noise.generator(1)
    columns = {c: np.sort(generator.pareto(1.0, 200)) * 100 for c in range(3)}
    coarsening = Coarsening(columns)
    sizes = [int(coarsening.codes(spread).sum()) for spread in (0.0, 0.1, 1.0, 10.0, 1e3, 1e9)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 600
    assert sizes[-1] == 3
    assert coarsening.bins(0.0) == {}
    # The threshold is where a code is worth its noise in a typical table.
    threshold = coarsening._threshold(10.0)
    typical = float(coarsening.codes(10.0).mean())
    assert threshold == pytest.approx(WORTH_A_CODE * 10.0 * typical, rel=0.05)


def test_rows_of_a_code_are_spread_by_the_weights_of_its_values():
    bins = Bins(np.array([0, 1, 0, 2, 2]), 5, np.array([3.0, 5.0, 1.0, 0.0, 0.0]))
    assert bins.shares == pytest.approx([0.75, 1.0, 0.25, 0.5, 0.5])
    drawn = bins.spread(np.repeat([0, 1, 2], 10_000), noise.generator(6))
    counted = np.bincount(drawn, minlength=5)
    assert counted.sum() == 30_000
    assert counted[1] == 10_000
    # Five standard deviations of 43 and 50: false alarms below 1e-6.
    assert counted[0] == pytest.approx(7_500, abs=220)
    assert counted[3] == pytest.approx(5_000, abs=250)
