"""K-norm noise: a Gamma radius, a uniform direction, and a rounding that loses nothing."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.noise import _lazy
from sfumato.noise.bits import seeded
from sfumato.noise.knorm import _length, _scale_interval, perturb_knorm

FALSE_ALARM = 1e-6
FINE = -50
CENTRE = Fraction(1, 3)


def noise_of(dimension: int, scale: Fraction, size: int) -> np.ndarray:
    """Draw vectors around (1/3, …, 1/3) on a fine grid, in units of their scale."""
    with seeded(dimension):
        units = [
            perturb_knorm([CENTRE] * dimension, scale, grid_exponent=FINE) for _ in range(size)
        ]
    step = Fraction(2) ** FINE
    return np.array([[float((u * step - CENTRE) / scale) for u in row] for row in units])


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_radius_is_gamma_and_ten_percent_off_is_rejected(dimension):
    size = {1: 9000, 2: 5000, 5: 2500}[dimension]
    radius = np.linalg.norm(noise_of(dimension, Fraction(5, 3), size), axis=1)
    law = stats.gamma(dimension)
    assert stats.kstest(radius, law.cdf).pvalue > FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert stats.kstest(radius / wrong, law.cdf).pvalue < FALSE_ALARM


def test_direction_is_uniform_and_independent_of_the_radius():
    dimension, size = 4, 3000
    noise = noise_of(dimension, Fraction(7), size)
    radius = np.linalg.norm(noise, axis=1)
    direction = noise / radius[:, None]
    # A coordinate u of a uniform direction has (1 + u)/2 ~ Beta((d-1)/2, (d-1)/2), along any axis.
    beta = stats.beta((dimension - 1) / 2, (dimension - 1) / 2)
    axes = [*np.eye(dimension), np.ones(dimension) / 2, np.array([0.6, -0.8, 0, 0])]
    for axis in axes:
        assert stats.kstest((1 + direction @ axis) / 2, beta.cdf).pvalue > FALSE_ALARM
    covariance = direction.T @ direction / size
    assert np.abs(covariance - np.eye(dimension) / dimension).max() < 5.5 * 0.35 / math.sqrt(size)
    assert stats.pearsonr(radius, np.abs(direction[:, 0])).pvalue > FALSE_ALARM
    lopsided = direction * np.array([1.4, 1, 1, 1])
    lopsided /= np.linalg.norm(lopsided, axis=1)[:, None]
    assert stats.kstest((1 + lopsided[:, 0]) / 2, beta.cdf).pvalue < FALSE_ALARM


def test_the_law_is_the_same_when_bits_come_three_at_a_time(monkeypatch):
    monkeypatch.setattr(_lazy, "WIDTH", 3)
    noise = noise_of(3, Fraction(1, 7), 1000)
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, stats.gamma(3).cdf).pvalue > FALSE_ALARM
    assert stats.kstest((1 + noise[:, 1] / radius) / 2, stats.uniform.cdf).pvalue > FALSE_ALARM


def test_one_dimension_is_laplace():
    noise = noise_of(1, Fraction(2), 5000)[:, 0]
    assert stats.kstest(noise, stats.laplace.cdf).pvalue > FALSE_ALARM


def test_a_coarse_answer_is_the_rounding_of_the_same_real_vector():
    values = [Fraction(1, 3), -2.5, 7]
    for seed in range(40):
        with seeded(seed):
            fine = perturb_knorm(values, "0.7", grid_exponent=-40)
        with seeded(seed):
            coarse = perturb_knorm(values, "0.7", grid_exponent=-3)
        for a, b in zip(coarse, fine, strict=True):
            difference = abs(a * Fraction(1, 8) - b * Fraction(1, 2**40))
            assert difference <= Fraction(1, 16) + Fraction(1, 2**41)


def test_hundreds_of_dimensions_take_a_fraction_of_a_second():
    with seeded(1):
        start = time.perf_counter()
        units = perturb_knorm(np.zeros(400), 1, grid_exponent=-20)
        elapsed = time.perf_counter() - start
    assert elapsed < 1
    radius = math.sqrt(sum(u * u for u in units)) / 2**20
    assert stats.gamma(400).cdf(radius) == pytest.approx(0.5, abs=0.5 - FALSE_ALARM / 2)


def test_a_tiny_scale_leaves_the_rounded_values():
    with seeded(2):
        assert perturb_knorm([0.25, -0.3], Fraction(1, 10**30), grid_exponent=-4) == [4, -5]


def test_lengths_and_products_are_enclosed():
    assert _length([(-4, -3), (4, 5)]) == (5, 7)
    assert _scale_interval((-3, 5), (6, 7), 2) == (-6, 9)
    assert _scale_interval((-5, -3), (6, 7), 0) == (-35, -18)


def test_the_same_seed_gives_the_same_noise():
    with seeded(5):
        first = perturb_knorm([0, 1, 2], 1, grid_exponent=-30)
    with seeded(5):
        assert perturb_knorm([0, 1, 2], 1, grid_exponent=-30) == first


def test_bad_arguments_are_refused_without_showing_private_values():
    with pytest.raises(ValueError, match="at least one number"):
        perturb_knorm([], 1, grid_exponent=0)
    for scale in (0, -1, math.nan):
        with pytest.raises(ValueError, match="scale"):
            perturb_knorm([1], scale, grid_exponent=0)
    with pytest.raises(ValueError, match="exponent of a grid"):
        perturb_knorm([1], 1, grid_exponent=0.5)
    with pytest.raises(ValueError, match="sequence of numbers"):
        perturb_knorm(12345, 1, grid_exponent=0)
    for values in ([math.nan], [1, "12345"]):
        with pytest.raises(ValueError, match="private value") as refusal:
            perturb_knorm(values, 1, grid_exponent=0)
        assert "12345" not in str(refusal.value)
