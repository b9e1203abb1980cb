from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.noise import exact


@pytest.mark.parametrize(
    ("number", "fraction"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        (Decimal("2.50"), Fraction(5, 2)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.int8(-4), Fraction(-4)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
    ],
)
def test_a_number_becomes_the_fraction_its_writer_meant(number, fraction):
    assert exact(number) == fraction
    assert type(exact(number)) is Fraction


def test_ten_tenths_are_one():
    assert sum(exact(0.1) for _ in range(10)) == 1


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_survives_the_way_there_and_back(x):
    assert float(exact(x)) == x


@pytest.mark.parametrize(
    "number",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("Infinity"),
        "nan",
        "inf",
        "",
        "one",
        "1/0",
        "1e999999999",
        Decimal("1e999999"),
    ],
)
def test_what_is_not_finite_is_refused(number):
    with pytest.raises(ValueError, match=r"finite|exponent"):
        exact(number)


@pytest.mark.parametrize("number", [True, np.True_, 1j, None, [1], np.array([1.0]), b"1"])
def test_what_is_not_a_number_is_refused(number):
    with pytest.raises(TypeError, match="a number is needed"):
        exact(number)
