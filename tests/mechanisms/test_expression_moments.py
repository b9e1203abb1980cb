"""Estimates of random formulas against exact moments: the noise is enumerated, not drawn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.expression.estimate import estimate, plain_value
from sfumato.mechanisms.expression.noises import HiddenNoise, KnownNoise, geometric
from sfumato.mechanisms.expression.terms import (
    Constant,
    Function,
    Item,
    Power,
    Ratio,
    Sum,
    Total,
    Unit,
    choose,
)
from sfumato.mechanisms.laplace import GeometricNoise

EPSILONS = ["1", "7/4", "3"]


def noise_of(epsilon):
    primitive = GeometricNoise(shape=(1,), sensitivity=Fraction(1), epsilon=Fraction(epsilon))
    return geometric(primitive)


def law(epsilon, reach=1e-22):
    """The support of geometric noise and its probabilities, up to a negligible tail."""
    rate = float(Fraction(epsilon))
    most = math.ceil(-math.log(reach) / rate)
    support = np.arange(-most, most + 1)
    return support, np.tanh(rate / 2) * np.exp(-rate * np.abs(support))


class World:
    """Two noisy numbers, x and y, with all they may come out as; one entry for each."""

    def __init__(self, x, y, first="1", second="1"):
        (a, p), (b, q) = law(first), law(second)
        self.weights = np.outer(p, q).ravel()
        size = self.weights.size
        self.x, self.y = Unit("x", size), Unit("y", size)
        self.values = {self.x: np.repeat(x + a, len(b)), self.y: np.tile(y + b, len(a))}
        self.truth = {self.x: np.full(size, float(x)), self.y: np.full(size, float(y))}
        self.noises = {self.x: noise_of(first), self.y: noise_of(second)}

    def moments(self, term):
        """The mean and the variance of the estimate, and what is said of it at the true values."""
        found = np.broadcast_to(estimate(term, self.values, self.noises).value, self.weights.shape)
        mean = float(self.weights @ found)
        spread = float(self.weights @ (found - mean) ** 2)
        return mean, spread, estimate(term, self.truth, self.noises)

    def true_value(self, term):
        return float(np.broadcast_to(plain_value(term, self.truth), self.weights.shape)[0])


def leaves(draw, world):
    kind = draw(st.sampled_from(["x", "y", "number"]))
    if kind == "number":
        return Constant(Fraction(draw(st.integers(-9, 9)), draw(st.integers(1, 4))))
    return world.x if kind == "x" else world.y


def polynomial(draw, world, depth):
    """A random polynomial formula, written in any way."""
    kind = draw(st.sampled_from(["leaf", "sum", "product", "power", "choose", "scaled"]))
    if depth == 0 or kind == "leaf":
        return leaves(draw, world)
    inner = polynomial(draw, world, depth - 1)
    if kind == "power":
        return Power(inner, draw(st.integers(0, 2)))
    if kind == "choose":
        return choose(inner, 2)
    if kind == "scaled":
        return inner / draw(st.integers(1, 6))
    other = polynomial(draw, world, depth - 1)
    return inner + other if kind == "sum" else inner * other


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_polynomials_are_estimated_without_bias_and_with_their_exact_variance(data):
    draw = data.draw
    world = World(
        draw(st.integers(-6, 20)),
        draw(st.integers(-6, 20)),
        draw(st.sampled_from(EPSILONS)),
        draw(st.sampled_from(EPSILONS)),
    )
    term = polynomial(draw, world, 2)
    mean, spread, said = world.moments(term)
    truth = world.true_value(term)
    # Floating-point sums of large powers: compared with the size of what is summed.
    size = 1 + math.sqrt(spread) + abs(truth)
    assert mean == pytest.approx(truth, abs=1e-8 * size)
    assert not np.any(said.bias)
    error = float(np.broadcast_to(said.standard_error, world.weights.shape)[0])
    assert error**2 == pytest.approx(spread, rel=1e-6, abs=1e-7 * size)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_of_ratios_and_functions_the_delta_method_tells_bias_and_error(data):
    draw = data.draw
    world = World(draw(st.integers(150, 400)), draw(st.integers(150, 400)), "2", "2")
    shift = draw(st.integers(0, 20))
    below = draw(
        st.sampled_from([world.y, choose(world.y, 2), world.x + world.y, world.x * world.y])
    )
    above = draw(st.sampled_from([world.x, world.x**2, world.x - world.y, choose(world.x, 2)]))
    term = draw(
        st.sampled_from(
            [
                (above + shift) / below,
                Ratio(world.x, world.x + world.y, share=True),
                Function(below, "sqrt") * world.x,
                Function(below, "log") + above,
                above / below + 3 * world.x,
            ]
        )
    )
    mean, spread, said = world.moments(term)
    truth = world.true_value(term)
    error, bias = float(said.standard_error[0]), float(said.bias[0])
    assert math.sqrt(spread) == pytest.approx(error, rel=0.01, abs=1e-9)
    # What is left is of the third order: noise of about 1 on values of at least 150.
    assert mean - truth == pytest.approx(bias, rel=0.05, abs=2e-4 * error)


@settings(max_examples=100, deadline=None)
@given(
    data=st.data(),
    epsilon=st.sampled_from(EPSILONS),
    value=st.integers(-5, 12),
    exponent=st.integers(0, 7),
)
def test_the_unbiasing_operator_is_exact_for_any_power(data, epsilon, value, exponent):
    noise = noise_of(epsilon)
    support, weights = law(epsilon, 1e-40)
    noisy = (value + support).astype(float)
    estimated = sum(float(c) * noisy**k for k, c in noise.unbiased_power(exponent).items())
    size = float(weights @ np.abs(estimated)) + 1
    assert float(weights @ estimated) == pytest.approx(value**exponent, abs=1e-9 * size)
    # It is f(x) − c·(f(x+1) − 2f(x) + f(x−1)).
    c = float(noise.spread)
    second = (noisy + 1) ** exponent - 2 * noisy**exponent + (noisy - 1) ** exponent
    np.testing.assert_allclose(estimated, noisy**exponent - c * second, rtol=1e-6, atol=1e-6 * size)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_moments_of_the_noise_are_exact(epsilon):
    support, weights = law(epsilon, 1e-60)
    for k, moment in enumerate(noise_of(epsilon).moments(8)):
        size = float(weights @ np.abs(support.astype(float)) ** k)
        assert float(moment) == pytest.approx(
            float(weights @ support.astype(float) ** k), abs=1e-9 * size
        )


def test_fine_steps_of_noise_give_the_rules_for_laplace_noise():
    # Scale b = 3 in steps of 2^-20: a² → x² − 2b², a³ → x³ − 6b²x.
    step = Fraction(1, 2**20)
    primitive = GeometricNoise(shape=(1,), sensitivity=Fraction(3 * 2**20), epsilon=Fraction(1))
    noise = geometric(primitive, step)
    assert float(noise.variance) == pytest.approx(18, rel=1e-6)
    square, cube = noise.unbiased_power(2), noise.unbiased_power(3)
    assert float(square[0]) == pytest.approx(-18, rel=1e-6)
    assert float(cube[1]) == pytest.approx(-54, rel=1e-6)


def test_pairs_of_neighbours_from_a_noisy_degree():
    # d(d−1)/2 at d = 10 with noise of variance 8: 45 on average, not 49.
    unit = Unit("d")
    noises = {unit: KnownNoise(Fraction(4))}
    found = estimate(choose(unit, 2), {unit: 10}, noises)
    assert found.value == 45 - 4 and found.bias == 0


def entry_worlds(length, epsilon="3"):
    """A vector unit with all its noises, one after another."""
    support, weights = law(epsilon, 1e-9)
    grids = np.meshgrid(*[np.arange(len(support))] * length, indexing="ij")
    for places in zip(*(grid.ravel() for grid in grids), strict=True):
        yield support[list(places)], math.prod(weights[place] for place in places)


@pytest.mark.parametrize(
    "build",
    [
        lambda w: Total(w) ** 2,
        lambda w: Item(w, 0) * Item(w, 1),
        lambda w: Item(w, 0) * Total(w) - Item(w, 1) ** 2,
        lambda w: Total(w * w),
        lambda w: Total(choose(w, 2)) / 3 + Item(w, 1),
    ],
    ids=["total squared", "independent entries", "mixed", "sum of squares", "sum of pairs"],
)
def test_entries_and_totals_of_a_vector_share_its_noise(build):
    unit, true = Unit("w", 2), np.array([4, 7])
    term, noises = build(unit), {unit: noise_of("3")}
    said = estimate(term, {unit: true}, noises)
    mean = second = 0.0
    for added, weight in entry_worlds(2):
        value = estimate(term, {unit: true + added}, noises).value
        mean, second = mean + weight * value, second + weight * value**2
    truth = float(plain_value(term, {unit: true.astype(float)}))
    assert mean == pytest.approx(truth, rel=1e-6)
    assert said.standard_error**2 == pytest.approx(second - mean**2, rel=1e-4)
    assert said.bias == 0


def test_private_noise_tells_no_error_and_no_correction():
    hidden, known, wild = Unit("t"), Unit("m"), Unit("c")
    noises = {
        hidden: HiddenNoise(),
        known: KnownNoise(Fraction(2)),
        wild: HiddenNoise(centred=False),
    }
    values = {hidden: 10, known: 5, wild: 3}
    linear = estimate(3 * hidden * known, values, noises)
    assert (linear.value, linear.standard_error, linear.bias) == (150, None, 0)
    square = estimate(hidden**2, values, noises)
    assert (square.value, square.standard_error, square.bias) == (100, None, None)
    mixed = estimate(hidden * known**2, values, noises)
    assert (mixed.value, mixed.standard_error, mixed.bias) == (10 * (25 - 4), None, 0)
    assert estimate(wild + 1, values, noises).bias is None


def test_a_range_holds_and_a_floor_keeps_denominators_away_from_zero():
    x, y = Unit("x"), Unit("y")
    noises = {x: noise_of("1"), y: noise_of("1")}
    found = estimate(x / y, {x: 10, y: -3}, noises, floor=0.5, between=(0.0, 1.0))
    assert found.value == 1
    assert estimate(x / y, {x: 10, y: -3}, noises, floor=2).value == 5
    assert np.isfinite([found.standard_error, found.bias]).all()


@settings(max_examples=60, deadline=None)
@given(
    x=st.one_of(st.integers(-(10**400), 10**400), st.integers(-3, 3)),
    y=st.one_of(st.integers(-(10**400), 10**400), st.integers(-3, 3)),
)
def test_estimates_are_finite_whatever_the_noise_said(x, y):
    first, second = Unit("x"), Unit("y")
    noises = {first: noise_of("1/1000000"), second: noise_of("1000")}
    for term in (
        first / second,
        first**8 * second**8,
        Function(first, "exp") - Function(second, "sqrt"),
        Function(first, "log") / (first - second) ** 3,
    ):
        found = estimate(term, {first: x, second: y}, noises)
        assert np.isfinite([found.value, found.standard_error, found.bias]).all()


def test_a_vector_over_its_own_sum_has_a_value_but_no_standard_error():
    unit = Unit("w", 3)
    found = estimate(unit / Total(unit), {unit: np.array([1, 2, 5])}, {unit: noise_of("1")})
    np.testing.assert_allclose(found.value, np.array([1, 2, 5]) / 8)
    assert found.standard_error is None and found.bias is None


def test_every_entry_has_its_own_error():
    unit, other = Unit("w", 3), Unit("x")
    noises = {unit: noise_of("1"), other: noise_of("2")}
    values = {unit: np.array([1, 2, 5]), other: 4}
    sums = estimate(unit + other, values, noises)
    both = float(noises[unit].variance + noises[other].variance)
    np.testing.assert_allclose(sums.standard_error, np.full(3, math.sqrt(both)))
    squares = estimate(unit**2, values, noises).standard_error
    assert squares[0] < squares[1] < squares[2]
    total = estimate(Total(unit + other), values, noises)
    wanted = 3 * noises[unit].variance + 9 * noises[other].variance
    assert total.standard_error**2 == pytest.approx(float(wanted))


def test_formulas_that_are_too_large_are_told_by_the_delta_method():
    units = [Unit(f"x{i}") for i in range(40)]
    total = units[0]
    for unit in units[1:]:
        total = Sum(total, unit)
    noises = dict.fromkeys(units, noise_of("1"))
    values = dict.fromkeys(units, 50)
    found = estimate(total**4, values, noises)
    # (Σx)^4 has slope 4·2000³ by every unit.
    wanted = 4 * 2000.0**3 * math.sqrt(40 * float(noise_of("1").variance))
    assert found.standard_error == pytest.approx(wanted, rel=1e-9)
