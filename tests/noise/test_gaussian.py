import hashlib
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from sfumato import noise
from sfumato.noise import gaussian

VARIANCES = ["1/10", "1/3", "1", "6.25", "100", "12345"]


def _probabilities(variance, reach):
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-(x.astype(float) ** 2) / (2 * variance))
    return dict(zip(x.tolist(), (weights / weights.sum()).tolist(), strict=True))


def _cumulative(variance):
    reach = int(12 * variance**0.5) + 10
    running = np.cumsum(list(_probabilities(variance, reach).values()))

    def cumulative(x):
        index = np.clip(x.astype(int) + reach, -1, 2 * reach)
        return np.where(index < 0, 0.0, running[index])

    return cumulative


@pytest.mark.parametrize("variance", VARIANCES)
def test_discrete_gaussian_has_the_law_it_names_and_no_other_scale(
    variance, yardstick, seeded_noise
):
    draws = noise.discrete_gaussian(300_000, variance=variance)
    truth = float(noise.exact(variance))
    reach = int(8 * truth**0.5) + 3
    assert yardstick.cumulative_fits(draws, _cumulative(truth))
    assert yardstick.chi_square_fits(draws, _probabilities(truth, reach))
    for factor in (0.9, 1.1):  # of the standard deviation
        wrong = truth * factor**2
        assert not yardstick.chi_square_fits(draws, _probabilities(wrong, reach))
        if truth > 0.2:  # below, nearly all draws are 0 and the cumulative function hides the rest
            assert not yardstick.cumulative_fits(draws, _cumulative(wrong))


def test_a_tiny_variance_gives_zeros_and_a_huge_one_fits(seeded_noise):
    assert not noise.discrete_gaussian(10_000, variance=1e-6).any()
    assert not noise.discrete_gaussian(100, variance="1e-3000").any()
    for sigma in (10**9, 10**15):
        draws = noise.discrete_gaussian(100_000, variance=sigma**2).astype(float) / sigma
        assert abs(draws.mean()) < 5 / 100_000**0.5
        assert abs((draws**2).mean() - 1) < 5 * (2 / 100_000) ** 0.5
        assert abs((draws**4).mean() - 3) < 5 * (96 / 100_000) ** 0.5


@pytest.mark.parametrize("variance", ["1/3", "7", 10**20, "1e-1000"])
def test_the_integers_decide_as_the_filter_does(monkeypatch, variance):
    with noise.seeded("filter"):
        expected = noise.discrete_gaussian(500, variance=variance)
    monkeypatch.setattr(import_module("sfumato.noise.bernoulli"), "FILTER_MARGIN", 1.0)
    with noise.seeded("filter"):
        assert (noise.discrete_gaussian(500, variance=variance) == expected).all()


def test_the_acceptance_probability_completes_the_laplace_to_a_gaussian_exactly():
    # exponent + |x|/t must equal x²/(2σ²) plus a constant.
    for variance in (Fraction(1, 3), Fraction(7), Fraction(12345, 67)):
        t = int(float(variance) ** 0.5) + 1
        for x in range(30):
            exponent = (x - variance / t) ** 2 / (2 * variance)
            assert exponent + Fraction(x, t) == x * x / (2 * variance) + variance / (2 * t * t)


def test_variances_beyond_int64_have_the_right_moments_in_python_integers(seeded_noise):
    sigma = 10**17
    draws = noise.discrete_gaussian(4000, variance=sigma**2)
    assert all(type(draw) is int for draw in draws.tolist())
    draws = np.array([draw / sigma for draw in draws.tolist()])
    assert abs(draws.mean()) < 5 / 4000**0.5
    assert abs((draws**2).mean() - 1) < 5 * (2 / 4000) ** 0.5
    assert type(noise.discrete_gaussian(variance=10**1000)) is int


def test_seeded_draws_are_fixed_for_ever():
    with noise.seeded(2024):
        assert noise.discrete_gaussian(12, variance=9).tolist() == [
            -1,
            3,
            -2,
            -1,
            -2,
            0,
            -1,
            -3,
            2,
            2,
            0,
            0,
        ]
        draws = noise.discrete_gaussian(100_000, variance="1e6")
    assert hashlib.sha256(draws.astype("<i8").tobytes()).hexdigest()[:16] == "e56d5c37d9de889b"


@pytest.mark.parametrize("block_words", [100, 5000])
def test_the_size_of_the_buffer_changes_nothing(monkeypatch, block_words):
    with noise.seeded("buffer"):
        expected = noise.discrete_gaussian(3000, variance=5)
    monkeypatch.setattr(import_module("sfumato.noise.bits"), "BLOCK_WORDS", block_words)
    with noise.seeded("buffer"):
        assert (noise.discrete_gaussian(3000, variance=5) == expected).all()


def test_shapes_and_plain_values(seeded_noise):
    assert type(noise.discrete_gaussian(variance=3)) is int
    assert noise.discrete_gaussian((3, 4), variance=3).shape == (3, 4)
    assert noise.discrete_gaussian(0, variance=3).dtype == np.int64


@pytest.mark.parametrize("variance", [0, -1, float("nan"), float("inf"), "1/0"])
def test_bad_variances_are_refused(variance):
    with pytest.raises(ValueError, match="variance"):
        noise.discrete_gaussian(1, variance=variance)


def test_the_stand_in_for_an_enormous_inverse_is_finite_and_large():
    assert gaussian._inverse_root(Fraction(1, 10**5000)) == 2.0**400
    assert gaussian._inverse_root(Fraction(4)) == 0.5
