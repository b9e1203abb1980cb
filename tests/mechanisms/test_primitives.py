"""Every one-shot primitive: its law, its price, and that the price is not too small."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato import noise
from sfumato.mechanisms.choose import Choose, ChooseSeveral, permute_and_flip_log_probability
from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.knorm import KNormNoise
from sfumato.mechanisms.laplace import LARGEST_INPUT, GeometricNoise
from sfumato.mechanisms.real import RealLaplace, units_of
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP, Unpriced
from tests.mechanisms.opened import opened

ONE = Fraction(1)


def geometric(epsilon=ONE, shape=(1,)):
    return GeometricNoise(shape=shape, sensitivity=ONE, epsilon=epsilon)


def integers(*values):
    return np.array(values, dtype=np.int64)


class TestGeometric:
    def test_probabilities_sum_to_one(self):
        primitive = geometric(Fraction(1, 2))
        total = sum(
            math.exp(primitive.log_probability(integers(3), integers(y))) for y in range(-100, 107)
        )
        assert total == pytest.approx(1, abs=1e-12)

    def test_the_worst_ratio_is_epsilon_exactly(self):
        primitive = geometric(Fraction(1, 2))
        ratios = [
            primitive.log_probability(integers(3), integers(y))
            - primitive.log_probability(integers(4), integers(y))
            for y in range(-50, 50)
        ]
        assert max(map(abs, ratios)) == pytest.approx(0.5, abs=1e-12)

    def test_the_standard_deviation_is_that_of_the_law(self):
        primitive = geometric(Fraction(1, 3))
        support = np.arange(-400, 401)
        probabilities = [
            math.exp(primitive.log_probability(integers(0), integers(x))) for x in support
        ]
        assert primitive.standard_deviation == pytest.approx(
            math.sqrt(np.dot(probabilities, support**2))
        )
        assert geometric(Fraction(10**6)).standard_deviation == 0.0

    def test_samples_follow_the_log_probability(self):
        # Chi-square at 1e-7; a scale 10 % off is rejected with the same draws.
        primitive = geometric(Fraction(1, 2), (40_000,))
        with noise.seeded(3):
            draws = primitive.sample(np.zeros(40_000, dtype=np.int64))
        for epsilon, accepted in ((0.5, True), (0.45, False), (0.55, False)):
            one = geometric(Fraction(epsilon).limit_denominator(100))
            cells = range(-8, 9)
            expected = [
                40_000 * math.exp(one.log_probability(integers(0), integers(x))) for x in cells
            ]
            observed = [int((draws == x).sum()) for x in cells]
            expected.append(40_000 - sum(expected))
            observed.append(40_000 - sum(observed))
            p_value = stats.chisquare(observed, expected, sum_check=False).pvalue
            assert (p_value > 1e-7) == accepted

    def test_cost_in_each_measure(self):
        assert geometric().cost(PureDP) == PureDP(1)
        assert geometric().cost(ApproxDP) == ApproxDP(1, 0)
        assert geometric().cost(ZCDP) == ZCDP("1/2")

    @pytest.mark.parametrize(
        "bad",
        [
            [1],
            np.array([1.0]),
            np.array([1, 2]),
            np.array([[1]]),
        ],
    )
    def test_inputs_of_another_shape_or_type_are_refused(self, bad):
        with pytest.raises(ValueError, match="input"):
            geometric().check(bad)

    def test_large_inputs_are_cut_and_not_refused(self):
        primitive = geometric(shape=(2,))
        extreme = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
        primitive.check(extreme)
        with noise.seeded(1):
            said = primitive.sample(extreme)
        assert abs(int(said[0]) + LARGEST_INPUT) < 100 > abs(int(said[1]) - LARGEST_INPUT)
        assert primitive.change(extreme, extreme).measured == 0

    def test_distances_do_not_overflow(self):
        primitive = geometric(shape=(4096,))
        far = np.full(4096, LARGEST_INPUT)
        assert primitive.change(far, -far).measured == 4096 * 2 * LARGEST_INPUT

    def test_figures_become_exact_fractions(self):
        primitive = GeometricNoise(shape=(1,), sensitivity=1, epsilon=0.07)
        assert primitive.scale == Fraction(100, 7)


class TestGaussian:
    @pytest.mark.parametrize("rho", [Fraction(1, 50), Fraction(1, 2), Fraction(5)])
    def test_probabilities_sum_to_one(self, rho):
        primitive = GaussianNoise(shape=(1,), squared_sensitivity=ONE, rho=rho)
        total = sum(
            math.exp(primitive.log_probability(integers(0), integers(y))) for y in range(-80, 81)
        )
        assert total == pytest.approx(1, abs=1e-12)

    @pytest.mark.parametrize("rho", [0.02, 0.5, 3.0])
    def test_the_renyi_divergence_of_a_shift_is_within_rho_and_close(self, rho):
        primitive = GaussianNoise(
            shape=(1,), squared_sensitivity=ONE, rho=Fraction(rho).limit_denominator(100)
        )
        support = [integers(y) for y in range(-120, 121)]
        here = np.array([primitive.log_probability(integers(0), y) for y in support])
        there = np.array([primitive.log_probability(integers(1), y) for y in support])
        for order in (1.5, 2, 5, 20):
            divergence = np.logaddexp.reduce(order * here + (1 - order) * there) / (order - 1)
            assert divergence <= order * rho * (1 + 1e-9)
            if rho < 1:
                assert divergence >= 0.9 * order * rho

    def test_it_has_no_pure_price(self):
        primitive = GaussianNoise(shape=(1,), squared_sensitivity=ONE, rho=ONE)
        with pytest.raises(Unpriced):
            primitive.cost(PureDP)
        assert primitive.cost(ZCDP) == ZCDP(1)

    def test_change_is_exact_for_large_counts(self):
        primitive = GaussianNoise(shape=(2,), squared_sensitivity=ONE, rho=ONE)
        change = primitive.change(integers(2**52, 0), integers(0, 0))
        assert change.measured == 2**104 and not change.holds


class TestChoice:
    @pytest.mark.parametrize("scores", [(0, 0, 0), (0, 1, 3), (5, -2, 4, 4), (7,)])
    def test_permute_and_flip_matches_the_enumeration_of_all_orders(self, scores):
        rate = 0.7
        coins = [math.exp(rate * (score - max(scores))) for score in scores]
        expected = np.zeros(len(scores))
        orders = list(itertools.permutations(range(len(scores))))
        for order in orders:
            reached = 1.0
            for candidate in order:
                expected[candidate] += reached * coins[candidate] / len(orders)
                reached *= 1 - coins[candidate]
        found = [
            math.exp(permute_and_flip_log_probability(integers(*scores), rate, r))
            for r in range(len(scores))
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-10)

    def test_many_candidates_still_sum_to_one(self):
        scores = np.arange(300, dtype=np.int64) % 7
        found = [math.exp(permute_and_flip_log_probability(scores, 0.5, r)) for r in range(300)]
        assert sum(found) == pytest.approx(1, abs=1e-9)

    @pytest.mark.parametrize("law", ["permute-and-flip", "exponential"])
    @pytest.mark.parametrize("monotone", [False, True])
    def test_the_worst_ratio_over_all_neighbours_is_within_epsilon(self, law, monotone):
        primitive = Choose(candidates=3, sensitivity=ONE, epsilon=ONE, law=law, monotone=monotone)
        steps = (0, 1) if monotone else (-1, 0, 1)
        worst = 0.0
        for scores in itertools.product(range(0, 12, 4), repeat=3):
            for change in itertools.product(steps, repeat=3):
                here = integers(*scores)
                there = here + integers(*change)
                assert primitive.change(here, there).holds
                for r in range(3):
                    loss = primitive.log_probability(here, r) - primitive.log_probability(there, r)
                    worst = max(worst, abs(loss))
        assert 0.8 < worst <= 1 + 1e-9

    def test_scores_that_move_both_ways_are_not_monotone(self):
        primitive = Choose(candidates=2, sensitivity=ONE, epsilon=ONE, monotone=True)
        assert not primitive.change(integers(0, 1), integers(1, 0)).holds

    def test_the_exponential_mechanism_costs_an_eighth_under_zcdp(self):
        price = {
            law: Choose(candidates=2, sensitivity=ONE, epsilon=ONE, law=law).cost(ZCDP)
            for law in ("permute-and-flip", "exponential")
        }
        assert price == {"permute-and-flip": ZCDP("1/2"), "exponential": ZCDP("1/8")}

    def test_the_renyi_divergence_of_the_exponential_mechanism_is_within_its_price(self):
        primitive = Choose(candidates=4, sensitivity=ONE, epsilon=Fraction(3), law="exponential")
        for change in itertools.product((-1, 0, 1), repeat=4):
            here = integers(0, 1, 2, 0)
            there = here + integers(*change)
            p = np.array([primitive.log_probability(here, r) for r in range(4)])
            q = np.array([primitive.log_probability(there, r) for r in range(4)])
            for order in (1.1, 2, 8):
                divergence = np.logaddexp.reduce(order * p + (1 - order) * q) / (order - 1)
                assert divergence <= order * 9 / 8 + 1e-9

    def test_several_choices_sum_to_one_and_keep_epsilon(self):
        primitive = ChooseSeveral(candidates=4, count=2, sensitivity=ONE, epsilon=ONE)
        here, there = integers(0, 3, 1, 2), integers(1, 2, 2, 1)
        pairs = list(itertools.permutations(range(4), 2))
        logs = np.array([primitive.log_probability(here, pair) for pair in pairs])
        other = np.array([primitive.log_probability(there, pair) for pair in pairs])
        assert np.exp(logs).sum() == pytest.approx(1)
        assert np.abs(logs - other).max() <= 1 + 1e-9
        assert primitive.cost(ZCDP) == ZCDP("1/16")

    def test_choices_follow_their_law(self):
        # Chi-square at 1e-7 over all ordered pairs.
        primitive = ChooseSeveral(candidates=4, count=2, sensitivity=ONE, epsilon=Fraction(4))
        scores = integers(0, 3, 1, 2)
        pairs = list(itertools.permutations(range(4), 2))
        with noise.seeded(5):
            draws = [tuple(int(i) for i in primitive.sample(scores)) for _ in range(4000)]
        observed = [draws.count(pair) for pair in pairs]
        expected = [4000 * math.exp(primitive.log_probability(scores, pair)) for pair in pairs]
        assert stats.chisquare(observed, expected).pvalue > 1e-7

    @pytest.mark.parametrize("count", [0, 5])
    def test_one_cannot_choose_more_than_there_is(self, count):
        with pytest.raises(ValueError, match="count must be from 1"):
            ChooseSeveral(candidates=4, count=count, sensitivity=ONE, epsilon=ONE)


class TestReals:
    def test_rounding_enlarges_the_sensitivity_by_next_to_nothing(self):
        real = RealLaplace(shape=(50,), sensitivity=Fraction(3, 7), epsilon=Fraction(1, 10))
        primitive = real.primitive()
        steps = Fraction(3, 7) / Fraction(2) ** real.exponent
        assert steps <= primitive.sensitivity <= steps * (1 + Fraction(1, 4000))

    def test_rounded_inputs_keep_the_declared_distance(self):
        real = RealLaplace(shape=(3,), sensitivity=ONE, epsilon=ONE)
        generator = np.random.default_rng(0)
        from sfumato.noise.grid import to_units

        for _ in range(200):
            here = generator.normal(size=3)
            step = generator.laplace(size=3)
            there = here + step / np.abs(step).sum() * (1 - 1e-12)
            units = [to_units(v, exponent=real.exponent) for v in (here, there)]
            assert real.primitive().change(*units).holds

    def test_nothing_is_refused_for_what_the_data_are(self):
        real = RealLaplace(shape=(4,), sensitivity=ONE, epsilon=ONE)
        budget = opened(PureDP(1))
        values = np.array([np.nan, np.inf, -1e300, 2.0])
        with noise.seeded(1):
            units = units_of(values, real.exponent)
            said = real.read(budget.measure(real.primitive(), units, label="x"))
        assert said[1] > 1e10 and said[2] < -1e10 and abs(said[0]) < 100
        assert budget.remaining == PureDP(0)

    def test_k_norm_noise(self):
        primitive = KNormNoise(dimension=3, sensitivity=ONE, epsilon=Fraction(1, 2))
        value = np.array([0.5, -1.0, 2.0])
        neighbour = value + np.array([0.6, 0.0, -0.8])
        assert primitive.change(value, neighbour).holds
        assert not primitive.change(value, value + np.array([0.7, 0.0, -0.8])).holds
        with noise.seeded(2):
            losses = []
            for _ in range(50):
                output = primitive.sample(value)
                losses.append(
                    primitive.log_probability(value, output)
                    - primitive.log_probability(neighbour, output)
                )
        assert max(map(abs, losses)) <= 0.5 + 1e-9
        assert max(map(abs, losses)) > 0.3

    @pytest.mark.parametrize("bad", [np.zeros(2), np.array([1, 2, 3]), np.array([np.nan, 0, 0])])
    def test_k_norm_noise_refuses_other_inputs(self, bad):
        with pytest.raises(ValueError, match="input"):
            KNormNoise(dimension=3, sensitivity=ONE, epsilon=ONE).check(bad)
