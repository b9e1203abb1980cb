"""Gaussian losses: the tail they are computed from, their conversions, their sums."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import norm

from sfumato.privacy.loss import (
    GDP,
    ZCDP,
    ApproxDP,
    PureDP,
    Unpriced,
    convert,
    loss_from_json,
    pure_within,
)
from sfumato.privacy.normal_tail import FAR, exceeding, log_tail, mills

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay

PLACES = st.fractions(min_value=-15, max_value=60, max_denominator=10**6)
LOSSES = st.fractions(min_value=Fraction(1, 1000), max_value=30, max_denominator=10**4)


@settings(max_examples=60)
@given(PLACES)
def test_the_tail_is_enclosed_closely(x):
    low, high = log_tail(x)
    assert low <= high < low + Fraction(1, 10**30)
    assert float(low) == pytest.approx(float(log_ndtr(-float(x))), rel=1e-12)


def test_both_enclosures_agree_where_they_meet():
    near, beyond = Fraction(FAR), FAR + Fraction(1, 10**50)
    # R falls with slope above −1, so over 1e-50 by less than 1e-50.
    assert mills(beyond)[0] <= mills(near)[1]
    assert mills(near)[0] - Fraction(1, 10**50) <= mills(beyond)[1]


@pytest.mark.parametrize(
    ("epsilon", "mu"), [("1", 0.2367), ("2", 0.4483), ("0.1", 0.0275), ("10", 1.848)]
)
def test_the_largest_mu_of_known_statements(epsilon, mu):
    found = GDP.within(ApproxDP(epsilon, "1e-6"))
    assert math.sqrt(found.mu_squared) == pytest.approx(mu, abs=6e-5 if mu < 1 else 6e-4)


@settings(max_examples=12)
@given(LOSSES, st.integers(min_value=2, max_value=60))
def test_within_implies_what_it_was_asked_for_and_hardly_more(epsilon, digits):
    limit = ApproxDP(epsilon, Fraction(1, 10**digits))
    found = GDP.within(limit)
    assert found.implies(limit)
    assert not GDP(found.mu_squared * Fraction(10**9 + 1, 10**9)).implies(limit)
    back = found.approximate(limit.delta)
    assert limit.epsilon * (1 - Fraction(1, 10**6)) <= back.epsilon
    assert back.epsilon <= limit.epsilon * (1 + Fraction(1, 10**9))


@settings(max_examples=20)
@given(LOSSES, LOSSES)
def test_the_failure_is_that_of_two_normal_laws(epsilon, mu):
    e, m = float(epsilon), float(mu)
    direct = norm.cdf(-e / m + m / 2) - math.exp(e + log_ndtr(-e / m - m / 2))
    assert float(exceeding(epsilon, mu)) == pytest.approx(direct, rel=1e-6, abs=1e-13)


@settings(max_examples=20)
@given(LOSSES)
def test_a_pure_loss_costs_the_mu_whose_curve_passes_its_corner(epsilon):
    price = convert(PureDP(epsilon), GDP)
    mu = math.sqrt(price.mu_squared)
    assert norm.cdf(-mu / 2) == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-9)
    # What a slice of that price holds is the loss again.
    assert float(pure_within(price)) == pytest.approx(float(epsilon), rel=1e-9)


@settings(max_examples=12)
@given(LOSSES)
def test_what_fits_a_slice_costs_no_more_than_it(mu):
    for slice_ in (GDP(mu * mu), ZCDP(mu), PureDP(mu)):
        assert convert(PureDP(pure_within(slice_)), type(slice_)).fits(slice_)


@settings(max_examples=20)
@given(LOSSES, st.floats(min_value=0.001, max_value=0.999))
def test_no_test_is_better_under_the_pure_loss_than_under_its_price(epsilon, alarms):
    mu = math.sqrt(convert(PureDP(epsilon), GDP).mu_squared)
    e = float(epsilon)
    misses = max(1 - math.exp(e) * alarms, math.exp(-e) * (1 - alarms), 0)
    assert norm.cdf(norm.isf(alarms) - mu) <= misses + 1e-9


def test_sums_groups_and_relations():
    loss = GDP(4) + GDP(5) - GDP(1)
    assert loss == GDP(8) and loss.share(Fraction(1, 4)) == GDP(2)
    assert loss.group(3) == GDP(72) and loss.per_unit(2) == GDP(2)
    assert loss.replace_one() == GDP(32)
    assert loss.fits(GDP(8)) and not loss.fits(GDP("7.999"))
    assert loss_from_json(loss.to_json()) == loss
    with pytest.raises(TypeError, match="cannot be added"):
        _ = loss + ZCDP(1)


def test_conversions_only_weaken():
    assert convert(GDP(2), ZCDP) == ZCDP(1)
    for measure in (PureDP, ApproxDP):
        with pytest.raises(Unpriced):
            convert(GDP(2), measure)
    with pytest.raises(Unpriced):
        convert(ZCDP(1), GDP)
    with pytest.raises(Unpriced, match="delta > 0"):
        GDP.within(ApproxDP(1, 0))
    # Tighter than what the zero-concentrated loss it implies would give.
    assert GDP(1).approximate("1e-6").epsilon < ZCDP("1/2").approximate("1e-6").epsilon


def test_a_gaussian_loss_at_the_ends():
    assert convert(PureDP(0), GDP) == GDP(0)
    assert GDP(0).implies(ApproxDP(0, 0)) and not GDP("1e-9").implies(ApproxDP(100, 0))
    assert GDP(0).approximate("1e-6") == ApproxDP(0, "1e-6")
    # At ε = 0 the failure is the distance in total variation, 2Φ(μ/2) − 1 = 0.0398776… at μ = 0.1.
    assert GDP("0.01").approximate("0.03988") == ApproxDP(0, "0.03988")
    assert GDP("0.01").approximate("0.03987").epsilon > 0
    for bad in (0, 1):
        with pytest.raises(ValueError, match=f"greater than 0 and less than 1; got {bad}"):
            GDP(1).approximate(bad)


@pytest.mark.parametrize("epsilon", ["1e-15", "1e-3", "1e6", "1e12"])
def test_absurd_losses_are_priced_in_no_time(epsilon):
    limit = ApproxDP(epsilon, "1e-9")
    found = GDP.within(limit)
    assert found.implies(limit) and pure_within(found) > 0


def test_one_unit_is_no_group_however_large_the_loss():
    huge = ApproxDP(10**9, "1e-6")
    assert huge.group(1) == huge == huge.per_unit(1)


def test_nothing_is_told_of_a_slice_with_nothing_in_it():
    with pytest.raises(Unpriced, match="nothing is left"):
        pure_within(GDP(Fraction(1, 10**60)))
