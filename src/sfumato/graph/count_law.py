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
        from scipy.special import betaincinv

        scale = float(self.given.bound * self.noise.calibration.factor)
        # |Z|^γ/(1 + |Z|^γ) has the beta law of parameters 1/γ and 1 − 1/γ.
        power = 1 / self.noise.power
        share = float(betaincinv(power, 1 - power, probability))
        return math.ceil(scale * math.pow(share / (1 - share), power))

    def probability(self, output: int) -> float:
        """Return how likely a number is to be said.

        Parameters
        ----------
        output
            A whole number.
        """
        if not isinstance(self.noise, GeometricNoise):
            return math.exp(self.noise.log_probability(self.given, output))
        rate = float(1 / self.noise.scale)
        return math.tanh(rate / 2) * math.exp(-rate * abs(output - self.value))
