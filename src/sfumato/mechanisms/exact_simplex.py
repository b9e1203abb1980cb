"""Linear programs with whole numbers, solved exactly: the largest c·x with A·x ≤ b and x ≥ 0.

b is never negative, so that x = 0 is a start. Everything is a fraction: nothing is rounded. It is
slow, and meant for what a floating-point solver leaves undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["exact_maximum"]


def exact_maximum(
    objective: Sequence[int], rows: Sequence[dict[int, int]], limits: Sequence[int | Fraction]
) -> Fraction:
    """Return the largest value of a linear program that has one.

    Parameters
    ----------
    objective
        What one of each variable is worth.
    rows
        The coefficients of each constraint, by variable.
    limits
        What each constraint allows, never negative.

    Notes
    -----
    The simplex method with Bland's rule: of all variables that would gain the first enters, of all
    rows that limit it most the one whose variable comes first leaves. It ends for every program
    that is bounded (Bland, 1977).

    Examples
    --------
    >>> exact_maximum([1, 1, 1], [{0: 1, 1: 1}, {1: 1, 2: 1}, {0: 1, 2: 1}], [1, 1, 1])
    Fraction(3, 2)
    """
    if any(limit < 0 for limit in limits):
        raise ValueError("limits may not be negative")
    many = len(objective)
    # Row by row: what a basic variable is, as limit − Σ coefficient · (variable outside).
    table = [{k: Fraction(v) for k, v in row.items() if v} for row in rows]
    right = [Fraction(limit) for limit in limits]
    basis = [many + place for place in range(len(table))]
    gains = {place: Fraction(worth) for place, worth in enumerate(objective) if worth}
    value = Fraction(0)
    while True:
        entering = min((place for place, gain in gains.items() if gain > 0), default=None)
        if entering is None:
            return value
        row = _leaving(table, right, basis, entering)
        if row is None:
            raise ValueError("the program has no largest value")
        value += _pivot(table, right, basis, gains, row, entering)


def _leaving(
    table: list[dict[int, Fraction]], right: list[Fraction], basis: list[int], entering: int
) -> int | None:
    """Return the row that limits a variable most, the first in Bland's order of several."""
    best: tuple[Fraction, int] | None = None
    found = None
    for place, row in enumerate(table):
        coefficient = row.get(entering, Fraction(0))
        if coefficient > 0:
            here = (right[place] / coefficient, basis[place])
            if best is None or here < best:
                best, found = here, place
    return found


def _pivot(
    table: list[dict[int, Fraction]],
    right: list[Fraction],
    basis: list[int],
    gains: dict[int, Fraction],
    at: int,
    entering: int,
) -> Fraction:
    """Exchange two variables and return what is gained."""
    row = table[at]
    pivot = row.pop(entering)
    leaving, basis[at] = basis[at], entering
    row[leaving] = Fraction(1)
    for place in row:
        row[place] /= pivot
    right[at] /= pivot
    for place, other in enumerate(table):
        factor = other.pop(entering, None) if place != at else None
        if factor is not None:
            _subtract(other, row, factor)
            right[place] -= factor * right[at]
    gain = gains.pop(entering)
    _subtract(gains, row, gain)
    return gain * right[at]


def _subtract(target: dict[int, Fraction], row: dict[int, Fraction], factor: Fraction) -> None:
    for place, coefficient in row.items():
        left = target.get(place, Fraction(0)) - factor * coefficient
        if left:
            target[place] = left
        else:
            target.pop(place, None)
