"""Graphical models against brute force over all cells of small domains."""

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import noise
from sfumato.mechanisms.graphical import Measured, fit
from sfumato.mechanisms.graphical.elimination import TooLarge, eliminate
from sfumato.mechanisms.graphical.fitting import total_of
from sfumato.mechanisms.graphical.growth_kernels import count_grown_cells, joinable
from sfumato.mechanisms.graphical.junction import (
    cliques_of,
    columns_in,
    junction_tree,
    mask_of,
)
from sfumato.mechanisms.graphical.model import draw_stratified

SIZES = (2, 3, 2, 4, 3)

sets_of_columns = st.lists(
    st.sets(st.integers(0, 4), min_size=1, max_size=3).map(lambda s: tuple(sorted(s))),
    min_size=1,
    max_size=6,
)


def joint(seed, sizes=SIZES):
    weights = noise.generator(seed).random(sizes) ** 3
    return weights / weights.sum()


def table(probabilities, columns, total):
    gone = tuple(axis for axis in range(probabilities.ndim) if axis not in columns)
    return Measured(columns, probabilities.sum(axis=gone) * total, 1.0)


def full(model):
    return model.marginal(tuple(range(len(model.sizes))))


@given(sets_of_columns)
def test_a_junction_tree_holds_every_set_and_keeps_each_column_together(sets):
    tree = junction_tree(SIZES, sets)
    for columns in sets:
        assert tree.holder(columns) is not None
    assert {c for clique in tree.cliques for c in clique} == set(range(5))
    for number in range(1, len(tree.cliques)):
        before = {c for clique in tree.cliques[:number] for c in clique}
        # Running intersection: what a clique shares with all before it, its parent holds.
        shared = set(tree.cliques[number]) & before
        assert shared == set(tree.separator(number))


@given(sets_of_columns, sets_of_columns)
def test_compiled_growth_agrees_with_triangulation(base, more):
    near = np.eye(5, dtype=np.bool_)
    for columns in base:
        for a in columns:
            near[a, list(columns)] = True
    members = np.array([c for columns in more for c in columns], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([len(c) for c in more])]).astype(np.int64)
    grown = count_grown_cells(near, np.array(SIZES, dtype=float), members, starts)
    for columns, cells in zip(more, grown, strict=True):
        masks = [mask_of(c) for c in [*base, columns]]
        assert cells == cells_of(SIZES, cliques_of(SIZES, masks))


def cells_of(sizes, masks):
    """How many cells the cliques have together."""
    return sum(prod(sizes[column] for column in columns_in(mask)) for mask in masks)


def test_compiled_growth_agrees_with_triangulation_of_more_columns_than_bits_in_a_word():
    generator = noise.generator(5)
    sizes = tuple(int(size) for size in generator.integers(2, 5, 150))
    base = [tuple(int(c) for c in generator.choice(150, 2, replace=False)) for _ in range(90)]
    more = [tuple(sorted(int(c) for c in generator.choice(150, 3, False))) for _ in range(40)]
    near = np.eye(150, dtype=np.bool_)
    for a, b in base:
        near[a, b] = near[b, a] = True
    members = np.array([c for columns in more for c in columns], dtype=np.int64)
    starts = 3 * np.arange(len(more) + 1, dtype=np.int64)
    grown = count_grown_cells(near, np.array(sizes, dtype=float), members, starts)
    expected = [cells_of(sizes, cliques_of(sizes, map(mask_of, [*base, s]))) for s in more]
    assert grown.tolist() == expected
    middle = float(np.median(expected))
    small = joinable(near, np.array(sizes, dtype=float), members, starts, middle)
    assert small.tolist() == [cells <= middle for cells in expected]


@given(sets_of_columns)
def test_the_joint_of_a_model_is_the_marginal_of_everything(sets):
    truth = joint(3)
    model = fit(SIZES, [table(truth, columns, 1000.0) for columns in sets], 1000.0, iterations=5)
    assert model.joint() == pytest.approx(full(model))


def test_columns_of_one_value_take_no_axis_of_a_joint():
    sizes = (1,) * 70 + (2, 3)
    pair = Measured((70, 71), np.arange(6.0).reshape(2, 3), 1.0)
    lone = Measured((4,), np.array([15.0]), 1.0)
    model = fit(sizes, [pair, lone], 15.0, iterations=2000)
    assert model.joint() == pytest.approx(pair.values / 15, abs=1e-2)


def test_masks_and_columns_are_inverse():
    assert columns_in(mask_of((0, 3, 70))) == (0, 3, 70)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), sets_of_columns)
def test_without_noise_a_fit_has_the_measured_marginals(seed, sets):
    truth = joint(seed)
    measured = [table(truth, columns, 1000.0) for columns in sets]
    model = fit(SIZES, measured, 1000.0, iterations=4000)
    for item in measured:
        assert model.marginal(item.columns) == pytest.approx(item.values / 1000.0, abs=3e-3)


def test_the_fit_is_the_one_of_largest_entropy():
    # A chain 0–1–2 is recovered from its pairs alone.
    start, step = joint(1, (3,)), joint(2, (3, 3)) + 0.01
    step /= step.sum(axis=1, keepdims=True)
    truth = np.einsum("a,ab,bc->abc", start, step, step)
    measured = [table(truth, pair, 1.0) for pair in [(0, 1), (1, 2)]]
    model = fit((3, 3, 3), measured, 1.0, iterations=5000)
    assert full(model) == pytest.approx(truth, abs=2e-3)


