"""Noise on real numbers with a public scale: round to a public grid, then noise in whole steps.

A `RealLaplace` is not a primitive of its own: it chooses a grid by public figures and an integer
primitive whose sensitivity is larger by what rounding can add. Queries round private
values to that grid by `units_of` (docs/proofs/noisy-counts.md). Nothing here may choose a grid from
private values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.noise.grid import (
    grid_for,
    rounded_l1_sensitivity,
    to_units,
)

Floats = NDArray[np.float64]


#: The smaller of sensitivity and scale, divided by the dimension, has at least 2 to this many
#: steps: rounding adds less than one part in 2 to this to an L1 sensitivity.
PRECISION = 12


def units_of(values: Floats, exponent: int) -> NDArray[np.int64]:
    """Return floats in whole steps of 2^exponent, cut to what integer noise takes.

    Nothing is refused, since a refusal would depend on the data: what is no number counts as 0 and
    what is too large as the largest, entry by entry. Cutting enlarges no sensitivity; a statistic
    that is no number has none, and a method must not hand one over.
    """
    most = math.ldexp(1.0, 61 + exponent)
    finite = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=most, neginf=-most)
    return to_units(np.clip(finite, -most, most), exponent=exponent)


def from_units(units: NDArray[np.int64], exponent: int) -> Floats:
    """Return steps of 2^exponent as floats; post-processing."""
    return np.asarray(np.ldexp(units.astype(np.float64), exponent), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class RealLaplace:
    """Laplace noise on a vector of reals.

    Parameters
    ----------
    shape
        The public shape of the values.
    sensitivity
        A bound on the L1 distance of the values of neighbouring data.
    epsilon
        The loss; the noise has scale sensitivity/epsilon, a little more for the rounding.

    Notes
    -----
    Privacy: values are rounded to multiples of 2^exponent; the rounded values have L1 sensitivity
    at most ⌈Δ/2^exponent⌉ + d − 1 steps (`sfumato.noise.grid`), to which geometric noise is scaled.
    """

    shape: tuple[int, ...]
    sensitivity: Fraction
    epsilon: Fraction

    @property
    def exponent(self) -> int:
        """The grid: values are rounded to multiples of 2 to this power."""
        finest = min(self.sensitivity, self.sensitivity / self.epsilon)
        return grid_for(finest / max(prod(self.shape), 1), precision=PRECISION)

    def primitive(self) -> GeometricNoise:
        """Return the integer primitive that is paid for."""
        steps = rounded_l1_sensitivity(
            self.sensitivity, dimension=max(prod(self.shape), 1), exponent=self.exponent
        )
        return GeometricNoise(shape=self.shape, sensitivity=Fraction(steps), epsilon=self.epsilon)

    def read(self, output: NDArray[np.int64]) -> Floats:
        """Return what a transcript's output stands for."""
        return from_units(output, self.exponent)
