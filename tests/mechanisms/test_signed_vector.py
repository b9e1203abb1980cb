"""Noise on a vector up to sign: the mixture law, its bound, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.mechanisms.signed_vector import SignedVector, any_two_directions
from sfumato.privacy.loss import ApproxDP, PureDP, Unpriced


def vector(*entries):
    return np.array(entries, dtype=np.int64)


def primitive(**given):
    figures = {"dimension": 2, "radius": 5, "sensitivity": 4, "epsilon": 2}
    return SignedVector(**{**figures, **given})


def test_the_law_is_an_even_mixture_and_adds_up_to_one():
    own = primitive()
    around = [vector(x, y) for x in range(-35, 36) for y in range(-35, 36)]
    laws = [math.exp(own.log_probability(vector(3, -1), output)) for output in around]
    assert math.fsum(laws) == pytest.approx(1, abs=1e-5)
    for output in (vector(0, 0), vector(3, -1), vector(-9, 2)):
        here = own.log_probability(vector(3, -1), output)
        assert here == pytest.approx(own.log_probability(vector(-3, 1), output))
        assert here == pytest.approx(own.log_probability(vector(3, -1), -output))


def test_samples_follow_the_law():
    """Each of 49 outputs near the middle within 5.5 standard deviations of its share."""
    own, truth, many = primitive(epsilon=4), vector(2, 1), 3_000
    counts: dict[tuple[int, ...], int] = {}
    with noise.seeded(4):
        for _ in range(many):
            said = tuple(own.sample(truth).tolist())
            counts[said] = counts.get(said, 0) + 1
    for x in range(-3, 4):
        for y in range(-3, 4):
            p = math.exp(own.log_probability(truth, vector(x, y)))
            assert abs(counts.get((x, y), 0) - many * p) < 5.5 * math.sqrt(many * p) + 2


def test_the_loss_is_bounded_by_the_smaller_of_two_distances():
    own = primitive(sensitivity=3, epsilon=1)
    outputs = [vector(x, y) for x in range(-12, 13) for y in range(-12, 13)]
    here, there = vector(3, 2), vector(-2, -4)
    change = own.change(here, there)
    assert change.measured == 3 and change.holds
    losses = [own.log_probability(here, o) - own.log_probability(there, o) for o in outputs]
    assert 0.4 < max(map(abs, losses)) <= 1 + 1e-12
    assert not own.change(here, vector(3, -2)).holds


def test_any_two_directions_are_close_enough_and_hardly_closer():
    generator = np.random.default_rng(1)
    for dimension in (1, 2, 7):
        bound = any_two_directions(dimension, 1000)
        for _ in range(200):
            pair = generator.standard_normal((2, dimension))
            ends = np.trunc(999 * pair / np.linalg.norm(pair, axis=1, keepdims=True))
            one, other = ends.astype(np.int64)
            own = SignedVector(dimension=dimension, radius=1000, sensitivity=bound, epsilon=1)
            assert own.change(one, other).holds
    # Orthogonal vectors with all entries of one size attain it: (1, 0) and (0, 1).
    assert any_two_directions(2, 1000) == 2000


def test_a_bound_that_may_fail_costs_a_delta():
    assert primitive().cost(PureDP) == PureDP(2)
    uncertain = primitive(delta=Fraction(1, 10**6))
    assert uncertain.cost(ApproxDP) == ApproxDP(2, Fraction(1, 10**6))
    with pytest.raises(Unpriced):
        uncertain.cost(PureDP)


def test_bad_figures_and_inputs_are_refused():
    for bad in ({"sensitivity": 0}, {"epsilon": 0}, {"delta": 1}, {"radius": 0}):
        with pytest.raises(ValueError, match="must be"):
            primitive(**bad)
    for value, words in ((vector(5, 1), "longer"), (vector(1), "shape"), ([1, 2], "int64")):
        with pytest.raises(ValueError, match=words):
            primitive().check(value)
    primitive().check(vector(3, -4))


def test_scales_of_any_size_are_drawn():
    wide = primitive(epsilon=Fraction(1, 10**20))
    said = wide.sample(vector(3, 4))
    assert said.dtype == object and math.isfinite(wide.log_probability(vector(3, 4), said))
    for output in wide.extremes(vector(3, 4), vector(4, 3)):
        assert math.isfinite(wide.log_probability(vector(3, 4), output))
