"""The noise on eigenvectors as it was printed: scaled to a private gap, and not private.

It is kept so that the correction can be compared with it, and so that an audit can refute it
(docs/proofs/spectrum.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.mechanisms.laplace import check_integers, l1_distance
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_integers

__all__ = ["GapNoise", "GapVector"]

Integers = NDArray[np.int64]

#: The print divides by the gap, which may be 0; a smaller one counts as this.
LEAST_GAP = 2.0**-10


class GapVector(NamedTuple):
    """A private eigenvector in whole steps, and the private scale that its gap gives."""

    steps: Integers
    scale: Fraction


@dataclass(frozen=True, kw_only=True)
class GapNoise(Primitive):
    """Add noise of scale √n/(gap·ε) to an eigenvector: what was printed, not ε-DP.

    Parameters
    ----------
    dimension
        The number of entries n.
    radius
        How many steps are in length 1.
    epsilon
        The loss that was claimed.

    Notes
    -----
    Privacy: none is promised. The scale follows the private gap, and two Laplace laws of different
    scales have an unbounded ratio (docs/proofs/spectrum.md).
    """

    kind: ClassVar[str] = "printed noise on an eigenvector"

    dimension: int
    radius: int
    epsilon: Fraction

    def printed_scale(self, gap: float) -> Fraction:
        """Return √n/(gap·ε) in steps, for a gap of at least `LEAST_GAP`. Private."""
        steps = math.sqrt(self.dimension) * self.radius / max(gap, LEAST_GAP)
        return max(Fraction(math.ceil(steps)), Fraction(1)) / self.epsilon

    def cost(self, measure: Measure) -> Loss:
        """Return what was claimed."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is a vector of the declared length with a positive scale."""
        if not isinstance(value, GapVector) or value.scale <= 0:
            raise ValueError("the input must be a GapVector(steps, scale)")
        check_integers(value.steps, (self.dimension,))

    def sample(self, value: GapVector) -> NDArray[Any]:
        """Return the vector plus noise of its own scale."""
        drawn = noise.discrete_laplace(self.dimension, scale=value.scale)
        return np.asarray(value.steps + drawn)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is an array of integers of the declared shape."""
        require_integers(output, (self.dimension,))

    def log_probability(self, value: GapVector, output: NDArray[Any]) -> float:
        """Return the log-probability of an output."""
        rate = float(1 / value.scale)
        apart = l1_distance(value.steps, np.asarray(output, dtype=np.int64))
        return self.dimension * math.log(math.tanh(rate / 2)) - rate * float(apart)

    def change(self, value: GapVector, neighbour: GapVector) -> Change:
        """Measure the move of the vector in scales; two different scales are never close enough."""
        apart = l1_distance(value.steps, neighbour.steps)
        moved = apart / (min(value.scale, neighbour.scale) * self.epsilon)
        measured = math.inf if value.scale != neighbour.scale else moved
        return Change(measured, Fraction(1), "L1 over a scale that may not differ")

    def extremes(self, value: GapVector, neighbour: GapVector) -> list[Integers]:
        """Return the vectors, and one far out, where laws of different scales differ most."""
        far = math.ceil(20 * max(value.scale, neighbour.scale))
        return [value.steps.copy(), neighbour.steps.copy(), value.steps + far]
