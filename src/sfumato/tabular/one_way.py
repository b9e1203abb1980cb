"""Tables of single columns: which are counted, and how they share a budget.

Public arithmetic on declared sizes, in whole numbers, so that it comes out alike everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from sfumato.data.table import TablePublic

__all__ = ["columns_to_count", "require_countable", "shares_by_size"]

#: The most values of all columns together.
MOST_VALUES = 2**22
#: Roots of public sizes are taken to so many binary digits, so that shares stay short fractions.
ROOT_BITS = 12


def columns_to_count(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the columns that are counted: those of more than one value, or else the first."""
    return tuple(column for column, size in enumerate(sizes) if size > 1) or (0,)


def require_countable(public: TablePublic) -> None:
    """Raise where columns have so many values that not even each by itself can be told."""
    values = sum(public.sizes)
    if values > MOST_VALUES:
        raise ValueError(
            f"the columns have {values:,} values in all; at most {MOST_VALUES:,} are allowed; "
            "declare fewer bins"
        )


def shares_by_size(sizes: Sequence[int], *, gaussian: bool) -> list[Fraction]:
    """Return the shares of a budget with which the expected errors of all columns sum to the least.

    With share w the mean absolute noise on m cells is proportional to m/w under pure ε and to m/√w
    under zCDP; its sum over the columns is least for w ∝ m^½ and w ∝ m^⅔.
    """
    if gaussian:
        weights = [_cube_root(size**2 << 3 * ROOT_BITS) for size in sizes]
    else:
        weights = [isqrt(size << 2 * ROOT_BITS) for size in sizes]
    return [Fraction(weight, sum(weights)) for weight in weights]


def _cube_root(value: int) -> int:
    """Return the largest whole number whose cube is at most `value`."""
    root = int(float(value) ** (1 / 3))
    while root**3 > value:
        root -= 1
    while (root + 1) ** 3 <= value:
        root += 1
    return root
