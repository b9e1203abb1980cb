"""The minimum of a noisy quadratic function: public post-processing.

Noise can bend a quadratic function downwards, so that it has no minimum. A ridge of four standard
deviations of the noise makes that rare, and directions in which it still falls are left out (Zhang,
Zhang, Xiao, Yang and Winslett, 2012).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["minimiser"]

Floats = NDArray[np.float64]

#: How many standard deviations of the noise are added to the curvature.
RIDGE = 4.0
#: Curvatures below this share of the largest count as none.
FLAT = 1e-9


def minimiser(matrix: Floats, linear: Floats, deviations: Floats, *, ridge: bool = True) -> Floats:
    """Return a minimiser of ωᵀMω + aᵀω over the directions in which it rises.

    Parameters
    ----------
    matrix
        M, noisy; its symmetric part counts.
    linear
        a, noisy.
    deviations
        The standard deviation of the noise on each entry of M's diagonal.
    ridge
        Whether to add four of these deviations to the diagonal.
    """
    curved = (matrix + matrix.T) / 2 + np.diag(RIDGE * deviations if ridge else 0 * deviations)
    curvatures, directions = np.linalg.eigh(curved)
    largest = curvatures.max(initial=0.0)
    rising = curvatures > FLAT * largest
    if not rising.any():
        return np.zeros(len(linear))
    slopes = directions[:, rising].T @ linear
    return np.asarray(directions[:, rising] @ (-slopes / (2 * curvatures[rising])))
