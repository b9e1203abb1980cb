"""Isotonic regression: the closest monotone sequence to a noisy one.

This is public repair: it may be given what a primitive returned, never a private value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression as pool_adjacent_violators

__all__ = ["isotonic_regression"]


def isotonic_regression(
    values: ArrayLike, weights: ArrayLike | None = None, *, increasing: bool = True
) -> NDArray[np.float64]:
    """Return the monotone sequence with the least (weighted) sum of squared differences.

    Parameters
    ----------
    values
        The noisy sequence, one-dimensional.
    weights
        Positive weights, such as inverse variances; all one by default.
    increasing
        Whether the result never falls (the default) or never rises.

    Notes
    -----
    The solution is min_{j≥k} max_{i≤j} mean(values_i … values_j) (Hay, Rastogi, Miklau and Suciu,
    2010, Theorem 1); adjacent violators are pooled in linear time.

    Examples
    --------
    >>> isotonic_regression([9, 14, 10]).tolist()
    [9.0, 12.0, 12.0]
    >>> isotonic_regression([3, 1, 2], increasing=False).tolist()
    [3.0, 1.5, 1.5]
    """
    sequence = np.asarray(values, dtype=np.float64)
    if sequence.ndim != 1:
        raise ValueError(f"values must be one-dimensional; got {sequence.ndim} dimensions")
    if sequence.size == 0:
        return sequence.copy()
    weight = None if weights is None else _check_weights(weights, sequence.shape)
    fitted = pool_adjacent_violators(sequence, weights=weight, increasing=increasing)
    return np.asarray(fitted.x, dtype=np.float64)


def _check_weights(weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the weights as an array, or say what is allowed."""
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != shape:
        raise ValueError(f"weights must have the shape of values, {shape}; got {weight.shape}")
    if not np.all((weight > 0) & np.isfinite(weight)):
        raise ValueError("weights must be positive and finite")
    return weight


# Noisy sorted counts: the shape of a histogram without its labels.
#
# Sorting hides which cell a count belongs to; in return, isotonic regression removes most of the
# noise. Nothing here sees private counts. Proof: docs/proofs/sorted-counts.md.


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
