"""Private bounds for numbers whose range nobody has declared.

Values are counted in bins that double in width away from 0; a few noisy counts then tell where the
data lie. The bins are public and reach as far as numbers go, so that nothing is assumed about the
data; this module may never let a value move a bin. Proof: docs/proofs/quantile.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.quantile import one_by_one
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation

__all__ = ["binary_counts", "bounds_from_counts", "measure_bounds", "signed_powers"]


def signed_powers(least: int, most: int) -> NDArray[np.float64]:
    """Return −2^most … −2^least, 0, 2^least … 2^most, as edges or as candidates for a quantile.

    Parameters
    ----------
    least, most
        The public exponents, from −1074 to 1023.

    Examples
    --------
    >>> signed_powers(0, 1).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    if not -1074 <= least <= most <= 1023:
        raise ValueError(
            f"exponents must satisfy -1074 <= least <= most <= 1023; got {least!r} and {most!r}"
        )
    powers = np.ldexp(1.0, np.arange(least, most + 1))
    return np.concatenate([-powers[::-1], [0.0], powers])


def binary_counts(values: ArrayLike, *, least: int, most: int) -> NDArray[np.int64]:
    """Return how many values lie in each bin between neighbouring signed powers of two.

    Parameters
    ----------
    values
        The private values; what lies beyond ±2^most counts in the outermost bins, and what is no
        number counts as 0.
    least, most
        The public exponents of the innermost and the outermost edge.

    Notes
    -----
    A bin is (edge, next edge] below 0 and [edge, next edge) from 0 on; an edge is a power of two,
    so that no value is rounded.

    Examples
    --------
    >>> binary_counts([-1.5, 0.0, 0.3, 1.0, 100.0], least=0, most=2).tolist()
    [0, 1, 0, 2, 1, 1]
    """
    edges = signed_powers(least, most)
    numbers = one_by_one(values)
    half = most - least + 1
    size = np.searchsorted(edges[half + 1 :], np.abs(numbers), side="right")
    size = np.minimum(size, half - 1)
    bins = np.where(numbers < 0, half - 1 - size, half + size)
    return np.bincount(bins, minlength=2 * half).astype(np.int64)


def measure_bounds(
    budget: Budget,
    values: ArrayLike,
    *,
    epsilon: Fraction,
    least: int = -32,
    most: int = 64,
    label: str,
) -> NDArray[np.int64]:
    """Count the values in doubling bins, with geometric noise.

    Parameters
    ----------
    budget
        What pays for it.
    values
        The private values, one a record.
    epsilon
        The pure loss.
    least, most
        The public exponents of the innermost and the outermost edge.
    label
        The name of the answer in the transcript.

    Notes
    -----
    Privacy: a record lies in one bin, so that the L1 sensitivity is 1 (2 under replace-one).
    """
    counts = binary_counts(values, least=least, most=most)
    sensitivity = Fraction(2 if budget.relation is Relation.REPLACE_ONE else 1)
    primitive = GeometricNoise(shape=counts.shape, sensitivity=sensitivity, epsilon=epsilon)
    noisy: NDArray[np.int64] = budget.measure(primitive, counts, label=label)
    return noisy


def bounds_from_counts(
    noisy: ArrayLike,
    *,
    scale: Fraction,
    least: int = -32,
    most: int = 64,
    false_alarm: float = 1e-6,
) -> tuple[float, float]:
    """Return the outer edges of the first and the last bin that stand out of the noise.

    Parameters
    ----------
    noisy
        What `measure_bounds` said.
    scale
        The scale of its noise, 1/ε (2/ε under replace-one).
    least, most
        The same public exponents.
    false_alarm
        The chance that some empty bin stands out.

    Notes
    -----
    An empty bin reaches T with probability below e^(−T/scale)/(1 + e^(−1/scale)), so
    T = scale·ln(bins/false_alarm) bounds the false alarms of all bins together. Where no bin
    reaches T the one with the highest count is taken: with so few records there is nothing better.

    Examples
    --------
    >>> bounds_from_counts([0, 0, 1, 900, 800, 0], scale=Fraction(1), least=0, most=2)
    (0.0, 2.0)
    """
    counts = np.asarray(noisy)
    edges = signed_powers(least, most)
    if counts.shape != (edges.size - 1,):
        raise ValueError(f"{edges.size - 1} noisy counts are needed; got the shape {counts.shape}")
    if not 0 < false_alarm < 1:
        raise ValueError(f"false_alarm must lie between 0 and 1; got {false_alarm!r}")
    threshold = float(scale) * math.log(counts.size / false_alarm)
    standing = np.flatnonzero(counts >= threshold)
    first, last = (standing[0], standing[-1]) if standing.size else (int(np.argmax(counts)),) * 2
    return float(edges[first]), float(edges[last + 1])
