"""What is publicly known about the noise on a unit: its moments, or that they are private.

The scale of noise that follows the data tells about the data, so it has no place here: of such a
noise only its symmetry is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from sfumato.mechanisms.laplace import GeometricNoise

__all__ = ["HiddenNoise", "KnownNoise", "Noise", "geometric"]


@dataclass(frozen=True)
class KnownNoise:
    """Noise of a public law: two-sided geometric in steps of a public grid.

    Parameters
    ----------
    spread
        c = q/(1 − q)², half of the variance in steps, for P(z) ∝ q^|z|.
    step
        One step, in units of the value.
    """

    spread: Fraction
    step: Fraction = Fraction(1)

    @property
    def variance(self) -> Fraction:
        """The variance, 2c steps squared."""
        return 2 * self.spread * self.step**2

    def unbiased_power(self, exponent: int) -> dict[int, Fraction]:
        """Return the polynomial in the noisy value whose mean is a power of the true one.

        Notes
        -----
        With f(x) = x^k, it is f(x) − c·[f(x+h) − 2f(x) + f(x−h)], which is exact for every f: the
        generating function of the noise is 1/(1 − c(z − 2 + 1/z)).
        """
        coefficients = {exponent: Fraction(1)}
        for even in range(2, exponent + 1, 2):
            less = 2 * self.spread * comb(exponent, even) * self.step**even
            coefficients[exponent - even] = coefficients.get(exponent - even, Fraction(0)) - less
        return coefficients

    def moments(self, most: int) -> list[Fraction]:
        """Return E[Z^k] for k up to `most`, by the same identity at 0."""
        found = [Fraction(1)]
        for k in range(1, most + 1):
            found.append(
                sum(
                    (
                        2 * self.spread * comb(k, even) * self.step**even * found[k - even]
                        for even in range(2, k + 1, 2)
                    ),
                    Fraction(0),
                )
            )
        return found


@dataclass(frozen=True)
class HiddenNoise:
    """Noise around the true value whose scale follows the data.

    Parameters
    ----------
    centred
        Whether its mean exists and is 0; Cauchy noise has none.
    """

    centred: bool = True


Noise = KnownNoise | HiddenNoise


def geometric(primitive: GeometricNoise, step: Fraction = Fraction(1)) -> KnownNoise:
    """Return what is known about geometric noise.

    Parameters
    ----------
    primitive
        The noise, in steps.
    step
        The value of one step.
    """
    half = float(1 / primitive.scale) / 2
    # c = 1/(4·sinh²(rate/2)), which neither overflows nor cancels.
    spread = 1 / (4 * math.sinh(half) ** 2) if half < 300 else 0.0
    return KnownNoise(Fraction(spread), step)
