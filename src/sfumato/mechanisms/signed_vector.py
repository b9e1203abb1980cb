"""Noise on a vector that is known up to its sign: a fair sign is drawn, then noise is added.

An eigenvector and its opposite say the same. Drawing the sign makes them equally likely to have
been the truth, so that only the smaller of the distances to a vector and to its opposite counts
(docs/proofs/spectrum.md). Nothing here may put the vector, or its sign, into a signature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import LARGEST_INPUT, check_integers
from sfumato.privacy.loss import ApproxDP, Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_integers

__all__ = ["SignedVector", "any_two_directions"]

Integers = NDArray[Any]


def any_two_directions(dimension: int, radius: int) -> Fraction:
    """Return a bound on the L1 distance, up to sign, of any two vectors of at most a length.

    Parameters
    ----------
    dimension
        How many entries they have, d.
    radius
        The largest Euclidean length r. The bound is r·√(2d).
    """
    # The square root of a whole number, rounded up.
    return Fraction(math.isqrt(2 * dimension * radius**2 - 1) + 1)


@dataclass(frozen=True, kw_only=True)
class SignedVector(Primitive):
    """Turn a vector of whole numbers over or not, by a fair coin, and add geometric noise.

    Parameters
    ----------
    dimension
        The public number of entries.
    radius
        The largest Euclidean length of the input.
    sensitivity
        A bound on min(‖a − b‖₁, ‖a + b‖₁) for the inputs of neighbouring data.
    epsilon
        The loss; the noise has scale sensitivity/epsilon.
    delta
        The probability that the bound does not hold, where it was estimated by what was said
        before; 0 where it always holds.

    Notes
    -----
    Privacy: the law of the output is the same for a and −a, and at most e^(ε·‖a − b‖₁/Δ) times
    that for b; so the smaller of the two distances counts (docs/proofs/spectrum.md).
    """

    kind: ClassVar[str] = "noise on a vector up to sign"

    dimension: int
    radius: int
    sensitivity: Fraction
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sensitivity <= 0 or self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise ValueError("sensitivity and epsilon must be positive, and delta from 0 to 1")
        if not 0 < self.radius <= LARGEST_INPUT:
            raise ValueError(f"radius must be from 1 to {LARGEST_INPUT}; got {self.radius}")

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in units of the input."""
        return self.sensitivity / self.epsilon

    def cost(self, measure: Measure) -> Loss:
        """Return ε, with δ if the bound may fail."""
        if self.delta == 0:
            return convert(PureDP(self.epsilon), measure)
        return convert(ApproxDP(self.epsilon, self.delta), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input has the declared length and is no longer than the radius."""
        check_integers(value, (self.dimension,))
        if sum(int(entry) ** 2 for entry in value) > self.radius**2:
            raise ValueError("the vector is longer than was declared")

    def sample(self, value: Integers) -> Integers:
        """Return the vector or its opposite, plus noise."""
        turned = -value if noise.bernoulli(None, probability=Fraction(1, 2)) else value
        return turned + noise.discrete_laplace(self.dimension, scale=self.scale)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an array of integers of the declared shape."""
        require_integers(output, (self.dimension,))

    def log_probability(self, value: Integers, output: Integers) -> float:
        """Return the log-probability of an output: half for either sign."""
        rate = float(1 / self.scale)
        straight, turned = (
            -float(Fraction(_distance(output, sign * value)) / self.scale) for sign in (1, -1)
        )
        mixed = float(np.logaddexp(straight, turned)) - math.log(2)
        return self.dimension * math.log(math.tanh(rate / 2)) + mixed

    def change(self, value: Integers, neighbour: Integers) -> Change:
        """Measure the L1 distance of two inputs, up to sign."""
        apart = min(_distance(value, neighbour), _distance(value, -neighbour))
        return Change(Fraction(apart), self.sensitivity, "L1 up to sign")

    def extremes(self, value: Integers, neighbour: Integers) -> list[Integers]:
        """Return the two inputs, and outputs far out in the direction that tells them apart."""
        far = math.ceil(3 * self.scale) + self.radius
        # Noise of a wide scale is whole numbers of any size.
        kind = np.int64 if far <= LARGEST_INPUT else object
        away = np.where(value >= 0, 1, -1).astype(kind) * far
        # Where the vector is zero, against the neighbour: half of the entries this way, half that.
        idle = np.flatnonzero(value == 0)
        away[idle[::2]] *= -1
        return [value.copy(), neighbour.copy(), away]


def _distance(first: Integers, second: Integers) -> int:
    """Return Σ|a − b| of whole numbers of any size, exactly."""
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return sum(abs(int(one) - int(other)) for one, other in pairs)
