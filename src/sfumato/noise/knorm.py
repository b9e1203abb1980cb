"""Multivariate ℓ2 K-norm noise, exact on a public grid.

The K-norm mechanism (Hardt and Talwar, 2010) for the Euclidean norm adds a vector of density
∝ exp(−‖z‖₂/scale) in d dimensions. Here the private vector plus that vector is rounded to the grid
as a whole, coordinate by coordinate. Nothing here may ever round the values or the noise before
their sum.

*Law.* In polar coordinates the density is r^(d−1)·e^(−r/scale) times the uniform law of directions:
the radius is scale times a Gamma(d, 1) number, which is the sum of d independent exponential
numbers, and the direction is that of a vector of d independent standard normal numbers.

*Precision.* All 2d numbers are real numbers with bits drawn on demand, enclosed in integer
intervals that are rounded outward, and refined until every coordinate of the sum is settled. So
the answer is a function, known to all, of the output of the mechanism over the real numbers:
rounding is post-processing, and the precision costs ε = 0 and δ = 0.

Time depends on the noise and, when an unlucky rounding needs more bits, on the values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.noise._lazy import (
    Interval,
    Real,
    Rounding,
    Tape,
    check_grid,
    exponential,
    normal,
    rational_values,
)
from sfumato.noise.exact import positive


def perturb_knorm(values: object, scale: object, *, grid_exponent: int) -> list[int]:
    """Add a vector of density ∝ exp(−‖z‖₂/scale) and round to the grid, exactly.

    Parameters
    ----------
    values
        The private vector, at least one number; int, float or Fraction, where a float is the
        dyadic rational it is.
    scale
        The public scale, as `exact` takes it.
    grid_exponent
        The public e: the answer counts steps of 2ᵉ, as Python integers of any size.

    Notes
    -----
    Privacy: Δ/scale-DP for vectors that change by at most Δ in the Euclidean norm, since the
    logarithm of the density changes by at most Δ/scale; rounding to the grid costs nothing.
    """
    exact_scale = positive(scale, "scale")
    grid = check_grid(grid_exponent)
    centres = rational_values(values)
    if not centres:
        raise ValueError("K-norm noise needs a vector with at least one number; got none")
    noise = _Noise.draw(len(centres), Tape())
    roundings = [Rounding(centre, exact_scale, grid) for centre in centres]
    size = max(rounding.bits for rounding in roundings) + len(centres).bit_length()
    while True:
        units = [
            rounding.settle(interval, size)
            for rounding, interval in zip(roundings, noise.enclose(size), strict=True)
        ]
        settled = [unit for unit in units if unit is not None]
        if len(settled) == len(units):
            return settled
        size *= 2


@dataclass(frozen=True)
class _Noise:
    """A random vector: a direction that is not yet normalised and the parts of its radius."""

    direction: list[Real]
    radius: list[Real]

    @classmethod
    def draw(cls, dimension: int, tape: Tape) -> _Noise:
        """Draw the vector, with as few bits as its acceptance needs."""
        return cls(
            [normal(tape) for _ in range(dimension)],
            [exponential(tape) for _ in range(dimension)],
        )

    def enclose(self, size: int) -> list[Interval]:
        """Return for each coordinate integers around it times 2ˢⁱᶻᵉ."""
        precision = size
        while True:
            direction = [part.enclose(precision) for part in self.direction]
            length = _length(direction)
            if length[0] > 0:
                break
            precision *= 2
        parts = [part.enclose(precision) for part in self.radius]
        radius = sum(low for low, _ in parts), sum(high for _, high in parts)
        stretch = (radius[0] << size) // length[1], -((-radius[1] << size) // length[0])
        return [_scale_interval(part, stretch, precision) for part in direction]


def _length(vector: list[Interval]) -> Interval:
    """Enclose the Euclidean norm of a vector of intervals, in the units of its coordinates."""
    smallest = largest = 0
    for low, high in vector:
        near, far = sorted((abs(low), abs(high)))
        # An interval of a Real never has zero in its interior.
        smallest += near * near
        largest += far * far
    return math.isqrt(smallest), math.isqrt(largest) + 1


def _scale_interval(interval: Interval, factor: Interval, drop: int) -> Interval:
    """Enclose the product of an interval with a positive one, without its last `drop` bits."""
    low, high = interval
    low *= factor[0] if low >= 0 else factor[1]
    high *= factor[1] if high >= 0 else factor[0]
    return low >> drop, -(-high >> drop)
