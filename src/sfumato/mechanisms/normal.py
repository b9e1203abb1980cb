"""Gaussian noise on whole numbers, counted as Gaussian differential privacy.

The input is a vector of integers whose squared L2 distance between neighbours is bounded. A real
normal number is added to each and the exact sum is rounded to whole numbers, which is
post-processing: unlike discrete Gaussian noise it is exactly μ-GDP (docs/proofs/normal-noise.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.laplace import check_integers, cut
from sfumato.noise.private_scale import perturb_gaussian
from sfumato.privacy.loss import GDP, Loss, Measure, convert
from sfumato.privacy.primitive import Change, Primitive, require_array
from sfumato.privacy.rounding import round_up, sqrt_up

__all__ = ["NormalNoise"]

Integers64 = NDArray[np.int64]

#: What is beyond counts as this; the sum of two such numbers stays within 64 bits.
MOST = 2**62


@dataclass(frozen=True, kw_only=True)
class NormalNoise(Primitive):
    """Add normal noise to a vector of integers and round the sums to integers.

    Parameters
    ----------
    shape
        The public shape of the input.
    squared_sensitivity
        A bound Δ² on the squared L2 distance of the inputs of neighbouring data.
    mu_squared
        The Gaussian loss μ²; the noise has standard deviation Δ/μ.

    Notes
    -----
    Privacy: the exact sums are two normal laws of standard deviation σ whose means are at most Δ
    apart, Δ/σ-GDP; rounding them and cutting them to 62 bits is post-processing
    (docs/proofs/normal-noise.md).
    """

    kind: ClassVar[str] = "normal noise"

    shape: tuple[int, ...]
    squared_sensitivity: Fraction
    mu_squared: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.squared_sensitivity <= 0 or self.mu_squared <= 0:
            raise ValueError("squared_sensitivity and mu_squared must be positive")

    @property
    def scale(self) -> Fraction:
        """The standard deviation σ of the noise, rounded up."""
        return round_up(sqrt_up(self.squared_sensitivity / self.mu_squared), 24)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise on one entry."""
        return float(self.scale)

    def cost(self, measure: Measure) -> Loss:
        """Return μ², or what it implies; it has no pure cost."""
        return convert(GDP(self.mu_squared), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 array of the declared shape."""
        check_integers(value, self.shape)

    def sample(self, value: Integers64) -> Integers64:
        """Return the input plus noise, rounded."""
        drawn = perturb_gaussian(cut(value).ravel().tolist(), self.scale, grid_exponent=0)
        assert isinstance(drawn, list)
        kept = [min(max(unit, -MOST), MOST) for unit in drawn]
        return np.array(kept, dtype=np.int64).reshape(self.shape)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an int64 array of the declared shape."""
        require_array(output, np.int64, self.shape)

    def log_probability(self, value: Integers64, output: Integers64) -> float:
        """Return the log-probability of an output: the mass of the normal law on its cell.

        Where the noise is far wider than a cell this is the density in its middle.
        """
        sigma = float(self.scale)
        distance = (output - cut(value)).astype(np.float64)
        if sigma > 2**20:
            squares = float((distance**2).sum()) / (2 * sigma * sigma)
            return -squares - prod(self.shape) * math.log(sigma * math.sqrt(2 * math.pi))
        from scipy.special import log_ndtr

        # The tail that is nearer to 0 is the exact one.
        far = np.abs(distance)
        upper, lower = log_ndtr(-(far - 0.5) / sigma), log_ndtr(-(far + 0.5) / sigma)
        with np.errstate(divide="ignore"):
            return float((upper + np.log(-np.expm1(lower - upper))).sum())

    def concentrated_loss(self, value: Integers64, neighbour: Integers64) -> float:
        """Return ‖a − b‖²/2σ², which the law gives for these two inputs."""
        sigma = float(self.scale)
        return float(self.change(value, neighbour).measured) / (2 * sigma * sigma)

    def change(self, value: Integers64, neighbour: Integers64) -> Change:
        """Measure the squared L2 distance of two inputs."""
        difference = (cut(value) - cut(neighbour)).astype(object)
        squares = Fraction(int((difference * difference).sum())) if value.size else Fraction(0)
        return Change(squares, self.squared_sensitivity, "squared L2", power=2)

    def extremes(self, value: Integers64, neighbour: Integers64) -> list[Integers64]:
        """Return the two inputs, which later steps may take a turn by."""
        return [value.copy(), neighbour.copy()]
