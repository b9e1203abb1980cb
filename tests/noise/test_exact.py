from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.noise import exact
from sfumato.noise.exact import briefly, positive


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
        Decimal("sNaN"),
        Decimal("-sNaN" + "1" * 20),
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


LONG = {
    "int": 10**5000,
    "negative int": -(10**5000),
    "text": "1" * 5000,
    "long text": "1" * 50_000,
    "decimals": "0." + "1" * 5000,
    "ratio": "1/" + "3" * 5000,
    "exponent": "1e" + "1" * 5000,
    "underscores": "1e1_000_000_000",
    "bad underscores": "1e1__0",
    "large": "1e4300",
    "small": "1e-4300",
    "digits and exponent": "1" * 3000 + "e3000",
    "decimal": Decimal("1" * 5000),
    "small decimal": Decimal("1e-4999"),
    "long decimal": Decimal("0." + "1" * 100_000),
    "huge decimal": Decimal("-1e999999"),
}


@pytest.mark.parametrize("name", LONG)
def test_a_number_too_long_to_write_out_is_refused_and_not_repeated(name):
    for attempt in (exact, lambda x: positive(x, "epsilon")):
        with pytest.raises(ValueError, match="at most 4000 digits") as caught:
            attempt(LONG[name])
        assert len(str(caught.value)) < 250
        assert "set_int_max_str_digits" not in str(caught.value)


def test_long_numbers_that_can_be_written_out_are_taken():
    for number in (10**3999, "1e3999", "1e-3999", Decimal("1e-3999"), "1/" + "3" * 3999):
        assert Fraction(str(exact(number))) == exact(number)
    assert exact(Decimal("0e-999999")) == 0


def test_an_error_repeats_a_value_briefly():
    assert briefly(-3) == "-3"
    assert briefly("x") == "'x'"
    assert briefly(Fraction(-1, 3)) == "-1/3"
    assert briefly("x" * 5000).endswith("… (5002 characters)")
    assert briefly(10**5000) == "a number of about 5000 digits"
    with pytest.raises(ValueError, match="got a number of about 5000 digits"):
        positive(Fraction(-(10**5000)), "epsilon")
