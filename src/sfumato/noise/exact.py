"""Numbers as their writers meant them: every parameter of a sampler becomes a fraction.

Budgets and scales are compared, added and divided exactly, so that ten slices of 0.1 make 1.
Nothing here may ever round: a number is turned into the one fraction it stands for, or refused.
"""

from __future__ import annotations

import numbers
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = int | float | str | Decimal | Fraction | np.integer[Any] | np.floating[Any]

#: Longer numbers are refused: Python would not write them out again (its limit is 4300 digits), and
#: an absurd exponent would fill the memory before the number was used.
MOST_DIGITS = 4000
_MOST_BITS = (10**MOST_DIGITS).bit_length()
_SHOWN = 60
"""Characters of a value that an error repeats."""

_EXPONENT = re.compile(r"[eE]([-+]?[\d_]+)\s*$")


def exact(x: object) -> Fraction:
    """Return the fraction that a number stands for.

    A float is read as its shortest decimal (0.1 is 1/10, not the nearby dyadic number), because
    that is what the person who typed it meant. Strings may be decimals or ratios ("0.1", "1/3").

    Parameters
    ----------
    x
        An int, float, str, Decimal, Fraction, or a NumPy integer or float scalar.

    Raises
    ------
    TypeError
        For booleans, complex numbers, arrays and anything else that is not one real number.
    ValueError
        For NaN, infinities, text that is not a number, and numbers of more than 4000 digits. A
        `Fraction` is taken as it is, however long.
    """
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"a number is needed; got the boolean {x!r}")
    if isinstance(x, Fraction):
        return x
    if isinstance(x, (int, np.integer)):
        return writable(Fraction(int(x)))
    if isinstance(x, (float, np.floating)):
        return _from_float(x)
    if isinstance(x, Decimal):
        return _from_decimal(x)
    if isinstance(x, str):
        return _from_text(x)
    if isinstance(x, numbers.Rational):
        return Fraction(int(x.numerator), int(x.denominator))
    raise TypeError(
        f"a number is needed (int, float, str, Decimal or Fraction); got {type(x).__name__}"
    )


def positive(x: object, name: str) -> Fraction:
    """Return `exact(x)`, refusing zero and negative numbers with an error that names the parameter.

    Parameters
    ----------
    x
        The number, as `exact` takes it.
    name
        What the caller calls it.
    """
    value = exact_named(x, name)
    if value <= 0:
        raise ValueError(f"{name} must be positive and finite; got {briefly(x)}")
    return value


def exact_named(x: object, name: str) -> Fraction:
    """Return `exact(x)` with errors that name the parameter.

    Parameters
    ----------
    x
        The number, as `exact` takes it.
    name
        What the caller calls it.
    """
    try:
        return exact(x)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _holds_data(x: object) -> bool:
    """Tell whether a value is an array, a series or a frame of whatever library."""
    faces = ("__array__", "__dataframe__", "__arrow_c_stream__")
    return not isinstance(x, np.generic) and any(hasattr(type(x), face) for face in faces)


def briefly(x: object) -> str:
    """Return a value as an error repeats it: never at length, and never failing over its size.

    Parameters
    ----------
    x
        Any value that should be public. Of a frame, a series or an array only the type is stated:
        somebody may have passed data by mistake.
    """
    items = x if isinstance(x, list | tuple) else (x,)
    if any(_holds_data(item) for item in items):
        return f"a {type(x).__name__}" + (" that holds data" if items is x else "")
    if isinstance(x, numbers.Rational):
        bits = max(int(x.numerator).bit_length(), int(x.denominator).bit_length())
        if bits > 4 * _SHOWN:
            return f"a number of about {round(bits * 0.30103)} digits"
    try:
        text = repr(x) if isinstance(x, str) else str(x)
    except ValueError:
        # Python writes no number of more than 4300 digits, also not within a list.
        return f"a {type(x).__name__} that holds a number of more than {MOST_DIGITS} digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def writable(x: Fraction) -> Fraction:
    """Return a fraction that can be written out, or refuse it.

    Parameters
    ----------
    x
        A fraction of any length.
    """
    if max(x.numerator.bit_length(), x.denominator.bit_length()) > _MOST_BITS:
        raise ValueError(f"a finite number of at most {MOST_DIGITS} digits is needed")
    return x


def _from_float(x: float | np.floating[Any]) -> Fraction:
    """Read a float of any width as its shortest decimal."""
    if not np.isfinite(x):
        raise ValueError(f"a finite number is needed; got {float(x)}")
    # float() would widen a float32 and change its shortest decimal; str() keeps the width.
    return Fraction(repr(float(x))) if isinstance(x, float) else _from_text(str(x))


def _from_decimal(x: Decimal) -> Fraction:
    """Read a decimal exactly, unless it is not finite or absurdly long."""
    if not x.is_finite():
        raise ValueError(f"a finite number is needed; got {briefly(x)}")
    if x == 0:
        return Fraction(0)
    if len(x.as_tuple().digits) > MOST_DIGITS or abs(x.adjusted()) > MOST_DIGITS:
        raise ValueError(f"a finite number of at most {MOST_DIGITS} digits is needed")
    return writable(Fraction(x))


def _from_text(x: str) -> Fraction:
    """Read a decimal or a ratio written as text."""
    if len(x) > 2 * MOST_DIGITS + 2:
        raise ValueError(
            f"a finite number of at most {MOST_DIGITS} digits is needed; got a text of {len(x)} "
            "characters"
        )
    exponent = _EXPONENT.search(x)
    try:
        if exponent is not None and abs(int(exponent.group(1))) > MOST_DIGITS:
            raise ValueError
        number = Fraction(x)
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f'a finite number such as "0.1" or "1/3" of at most {MOST_DIGITS} digits is needed; '
            f"got {briefly(x)}"
        ) from None
    return writable(number)
