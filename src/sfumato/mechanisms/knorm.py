"""Euclidean K-norm noise: a vector of reals whose L2 sensitivity is bounded, under pure ε.

The noise has density ∝ exp(−‖z‖₂·ε/Δ): a Gamma radius and a uniform direction. The exact real sum
is rounded to a public grid, which is post-processing (docs/proofs/k-norm.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.grid import grid_for
from sfumato.noise.knorm import perturb_knorm
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_wholes

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class KNormNoise(Primitive):
    """Add Euclidean K-norm noise to a vector of reals.

    Parameters
    ----------
    dimension
        The public length of the vector.
    sensitivity
        A bound on the L2 distance of the inputs of neighbouring data.
    epsilon
        The loss.

    Notes
    -----
    Privacy: the log-density changes by at most ε·‖a − b‖₂/Δ ≤ ε; the answer is the exact sum
    rounded to multiples of 2^exponent, whatever the input is (docs/proofs/k-norm.md).
    """

    kind: ClassVar[str] = "K-norm noise"

    dimension: int
    sensitivity: Fraction
    epsilon: Fraction

    @property
    def scale(self) -> Fraction:
        """The scale Δ/ε of the radius."""
        return self.sensitivity / self.epsilon

    @property
    def exponent(self) -> int:
        """The grid: answers are multiples of 2 to this power."""
        return grid_for(self.scale)

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is a finite float64 vector of the declared length."""
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            raise ValueError("the input of K-norm noise must be a float64 array")
        if value.shape != (self.dimension,):
            raise ValueError(f"the input must have the declared length {self.dimension}")
        if not np.isfinite(value).all():
            raise ValueError("the input of K-norm noise must be finite")

    def sample(self, value: Floats) -> NDArray[np.object_]:
        """Return the noisy vector in whole steps of the grid."""
        units = perturb_knorm(value.tolist(), self.scale, grid_exponent=self.exponent)
        return np.array(units, dtype=object)

    def read(self, output: NDArray[np.object_]) -> Floats:
        """Return what a transcript's output stands for."""
        exponent = self.exponent
        return np.array([math.ldexp(int(unit), exponent) for unit in output])

    def check_output(self, output: Any) -> None:
        """Raise unless an output holds a whole number for each entry."""
        require_wholes(output, (self.dimension,))

    def log_probability(self, value: Floats, output: NDArray[np.object_]) -> float:
        """Return the log-probability of an answer: density at the grid point times the cell.

        The grid has at least 2^20 steps in the scale, so the density is nearly constant on a cell;
        ratios between neighbours are bounded by the same ε as the exact ones.
        """
        d, scale = self.dimension, float(self.scale)
        radius = float(np.linalg.norm(self.read(output) - value))
        # Γ(d)·(area of the unit sphere) normalises r^(d−1)·e^(−r/scale).
        log_area = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        log_density = -radius / scale - log_area - math.lgamma(d) - d * math.log(scale)
        return log_density + d * self.exponent * math.log(2)

    def change(self, value: Floats, neighbour: Floats) -> Change:
        """Measure the L2 distance of two inputs."""
        distance = float(np.linalg.norm(value - neighbour))
        # Inputs are floats: their distance is known up to its own rounding.
        return Change(distance * (1 - 1e-12), float(self.sensitivity), "L2")

    def extremes(self, value: Floats, neighbour: Floats) -> list[NDArray[np.object_]]:
        """Return the two inputs, on the grid: saying one of them attains the bound."""
        step = 2.0**self.exponent
        return [
            np.array([round(item / step) for item in place], dtype=object)
            for place in (value, neighbour)
        ]
