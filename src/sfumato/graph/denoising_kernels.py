"""Expectation and maximisation for degrees with geometric noise; compiled by Numba.

Everything here works on public numbers.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["expectations"]

#: Smaller weights count as none: they would make arithmetic slow, and say nothing.
TINY = 1e-200


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _spread(weights: Any, ratio: float, spread: Any) -> None:
    """Set spread[i] to Σ_j weights[j]·ratio^|i − j|, in two passes."""
    size = len(weights)
    carried = 0.0
    for place in range(size):
        carried = carried * ratio + weights[place]
        if carried < TINY:
            carried = 0.0
        spread[place] = carried
    carried = 0.0
    for place in range(size - 1, -1, -1):
        spread[place] += carried
        carried = (carried + weights[place]) * ratio
        if carried < TINY:
            carried = 0.0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def expectations(seen: Any, ratio: float, rounds: int) -> Any:
    """Return the expected degree given each noisy one, for degrees 0, 1, 2, …

    Parameters
    ----------
    seen
        How many nodes have each noisy degree.
    ratio
        Noise x has the probability ∝ ratio^|x|.
    rounds
        How often the law of the degrees is made more likely.
    """
    size = len(seen)
    law = np.full(size, 1.0 / size)
    likely, back = np.empty(size), np.empty(size)
    for _ in range(rounds):
        _spread(law, ratio, likely)
        for place in range(size):
            likely[place] = seen[place] / max(likely[place], TINY) if seen[place] > 0 else 0.0
        _spread(likely, ratio, back)
        total = 0.0
        for place in range(size):
            law[place] *= back[place]
            if law[place] < TINY:
                law[place] = 0.0
            total += law[place]
        for place in range(size):
            law[place] /= total
    _spread(law, ratio, likely)
    _spread(law * np.arange(size), ratio, back)
    expected = np.zeros(size)
    largest = 0.0
    for place in range(size):
        if seen[place] > 0 and likely[place] > 0:
            largest = max(largest, back[place] / likely[place])
        expected[place] = largest
    return expected
