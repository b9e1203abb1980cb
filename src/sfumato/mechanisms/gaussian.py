"""Discrete Gaussian noise on whole numbers, for zero-concentrated budgets.

The input is a vector of integers whose squared L2 distance between neighbours is bounded; discrete
Gaussian noise of variance Δ²/2ρ is added in integers (docs/proofs/noisy-counts.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import check_integers, cut
from sfumato.privacy.loss import ZCDP, Loss, Measure, convert
from sfumato.privacy.primitive import Change, Primitive, require_integers


def log_normaliser(variance: float) -> float:
    """Return ln Σ_x exp(−x²/2σ²) over all integers."""
    if variance > 1:
        # Poisson summation: the dual series converges where the direct one is slow.
        terms = np.arange(1, 8)
        dual = 1 + 2 * np.exp(-2 * math.pi**2 * variance * terms**2).sum()
        return 0.5 * math.log(2 * math.pi * variance) + math.log(dual)
    terms = np.arange(1, 64)
    return math.log1p(2 * float(np.exp(-(terms**2) / (2 * variance)).sum()))


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Primitive):
    """Add discrete Gaussian noise to a vector of integers.

    Parameters
    ----------
    shape
        The public shape of the input.
    squared_sensitivity
        A bound Δ² on the squared L2 distance of the inputs of neighbouring data.
    rho
        The zero-concentrated loss; the noise has variance parameter Δ²/(2·rho).

    Notes
    -----
    Privacy: for integer shifts the Rényi divergence of order α of two discrete Gaussians is at most
    α·d²/2σ² a coordinate (Canonne, Kamath and Steinke, 2020), so the vector costs
    ‖a − b‖₂²/2σ² ≤ ρ (docs/proofs/noisy-counts.md).
    """

    kind: ClassVar[str] = "discrete Gaussian noise"

    shape: tuple[int, ...]
    squared_sensitivity: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.squared_sensitivity <= 0 or self.rho <= 0:
            raise ValueError("squared_sensitivity and rho must be positive")

    @property
    def variance(self) -> Fraction:
        """The variance parameter σ² of the noise."""
        return self.squared_sensitivity / (2 * self.rho)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise on one entry, at most σ."""
        return math.sqrt(float(self.variance))

    def cost(self, measure: Measure) -> Loss:
        """Return ρ; it has no pure cost, and no (ε, δ) cost before a δ is chosen."""
        return convert(ZCDP(self.rho), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 array of the declared shape."""
        check_integers(value, self.shape)

    def sample(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the input plus noise."""
        return cut(value) + noise.discrete_gaussian(self.shape, variance=self.variance)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an array of integers of the declared shape."""
        # Noise of a smaller scale stays within 64 bits.
        require_integers(output, self.shape, wide=self.variance > 2**80)

    def log_probability(self, value: NDArray[np.int64], output: NDArray[np.int64]) -> float:
        """Return the log-probability of an output."""
        variance = float(self.variance)
        squares = float(((output - cut(value)).astype(np.float64) ** 2).sum())
        return -squares / (2 * variance) - math.prod(self.shape) * log_normaliser(variance)

    def concentrated_loss(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> float:
        """Return ‖a − b‖²/2σ², which the law gives for these two inputs."""
        return float(self.change(value, neighbour).measured) / (2 * float(self.variance))

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Measure the squared L2 distance of two inputs."""
        difference = (cut(value) - cut(neighbour)).astype(object)
        squares = Fraction(int((difference * difference).sum())) if value.size else Fraction(0)
        return Change(squares, self.squared_sensitivity, "squared L2", power=2)

    def extremes(
        self, value: NDArray[np.int64], neighbour: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Return the two inputs, which later steps may take a turn by."""
        return [value.copy(), neighbour.copy()]
