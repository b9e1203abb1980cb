import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from sfumato.mechanisms.projection import norm_sub, project_box, project_simplex

vectors = st.lists(st.floats(-100, 100), min_size=1, max_size=15)


def projection_by_root_finding(values, total, weights):
    """Find the multiplier tau with a general root finder."""
    values, weights = np.asarray(values), np.asarray(weights)

    def excess(tau):
        return np.maximum(values - tau / weights, 0).sum() - total

    low = -(abs(values).max() + total + 1) * weights.max()
    high = (abs(values).max() + 1) * weights.max()
    return np.maximum(values - brentq(excess, low, high, xtol=1e-12) / weights, 0)


@given(vectors, st.floats(0.01, 300), st.data())
def test_simplex_projection_equals_root_finding(values, total, data):
    weights = data.draw(st.lists(st.floats(0.1, 10), min_size=len(values), max_size=len(values)))
    exact = project_simplex(values, total, weights)
    np.testing.assert_allclose(exact, projection_by_root_finding(values, total, weights), atol=1e-6)


@given(vectors, st.floats(0, 300))
def test_simplex_projection_is_feasible_and_idempotent(values, total):
    projected = project_simplex(values, total)
    assert np.all(projected >= 0)
    assert projected.sum() == pytest.approx(total, abs=1e-9)
    np.testing.assert_allclose(project_simplex(projected, projected.sum()), projected, atol=1e-9)


@given(vectors, vectors)
def test_simplex_projection_never_moves_away_from_a_feasible_truth(noisy, truth):
    length = min(len(noisy), len(truth))
    values, feasible = np.array(noisy[:length]), np.abs(truth[:length])
    projected = project_simplex(values, feasible.sum())
    assert np.sum((projected - feasible) ** 2) <= np.sum((values - feasible) ** 2) + 1e-6


def test_an_integer_solution_is_found_exactly():
    assert project_simplex([10, 4, -3, 1], 11).tolist() == [8.5, 2.5, 0, 0]


def test_the_shape_is_kept():
    table = np.array([[3.0, -1.0], [2.0, 0.5]])
    projected = project_simplex(table, 4)
    assert projected.shape == (2, 2)
    np.testing.assert_allclose(projected.ravel(), project_simplex(table.ravel(), 4))


def test_a_total_of_zero_gives_zeros():
    assert project_simplex([1.0, 1.0, -4.0], 0).tolist() == [0, 0, 0]


def test_a_tiny_total_beside_huge_values_is_still_met():
    projected = project_simplex([1e300, 1e300], 1e-3)
    assert projected.sum() == pytest.approx(1e-3)
    assert np.all(projected >= 0)


def repeated_norm_sub(values, total):
    """The published loop: drop negatives, spread the difference, until all are non-negative."""
    kept = np.asarray(values, dtype=float).copy()
    active = np.ones(kept.size, dtype=bool)
    while True:
        kept[active] += (total - kept[active].sum()) / active.sum()
        negative = active & (kept < 0)
        if not negative.any():
            return np.where(active, kept, 0.0)
        active &= ~negative


@given(vectors, st.floats(0.01, 300))
def test_norm_sub_equals_its_published_loop(values, total):
    np.testing.assert_allclose(norm_sub(values, total), repeated_norm_sub(values, total), atol=1e-8)


@given(vectors, st.floats(-20, 0), st.floats(0, 20), st.floats(0, 1))
def test_box_projection_with_a_total_equals_root_finding(values, low, high, part):
    total = len(values) * (low + part * (high - low))
    total = min(max(total, np.full(len(values), low).sum()), np.full(len(values), high).sum())
    projected = project_box(values, low, high, total=total)
    assert projected.sum() == pytest.approx(total, abs=1e-8)
    array = np.asarray(values)

    def excess(tau):
        return np.clip(array - tau, low, high).sum() - total

    if abs(excess(-200)) > 1e-9 and abs(excess(200)) > 1e-9:
        tau = brentq(excess, -200, 200, xtol=1e-13)
        np.testing.assert_allclose(projected, np.clip(array - tau, low, high), atol=1e-8)


def test_box_projection_without_a_total_is_clipping():
    assert project_box([5, -5, 1], 0, [1, 2, 3]).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: project_simplex([1.0], -1), "total must be at least 0"),
        (lambda: project_simplex([np.nan], 1), "finite"),
        (lambda: project_simplex([], 1), "empty"),
        (lambda: project_simplex([1.0], 1, [0.0]), "positive"),
        (lambda: project_simplex([1.0], 1, [1.0, 1.0]), "shape"),
        (lambda: project_box([1.0], 2, 1), "lower must not exceed upper"),
        (lambda: project_box([1.0], 0, 1, total=2), "between"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_nothing_is_projected_to_nothing():
    assert project_simplex(np.zeros((0, 3)), 0).shape == (0, 3)
    assert project_box(np.zeros((2, 0)), 0, 1, total=0).shape == (2, 0)
