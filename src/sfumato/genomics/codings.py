"""How a person's two alleles become the state of a site, and the probability of each state.

An association study publishes allele frequencies, but a person carries two alleles. Under
Hardy-Weinberg proportions with allele frequency f:

- `allele`: one bit that is 1 with probability f, as in the published attack. The bit of a person is
  1 with at least one copy, so the probability is too small; the coding is kept for comparison.
- `carrier`: at least one copy, probability 1 − (1 − f)².
- `homozygous`: two copies, probability f².
- `dosage`: the number of copies, 0, 1 or 2, with the binomial probabilities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CODINGS", "MISSING", "encode_counts", "state_probabilities"]

CODINGS = ("allele", "carrier", "homozygous", "dosage")
#: The state and the count of a call that is missing.
MISSING = -1


def refuse_unknown_coding(coding: str) -> None:
    """Refuse a coding that does not exist."""
    if coding not in CODINGS:
        raise ValueError(f"coding must be one of {', '.join(map(repr, CODINGS))}; got {coding!r}")


def state_probabilities(frequency: ArrayLike, coding: str) -> NDArray[np.float64]:
    """Return the probability of each state in a group with the given allele frequencies.

    Parameters
    ----------
    frequency
        Allele frequencies, of any shape.
    coding
        One of `CODINGS`.

    Returns
    -------
    probabilities
        The shape of `frequency` with one further axis: two states, or three for `dosage`.
    """
    refuse_unknown_coding(coding)
    f = np.asarray(frequency, dtype=np.float64)
    if coding == "dosage":
        return np.stack([(1 - f) ** 2, 2 * f * (1 - f), f**2], axis=-1)
    one = {"allele": f, "carrier": f * (2 - f), "homozygous": f**2}[coding]
    zero = {"allele": 1 - f, "carrier": (1 - f) ** 2, "homozygous": (1 - f) * (1 + f)}[coding]
    return np.stack([zero, one], axis=-1)


def encode_counts(counts: NDArray[np.int8], coding: str) -> NDArray[np.int8]:
    """Return the state of each call: counts 0, 1, 2 or −1 for missing, of the same shape."""
    refuse_unknown_coding(coding)
    if coding == "dosage":
        return counts
    least = 2 if coding == "homozygous" else 1
    return np.where(counts == MISSING, MISSING, counts >= least).astype(np.int8)
