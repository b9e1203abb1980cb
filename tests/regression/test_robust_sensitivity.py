"""How far one record moves noisy statistics: formulas against searches."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato.privacy.guarantee import Relation
from sfumato.published.queries import published_scales
from sfumato.regression.robust_statistics import (
    Box,
    Parts,
    joint,
    joint_many,
    published_split,
    sparse,
)
from sfumato.regression.rows import ANSWER

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay

REPLACED, ADDED = Relation.REPLACE_ONE, Relation.ADD_REMOVE


def moved(v, w, other, answer, weights):
    """Return how far the weighed statistics of two records are apart in L1."""
    rows, columns = np.triu_indices(len(v))
    matrix = np.abs(v[rows] * v[columns] - other[rows] * other[columns]).sum()
    products = np.abs(np.multiply.outer(w, v) - np.multiply.outer(answer, other))
    squares = np.abs(np.square(w) - np.square(answer))
    a, b, c = weights
    products = products.reshape(-1, len(v)).sum(axis=1)
    return a * matrix + float(np.sum(b * products)) + float(np.sum(c * squares))


def parts(p, weights):
    a, b, c = (Fraction(str(item)) for item in weights)
    return Parts(a * p * (p + 1) / 2, b * p, c)


@pytest.mark.parametrize(
    ("p", "weights", "wanted"),
    [(3, (1, 3, 0.1), 18.375), (3, (1, 1, 1), 10), (2, (0.2, 1, 0.3), 4)],
)
def test_the_joint_formula_is_what_an_optimiser_finds(p, weights, wanted):
    assert joint(parts(p, weights), REPLACED) == Fraction(str(wanted))

    def negative(place):
        v, w, other, answer = place[:p], place[p], place[p + 1 : -1], place[-1]
        return -moved(v, w, other, answer, weights)

    generator = np.random.default_rng(1)
    found = 0.0
    for _ in range(4):
        start = generator.uniform(-1, 1, 2 * p + 2)
        found = max(found, -minimize(negative, start, bounds=[(-1, 1)] * (2 * p + 2)).fun)
    t = np.linspace(-1, 1, 41)
    ones = np.ones(p)
    found = max(found, max(moved(ones, 1, e * ones, f, weights) for e, f in product(t, t)))
    assert wanted * 0.995 <= found <= wanted + 1e-9


def test_worked_losses_of_published_and_other_shares():
    for numbers, wanted in (
        ((Fraction(7, 40), "0.3", "0.05"), 0.603571),
        (("0.1", 1, 1), 2.25),
    ):
        assert float(joint(Parts.of(*numbers), REPLACED)) == pytest.approx(wanted, abs=1e-6)
    for shares, replaced, added in (
        (("0.35", "0.6", "0.05"), 0.6036, 0.525),
        (("0.3", "0.65", "0.05"), 0.650, 0.525),
        (("1/3", "1/3", "1/3"), 0.6667, 0.6667),
        (("0.5", "0.5", 0), 0.5625, 0.5),
        (("0.05", "0.5", "0.45"), 0.7347, 0.725),
    ):
        split = published_split(Parts.of(*shares))
        assert float(joint(split, REPLACED)) == pytest.approx(replaced, abs=1e-4)
        assert float(joint(split, ADDED)) == pytest.approx(added, abs=1e-4)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_no_two_corners_are_further_apart_than_each_bound_says(p):
    corners = [np.array(item) for item in product((-1, 0, 1), repeat=p)]
    matrix = max(moved(v, 0, other, 0, (1, 0, 0)) for v, other in product(corners, corners))
    assert matrix == p * (p + 1) / 2 == joint(parts(p, (1, 0, 0)), REPLACED)
    answers = (-1, 0, 1)
    pairs = product(corners, answers, corners, answers)
    products = max(moved(v, w, other, answer, (0, 1, 0)) for v, w, other, answer in pairs)
    assert products == 2 * p == joint(parts(p, (0, 1, 0)), REPLACED)
    assert joint(parts(p, (0, 0, 1)), REPLACED) == 1


def test_random_records_stay_within_every_joint_bound():
    generator = np.random.default_rng(2)
    for _ in range(300):
        p = int(generator.integers(1, 5))
        weights = np.round(generator.uniform(0, 2, 3), 3)
        v, other = generator.choice([-1, 1, 0.3, -0.6, 0], (2, p))
        w, answer = generator.uniform(-1, 1, 2)
        bound = float(joint(parts(p, weights), REPLACED))
        assert moved(v, w, other, answer, weights) <= bound + 1e-9
        # Rows of one entry each, wherever it is.
        first, second = (np.eye(p)[generator.integers(p)] for _ in range(2))
        bound = float(sparse(parts(1, weights), REPLACED))
        assert moved(first, w, second, answer, weights) <= bound + 1e-9


def test_one_matrix_for_many_responses():
    # A single response is the plain formula.
    generator = np.random.default_rng(3)
    for a, d, c in np.round(generator.uniform(0, 2, (40, 3)), 2):
        numbers = [str(item) for item in (a, d, c)]
        one = joint(Parts.of(*numbers), REPLACED)
        assert joint_many(numbers[0], [(numbers[1], numbers[2])], REPLACED) == one
    # The published shares with 265 responses: 159.46 ε replaced, 92.925 ε added.
    pairs = [("0.3", "0.05")] * 265
    assert float(joint_many("0.175", pairs, REPLACED)) == pytest.approx(159, abs=0.2)
    assert float(joint_many("0.175", pairs, ADDED)) == pytest.approx(0.175 + 265 * 0.35)
    safe = 0.175 + 265 * (0.6 + 0.05)
    assert float(joint_many("0.175", pairs, REPLACED)) <= safe
    # Against a search over records of two features and three responses.
    weights = (0.7, np.array([1.1, 0.4, 0.2]), np.array([0.3, 0.9, 0.05]))
    bound = float(joint_many("2.1", [("2.2", "0.3"), ("0.8", "0.9"), ("0.4", "0.05")], REPLACED))
    ones, found = np.ones(2), 0.0
    for e in np.linspace(0, 1, 41):
        f = -np.minimum(1, 2 * weights[1] * e / (2 * weights[2]))
        found = max(found, moved(ones, np.ones(3), e * ones, f, weights))
    assert 0.999 * bound <= found <= bound + 1e-9
    for _ in range(200):
        v, other = generator.uniform(-1, 1, (2, 2))
        w, answer = generator.uniform(-1, 1, (2, 3))
        assert moved(v, w, other, answer, weights) <= bound


def test_the_box_declares_the_bound_of_the_whole_numbers_it_measures():
    box = Box.of(3, 3, 400, published_split(Parts.of("0.35", "0.6", "0.05")))
    assert min(box.weights) >= 32
    a, b, c = box.weights
    ones = np.ones(3)
    weights = (a * 400**2, b * 400 * ANSWER, c * ANSWER**2)
    found = max(
        moved(ones, 1, e * ones, f, weights) for e, f in product(np.linspace(-1, 1, 21), repeat=2)
    )
    bound = float(box.sensitivity(REPLACED))
    assert 0.99 * bound <= found <= bound * (1 + 1e-12)
    # Of three entries one is filled: twice the matrix and the products of one.
    thin = Box(3, 1, 400, box.weights).sensitivity(REPLACED)
    dense = Box(3, 3, 400, box.weights).sensitivity(REPLACED)
    assert thin == min(dense, 2 * a * 400**2 + 2 * b * 400 * ANSWER + c * ANSWER**2)


def test_published_scales_are_kept_by_the_cautious_calibration():
    shares = Parts.of("0.35", "0.6", "0.05")
    assert published_scales(2, 1, 1, shares, 2) == pytest.approx((8.5714, 10 / 3, 10), abs=1e-4)
    found = published_scales(10, 0.1 / 10**0.5, 0.3, shares, 2)
    assert found == pytest.approx((0.15714, 0.15811, 0.9), abs=1e-5)
    split = published_split(shares)
    box = Box.of(10, 10, 129, split)
    law = box.noise(2 * joint(split, REPLACED), REPLACED)
    assert box.scales(law) == pytest.approx(published_scales(10, 1, 1, shares, 2), rel=0.03)


def test_what_cannot_be_a_box_is_refused():
    split = Parts.of(1, 1, 1)
    for dimension, filled, entry in ((2, 2, 0), (2, 2, 5000), (2, 3, 10), (2, 0, 10)):
        with pytest.raises(ValueError, match="threshold must be"):
            Box.of(dimension, filled, entry, split)
    with pytest.raises(ValueError, match="share of the loss"):
        Box.of(2, 2, 10, Parts.of(1, 1, 0))
    with pytest.raises(ValueError, match="cannot be negative"):
        Parts.of(-1, 1, 1)
