"""What is publicly known about the noise on a unit: its moments, or that they are private.

The scale of noise that follows the data tells about the data, so it has no place here: of such a
noise only its symmetry is known, unless its scale was paid for and told with noise of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from sfumato.mechanisms.laplace import GeometricNoise

__all__ = ["EstimatedNoise", "HiddenNoise", "KnownNoise", "Noise", "geometric"]


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


@dataclass(frozen=True)
class EstimatedNoise:
    """Continuous noise whose scale follows the data and was told with noise, so that it is known.

    Parameters
    ----------
    spread
        An estimate of half of the variance: of b² for Laplace noise of scale b.
    highest
        The highest power whose mean exists and is known; `None` for Laplace noise, all of them.
    fair
        Whether the estimate of the variance is without bias.
    """

    spread: Fraction
    highest: int | None
    fair: bool

    @property
    def variance(self) -> Fraction:
        """The variance, as it is estimated."""
        return 2 * self.spread

    def unbiased_power(self, exponent: int) -> dict[int, Fraction] | None:
        """Return f − b²f″ for f(x) = x^k, with the estimated b²; `None` where a mean is lacking.

        Notes
        -----
        It is exact for Laplace noise, and for the square for any noise of mean 0. The estimate of
        b² is independent of the noise, and enters once.
        """
        if self.highest is not None and exponent > self.highest:
            return None
        coefficients = {exponent: Fraction(1)}
        if exponent >= 2:
            coefficients[exponent - 2] = -exponent * (exponent - 1) * self.spread
        return coefficients

    def moments(self, most: int) -> list[Fraction] | None:
        """Return E[Z^k] for k up to `most`, had the scale been the estimated one."""
        if self.highest is not None and most > self.highest:
            return None
        found = [Fraction(1)]
        for k in range(1, most + 1):
            found.append(k * (k - 1) * self.spread * found[k - 2] if k % 2 == 0 else Fraction(0))
        return found


Noise = KnownNoise | HiddenNoise | EstimatedNoise


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
