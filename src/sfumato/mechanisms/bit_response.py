"""Randomised response on the bits of one person's own list, on that person's device.

Each bit is turned over by an exact coin of its own; which bits are told at all is public
(docs/proofs/graph-collection.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.flips import flip_words
from sfumato.privacy.loss import Loss, Measure, PureDP, convert
from sfumato.privacy.primitive import Change, Primitive, require_array

__all__ = ["RandomizedBits"]

Bits = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class RandomizedBits(Primitive):
    """Say every bit of a list, truly with probability e^ε/(1 + e^ε).

    Parameters
    ----------
    bits
        The public length of the list.
    epsilon
        The loss for one bit.

    Notes
    -----
    Privacy: an output's probability is ∝ e^(−ε·bits turned over), and one bit changes it by at
    most e^ε (docs/proofs/graph-collection.md).
    """

    kind: ClassVar[str] = "randomised bits"

    bits: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0 or self.bits < 0:
            raise ValueError("epsilon must be positive, and the number of bits not negative")

    def cost(self, measure: Measure) -> Loss:
        """Return ε, or what ε-DP implies in another measure."""
        return convert(PureDP(self.epsilon), measure)

    def check(self, value: Any) -> None:
        """Raise unless the input is a list of bits of the declared length."""
        if not isinstance(value, np.ndarray) or value.dtype != np.bool_:
            raise ValueError("the input of randomised bits must be an array of booleans")
        if value.shape != (self.bits,):
            raise ValueError(f"the list must have {self.bits} bits")

    def sample(self, value: Bits) -> Bits:
        """Return the bits, each turned over by its own coin."""
        flips = flip_words(self.bits, exponent=self.epsilon).view(np.uint8)
        loose = np.unpackbits(flips, count=self.bits, bitorder="little").view(np.bool_)
        return np.asarray(value ^ loose)

    def check_output(self, output: Any) -> None:
        """Raise unless an output is a list of bits of the declared length."""
        require_array(output, np.bool_, (self.bits,))

    def log_probability(self, value: Bits, output: Bits) -> float:
        """Return the log-probability of an output."""
        epsilon = float(self.epsilon)
        truth = -math.log1p(math.exp(-epsilon))
        return self.bits * truth - epsilon * int((value != output).sum())

    def change(self, value: Bits, neighbour: Bits) -> Change:
        """Count the bits in which two lists differ."""
        return Change(Fraction(int((value != neighbour).sum())), Fraction(1), "bits that differ")

    def extremes(self, value: Bits, neighbour: Bits) -> list[Bits]:
        """Return the two lists themselves: saying one of them attains the bound."""
        return [value.copy(), neighbour.copy()]
