from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma

from sfumato.mechanisms.smooth_calibration import (
    _tail_above,
    _tail_below,
    cauchy_calibration,
    laplace_beta,
    laplace_calibration,
    smooth_maximum,
)
from sfumato.privacy.rounding import exp_up


def published_beta(epsilon, delta, dimension):
    if dimension == 1:
        return epsilon / (2 * np.log(2 / delta))
    return epsilon / (4 * (dimension + np.log(2 / delta)))


@pytest.mark.parametrize(
    ("epsilon", "delta", "dimension", "published", "exact"),
    [
        (1, 0.01, 1, 0.094370, 0.127799),
        (1, 1e-6, 1, 0.034462, 0.038218),
        (1, 1e-6, 100, 0.002183, 0.00899),
        (10, 1e-6, 100, 0.021832, 0.081431),
        (1, 0.01, 5242, 0.0000476, 0.002816),
        (10, 0.01, 1, 0.944, 0.817),
    ],
)
def test_exact_beta_of_the_worked_examples(epsilon, delta, dimension, published, exact):
    digits = len(f"{published:f}".rstrip("0").split(".")[1])
    assert published_beta(epsilon, delta, dimension) == pytest.approx(
        published, abs=10.0 ** -min(digits, 7)
    )
    beta = float(laplace_beta(epsilon, delta, dimension))
    assert beta == pytest.approx(exact, abs=0.6 * 10.0 ** -len(str(exact).split(".")[1]))


@given(
    st.floats(0.01, 50), st.floats(1e-12, 0.3), st.sampled_from([1, 2, 7, 60]), st.floats(0.1, 0.9)
)
def test_beta_keeps_both_dilation_inequalities_and_almost_reaches_one(eps, delta, d, slide):
    beta = float(laplace_beta(eps, delta, d, slide=slide))
    high, low = gamma(d).isf(delta), gamma(d).ppf(delta)
    budget = eps * (1 - slide)
    growing = np.expm1(beta) * high - d * beta
    shrinking = d * beta + np.expm1(-beta) * low
    assert max(growing, shrinking) <= budget * (1 + 1e-9)
    assert max(growing, shrinking) >= budget * (1 - 1e-6)


@pytest.mark.parametrize(("dimension", "delta"), [(1, 1e-9), (3, 0.01), (40, 1e-6), (500, 1e-3)])
def test_certified_tails_bound_the_gamma_distribution_closely(dimension, delta):
    high = Fraction(str(gamma(dimension).isf(delta)))
    low = Fraction(str(gamma(dimension).ppf(delta)))
    assert float(_tail_above(dimension, high)) == pytest.approx(delta, rel=1e-9)
    assert float(_tail_below(dimension, low)) == pytest.approx(delta, rel=1e-9)


def test_a_bound_for_one_direction_only_pays_with_a_smaller_delta():
    one_way = laplace_beta(10, 0.01, symmetric=False)
    assert one_way < laplace_beta(10, 0.01)
    assert float(one_way) == pytest.approx(float(laplace_beta(10, 0.01 * np.exp(-5))), rel=1e-9)


def hockey_stick(epsilon, beta, slide=0.5):
    """The delta at epsilon of Laplace noise with the worst shift and scale ratio."""
    scale_x, scale_y = np.exp(beta) / (slide * epsilon), 1 / (slide * epsilon)
    worst = 0.0
    grid = np.linspace(-400, 400, 4_000_001)
    for first, second in [(scale_x, scale_y), (scale_y, scale_x)]:
        # f differs by S of the second data set, which is 1 or e^beta.
        shift = second * slide * epsilon
        p = np.exp(-np.abs(grid) / first) / (2 * first)
        q = np.exp(-np.abs(grid - shift) / second) / (2 * second)
        excess = np.maximum(p - np.exp(epsilon) * q, 0)
        worst = max(worst, float(excess.sum() * (grid[1] - grid[0])))
    return worst


def test_the_realised_delta_lies_below_the_declared_one():
    assert hockey_stick(1, float(laplace_beta(1, 0.01))) == pytest.approx(6.0e-4, rel=0.05)
    assert hockey_stick(1, published_beta(1, 0.01, 1)) == pytest.approx(1.1e-4, rel=0.05)


