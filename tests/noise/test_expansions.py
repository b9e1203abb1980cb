from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.noise import expansions
from sfumato.noise.digits import DigitTable
from sfumato.noise.expansions import (
    Expansion,
    enclose_exponential,
    exponential,
    logistic,
    rational,
    twice_logistic,
)

EXPONENTS = [
    Fraction(1, 10**15),
    Fraction(1, 1000),
    Fraction(1, 10),
    Fraction(1),
    Fraction(17, 3),
    Fraction(100),
    Fraction(10**9),
]


def _decimal_exponential(x):
    return (-Decimal(x.numerator) / Decimal(x.denominator)).exp()


@pytest.mark.parametrize("x", EXPONENTS, ids=str)
@pytest.mark.parametrize("count", [1, 10, 64, 128, 500])
def test_digits_agree_with_decimal_arithmetic(x, count):
    with localcontext() as context:
        context.prec = 600
        q = _decimal_exponential(x)
        power = Decimal(2) ** count
        assert exponential(x).prefix(count) == int(q * power)
        assert logistic(x).prefix(count) == int(q / (1 + q) * power)
        assert twice_logistic(x).prefix(count) == int(2 * q / (1 + q) * power)


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=200, max_denominator=10**6),
    st.integers(min_value=1, max_value=300),
)
def test_enclosures_hold_the_exponential_tightly(x, bits):
    low, high = enclose_exponential(x, bits)
    assert 0 <= high - low <= 2
    with localcontext() as context:
        context.prec = 200
        context.Emin = -10_000
        scaled = _decimal_exponential(x) * Decimal(2) ** bits
        assert low <= scaled <= high


@given(st.fractions(min_value=0, max_value=1).filter(lambda p: p < 1), st.integers(0, 200))
def test_digits_of_a_fraction_are_long_division(p, count):
    assert rational(p).prefix(count) == p.numerator * 2**count // p.denominator


def test_a_shorter_prefix_is_the_beginning_of_a_longer_one():
    expansion = exponential(Fraction(3, 7))
    long = expansion.prefix(400)
    assert [expansion.prefix(n) for n in (0, 1, 63, 399)] == [
        long >> (400 - n) for n in (0, 1, 63, 399)
    ]
    assert expansion.prefix(401) >> 1 == long


def test_digits_are_withheld_until_the_interval_agrees_on_them():
    # The true number is 1/2 - 2**-100; coarse enclosures straddle 1/2.
    asked = []

    def enclose(bits):
        asked.append(bits)
        centre = (1 << bits >> 1) - (1 << bits >> 100)
        return centre - 3, centre + 3

    assert Expansion(enclose).prefix(4) == 7
    assert asked == [36, 68, 132]


def test_only_dyadic_fractions_have_an_end():
    assert rational(Fraction(3, 8)).length == 3
    assert rational(Fraction(0)).length == 0
    assert rational(Fraction(1, 3)).length is None
    assert exponential(Fraction(1)).length is None


@pytest.mark.parametrize("p", [Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_fraction_outside_the_unit_interval_has_no_digits(p):
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        rational(p)


@pytest.mark.parametrize("make", [exponential, logistic, twice_logistic])
@pytest.mark.parametrize("x", [Fraction(0), Fraction(-1)])
def test_an_exponent_must_be_positive(make, x):
    with pytest.raises(ValueError, match="must be positive"):
        make(x)


def test_a_table_spells_out_digits_as_masks_and_grows():
    table = DigitTable([rational(Fraction(1, 3)), rational(Fraction(1, 2))])
    assert table.masks.shape == (2, 128)
    assert not table.ends_after(128)
    ones = 2**64 - 1
    assert table.masks[0, :6].tolist() == [0, ones, 0, ones, 0, ones]
    assert table.masks[1, :3].tolist() == [ones, 0, 0]
    before = table.masks.copy()
    table.extend()
    assert table.masks.shape[1] > 256
    assert (table.masks[:, :128] == before).all()


def test_a_table_of_dyadic_fractions_stops_at_their_end(monkeypatch):
    assert DigitTable([rational(Fraction(3, 8))]).masks.shape == (1, 3)
    assert DigitTable([rational(Fraction(3, 8))]).ends_after(3)
    monkeypatch.setattr("sfumato.noise.digits.FIRST_DIGITS", 2)
    table = DigitTable([rational(Fraction(3, 8))])
    assert table.masks.shape == (1, 2)
    assert not table.ends_after(2)
    table.extend()
    assert table.masks.shape == (1, 3)


def test_the_guard_is_what_the_module_says(monkeypatch):
    monkeypatch.setattr(expansions, "GUARD_BITS", 1)
    with localcontext() as context:
        context.prec = 100
        expected = int(_decimal_exponential(Fraction(1, 3)) * Decimal(2) ** 200)
    assert exponential(Fraction(1, 3)).prefix(200) == expected
