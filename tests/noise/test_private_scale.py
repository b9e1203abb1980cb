"""Noise with a private scale: its laws, its privacy constants, and roundings that lose nothing."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betainc

from sfumato.noise import _lazy, private_scale
from sfumato.noise.bits import seeded
from sfumato.noise.private_scale import (
    cauchy_log_probability,
    dilation_rate,
    perturb_cauchy,
    perturb_gaussian,
    perturb_laplace,
    slide_rate,
)

FALSE_ALARM = 1e-6
FINE = -60


def cauchy_magnitude(gamma: float):
    return lambda z: 1 - betainc(1 - 1 / gamma, 1 / gamma, 1 / (1 + z**gamma))


LAWS = {
    "cauchy": (perturb_cauchy, {}, cauchy_magnitude(2)),
    "gamma=4": (perturb_cauchy, {"gamma": 4}, cauchy_magnitude(4)),
    "gamma=3/2": (perturb_cauchy, {"gamma": "3/2"}, cauchy_magnitude(1.5)),
    "gamma=7/3": (perturb_cauchy, {"gamma": Fraction(7, 3)}, cauchy_magnitude(7 / 3)),
    "laplace": (perturb_laplace, {}, lambda z: 1 - np.exp(-z)),
    "gaussian": (perturb_gaussian, {}, lambda z: 2 * stats.norm.cdf(z) - 1),
}


def noise_of(name: str, scale: Fraction, size: int) -> np.ndarray:
    """Draw noise around 1/3 on a fine grid, in units of its scale."""
    perturb, options, _ = LAWS[name]
    with seeded(name):
        units = perturb([Fraction(1, 3)] * size, scale, grid_exponent=FINE, **options)
    return np.array(
        [float((unit * Fraction(2) ** FINE - Fraction(1, 3)) / scale) for unit in units]
    )


@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_right_and_ten_percent_off_is_rejected(name):
    magnitude = LAWS[name][2]
    noise = noise_of(name, Fraction(22, 7), 36_000 if name == "gamma=3/2" else 14_000)
    assert stats.kstest(np.abs(noise), magnitude).pvalue > FALSE_ALARM
    assert stats.binomtest(int((noise > 0).sum()), noise.size).pvalue > FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert stats.kstest(np.abs(noise), lambda z, w=wrong: magnitude(z / w)).pvalue < FALSE_ALARM


@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_the_same_when_bits_come_two_at_a_time(name, monkeypatch):
    monkeypatch.setattr(_lazy, "WIDTH", 2)
    noise = noise_of(name, Fraction(1, 1000), 3_000)
    assert stats.kstest(np.abs(noise), LAWS[name][2]).pvalue > FALSE_ALARM
    assert stats.binomtest(int((noise > 0).sum()), noise.size).pvalue > FALSE_ALARM


@pytest.mark.parametrize("gamma", [2, 4])
def test_answers_on_a_coarse_grid_follow_their_log_probability(gamma, yardstick):
    value, scale, grid = Fraction(5, 7), Fraction(3, 2), 0
    with seeded(gamma):
        units = np.array(
            perturb_cauchy([value] * 24_000, scale, grid_exponent=grid, gamma=gamma), dtype=object
        )
    draws = np.clip(units, -(10**6), 10**6).astype(np.int64)

    def law(dilation: Fraction) -> dict[int, float]:
        return {
            k: math.exp(
                cauchy_log_probability(k, value, scale * dilation, grid_exponent=grid, gamma=gamma)
            )
            for k in range(-8, 10)
        }

    assert yardstick.chi_square_fits(draws, law(Fraction(1)))
    assert not yardstick.chi_square_fits(draws, law(Fraction(11, 10)))
    assert not yardstick.chi_square_fits(draws, law(Fraction(9, 10)))


@pytest.mark.parametrize("gamma", [2, Fraction(3, 2), 4])
@pytest.mark.parametrize("grid", [-12, -1, 3])
def test_log_probabilities_add_up_to_one(gamma, grid):
    reach = 8_000 if grid == -12 else 2_000
    total = sum(
        math.exp(cauchy_log_probability(k, Fraction(1, 3), 1, grid_exponent=grid, gamma=gamma))
        for k in range(-reach, reach + 1)
    )
    end = (reach + 0.5) * 2.0**grid
    outside = sum(1 - cauchy_magnitude(float(gamma))(end + shift) for shift in (1 / 3, -1 / 3)) / 2
    assert total + outside == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("gamma", [2, Fraction(3, 2), 4])
def test_log_probabilities_of_extreme_answers_are_finite_and_continuous(gamma):
    far = [
        cauchy_log_probability(private_scale.FAR_OUT + k, 0, 1, grid_exponent=0, gamma=gamma)
        for k in (0, 1)
    ]
    assert far[0] == pytest.approx(far[1], abs=1e-9)
    extreme = cauchy_log_probability(-(10**400), 3, 1, grid_exponent=0, gamma=gamma)
    g = float(gamma)
    density = -g * 400 * math.log(10) - math.log(2 * math.pi / (g * math.sin(math.pi / g)))
    assert extreme == pytest.approx(density, rel=1e-12)


@pytest.mark.parametrize("gamma", [Fraction(6, 5), Fraction(3, 2), 2, 3, 4, Fraction(9, 2), 10])
def test_admissibility_constants_are_the_suprema_rounded_up(gamma):
    g = float(gamma)
    t = np.logspace(-12, 12, 200_001)
    slide = (g * t ** (1 - 1 / g) / (1 + t)).max()
    dilation = np.abs(1 - g * t / (1 + t)).max()
    assert slide * (1 - 1e-12) <= float(slide_rate(gamma)) <= slide * (1 + 1e-6)
    assert dilation * (1 - 1e-12) <= float(dilation_rate(gamma)) <= dilation * (1 + 1e-6)
    power = 1 - 1 / Fraction(gamma)
    assert slide_rate(gamma) ** power.denominator >= (Fraction(gamma) - 1) ** power.numerator


def test_constants_of_cauchy_are_one_and_of_gamma_four_are_as_derived():
    assert (slide_rate(), dilation_rate()) == (1, 1)
    assert float(slide_rate(4)) == pytest.approx(3**0.75, abs=1e-15)
    assert dilation_rate(4) == 3


@pytest.mark.parametrize("gamma", [2, 4, Fraction(3, 2)])
def test_the_exact_loss_of_smooth_sensitivity_stays_below_epsilon(gamma):
    epsilon = 1.0
    alpha = Fraction(1, 2) / slide_rate(gamma)
    dilation = Fraction(math.exp(0.5 / float(dilation_rate(gamma)))).limit_denominator(10**6)
    bound = Fraction(3)
    worst = 0.0
    for shift, ratio in itertools.product((-1, 0, 1), (1 / dilation, Fraction(1), dilation)):
        shift_by = shift * min(bound, bound * ratio)
        for units in [*range(-60, 61), 10**4, -(10**6)]:
            loss = cauchy_log_probability(
                units, 0, bound / alpha, grid_exponent=-1, gamma=gamma
            ) - cauchy_log_probability(
                units, shift_by, bound * ratio / alpha, grid_exponent=-1, gamma=gamma
            )
            worst = max(worst, abs(loss))
    assert 0.4 < worst <= epsilon + 1e-6


@pytest.mark.parametrize("perturb", [perturb_cauchy, perturb_laplace, perturb_gaussian])
def test_a_coarse_answer_is_the_rounding_of_the_same_real_number(perturb):
    for seed in range(50):
        with seeded(seed):
            fine = perturb(Fraction(-7, 3), Fraction(9, 5), grid_exponent=-40)
        with seeded(seed):
            coarse = perturb(Fraction(-7, 3), Fraction(9, 5), grid_exponent=-3)
        assert abs(coarse * Fraction(1, 8) - fine * Fraction(1, 2**40)) <= Fraction(
            1, 16
        ) + Fraction(1, 2**41)


@pytest.mark.parametrize("perturb", [perturb_cauchy, perturb_laplace, perturb_gaussian])
def test_no_scale_adds_no_noise_and_rounds_ties_upward(perturb):
    assert perturb(Fraction(5, 2), 0, grid_exponent=0) == 3
    assert perturb(-2.5, 0, grid_exponent=0) == -2
    assert perturb([0.25, 1, Fraction(-1, 4)], 0, grid_exponent=-1) == [1, 2, 0]


def test_scales_of_any_size_and_values_of_any_kind():
    with seeded(3):
        tiny = perturb_cauchy(np.float64(0.5), Fraction(1, 10**40), grid_exponent=-20)
        huge = perturb_gaussian(np.int64(3), 10**40, grid_exponent=-20)
        spread = perturb_laplace(np.array([1.0, 2.0]), 2**-30, grid_exponent=-1)
    assert tiny == 2**19
    assert isinstance(huge, int)
    assert 10**36 < abs(huge) // 2**20 < 10**42
    assert spread == [2, 4]


@given(
    st.fractions(),
    st.fractions(min_value=0),
    st.integers(-70, 70),
    st.integers(-(10**9), 10**9),
    st.integers(0, 40),
)
def test_settled_roundings_are_those_of_both_ends(centre, scale, exponent, low, width):
    rounding = _lazy.Rounding(centre, scale, exponent)

    def nearest(end: int) -> int:
        x = (centre + scale * Fraction(end, 2**20)) / Fraction(2) ** exponent
        return math.floor(x + Fraction(1, 2))

    expected = nearest(low) if nearest(low) == nearest(low + width) else None
    assert rounding.settle((low, low + width), 20) == expected


@given(
    st.integers(0, 2**24 - 1),
    st.sampled_from([Fraction(2), Fraction(4, 3), Fraction(1, 3), Fraction(7, 4), Fraction(3, 7)]),
)
def test_powers_are_enclosed(low, power):
    below, above = private_scale._power((low, low + 1), 24, power)
    a, b = power.numerator, power.denominator
    assert Fraction(below, 2**24) ** b <= Fraction(low, 2**24) ** a
    assert Fraction(above, 2**24) ** b >= Fraction(low + 1, 2**24) ** a


@given(st.integers(0, 10**40), st.integers(1, 9))
def test_integer_roots(n, degree):
    root = private_scale._integer_root(n, degree)
    assert root**degree <= n < (root + 1) ** degree


def test_the_same_seed_gives_the_same_noise():
    with seeded(5):
        first = perturb_cauchy([0] * 20, 1, grid_exponent=-30)
    with seeded(5):
        assert perturb_cauchy([0] * 20, 1, grid_exponent=-30) == first


@pytest.mark.parametrize("gamma", [1, Fraction(1, 2), -2, 65, Fraction(101, 100)])
def test_gamma_out_of_range_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be a rational number above 1"):
        perturb_cauchy(0, 1, grid_exponent=0, gamma=gamma)


@pytest.mark.parametrize("perturb", [perturb_cauchy, perturb_laplace, perturb_gaussian])
def test_bad_arguments_are_refused_without_showing_private_values(perturb):
    with pytest.raises(ValueError, match="must not be negative") as refusal:
        perturb(0, -12345, grid_exponent=0)
    assert "12345" not in str(refusal.value)
    for value in (math.nan, math.inf, "12345", None, True, [1, math.nan], 1j):
        with pytest.raises(ValueError, match="private value") as refusal:
            perturb(value, 1, grid_exponent=0)
        assert "12345" not in str(refusal.value)
    for grid in (0.5, True, 5000, None):
        with pytest.raises(ValueError, match="exponent of a grid"):
            perturb(0, 1, grid_exponent=grid)


@pytest.mark.parametrize("grid", [-40, -400, -1074])
@pytest.mark.parametrize("place", [0, "1e-9", "1/3", 1, 7, 10**6])
def test_log_probabilities_on_fine_grids_keep_their_digits(grid, place):
    # The arc tangent of a difference has the closed form of one of a small number.
    step = Fraction(2) ** grid
    units = round(Fraction(place) / step)
    low, high = ((units + half) * step for half in (Fraction(-1, 2), Fraction(1, 2)))
    found = cauchy_log_probability(units, 0, 1, grid_exponent=grid)
    width = (high - low) / (1 + low * high)
    exact = math.log(width.numerator) - math.log(width.denominator) - math.log(math.pi)
    assert found == pytest.approx(exact, rel=1e-14)
    turned = cauchy_log_probability(-units, 0, 1, grid_exponent=grid)
    assert turned == found


@pytest.mark.parametrize("gamma", [Fraction(3, 2), 2, 4, 64])
@pytest.mark.parametrize("units", [0, 1, 3, 8, 20])
def test_a_wide_cell_is_made_of_its_narrow_ones(gamma, units):
    # Wide ones are worked out by beta functions, narrow ones by Gauss's rule.
    step = Fraction(1, 2**10)
    parts = [
        cauchy_log_probability(k, -step / 2, 1, grid_exponent=-10, gamma=gamma)
        for k in range(128 * units - 64, 128 * units + 64)
    ]
    wide = cauchy_log_probability(units, 0, 1, grid_exponent=-3, gamma=gamma)
    whole = math.fsum(map(math.exp, parts))
    assert whole == pytest.approx(math.exp(wide), rel=2e-13, abs=1e-300)
