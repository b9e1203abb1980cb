"""What clipping does to second moments of bell-shaped numbers, and how to undo it: public maths.

A number with standard deviation s that is clipped to ±1 keeps the second moment m(s), and its
products with other numbers of a joint normal law shrink by the gain, the share of it that is not
clipped (Price, 1958). Statistics of clipped numbers are brought back to the scale of those that
were clipped with these two functions; where numbers are not normal it is an approximation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

__all__ = ["gain", "second_moment"]

Floats = NDArray[np.float64]


def gain(deviation: Floats | float) -> Floats:
    """Return the share of a normal number of this standard deviation that lies within ±1."""
    return np.asarray(erf(1 / (np.asarray(deviation) * math.sqrt(2))), dtype=np.float64)


def second_moment(deviation: Floats | float) -> Floats:
    """Return the mean square of a normal number that is clipped to ±1."""
    spread = np.asarray(deviation, dtype=np.float64)
    inside = gain(spread)
    density = np.exp(-0.5 / spread**2) / math.sqrt(2 * math.pi)
    return np.asarray(spread**2 * inside - 2 * spread * density + (1 - inside))
