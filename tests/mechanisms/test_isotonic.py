import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.mechanisms.isotonic import isotonic_regression

sequences = st.lists(st.integers(-50, 50), min_size=1, max_size=12)


def min_max_formula(values, weights):
    """min over j >= k of max over i <= j of the weighted mean of values i..j."""
    n = len(values)
    mean = [
        [
            np.average(values[i : j + 1], weights=weights[i : j + 1]) if i <= j else -np.inf
            for j in range(n)
        ]
        for i in range(n)
    ]
    return [min(max(mean[i][j] for i in range(j + 1)) for j in range(k, n)) for k in range(n)]


@given(sequences, st.data())
def test_isotonic_regression_equals_the_min_max_formula(values, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)))
    fitted = isotonic_regression(values, weights)
    np.testing.assert_allclose(fitted, min_max_formula(values, weights), atol=1e-9)


@given(sequences)
def test_without_weights_all_weights_are_one(values):
    ones = np.ones(len(values))
    np.testing.assert_allclose(isotonic_regression(values), isotonic_regression(values, ones))


@given(sequences)
def test_falling_regression_mirrors_the_rising_one(values):
    falling = isotonic_regression(values, increasing=False)
    rising = isotonic_regression([-value for value in values])
    np.testing.assert_allclose(falling, -rising)


@given(sequences)
def test_isotonic_regression_is_monotone_keeps_the_mean_and_fixes_sorted_input(values):
    fitted = isotonic_regression(values)
    assert np.all(np.diff(fitted) >= 0)
    assert fitted.mean() == pytest.approx(np.mean(values))
    ordered = np.sort(values).astype(float)
    np.testing.assert_array_equal(isotonic_regression(ordered), ordered)


@given(sequences, sequences)
def test_isotonic_regression_never_moves_away_from_a_monotone_truth(noisy, truth):
    length = min(len(noisy), len(truth))
    values, monotone = np.array(noisy[:length]), np.sort(truth[:length])
    fitted = isotonic_regression(values)
    before, after = np.sum((values - monotone) ** 2), np.sum((fitted - monotone) ** 2)
    assert after <= before + 1e-6


def test_an_empty_sequence_stays_empty():
    assert isotonic_regression([]).shape == (0,)


@pytest.mark.parametrize(
    ("values", "weights", "words"),
    [
        ([[1.0]], None, "one-dimensional"),
        ([1.0, 2.0], [1.0], "shape"),
        ([1.0, 2.0], [1.0, 0.0], "positive"),
    ],
)
def test_bad_arguments_are_refused(values, weights, words):
    with pytest.raises(ValueError, match=words):
        isotonic_regression(values, weights)
