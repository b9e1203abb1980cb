"""Noisy sorted counts: the shape of a histogram without its labels.

Sorting hides which cell a count belongs to; in return, isotonic regression removes most of the
noise. `measure_sorted_counts` is the only function here that may see private counts. Proof:
docs/proofs/sorted-counts.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.mechanisms.count_noise import measure_counts
from sfumato.mechanisms.isotonic import isotonic_regression
from sfumato.privacy.budget import Budget

__all__ = ["measure_sorted_counts", "repair_sorted_counts"]


def measure_sorted_counts(budget: Budget, counts: ArrayLike, *, label: str) -> NDArray[np.int64]:
    """Sort counts from the smallest, add noise, and spend the whole slice.

    Parameters
    ----------
    budget
        The slice that is spent.
    counts
        Private counts of disjoint cells; how many cells there are is public.
    label
        The name of the answer in the transcript.

    Notes
    -----
    Privacy: one record raises one count by 1, and raises one entry of the sorted counts by 1: the
    sensitivity is 1 (2 under replace-one).
    """
    ordered = np.sort(np.asarray(counts, dtype=np.int64))
    return measure_counts(budget, ordered, moves=1, label=label)


def repair_sorted_counts(noisy: ArrayLike, *, largest: float | None = None) -> NDArray[np.float64]:
    """Return the closest non-decreasing, non-negative sequence to noisy sorted counts.

    Parameters
    ----------
    noisy
        What `measure_sorted_counts` said.
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
