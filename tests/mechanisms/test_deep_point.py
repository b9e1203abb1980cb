"""Deep points: their law, their test, and draws of whole numbers of any size."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato import noise
from sfumato.mechanisms import deep_point as module
from sfumato.mechanisms.deep_point import DeepPoint, NestedBoxes, choose_level
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP, Unpriced

ONE = Fraction(1)


def deep_point(delta=Fraction(0), **options):
    chosen = {"points": 40, "dimension": 1, "bound": 8, "moved": 1, "epsilon": ONE} | options
    return DeepPoint(delta=delta, **chosen)


def column(*numbers):
    return np.array(numbers, dtype=np.int64).reshape(-1, 1)


SPREAD = column(*([-2] * 10 + [0] * 20 + [3] * 10))
TOGETHER = column(*[1] * 40)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10)])
@pytest.mark.parametrize("points", [SPREAD, TOGETHER])
def test_probabilities_sum_to_one_with_that_of_no_point(delta, points):
    primitive = deep_point(delta)
    logs = [primitive.log_probability(points, np.array([at])) for at in range(-8, 9)]
    none = math.exp(primitive.log_probability(points, None))
    assert none == pytest.approx(1 - primitive.passing(points), abs=1e-15)
    assert (none > 0) == (delta > 0)
    assert math.fsum(map(math.exp, logs)) + none == pytest.approx(1)


def test_probabilities_of_points_in_the_plane_sum_to_one():
    primitive = deep_point(points=5, dimension=2, bound=3)
    points = np.array([[0, 0], [1, 2], [-1, 1], [2, -3], [0, 1]])
    grid = itertools.product(range(-3, 4), repeat=2)
    logs = [primitive.log_probability(points, np.array(at)) for at in grid]
    assert math.fsum(map(math.exp, logs)) == pytest.approx(1)


def test_a_point_that_is_not_deep_enough_is_never_said_where_there_is_a_test():
    primitive = deep_point(Fraction(1, 10))
    assert primitive.level == 10
    assert primitive.log_probability(SPREAD, np.array([-3])) == -math.inf
    assert deep_point().log_probability(SPREAD, np.array([-3])) > -math.inf
    primitive.check_output(None)
    with pytest.raises(ValueError, match="not an array"):
        deep_point().check_output(None)


def test_points_that_lie_together_pass_the_test_and_others_hardly():
    primitive = deep_point(Fraction(1, 10))
    assert primitive.threshold == 4
    assert primitive.distance(NestedBoxes(TOGETHER, 8)) == 9
    assert primitive.passing(TOGETHER) > 0.9
    # Where a single step may change the choice, the test is passed with probability δ at most.
    assert primitive.distance(NestedBoxes(SPREAD, 8)) == 0
    assert 0 < primitive.passing(SPREAD) <= 0.1
    with noise.seeded(3):
        said = [primitive.sample(points) for points in [TOGETHER] * 20 + [SPREAD] * 20]
    silent = [point is None for point in said]
    assert sum(silent[:20]) < 10 < sum(silent[20:])


def test_a_test_costs_its_delta_and_has_no_pure_price():
    primitive = deep_point(Fraction(1, 10))
    assert primitive.cost(ApproxDP) == ApproxDP(1, "1/10")
    for measure in (PureDP, ZCDP):
        with pytest.raises(Unpriced, match=f"a deep point with a delta has no {measure.name} loss"):
            primitive.cost(measure)
    assert deep_point().cost(PureDP) == PureDP(1)


def test_every_point_between_two_boxes_has_one_number():
    outer, inner = [(-2, 2), (0, 3), (5, 6)], [(-1, 0), (1, 1), (5, 6)]
    count = 5 * 4 * 2 - 2 * 1 * 2
    found = {tuple(module._decode_point(place, outer, inner)) for place in range(count)}
    assert len(found) == count
    for point in found:
        assert all(low <= x <= high for x, (low, high) in zip(point, outer, strict=True))
        assert not all(low <= x <= high for x, (low, high) in zip(point, inner, strict=True))
    with pytest.raises(ArithmeticError, match="numbered beyond the last one"):
        module._decode_point(count, outer, inner)


@pytest.mark.parametrize("first_bits", [128, 2])
def test_levels_follow_their_weights_however_many_bits_are_drawn_first(monkeypatch, first_bits):
    # χ² at 1e-7; a rate that is 60 % off is rejected. Two bits seldom decide; further ones must.
    monkeypatch.setattr(module, "_BITS", first_bits)
    weights, rate, trials = [50, 0, 30, 4], Fraction(1, 2), 600
    with noise.seeded(6):
        drawn = [choose_level(weights, rate) for _ in range(trials)]
    seen = np.bincount(drawn, minlength=4)
    assert seen[1] == 0
    for factor, accepted in ((1, True), (0.4, False), (1.6, False)):
        law = np.array(weights) * np.exp(0.5 * factor * np.arange(4))
        expected = (trials * law / law.sum())[[0, 2, 3]]
        found = stats.chisquare(seen[[0, 2, 3]], expected).pvalue
        assert (found > 1e-7) == accepted


def test_a_level_that_weighs_next_to_nothing_is_enclosed_by_nothing():
    assert module._relative([1, 1], 0, 1, Fraction(10**6), 16) == (0, 1)
