"""The normalising constant of Bingham's law, for audits and tests; nothing here draws.

The mean of exp(xᵀKx) over the uniform law of the unit sphere in p dimensions depends on the
eigenvalues kᵢ of K alone and is a contour integral,

    c(K) = Γ(p/2)/(2πi) · ∫ eˢ · Π (s − kᵢ)^(−1/2) ds,

along a path that comes from −∞ below the kᵢ, crosses the real axis to their right and goes back
above them. The path here is a hyperbola through the saddle point that leans 30° to the left: along
its asymptotes every factor only falls, whatever the kᵢ are, so that nothing cancels, and the
trapezoidal rule gives the logarithm to the precision of floats at any size of K.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_mean_exponential", "saddle_point"]

Floats = NDArray[np.float64]

#: How far the hyperbola leans from the vertical; below 45° every factor falls along it.
LEAN = math.pi / 6
#: The hyperbola is followed until the exponential alone is below e⁻⁵⁰.
FARTHEST = 50.0


def log_mean_exponential(values: Floats) -> float:
    """Return ln c(K), the log-mean of exp(xᵀKx) over the unit sphere.

    Parameters
    ----------
    values
        The eigenvalues of K, at least one.
    """
    largest = float(values.max())
    gaps = largest - np.asarray(values, dtype=np.float64)
    saddle = saddle_point(gaps)
    p = len(gaps)
    step = min(0.1, 0.4 / math.sqrt(p))
    reach = math.acosh(1 + FARTHEST / (saddle * math.sin(LEAN)))
    times = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1) * step
    # s = saddle·(1 + sin φ − sin(φ − it)), measured from the largest eigenvalue.
    turned = LEAN - 1j * times
    path = saddle * (1 + math.sin(LEAN) - np.sin(turned))
    # Each logarithm on its own branch: all s − kᵢ stay off the negative axis.
    terms = path - np.log(path[:, None] + gaps).sum(axis=1) / 2
    peak = saddle - float(np.log(saddle + gaps).sum()) / 2
    # ds = i·saddle·cos(φ − it) dt, over 2πi.
    total = float((np.exp(terms - peak) * np.cos(turned)).real.sum()) * step * saddle
    return largest + math.lgamma(p / 2) + peak + math.log(total / (2 * math.pi))


def saddle_point(gaps: Floats) -> float:
    """Return the root s of Σ 1/(2(s + Lᵢ)) = 1, which lies between 1/2 and p/2.

    The sum falls and is convex in s, so Newton's steps from the left never pass the root.

    Parameters
    ----------
    gaps
        The distances Lᵢ ≥ 0 of the eigenvalues to the largest, one of them 0.
    """
    place = 0.5
    for _ in range(200):
        parts = 0.5 / (place + gaps)
        excess = float(parts.sum()) - 1
        if excess <= 1e-15:
            break
        place += excess / (2 * float((parts * parts).sum()))
    return place
