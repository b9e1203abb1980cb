"""Noise scaled to a private smooth bound: its law, its price and what it keeps to itself."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from sfumato import noise
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothInput, SmoothLaplace
from sfumato.mechanisms.smooth_calibration import smooth_maximum
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP, Unpriced
from sfumato.privacy.rounding import exp_down, round_down

ONE = Fraction(1)
OUTPUTS = [*range(-120, 121), *range(-600, 601, 40), -(10**4), 10**4, -(10**6), 10**6]


def cauchy(**options):
    return SmoothCauchy(**{"epsilon": ONE, "grid_exponent": -3, **options})


def laplace(**options):
    signature = {"epsilon": ONE, "delta": Fraction(1, 100), "dimension": 1, "grid_exponent": -2}
    return SmoothLaplace(**{**signature, **options})


def worst_pairs(primitive):
    """The value moves by the smaller bound, and the bound by a factor of e^±β or not at all."""
    factor = round_down(exp_down(primitive.beta), 9)
    for other, move in ((factor, ONE), (1 / factor, 1 / factor), (ONE, ONE)):
        for sign in (-1, 1):
            yield other, sign * move


class TestCauchy:
    @pytest.mark.parametrize("power", [2, 3, 4])
    def test_probabilities_sum_to_one(self, power):
        primitive = cauchy(power=power, grid_exponent=0)
        value = SmoothInput(Fraction(1, 3), Fraction(5, 2))
        inside = sum(math.exp(primitive.log_probability(value, u)) for u in range(-2000, 2001))
        # Beyond, the density is c/|z|^power to within a relative 1e-4.
        scale = float(value.bound * primitive.calibration.factor)
        weight = math.sin(math.pi / power) * power / (2 * math.pi)
        outside = 2 * weight * (2000.5 / scale) ** (1 - power) / (power - 1)
        assert inside + outside == pytest.approx(1, abs=1e-6)

    @pytest.mark.parametrize("power", [2, 3, 4])
    def test_no_output_loses_more_than_epsilon(self, power):
        primitive = cauchy(power=power)
        here = SmoothInput(0, 1)
        worst = 0.0
        for bound, move in worst_pairs(primitive):
            there = SmoothInput(move, bound)
            assert primitive.change(here, there).holds
            for units in OUTPUTS:
                ours = primitive.log_probability(here, units)
                worst = max(worst, abs(ours - primitive.log_probability(there, units)))
        assert 0.6 < worst <= 1

    @pytest.mark.parametrize(("power", "least"), [(2, 1.4), (3, 1.1), (4, 1.2)])
    def test_too_little_noise_exceeds_the_price(self, power, least):
        # A bound four times (powers 3 and 4: twice) too small is a scale so much too small.
        primitive = cauchy(power=power)
        small = Fraction(1, 4) if power == 2 else Fraction(1, 2)
        here = SmoothInput(0, small)
        worst = 0.0
        for bound, move in worst_pairs(primitive):
            there = SmoothInput(move, bound * small)
            assert not primitive.change(here, there).holds
            for units in OUTPUTS:
                ours = primitive.log_probability(here, units)
                worst = max(worst, abs(ours - primitive.log_probability(there, units)))
        assert worst > least

    def test_samples_follow_the_log_probability(self):
        # Chi-square at 1e-7 over nine cells; a bound 10 % off is rejected.
        primitive, trials = cauchy(grid_exponent=0), 24_000
        edges = [-(10**9), -16, -8, -4, -1, 3, 6, 10, 18, 10**9]
        truth = SmoothInput(Fraction(1, 2), Fraction(2))
        with noise.seeded(17):
            draws = np.array([primitive.sample(truth) for _ in range(trials)], dtype=float)
        observed = np.histogram(np.clip(draws, -(10**9), 10**9), edges)[0]
        for bound, accepted in ((2, True), (Fraction(9, 5), False), (Fraction(11, 5), False)):
            other = SmoothInput(Fraction(1, 2), Fraction(bound))
            law = [
                sum(math.exp(primitive.log_probability(other, c)) for c in range(low, high))
                for low, high in pairwise(edges[1:-1])
            ]
            tails = (1 - sum(law)) / 2  # the law is symmetric about 1/2, and so are the cells
            expected = trials * np.array([tails, *law, tails])
            p_value = stats.chisquare(observed, expected, sum_check=False).pvalue
            assert (p_value > 1e-7) == accepted

    def test_a_zero_bound_adds_no_noise(self):
        value = SmoothInput(Fraction(3, 8), 0)
        assert cauchy().sample(value) == 3
        assert cauchy().log_probability(value, 3) == 0
        assert cauchy().log_probability(value, 4) == -math.inf

    def test_cost_in_each_measure(self):
        assert cauchy().cost(PureDP) == PureDP(1)
        assert cauchy().cost(ApproxDP) == ApproxDP(1, 0)
        assert cauchy().cost(ZCDP) == ZCDP("1/2")

    def test_the_signature_holds_nothing_private(self):
        assert cauchy().signature() == {
            "kind": "smooth Cauchy noise",
            "epsilon": "1",
            "grid_exponent": -3,
            "power": 2,
            "slide": "1/2",
        }


def hockey_stick(primitive, first, second, epsilon):
    """Σ max(0, P(u) − e^ε·Q(u)) over all outputs of one coordinate."""
    total = 0.0
    for units in range(-400, 401):
        p = math.exp(primitive.log_probability(first, [units]))
        q = math.exp(primitive.log_probability(second, [units]))
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


class TestLaplace:
    def test_probabilities_sum_to_one(self):
        primitive, value = laplace(), SmoothInput((Fraction(1, 3),), Fraction(5, 2))
        total = sum(
            math.exp(primitive.log_probability(value, [units])) for units in range(-3000, 3001)
        )
        assert total == pytest.approx(1, abs=1e-12)

    def test_the_realised_delta_is_below_the_declared_one(self):
        primitive, here = laplace(), SmoothInput((0,), 1)
        worst = 0.0
        for bound, move in worst_pairs(primitive):
            there = SmoothInput((move,), bound)
            assert primitive.change(here, there).holds
            worst = max(worst, hockey_stick(primitive, here, there, 1))
            worst = max(worst, hockey_stick(primitive, there, here, 1))
        assert worst == pytest.approx(6.0e-4, rel=0.01)

    def test_half_the_noise_exceeds_the_declared_delta(self):
        primitive = laplace()
        here = SmoothInput((0,), Fraction(1, 2))
        worst = 0.0
        for bound, move in worst_pairs(primitive):
            there = SmoothInput((move,), bound / 2)
            assert not primitive.change(here, there).holds
            worst = max(worst, hockey_stick(primitive, here, there, 1))
        assert worst > 0.02

    def test_samples_follow_the_log_probability(self):
        # Chi-square at 1e-7 over 40 cells; a bound 10 % off is rejected.
        trials = 40_000
        primitive = laplace(dimension=trials, grid_exponent=0, delta=Fraction(1, 10))
        one = laplace(grid_exponent=0)
        with noise.seeded(23):
            draws = primitive.sample(SmoothInput((Fraction(1, 2),) * trials, Fraction(2)))
        draws = draws.astype(np.int64)
        cells = np.arange(-19, 21)
        observed = [int((draws == cell).sum()) for cell in cells]
        observed.append(trials - sum(observed))
        for bound, accepted in ((2, True), (Fraction(9, 5), False), (Fraction(11, 5), False)):
            other = SmoothInput((Fraction(1, 2),), Fraction(bound))
            law = [trials * math.exp(one.log_probability(other, [int(c)])) for c in cells]
            law.append(trials - sum(law))
            p_value = stats.chisquare(observed, law, sum_check=False).pvalue
            assert (p_value > 1e-7) == accepted

    def test_coordinates_are_independent(self):
        primitive = laplace(dimension=3)
        value = SmoothInput((0, 1, Fraction(1, 2)), 2)
        parts = [
            laplace().log_probability(SmoothInput((centre,), 2), [units])
            for centre, units in zip(value.value, (4, -3, 90), strict=True)
        ]
        assert primitive.log_probability(value, (4, -3, 90)) == pytest.approx(sum(parts))

    def test_it_has_an_approximate_cost_only(self):
        assert laplace().cost(ApproxDP) == ApproxDP(1, "0.01")
        for measure in (PureDP, ZCDP):
            with pytest.raises(Unpriced):
                laplace().cost(measure)

    def test_a_one_sided_bound_asks_for_a_smaller_beta(self):
        one_sided = laplace(epsilon=Fraction(10), symmetric=False)
        assert one_sided.beta < laplace(epsilon=Fraction(10)).beta
        small, large = SmoothInput((0,), 1), SmoothInput((Fraction(5, 4),), Fraction(5, 4))
        assert one_sided.change(small, large).holds
        assert not laplace(epsilon=Fraction(10)).change(small, large).holds


class TestChange:
    def test_bounds_that_differ_by_more_than_beta_are_found(self):
        assert not cauchy().change(SmoothInput(0, 1), SmoothInput(0, Fraction(17, 10))).holds
        assert cauchy().change(SmoothInput(0, 1), SmoothInput(0, Fraction(16, 10))).holds

    def test_zero_bounds(self):
        nothing = SmoothInput(0, 0)
        assert cauchy().change(nothing, nothing).holds
        assert not cauchy().change(nothing, SmoothInput(1, 0)).holds
        assert not cauchy().change(nothing, SmoothInput(0, 1)).holds

    def test_a_smooth_maximum_keeps_the_declaration(self):
        primitive = cauchy()

        def around(x):
            bound = smooth_maximum(lambda s: min(x + s, 30), primitive.beta, 30)
            return SmoothInput(x * x // 4, bound)

        for x in range(40):
            assert primitive.change(around(x), around(x + 1)).holds


@pytest.mark.parametrize(
    ("primitive", "value", "words"),
    [
        (cauchy(), 3, "SmoothInput"),
        (cauchy(), SmoothInput((1,), 1), "one rational number"),
        (cauchy(), SmoothInput(0.5, 1), "ints or Fractions"),
        (cauchy(), SmoothInput(1, -1), "positive"),
        (cauchy(), SmoothInput(1, 0), "positive"),
        (laplace(), SmoothInput(1, 1), "tuple of 1"),
        (laplace(dimension=2), SmoothInput((1,), 1), "tuple of 2"),
        (laplace(), SmoothInput((True,), 1), "ints or Fractions"),
    ],
)
def test_inputs_of_the_wrong_kind_are_refused(primitive, value, words):
    with pytest.raises(ValueError, match=words):
        primitive.check(value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cauchy(epsilon=Fraction(0)), "epsilon"),
        (lambda: cauchy(power=1), "power must be at least 2"),
        (lambda: laplace(delta=ONE), "delta"),
        (lambda: laplace(dimension=0), "dimension"),
    ],
)
def test_bad_signatures_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
