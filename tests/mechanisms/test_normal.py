"""Normal noise: its law, its price, and what an auditor sees of it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato import noise
from sfumato.mechanisms.count_noise import count_noise
from sfumato.mechanisms.normal import NormalNoise
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ZCDP, PureDP, Unpriced

ONE = Fraction(1)


def normal(mu_squared=ONE, shape=(1,), squared_sensitivity=ONE):
    return NormalNoise(shape=shape, squared_sensitivity=squared_sensitivity, mu_squared=mu_squared)


def integers(*values):
    return np.array(values, dtype=np.int64)


def test_probabilities_are_the_masses_of_unit_cells():
    primitive = normal(Fraction(1, 9))
    cells = range(-60, 70)
    found = [math.exp(primitive.log_probability(integers(3), integers(y))) for y in cells]
    assert sum(found) == pytest.approx(1, abs=1e-12)
    edges = np.arange(-60.5, 70)
    assert np.allclose(found, np.diff(stats.norm(3, 3).cdf(edges)), atol=1e-12)


def test_far_out_and_wide_laws_have_finite_probabilities():
    near = normal().log_probability(integers(0), integers(50))
    assert near == pytest.approx(stats.norm.logsf(49.5), rel=1e-9)
    wide = normal(Fraction(1, 4**21))
    assert wide.log_probability(integers(0), integers(0)) == pytest.approx(
        -math.log(2**21 * math.sqrt(2 * math.pi))
    )


def test_samples_follow_the_law():
    # Kolmogorov–Smirnov at 1e-7; a tenth more or less noise is rejected with the same draws.
    primitive = normal(Fraction(1, 10**8), (20_000,))
    with noise.seeded(5):
        draws = primitive.sample(np.full(20_000, 7, dtype=np.int64))
    for scale, accepted in ((1.0, True), (1.12, False), (0.88, False)):
        p_value = stats.kstest(draws - 7, stats.norm(0, 1e4 * scale).cdf).pvalue
        assert (p_value > 1e-7) == accepted


def test_prices():
    primitive = normal(Fraction(1, 2), squared_sensitivity=Fraction(9))
    assert primitive.cost(GDP) == GDP("1/2") and primitive.cost(ZCDP) == ZCDP("1/4")
    with pytest.raises(Unpriced):
        primitive.cost(PureDP)
    assert primitive.scale**2 >= 18 and primitive.standard_deviation == pytest.approx(18**0.5)
    loss = primitive.concentrated_loss(integers(0), integers(3))
    assert loss == pytest.approx(0.25)


def test_huge_inputs_are_cut_and_stay_within_64_bits():
    primitive = normal(shape=(2,))
    top = np.iinfo(np.int64).max
    with noise.seeded(1):
        said = primitive.sample(integers(top, -top))
    assert abs(int(said[0])) <= 2**62 and said[0] > 2**60 and said[1] < -(2**60)


def test_a_slice_of_gaussian_loss_pays_for_counts():
    found = count_noise((3,), GDP("1/4"), Relation.REPLACE_ONE)
    assert isinstance(found, NormalNoise) and found.cost(GDP) == GDP("1/4")
    assert found.squared_sensitivity == 2