def test_cauchy_constants():
    assert cauchy_calibration(1) == cauchy_calibration("1")
    assert cauchy_calibration("0.5").beta == Fraction(1, 4)
    assert cauchy_calibration("0.5").factor == 4
    assert cauchy_calibration(1, published=True).beta == Fraction(1, 6)
    assert cauchy_calibration(1, published=True).factor == 6


@pytest.mark.parametrize("power", [2, 3, 4, 6])
def test_generalised_cauchy_slopes_are_the_suprema(power):
    z = np.linspace(0, 50, 500_001)
    slide = np.max(power * z ** (power - 1) / (1 + z**power))
    dilation = np.max(np.abs(1 - power * z**power / (1 + z**power)))
    calibration = cauchy_calibration(1, power=power)
    assert float(calibration.factor) / 2 == pytest.approx(slide, rel=1e-6)
    assert float(calibration.factor) / 2 >= slide * (1 - 1e-15)
    assert 1 / (2 * float(calibration.beta)) == pytest.approx(max(dilation, 1), rel=1e-4)


def test_laplace_factor_is_one_over_alpha():
    assert laplace_calibration(2, "0.01", slide="0.25").factor == 2


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.fractions(Fraction(1, 50), 2, max_denominator=50),
)
def test_smooth_maximum_equals_brute_force(jumps, beta):
    bounds = np.cumsum(jumps)
    cap = int(bounds[-1]) + 1
    asked = []

    def bound(step):
        asked.append(step)
        return int(bounds[step]) if step < len(bounds) else cap

    smooth = smooth_maximum(bound, beta, cap)
    terms = [np.exp(-float(beta) * s) * min(bound(s), cap) for s in range(len(bounds) + 1)]
    assert float(smooth) == pytest.approx(max(terms), rel=1e-12)


@given(st.integers(0, 60), st.fractions(Fraction(1, 20), 1, max_denominator=20))
def test_rounded_smooth_maximum_is_still_smooth(start, beta):
    def around(x):
        return smooth_maximum(lambda s: min(x + s, 50), beta, 50)

    assert around(start) >= min(start, 50)
    assert around(start + 1) <= exp_up(beta) * around(start)
    assert around(start) <= exp_up(beta) * around(start + 1)


def test_the_search_stops_when_nothing_later_can_win():
    asked = []

    def bound(step):
        asked.append(step)
        return 10

    assert smooth_maximum(bound, "0.1", 1000) == 10
    # ln(1000/10)/0.1 is 46.05: no bound of at most 1000 wins after 47 steps.
    assert max(asked) == 47


def test_the_search_for_a_constant_function_ends_at_the_floor():
    floor = Fraction(5, 2**256)
    asked = []
    assert smooth_maximum(lambda step: asked.append(step) or 0, 1, 5) == floor
    # ln(2^256) is 177.4.
    assert max(asked) == 178
    assert smooth_maximum(lambda step: asked.append(step) or 0, 1, 5, horizon=3) == floor
    assert asked[-1] == 3


def test_a_bound_above_the_cap_is_cut_to_the_cap():
    assert smooth_maximum(lambda step: 10**9, 1, 7) == 7


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: laplace_beta(0, 0.1), "epsilon must be positive"),
        (lambda: laplace_beta(1, 1), "delta must be"),
        (lambda: laplace_beta(1, 0), "delta must be positive"),
        (lambda: laplace_beta(1, 0.1, 0), "dimension"),
        (lambda: laplace_beta(1, 0.1, slide=1), "slide"),
        (lambda: cauchy_calibration(1, power=1), "power must be at least 2"),
        (lambda: cauchy_calibration(-1), "epsilon must be positive"),
        (lambda: cauchy_calibration(1, slide=0), "slide"),
        (lambda: smooth_maximum(lambda s: 1, 0, 1), "beta must be positive"),
        (lambda: smooth_maximum(lambda s: 1, Fraction(1, 10**31), 1), "beta must be greater"),
        (lambda: smooth_maximum(lambda s: 1, 1, 0), "cap must be positive"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
