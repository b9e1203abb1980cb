"""How many cells a grid has: declared, or chosen from the number of points.

The number of points is private under add/remove; it is then counted with noise, from a small share
of the budget, before any grid is made. Under replace-one it is public and costs nothing. Roots are
taken in whole numbers, so that every machine makes the same grid of the same transcript.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, ask_counts, count_noise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss
from sfumato.privacy.parameters import Constraint, Whole, is_list
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import Program
from sfumato.spatial.queries import PointCount
from sfumato.spatial.spatial_method import count_step

__all__ = [
    "MOST_CELLS",
    "SIZE",
    "SIZE_SHARE",
    "GridShape",
    "check_shape",
    "count_points",
    "even_shape",
    "largest_side",
    "rate_of",
    "round_root",
    "rows_noise",
    "size_step",
    "uniform_side",
]

#: The most cells of a grid.
MOST_CELLS = 2**22
#: The share of the budget that counts the points where only the size of a grid needs them.
SIZE_SHARE = Fraction(1, 50)
#: The label of that count in transcripts, and the name of its slice.
SIZE = "number of points"
#: The name of the slice that pays for what is counted in the grid.
REST = "grid"


@dataclass(frozen=True)
class GridShape(Constraint):
    """A number of cells for all axes alike, or one number for each axis."""

    allowed = (
        "a whole number of at least 1 (cells along every axis), or a list of them, one for each "
        "axis"
    )

    def parse(self, value: Any) -> int | tuple[int, ...]:
        """Return the number, or the numbers as a tuple."""
        if not is_list(value):
            return self._whole(value)
        if not value:
            raise ValueError
        return tuple(self._whole(item) for item in value)

    @staticmethod
    def _whole(value: Any) -> int:
        return Whole(1).parse(value)


def check_shape(
    cells: int | tuple[int, ...], public: PointsPublic, most: int = MOST_CELLS
) -> tuple[int, ...]:
    """Return a declared grid as one number of cells an axis, or say what is wrong with it.

    Parameters
    ----------
    cells
        What was declared.
    public
        The public part of the points.
    most
        The most cells in all.
    """
    dimensions = public.dimensions
    shape = (cells,) * dimensions if isinstance(cells, int) else cells
    if len(shape) != dimensions:
        raise ValueError(
            f"cells must be one number, or {dimensions} numbers, one for each axis; got {cells!r}"
        )
    if max(shape) > 2**public.bits:
        raise ValueError(
            f"cells must be at most 2^{public.bits} along an axis of points in {dimensions} "
            f"dimensions; got {max(shape)}"
        )
    if prod(shape) > most:
        raise ValueError(
            f"the grid would have {prod(shape):,} cells; at most {most:,} are allowed; declare "
            "fewer along each axis"
        )
    return shape


def largest_side(public: PointsPublic, most: int = MOST_CELLS) -> int:
    """Return the most cells along every axis that a grid of at most `most` cells can have."""
    return min(round_root(Fraction(most), public.dimensions, down=True), 1 << public.bits)


def even_shape(public: PointsPublic, power: int) -> tuple[int, ...]:
    """Return 2^power cells, shared among the axes in powers of two, as evenly as possible."""
    whole, more = divmod(power, public.dimensions)
    bits = [whole + (axis < more) for axis in range(public.dimensions)]
    return tuple(2 ** min(bit, public.bits) for bit in bits)


def round_root(value: Fraction, degree: int, *, down: bool = False) -> int:
    """Return the whole number nearest to the root of a number, in exact arithmetic.

    Parameters
    ----------
    value
        A non-negative number.
    degree
        Which root, at least 1.
    down
        Round down instead; half-way cases are always rounded up.

    Examples
    --------
    >>> round_root(Fraction(30), 2), round_root(Fraction(31), 2), round_root(Fraction(8), 3)
    (5, 6, 2)
    """
    scale = 1 if down else 2
    # floor(scale · root) by bisection: the largest whole t with t^degree ≤ scale^degree · value.
    target = value * scale**degree
    low, high = 0, 1
    while high**degree <= target:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= target else (low, middle)
    return low if down else (low + 1) // 2


def uniform_side(points: int, noise: CountNoise, public: PointsPublic) -> int:
    """Return (n·ε/10)^(2/(d+2)), rounded, within the public limits.

    Parameters
    ----------
    points
        The number of points n, public or as it was measured.
    noise
        The noise on the count of a cell; ε is one over its scale.
    public
        The public part of the points.
    """
    side = round_root((max(points, 0) * rate_of(noise) / 10) ** 2, public.dimensions + 2)
    return min(max(side, 1), largest_side(public))


def rate_of(noise: CountNoise) -> Fraction:
    """Return one over the scale of geometric noise: the ε that counts of sensitivity 1 get."""
    assert isinstance(noise, GeometricNoise)
    return 1 / noise.scale


def size_step(loss: Loss, noise: CountNoise, public: PointsPublic) -> PlanStep:
    """Return the line of a plan for the number of points.

    Parameters
    ----------
    loss
        What the grid's method costs in all.
    noise
        The noise on the number.
    public
        The public part of the points.
    """
    return count_step(SIZE, loss.share(SIZE_SHARE), noise, public)


def rows_noise(limit: Loss, relation: Relation) -> CountNoise:
    """Return the noise on the number of points, from the loss for one record of the method."""
    return count_noise((1,), limit.share(SIZE_SHARE), relation)


def count_points(public: PointsPublic, budget: Budget) -> Program[tuple[int, Budget]]:
    """Return the number of points, public or noisy, and the budget that is left for the grid.

    Parameters
    ----------
    public
        The public part of the points.
    budget
        The whole budget of the method.

    Notes
    -----
    Privacy: one record moves the number of points by 1; it is measured with geometric noise.
    """
    if public.rows is not None:
        return public.rows, budget
    size, rest = budget.split([SIZE, REST], [SIZE_SHARE, 1 - SIZE_SHARE])
    noisy = yield ask_counts(size, PointCount(), (1,), label=SIZE)
    return int(noisy[0]), rest
