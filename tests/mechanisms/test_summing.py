"""Sums over all integers, block by block."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.mechanisms import summing
from sfumato.mechanisms.sparse_vector import AboveThreshold
from sfumato.mechanisms.summing import log_sum


@pytest.mark.parametrize("size", [2, 3, 17, 64, 1000])
def test_sums_of_chebyshev_polynomials_are_exact(size):
    points = np.linspace(-1, 1, size)
    for degree in range(0, summing.POINTS, 2):
        plain = math.fsum(np.cos(degree * np.arccos(points)))
        assert float(summing._chebyshev_sum(degree, size)) == pytest.approx(plain, abs=1e-11)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("centre", [0, 7, -100_000])
def test_a_two_sided_geometric_series_has_its_closed_form(scale, centre):
    found = log_sum(
        lambda i: -np.abs(i - centre) / scale,
        np.array([float(centre)]),
        scale=scale,
        width=1024,
    )
    assert found == pytest.approx(-math.log(math.tanh(0.5 / scale)), abs=4e-15 * 30)


@pytest.mark.parametrize("epsilon", ["1/100", "1/1000"])
@pytest.mark.parametrize("monotone", [True, False])
def test_blocks_say_what_terms_one_by_one_say(epsilon, monotone, monkeypatch):
    primitive = AboveThreshold(
        threshold=10, sensitivity=1, positives=2, epsilon=Fraction(epsilon), monotone=monotone
    )
    values = [0, 5, 5, 11, 300, -40, 10, 9, 5, 2000]
    outputs = [False, False, False, True, False, False, False, False, False, True]
    by_blocks = primitive.log_probability(values, outputs)
    monkeypatch.setattr(summing, "LONGEST", 0.0)
    assert by_blocks == pytest.approx(primitive.log_probability(values, outputs), abs=1e-13)


def test_hardly_any_budget_takes_no_longer():
    tiny, tinier = (
        AboveThreshold(threshold=10, sensitivity=1, positives=1, epsilon=Fraction(epsilon))
        for epsilon in ("1e-9", "1e-15")
    )
    values, outputs = [5, 20, 30], [False, False, True]
    # Both are next to what answers without regard to the data would be.
    first, second = (each.log_probability(values, outputs) for each in (tiny, tinier))
    assert first == pytest.approx(second, abs=1e-7)
