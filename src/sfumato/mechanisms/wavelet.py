"""Privelet as a measurement: noisy Haar coefficients of a table, read back as cells.

`measure_privelet` is the only function here that may see private counts. Proof:
docs/proofs/privelet.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.mechanisms.count_noise import measure_counts
from sfumato.mechanisms.privelet import generalised_sensitivity, haar, inverse_haar
from sfumato.privacy.budget import Budget

__all__ = ["measure_privelet", "repair_privelet"]


def measure_privelet(budget: Budget, counts: ArrayLike, *, label: str) -> NDArray[np.int64]:
    """Add noise to the whole-number Haar coefficients of a table, and spend the whole slice.

    Parameters
    ----------
    budget
        The slice that is spent.
    counts
        Private counts, of any number of dimensions; their shape is public.
    label
        The name of the answer in the transcript.

    Notes
    -----
    Privacy: one record moves ρ = Π(1 + log₂ m_i) coefficients, by ±1 each.
    """
    table = np.asarray(counts)
    moves = generalised_sensitivity(table.shape)
    return measure_counts(budget, haar(table), moves=moves, label=label)


def repair_privelet(noisy: ArrayLike, *, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the cells that belong to noisy coefficients.

    Parameters
    ----------
    noisy
        What `measure_privelet` said.
    shape
        The public shape of the table.
    """
    return inverse_haar(noisy, shape)
