"""What a reader should expect of noise whose scale is public: its margin."""

from __future__ import annotations

import math

from sfumato.mechanisms.laplace import GeometricNoise

__all__ = ["margin"]


def margin(noise: GeometricNoise) -> float:
    """Return the 95 % margin of geometric noise on one number: 19 in 20 are off by no more."""
    # P(|X| > t) = 2q^(t+1)/(1+q) for a whole number t, q = e^(−1/scale).
    rate = float(1 / noise.scale)
    return float(max(0, math.ceil(math.log(40 / (1 + math.exp(-rate))) / rate - 1)))
