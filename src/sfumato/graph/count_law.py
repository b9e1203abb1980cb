"""What a release of a count could say, and how likely: the law of its output.

NOT PRIVATE. The law follows the private graph, its true count and its own sensitivity. It is for
the custodian's eyes and may never become part of a release, a plan, a certificate or a report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from sfumato.mechanisms.ladder import LadderNoise, ladder_quantile
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.smooth import SmoothCauchy

__all__ = ["CountLaw"]

CountNoise: TypeAlias = LadderNoise | SmoothCauchy | GeometricNoise


@dataclass(frozen=True, eq=False)
class CountLaw:
    """The law of a noisy count. Not private.

    Parameters
    ----------
    noise
        The primitive that adds noise.
    given
        What it looks at: the private count, with its private ladder or smooth bound.
    """

    noise: CountNoise
    given: Any

    @property
    def value(self) -> int:
        """The true count."""
        plain = isinstance(self.noise, GeometricNoise)
        return int(self.given[0] if plain else self.given.value)

    def quantile(self, probability: float) -> int:
        """Return how far off the release will be at most, with a probability.

        Parameters
        ----------
        probability
            One half gives the median error.
        """
        if isinstance(self.noise, LadderNoise):
            return ladder_quantile(
                self.given, probability, epsilon=self.noise.epsilon, cap=self.noise.cap
            )
        if isinstance(self.noise, GeometricNoise):
            return math.ceil(-math.log1p(-probability) * float(self.noise.scale))
        scale = float(self.given.bound * self.noise.calibration.factor)
        return math.ceil(scale * math.tan(math.pi * probability / 2))

    def probability(self, output: int) -> float:
        """Return how likely a number is to be said.

        Parameters
        ----------
        output
            A whole number.
        """
        if isinstance(self.noise, LadderNoise):
            return math.exp(self.noise.log_probability(self.given, output))
        distance = abs(output - self.value)
        if isinstance(self.noise, GeometricNoise):
            rate = float(1 / self.noise.scale)
            return math.tanh(rate / 2) * math.exp(-rate * distance)
        # The arc between distance ± 1/2 in one piece, which keeps its digits however short it is.
        scale = float(self.given.bound * self.noise.calibration.factor)
        if scale == 0:
            return float(distance == 0)
        inner = (float(distance) / scale) ** 2 - (0.5 / scale) ** 2
        return math.atan2(1 / scale, 1 + inner) / math.pi
