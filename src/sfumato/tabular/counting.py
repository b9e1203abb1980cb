"""What a reader should expect of noisy counts: their margins."""

from __future__ import annotations

import math

from sfumato.mechanisms.count_noise import CountNoise
from sfumato.mechanisms.laplace import GeometricNoise


def margin(noise: CountNoise, cells: int = 1) -> float:
    """Return the 95 % margin of a sum of noisy cells: 19 sums in 20 are off by no more.

    Parameters
    ----------
    noise
        The noise on each cell.
    cells
        How many cells are added up.
    """
    if cells == 1 and isinstance(noise, GeometricNoise):
        # P(|X| > t) = 2q^(t+1)/(1+q) for a whole number t.
        rate = float(1 / noise.scale)
        return float(max(0, math.ceil(math.log(40 / (1 + math.exp(-rate))) / rate - 1)))
    return 1.959963984540054 * noise.standard_deviation * math.sqrt(cells)