def test_a_noisier_table_counts_for_less():
    near, far = np.array([60.0, 40.0]), np.array([40.0, 60.0])
    measured = [Measured((0,), near, 1.0), Measured((0,), far, 3.0)]
    model = fit((2,), measured, 100.0, iterations=3000)
    # The weighted mean of 0.6 and 0.4 with weights 9 and 1.
    assert model.marginal((0,))[0] == pytest.approx(0.58, abs=1e-3)


def test_negative_counts_do_no_harm():
    model = fit((3,), [Measured((0,), np.array([130.0, -20.0, -10.0]), 5.0)], 100.0)
    assert model.marginal((0,)) == pytest.approx([1.0, 0.0, 0.0], abs=0.02)


def test_counts_far_beyond_the_total_are_survived():
    values = np.array([[9e9, -9e9], [-9e9, 9e9]])
    measured = [Measured((0, 1), values, 1e9), Measured((1, 2), -values, 1e9)]
    model = fit((2, 2, 2), measured, 1.0)
    assert np.isfinite(full(model)).all()
    assert full(model).sum() == pytest.approx(1.0)


def test_a_table_of_groups_tells_about_the_codes_inside_them():
    groups = np.array([0, 0, 1, 1])
    measured = [
        Measured((0,), np.array([10.0, 20.0, 30.0, 40.0]), 1.0),
        Measured((0, 1), np.array([[30.0, 0.0], [0.0, 70.0]]), 1.0, (groups, None)),
    ]
    model = fit((4, 2), measured, 100.0, iterations=4000)
    pairs = model.marginal((0, 1))
    assert pairs[:2, 0].sum() == pytest.approx(0.3, abs=0.01)
    assert pairs[2:, 1].sum() == pytest.approx(0.7, abs=0.01)
    assert model.marginal((0,)) == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.01)


def test_a_warm_start_ends_where_a_cold_one_does():
    truth = joint(5)
    first = [table(truth, pair, 1.0) for pair in [(0, 1), (1, 2)]]
    second = [*first, table(truth, (2, 3), 1.0), table(truth, (0, 4), 1.0)]
    warm = fit(SIZES, second, 1.0, start=fit(SIZES, first, 1.0), iterations=4000)
    cold = fit(SIZES, second, 1.0, iterations=4000)
    assert full(warm) == pytest.approx(full(cold), abs=2e-3)


@given(st.integers(0, 10**6))
def test_marginals_across_cliques_agree_with_the_full_table(seed):
    truth = joint(seed)
    measured = [table(truth, columns, 1.0) for columns in [(0, 1), (1, 2, 3), (4,)]]
    model = fit(SIZES, measured, 1.0, iterations=50)
    whole = full(model)
    assert whole.sum() == pytest.approx(1.0)
    for columns in combinations(range(5), 2):
        gone = tuple(axis for axis in range(5) if axis not in columns)
        assert model.marginal(columns) == pytest.approx(whole.sum(axis=gone), abs=1e-9)
        turned = model.marginal(columns[::-1])
        assert turned == pytest.approx(whole.sum(axis=gone).T, abs=1e-9)


def test_elimination_refuses_what_would_be_too_large():
    factors = [((0, 1), np.ones((2, 2))), ((1, 2), np.ones((2, 2)))]
    assert eliminate(factors, (0, 2), (2, 2, 2)).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(TooLarge, match="8 cells"):
        eliminate(factors, (0, 1, 2), (2, 2, 2), most_cells=4)


def test_drawn_rows_follow_the_model():
    truth = joint(9)
    measured = [table(truth, columns, 1.0) for columns in [(0, 1), (1, 2), (2, 3, 4)]]
    model = fit(SIZES, measured, 1.0)
    rows = 200_000
    codes = model.draw(rows, noise.generator(1))
    counts = np.bincount(np.ravel_multi_index(codes.T, SIZES), minlength=prod(SIZES)) / rows
    # Independent rows miss a cell of probability p by √(p/rows) a standard deviation; six of them
    # leave a false alarm below 1e-6 over all cells, and stratified rows stay closer still.
    expected = full(model).ravel()
    assert (np.abs(counts - expected) <= 6 * np.sqrt(expected / rows) + 6 / rows).all()


def test_stratified_draws_miss_no_frequency_by_more_than_a_row():
    weights = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    given_rows = np.repeat([0, 1], [1000, 17])
    drawn = draw_stratified(weights, given_rows, noise.generator(3))
    assert np.abs(np.bincount(drawn[:1000], minlength=3) - [200, 300, 500]).max() <= 1
    assert (drawn[1000:] == 1).all()


def test_no_rows_are_drawn_from_no_rows():
    model = fit((2, 3), [Measured((0,), np.array([1.0, 2.0]), 1.0)], 3.0)
    assert model.draw(0, noise.generator(1)).shape == (0, 2)


def test_the_total_is_the_mean_weighted_by_precision():
    measured = [
        Measured((0,), np.array([50.0, 50.0]), 1.0),
        Measured((1,), np.array([60.0, 60.0]), 2.0),
    ]
    assert total_of(measured) == pytest.approx((4 * 100 + 120) / 5)
