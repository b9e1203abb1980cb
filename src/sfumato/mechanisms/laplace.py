"""Geometric noise on whole numbers: the Laplace mechanism without floating point.

The input is a vector of integers whose L1 distance between neighbours is bounded; two-sided
geometric noise of scale sensitivity/ε is added in integers (docs/proofs/noisy-counts.md). Real
values go through `sfumato.mechanisms.real`, which rounds them to a public grid first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_integers

#: Public bounds and thresholds are at most this.
LARGEST_COUNT = 2**53
#: Inputs are cut to this size, so that their sums with noise stay inside 64 bits.
LARGEST_INPUT = 2**61


def check_integers(value: Any, shape: tuple[int, ...]) -> None:
    """Raise unless the input is an int64 array of the declared shape.

    What a method hands over is decided by public facts alone, so this can fail only for a method
    that is written wrongly, whatever the data are.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.int64:
        raise ValueError("the input of integer noise must be an int64 array")
    if value.shape != shape:
        raise ValueError(f"the input must have the declared shape {shape}; got {value.shape}")


def cut(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return integers cut to ±2^61.

    Cutting moves no two numbers further apart and keeps their order, so it enlarges no
    sensitivity; refusing large inputs instead would tell that there is one.
    """
    return np.clip(value, -LARGEST_INPUT, LARGEST_INPUT)


def l1_distance(value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Fraction:
    """Return Σ|a − b| of integers within ±2^61, exactly."""
    apart = np.abs(value - neighbour)
    # Summed in halves of 32 bits, which cannot overflow.
    high, low = apart >> 32, apart & 0xFFFFFFFF
    return Fraction((int(high.sum()) << 32) + int(low.sum()))


@dataclass(frozen=True, kw_only=True)
class GeometricNoise(Primitive):
    """Add two-sided geometric noise to a vector of integers.

    Parameters
    ----------
    shape
        The public shape of the input.
    sensitivity
        A bound on the L1 distance of the inputs of neighbouring data.
    epsilon
        The loss; the noise has scale sensitivity/epsilon.

    Notes
    -----
    Privacy: P(x) ∝ exp(−|x|·ε/Δ), so the log-ratio of any output on neighbouring inputs is at most
    ε·‖a − b‖₁/Δ ≤ ε (docs/proofs/noisy-counts.md).
    """

    kind: ClassVar[str] = "geometric noise"

    shape: tuple[int, ...]
    sensitivity: Fraction
    epsilon: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sensitivity <= 0 or self.epsilon <= 0:
            raise ValueError("sensitivity and epsilon must be positive")

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in units of the input."""
        return self.sensitivity / self.epsilon

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise on one entry: √(2q)/(1−q), q = e^(−1/scale)."""
        rate = float(1 / self.scale)
        # 2q/(1−q)² = 1/(2·sinh²(rate/2)), which neither overflows nor cancels.
        return 1 / (math.sqrt(2) * math.sinh(rate / 2)) if rate < 1400 else 0.0

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is an int64 array of the declared shape."""
        check_integers(value, self.shape)

    def sample(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the input plus noise."""
        return cut(value) + noise.discrete_laplace(self.shape, scale=self.scale)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an array of integers of the declared shape."""
        # Noise of a smaller scale stays within 64 bits.
        require_integers(output, self.shape, wide=self.scale > 2**40)

    def log_probability(self, value: NDArray[np.int64], output: NDArray[np.int64]) -> float:
        """Return the log-probability of an output."""
        rate = float(1 / self.scale)
        size = math.prod(self.shape)
        apart = l1_distance(cut(value), cut(output))
        return size * math.log(math.tanh(rate / 2)) - rate * float(apart)

    def change(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> Change:
        """Measure the L1 distance of two inputs."""
        return Change(l1_distance(cut(value), cut(neighbour)), self.sensitivity, "L1")

    def concentrated_loss(self, value: NDArray[np.int64], neighbour: NDArray[np.int64]) -> float:
        """Return ε²/2 for the ε = ‖a − b‖₁/scale that the law gives for these two inputs."""
        return float(self.change(value, neighbour).measured / self.scale) ** 2 / 2

    def extremes(
        self, value: NDArray[np.int64], neighbour: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Return the two inputs: saying one of them attains the bound."""
        return [value.copy(), neighbour.copy()]
