"""The Huber loss, its certified minimiser, and objective perturbation."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from sfumato import noise
from sfumato.mechanisms import huber as huber_module
from sfumato.mechanisms.huber import Examples, Objective, huber, huber_slope, minimise
from sfumato.mechanisms.objective import ObjectivePerturbation, calibrate, effective
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import PureDP
from sfumato.privacy.primitive import price_of

HALF = Fraction(1, 2)
ONE = Fraction(1)


def examples(rows, weights=None):
    """Signed examples given as floats."""
    values = np.round(np.array(rows, dtype=float) * 2**16).astype(np.int64)
    values = values.reshape(len(rows), -1) if len(rows) else np.zeros((0, 1), dtype=np.int64)
    places = np.tile(np.arange(values.shape[1]), (len(values), 1))
    counts = np.ones(len(values)) if weights is None else np.array(weights)
    return Examples(places, values, counts.astype(np.int64), values.shape[1])


def some(count, dimension, seed=0):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, dimension))
    rows /= 1.0001 * np.linalg.norm(rows, axis=1, keepdims=True)
    return examples(rows, generator.integers(1, 9, count))


class TestHuber:
    @pytest.mark.parametrize("h", [0.5, 0.25])
    def test_pieces_meet_with_equal_slopes(self, h):
        for place, value, slope in ((1 + h, 0.0, 0.0), (1 - h, h, 1.0)):
            beside = place + np.array([-1e-9, 0.0, 1e-9])
            np.testing.assert_allclose(huber(beside, h), value, atol=3e-9)
            np.testing.assert_allclose(huber_slope(beside, h), slope, atol=1e-8)

    def test_outside_it_is_the_hinge_loss(self):
        np.testing.assert_array_equal(huber(np.array([-3.0, 0.0, 2.0]), 0.5), [4.0, 1.0, 0.0])
        np.testing.assert_array_equal(huber_slope(np.array([-3.0, 0.0, 2.0]), 0.5), [1, 1, 0])

    def test_inside_it_is_the_parabola(self):
        z = np.linspace(0.5, 1.5, 7)
        np.testing.assert_allclose(huber(z, 0.5), (1.5 - z) ** 2 / 2)


class TestMinimiser:
    @pytest.mark.parametrize("strength", ["1/10", 1, 50])
    def test_it_finds_what_scipy_finds(self, strength):
        data = some(60, 4)
        linear = tuple(Fraction(x) for x in (3, -1, "1/3", 20))
        objective = Objective(data, Fraction(strength), HALF, linear)
        units, bits = minimise(objective, Fraction(1, 10**20))
        found = np.array([float(Fraction(unit, 2**bits)) for unit in units])
        known = optimize.minimize(
            objective.value, np.zeros(4), jac=objective.float_gradient, method="BFGS", tol=1e-10
        )
        np.testing.assert_allclose(found, known.x, atol=1e-6)
        assert objective.value(found) <= known.fun + 1e-9

    def test_the_exact_gradient_is_the_rational_one(self):
        data = some(9, 3, seed=4)
        objective = Objective(data, Fraction(7, 3), Fraction(1, 4), (ONE, HALF, Fraction(-5)))
        units, bits = [123456789, -5, 2**70], 60
        w = [Fraction(unit, 2**bits) for unit in units]
        rows = [[Fraction(int(x), 2**16) for x in row] for row in data.rows()]
        expected = []
        for j in range(3):
            total = objective.strength * w[j] + objective.linear[j]
            for row, weight in zip(rows, data.weights.tolist(), strict=True):
                margin = sum(a * b for a, b in zip(row, w, strict=True))
                slope = min(max((Fraction(5, 4) - margin) * 2, Fraction(0)), ONE)
                total -= weight * slope * row[j]
            expected.append(total)
        assert objective.gradient(units, bits) == expected

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(st.integers(0, 10**6), st.sampled_from(["1/1000", "1", "1000"]))
    def test_the_certificate_holds_wherever_the_minimum_is(self, seed, strength):
        generator = np.random.default_rng(seed)
        data = some(int(generator.integers(1, 20)), int(generator.integers(1, 5)), seed)
        linear = tuple(Fraction(float(x)) for x in generator.normal(0, 5, data.dimension))
        objective = Objective(data, Fraction(strength), HALF, linear)
        tolerance = Fraction(1, 10**25)
        gradient = objective.gradient(*minimise(objective, tolerance))
        assert sum(item * item for item in gradient) <= tolerance**2

    def test_steps_downhill_alone_would_get_there_too(self, monkeypatch):
        # Floats propose nothing and no Newton step is found: the guarantee of an end remains.
        monkeypatch.setattr(huber_module, "_newton", lambda *_: None)
        objective = Objective(some(3, 2), Fraction(2), HALF, (ONE, -ONE))
        gradient = objective.gradient(*minimise(objective, Fraction(1, 10**9)))
        assert sum(item * item for item in gradient) <= Fraction(1, 10**18)

    def test_sparse_and_full_features_give_the_same(self, monkeypatch):
        data = some(12, 3)
        objective = Objective(data, ONE, HALF, (ONE, ONE, ONE))
        full = objective.gradient([2**40, 5, -(2**39)], 40)
        monkeypatch.setattr(huber_module, "DENSE", 0)
        sparse = Objective(some(12, 3), ONE, HALF, (ONE, ONE, ONE))
        assert not isinstance(sparse.examples.matrix, np.ndarray)
        assert sparse.gradient([2**40, 5, -(2**39)], 40) == full
        assert sparse.examples.longest() == data.longest()
        w = np.array([0.3, 1.0, -0.2])
        np.testing.assert_allclose(sparse.hessian(w), objective.hessian(w))


class TestCalibration:
    @pytest.mark.parametrize(
        ("epsilon", "published", "larger"),
        [("1.6", 0.2137056388801094, 0.8), ("0.8", 0.4, 0.4), ("0.1", 0.05, 0.05)],
    )
    def test_the_published_way_is_noisier_at_a_larger_epsilon(self, epsilon, published, larger):
        # C = 1 and h = 1/2: nΛ = 1 and c = 1, so that the curvature is taken to cost ln 4.
        loss = Fraction(epsilon)
        assert float(effective(loss, ONE, ONE, "paper")[1]) == pytest.approx(published)
        assert float(effective(loss, ONE, ONE, "larger")[1]) == pytest.approx(larger)
        assert float(effective(loss, ONE, ONE)[1]) >= 0.875 * float(loss) * (1 - 1e-9)

    def test_raised_strength_makes_the_published_curvature_cost_half(self):
        for epsilon in ("0.1", "0.8"):
            strength, noise_share = effective(Fraction(epsilon), ONE, ONE, "paper")
            assert noise_share == Fraction(epsilon) / 2
            assert 2 * math.log1p(1 / float(strength)) == pytest.approx(float(epsilon) / 2)

    def test_strength_is_raised_only_where_needed(self):
        assert effective(Fraction(10), ONE, ONE)[0] == 1
        assert effective(Fraction(1), Fraction(100), ONE)[0] == 100
        strength, share = effective(Fraction(1), ONE, ONE)
        assert math.log1p(1 / float(strength)) == pytest.approx(1 / 8)
        assert float(share) == pytest.approx(7 / 8)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        st.fractions(Fraction(1, 10**6), 50),
        st.fractions(Fraction(1, 1000), 1000),
        st.sampled_from(["tight", "larger", "paper"]),
    )
    def test_the_price_is_within_the_loss_and_read_off_the_signature(self, loss, strength, how):
        primitive = calibrate(3, loss, strength, Relation.ADD_REMOVE, calibration=how)
        cost = primitive.cost(PureDP)
        assert cost.fits(PureDP(loss))
        assert price_of(primitive.signature(), PureDP) == cost

    def test_what_is_no_mechanism_is_refused(self):
        good = {
            "dimension": 2,
            "strength": ONE,
            "width": HALF,
            "noise": ONE,
            "settling": ONE,
            "relation": Relation.ADD_REMOVE,
        }
        for bad in ({"width": Fraction(1, 3)}, {"noise": 0}, {"dimension": 0}, {"width": ONE}):
            with pytest.raises(ValueError, match="must be"):
                ObjectivePerturbation(**{**good, **bad})


def one_dimensional(epsilon=ONE):
    return calibrate(1, epsilon, ONE, Relation.ADD_REMOVE)


class TestLaw:
    data = examples([[0.9], [-0.4], [1.0]], [2, 1, 1])

    def density(self, primitive, w):
        unit = np.array([round(w / 2.0**primitive.exponent)], dtype=object)
        return math.exp(
            primitive.log_probability(self.data, unit) - primitive.exponent * math.log(2)
        )

    def test_densities_add_up_to_one(self):
        primitive = one_dimensional()
        kinks = sorted(t / x for t in (0.5, 1.5) for x in (0.9, -0.4, 1.0))
        ends = [-30.0, *kinks, 30.0]
        total = sum(
            integrate.quad(lambda w: self.density(primitive, w), a, b)[0] for a, b in pairwise(ends)
        )
        assert total == pytest.approx(1, abs=1e-6)

    def test_samples_follow_the_density_and_not_a_wider_one(self):
        # Kolmogorov and Smirnov at 1e-7; half or twice the noise is rejected with the same draws.
        primitive = one_dimensional()
        with noise.seeded(2):
            draws = np.array([primitive.read(primitive.sample(self.data))[0] for _ in range(800)])
        # The weights decrease in b, so their law is that of b at what they came from.
        objective = Objective(self.data, primitive.strength, primitive.width, (Fraction(0),))
        terms = np.array([-objective.float_gradient(np.array([w]))[0] for w in draws])
        for factor, accepted in ((1.0, True), (0.5, False), (2.0, False)):
            law = stats.laplace(scale=float(primitive.scale) * factor)
            assert (stats.kstest(terms, law.cdf).pvalue > 1e-7) == accepted

    def test_what_is_said_is_near_the_exact_minimiser(self):
        primitive = calibrate(2, Fraction(10**6), ONE, Relation.REPLACE_ONE)
        data = some(20, 2)
        objective = Objective(data, primitive.strength, primitive.width, (Fraction(0),) * 2)
        units, bits = minimise(objective, Fraction(1, 10**15))
        exact = np.array([float(Fraction(unit, 2**bits)) for unit in units])
        with noise.seeded(1):
            said = primitive.read(primitive.sample(data))
        np.testing.assert_allclose(said, exact, atol=1e-4)

    @pytest.mark.parametrize("relation", list(Relation))
    def test_no_point_has_a_larger_ratio_and_some_nearly_attain_it(self, relation):
        primitive = calibrate(2, ONE, ONE, relation)
        row = np.array([0.5999, 0.7999])
        here = examples([row])
        none = Examples(here.places[:0], here.values[:0], here.weights[:0], 2)
        there = examples([-row]) if relation is Relation.REPLACE_ONE else none
        assert primitive.change(here, there).holds
        generator = np.random.default_rng(1)
        points = [*primitive.extremes(here, there)]
        points += [
            np.array([round(x / 2.0**primitive.exponent) for x in w], dtype=object)
            for w in generator.normal(0, 2, (300, 2)).tolist()
        ]
        ratios = [
            primitive.log_probability(here, w) - primitive.log_probability(there, w) for w in points
        ]
        allowed = float(primitive.cost(PureDP).epsilon - primitive.settling)
        assert max(map(abs, ratios)) <= allowed * (1 + 1e-9)
        assert max(ratios) >= 0.99 * allowed

    def test_change_counts_records_and_sees_examples_that_are_too_long(self):
        primitive = one_dimensional()
        assert primitive.change(self.data, self.data).measured == 0
        more = examples([[0.9], [-0.4], [1.0]], [2, 2, 1])
        assert primitive.change(self.data, more).holds
        other = examples([[0.8], [-0.4], [1.0]], [2, 1, 1])
        assert not primitive.change(self.data, other).holds
        assert not primitive.change(self.data, examples([[1.2]])).holds
