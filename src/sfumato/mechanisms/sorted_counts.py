"""Noisy sorted counts: the shape of a histogram without its labels.

Sorting hides which cell a count belongs to; in return, isotonic regression removes most of the
noise. Nothing here sees private counts. Proof: docs/proofs/sorted-counts.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.mechanisms.isotonic import isotonic_regression

__all__ = ["repair_sorted_counts"]


def repair_sorted_counts(noisy: ArrayLike, *, largest: float | None = None) -> NDArray[np.float64]:
    """Return the closest non-decreasing, non-negative sequence to noisy sorted counts.

    Parameters
    ----------
    noisy
        Sorted counts with noise on each.
    largest
        A public upper bound on every count, such as n − 1 for the degrees of a graph.

    Notes
    -----
    Cutting the isotonic regression at constant bounds is the projection onto the sequences within
    them (Barlow and Brunk, 1972).

    Examples
    --------
    >>> repair_sorted_counts([-2, 0, 5, 3]).tolist()
    [0.0, 0.0, 4.0, 4.0]
    """
    return np.clip(isotonic_regression(noisy), 0.0, largest)
