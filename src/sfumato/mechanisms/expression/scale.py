"""The scale of noise that follows the data, told with noise of its own: it is paid for.

The logarithm of a β-smooth bound changes between neighbours by at most β. It is taken in whole
steps of a public size and gets geometric noise (docs/proofs/expressions.md). What comes out is an
estimate of the bound, off by a factor; and of its square, without bias where its mean exists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.expression.noises import EstimatedNoise
from sfumato.mechanisms.laplace import LARGEST_INPUT, GeometricNoise
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothLaplace
from sfumato.privacy.rounding import log_up

__all__ = ["ScaleNoise", "SmoothNoise"]


#: β is so many steps.
STEPS = 2**20


#: Logarithms are computed to better than this.
_SLACK = Fraction(1, 10**30)


#: Squares of scales stay within floating point.
_LARGEST_LOG = 600.0


SmoothNoise = SmoothCauchy | SmoothLaplace


@dataclass(frozen=True)
class ScaleNoise:
    """How the scale of smooth noise is told.

    Parameters
    ----------
    smooth
        The primitive whose noise it is; it needs a finite variance.
    epsilon
        What telling it costs.
    """

    smooth: SmoothNoise
    epsilon: Fraction

    @property
    def step(self) -> Fraction:
        """The size of a step of the logarithm. Public."""
        return (self.smooth.beta + 2 * _SLACK) / STEPS

    @property
    def primitive(self) -> GeometricNoise:
        """What is paid: one whole number that one record changes by at most as many steps."""
        return GeometricNoise(shape=(1,), sensitivity=Fraction(STEPS), epsilon=self.epsilon)

    @property
    def spread(self) -> float:
        """The scale of the noise on the logarithm, β/ε. Public."""
        return float(self.step * STEPS / self.epsilon)

    def given(self, bound: int | Fraction) -> NDArray[np.int64]:
        """Return the logarithm of a smooth bound in steps. Private."""
        steps = math.floor(log_up(Fraction(bound)) / self.step + Fraction(1, 2))
        # Where ε is next to nothing so is a step; refusing many of them would tell.
        return np.array([min(max(steps, -LARGEST_INPUT), LARGEST_INPUT)], dtype=np.int64)

    def read(self, said: Any) -> EstimatedNoise:
        """Return what is known of the noise, from what was said."""
        log = float(int(said[0]) * self.step + _log(self.smooth.calibration.factor))
        step, half = float(self.step), float(self.epsilon / STEPS) / 2
        fair = 2 * self.spread < 1
        # 1 − c·(e^2h − 2 + e^−2h), h a step: what f(x) = e^2x is multiplied by to be unbiased.
        shrink = 1 - _sinh_ratio(step, half) ** 2 if fair else 1.0
        square = math.exp(min(2 * log, _LARGEST_LOG)) * shrink
        if isinstance(self.smooth, SmoothLaplace):
            return EstimatedNoise(Fraction(square), highest=None, fair=fair)
        # The density ∝ 1/(1 + z⁴) has variance 1, and no fourth moment.
        return EstimatedNoise(Fraction(square) / 2, highest=2, fair=fair)


def _sinh_ratio(above: float, below: float) -> float:
    """Return sinh(above)/sinh(below) for positive numbers; neither overflows nor cancels."""
    return math.exp(above - below) * math.expm1(-2 * above) / math.expm1(-2 * below)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
