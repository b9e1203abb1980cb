"""Polynomials of formulas: what is too large, or lacks a moment, is not written out."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.mechanisms.expression import polynomials, reading
from sfumato.mechanisms.expression.estimate import estimate
from sfumato.mechanisms.expression.noises import EstimatedNoise, HiddenNoise, geometric
from sfumato.mechanisms.expression.polynomials import polynomial_of, remove_bias, variance
from sfumato.mechanisms.expression.terms import Function, Item, Power, Product, Total, Unit
from sfumato.mechanisms.laplace import GeometricNoise

X, Y, V = Unit("x"), Unit("y"), Unit("v", 3)
LAPLACE = EstimatedNoise(spread=Fraction(4), highest=None, fair=True)
LINEAR_ONLY = EstimatedNoise(spread=Fraction(4), highest=1, fair=True)


def test_a_variance_needs_all_moments_and_a_public_scale():
    square = polynomial_of(Power(X, 2))
    # Var(x + Z) = 2b², and Var((x + Z)²) = 4x²·2b² + E[Z⁴] − (2b²)² = 32x² + 320 at b = 2.
    assert variance(polynomial_of(X), {X: LAPLACE}) == {(): 8}
    assert sorted(variance(square, {X: LAPLACE}).values()) == [32, 320]
    for noise in (LINEAR_ONLY, HiddenNoise()):
        assert variance(polynomial_of(X), {X: noise}) is None
        assert variance(square, {X: noise}) is None


def test_what_would_have_too_many_monomials_is_not_written_out(monkeypatch):
    known = geometric(GeometricNoise(shape=(1,), sensitivity=1, epsilon=1))
    double, square = X + Y, polynomial_of(Power(X, 2))
    assert len(polynomial_of(Total(V))) == 3 and len(polynomial_of(Product(double, double))) == 3
    assert len(remove_bias(square, {X: known})) == 2
    monkeypatch.setattr(polynomials, "MOST_MONOMIALS", 8)
    # A product may have as many as 8²/64 pairs of monomials.
    assert polynomial_of(Product(double, double)) is None
    assert remove_bias(square, {X: known}) is None
    assert variance(polynomial_of(double), {X: known, Y: known}) is None
    monkeypatch.setattr(polynomials, "MOST_MONOMIALS", 2)
    assert polynomial_of(Total(V)) is None


def test_a_formula_of_too_many_terms_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "MOST_TERMS", 3)
    with pytest.raises(ValueError, match="a formula has at most 3 terms when it is written out"):
        reading.read_formula("1 + 2 + 3", lambda *_: X)


def test_terms_are_built_from_numbers_on_either_side_and_refuse_what_they_are_not():
    assert [(5 + X).__class__.__name__, (5 - X).__class__.__name__] == ["Sum", "Sum"]
    values, noises = {X: 3}, {X: LAPLACE}
    assert estimate(5 + X, values, noises).value == 8
    assert estimate(5 - X, values, noises).value == 2
    with pytest.raises(ValueError, match=r"^a function must be one of .*; got 'sin'$"):
        Function(X, "sin")
    with pytest.raises(ValueError, match=r"^an index needs a vector unit, not a formula$"):
        Item(V + V, 0)


@pytest.mark.parametrize("fair", [True, False])
def test_a_square_is_corrected_by_the_scale_that_was_estimated(fair):
    noise = EstimatedNoise(spread=Fraction(4), highest=None, fair=fair)
    found = estimate(Power(X, 2), {X: 5}, {X: noise})
    # 5² − 2b² with b² = 4, and the variance of above at x = 5.
    assert (found.value, found.bias) == (17, 0)
    assert found.standard_error == pytest.approx((32 * 25 + 320) ** 0.5)


def test_noise_without_a_mean_leaves_a_first_power_as_it_is():
    found = estimate(Power(X, 1), {X: 5}, {X: HiddenNoise(centred=False)})
    assert (found.value, found.standard_error, found.bias) == (5, None, None)


def test_entries_of_a_vector_share_the_estimate_of_their_scale():
    values, noises = {V: np.array([2, 3, 5])}, {V: LAPLACE}
    assert estimate(Product(Item(V, 0), Item(V, 1)), values, noises).value == 6


def test_numbers_of_any_size_are_cut_to_what_floats_hold():
    assert polynomials.number(1e305) == 1e300 and polynomials.number(-(10**400)) == -1e300
    huge = np.array([10**400, -(10**400), 7], dtype=object)
    known = geometric(GeometricNoise(shape=(3,), sensitivity=1, epsilon=1))
    assert estimate(V, {V: huge}, {V: known}).value.tolist() == [1e300, -1e300, 7]
