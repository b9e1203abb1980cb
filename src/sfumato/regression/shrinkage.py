"""Weights from noisy second moments: what noise could have made is shrunk away. Post-processing.

With t = Mw + noise, M the second moments, the weights are taken to be normal around 0 with a
variance that is read off the length of t. In a direction of M with moment m the best guess is then
m·t·τ²/(m²·τ² + s²·m + σ²): least squares where m is large beside the noise, nothing where it is
not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["shrunken"]

Floats = NDArray[np.float64]

#: What a model is taken to leave of an answer between −1 and 1, squared.
LEFT = 0.25
#: The variance of weights is never taken to be less than this share of what it looks like.
LEAST_SHARE = 0.1
#: Directions whose moment is below this share of the largest count as flat.
FLAT = 1e-9


def shrunken(matrix: Floats, slope: Floats, deviation: float, off: float = 0.0) -> Floats:
    """Return weights for noisy sums over rows of length at most 1 and answers from −1 to 1.

    Parameters
    ----------
    matrix
        M = Σ x xᵀ, perhaps noisy or guessed; symmetric.
    slope
        t = Σ y·x, noisy.
    deviation
        The standard deviation σ of the noise on an entry of t.
    off
        That of the noise on an entry of M beside the diagonal.
    """
    moments, directions = np.linalg.eigh(matrix)
    floor = FLAT * max(float(moments.max(initial=0.0)), 1e-300)
    rising = moments > floor
    if not rising.any():
        return np.zeros(len(slope))
    m, along = moments[rising], directions[:, rising].T @ slope
    squares = float(np.sum(m * m))
    seen = float(along @ along)
    of_noise = float(np.sum(LEFT * m + deviation**2))
    variance = max(seen - of_noise, LEAST_SHARE * seen) / squares
    # Noise in M meets weights of this variance, and adds to what lies on t.
    whole = LEFT * m + deviation**2 + len(slope) * variance * off**2
    guess = m * along * variance / (m * m * variance + whole) if variance > 0 else 0.0 * along
    return np.asarray(directions[:, rising] @ guess)
