"""Sums of products over the records of a table, exact. Private until noise is added.

Features are whole numbers of at most `UNIT` in floats; a block has so few records that every sum
of products stays below 2⁵³, where floats are exact in whatever order they are added.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.regression.design import BLOCK, UNIT

__all__ = ["Moments", "moments"]

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

assert BLOCK * UNIT**2 <= 2**53


class Moments:
    """The sums Σ x xᵀ and Σ y x, in units squared. Private.

    Parameters
    ----------
    dimension
        How many features there are.
    """

    def __init__(self, dimension: int) -> None:
        self.xx: Integers64 = np.zeros((dimension, dimension), dtype=np.int64)
        self.xy: Integers64 = np.zeros(dimension, dtype=np.int64)

    def add(self, features: Floats, answers: Floats) -> None:
        """Add the records of one block."""
        self.xx += (features.T @ features).astype(np.int64)
        self.xy += (features.T @ answers).astype(np.int64)


def moments(blocks: Iterable[tuple[Floats, Floats]], dimension: int) -> Moments:
    """Return the moments of all blocks. Private."""
    found = Moments(dimension)
    for features, answers in blocks:
        found.add(features, answers)
    return found
