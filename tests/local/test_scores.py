"""Intervals from few reports cover, by exact enumeration of all that can be reported."""

from fractions import Fraction
from itertools import product
from math import comb, factorial

import numpy as np
import pytest

from sfumato.local import MeanResponse, PiecewiseMean, RandomizedResponse
from sfumato.local.axes import AxisLaws
from sfumato.local.contingency import table_of_counts
from sfumato.local.estimation import shares_of_counts
from sfumato.local.law import law_of
from sfumato.local.matrix_response import LaplaceResponse

FEW = pytest.mark.parametrize("n", [20, 100])
EPSILON = pytest.mark.parametrize("epsilon", ["1/2", 1, 3, 6])
NEAR = 1e-9


def binomial(n, share):
    """Return the probabilities of 0, …, n."""
    return np.array([comb(n, c) * share**c * (1 - share) ** (n - c) for c in range(n + 1)])


@FEW
@EPSILON
def test_the_margin_of_a_mean_covers_every_mean(n, epsilon):
    # The ones are binomial whatever the numbers are, so that the mean alone counts.
    design = MeanResponse(epsilon=epsilon, low=0, high=1, steps=100)
    found = [design.mean(np.array([ones, ones]), n) for ones in range(n + 1)]
    means = np.array([one.mean for one in found])
    margins = np.array([one.margin for one in found])
    start, slope = map(float, design.primitive.line())
    for step in range(101):
        hit = abs(means - step / 100) <= margins + NEAR
        assert binomial(n, start + slope * step)[hit].sum() > 0.95


@FEW
@EPSILON
@pytest.mark.parametrize("kind", [RandomizedResponse, LaplaceResponse])
@pytest.mark.parametrize("of", ["population", "sample"])
def test_the_interval_of_a_share_covers_every_share(n, epsilon, kind, of):
    design = kind(epsilon=epsilon, answers=2)
    law, (true, other) = law_of(design), design.matrix[0]
    ends = [shares_of_counts(law, [c, n - c], n).intervals(of=of)[0] for c in range(n + 1)]
    low, high = np.array(ends).T
    for held in range(n + 1):
        share = held / n
        chances = (
            binomial(n, true * share + other * (1 - share))
            if of == "population"
            else np.convolve(binomial(held, true), binomial(n - held, other))
        )
        hit = (low <= share + NEAR) & (share <= high + NEAR)
        assert chances[hit].sum() > 0.95 - NEAR


@EPSILON
def test_the_margins_of_counts_cover_every_sample(epsilon):
    design, n = RandomizedResponse(epsilon=epsilon, answers=["no", "yes"]), 20
    found = [design.estimate(["no"] * c + ["yes"] * (n - c))[0] for c in range(n + 1)]
    true, other = design.matrix[0]
    for held in range(n + 1):
        hit = np.array([abs(one.count - held) <= one.margin + NEAR for one in found])
        chances = np.convolve(binomial(held, true), binomial(n - held, other))
        assert chances[hit].sum() > 0.95 - NEAR


@pytest.mark.parametrize("epsilon", [1, 6])
@pytest.mark.parametrize("kind", [RandomizedResponse, LaplaceResponse])
@pytest.mark.parametrize("shares", [(0.9, 0.04, 0.04, 0.02), (1, 0, 0, 0), (0.5, 0, 0, 0.5)])
def test_the_intervals_of_a_table_cover(epsilon, kind, shares):
    design, n = kind(epsilon=epsilon, answers=2), 12
    law = AxisLaws((law_of(design), law_of(design)))
    reported = np.kron(design.matrix, design.matrix) @ shares
    covered = np.zeros(4)
    for counts in product(range(n + 1), repeat=3):
        if sum(counts) > n:
            continue
        cells = np.array([*counts, n - sum(counts)])
        ways = factorial(n) // np.prod([factorial(int(c)) for c in cells])
        low, high = table_of_counts(law, cells, n).intervals().reshape(4, 2).T
        hit = (low <= np.array(shares) + NEAR) & (shares <= high + NEAR)
        covered += float(ways * np.prod(reported**cells)) * hit
    assert covered.min() > 0.94


def test_equal_reports_leave_the_noise_of_the_design():
    for kind in (MeanResponse, PiecewiseMean):
        design = kind(epsilon=6, low=0, high=1)
        found = design.estimate([1] * 20)
        assert found.margin > 1.9 * design.variance(0, 20).sample ** 0.5
    with_one_place = design.estimate([design.steps // 2] * 20)
    middle = design.variance(Fraction(with_one_place.mean), 20).sample
    assert with_one_place.margin > 1.9 * middle**0.5
