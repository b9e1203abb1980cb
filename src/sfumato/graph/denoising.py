"""The degrees that noisy ones most likely stand for.

Post-processing: nothing here may see a private value. Of many nodes the noise is known and the
distribution of the degrees can be told from the noisy ones; then each node's degree can be guessed
much better than its noisy one tells.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.rounding import exp_up

__all__ = ["UNIT", "expected_degrees"]

#: Expected degrees are told in parts of this many to the whole.
UNIT = 256
#: Rounds of expectation and maximisation; further ones fit the noise.
ROUNDS = 60


def expected_degrees(noisy: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Return the expected degree of every node given its noisy one, in 256ths.

    Parameters
    ----------
    noisy
        Degrees plus two-sided geometric noise; all degrees lie between 0 and n − 1.
    scale
        The scale of the noise: P(x) ∝ exp(−|x|/scale).

    Notes
    -----
    The distribution of the degrees is the one under which the noisy ones are most likely, found by
    expectation and maximisation from the uniform one. A noisy degree outside 0 … n − 1 says as
    much as the nearest end does. A larger noisy degree never has a smaller expectation.
    """
    from sfumato.graph.denoising_kernels import expectations

    if len(noisy) == 0:
        return np.zeros(0, dtype=np.int64)
    within = np.clip(noisy, 0, len(noisy) - 1)
    # The last digit of a library's exponential is the machine's; groups are made of what follows,
    # and whoever verifies a release must find the same ones. All else is + − × ÷, in fixed order.
    ratio = float(exp_up(Fraction(-1 / scale)))
    expected = expectations(np.bincount(within), ratio, ROUNDS)
    parts: NDArray[np.int64] = np.rint(expected * UNIT).astype(np.int64)
    return parts[within]
