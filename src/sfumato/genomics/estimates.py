"""Effects and tests from noisy counts, with standard errors that include the privacy noise.

Post-processing: everything here is a function of noisy counts and of what is public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.genomics.group_counts import Measured

__all__ = ["Effects", "effects_of_copies", "effects_of_groups", "effects_of_numbers"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effects:
    """The effect of the allele at each site.

    Parameters
    ----------
    beta
        The log odds ratio per allele, or the change of a number per allele.
    standard_error
        Its standard error: of sampling and of the privacy noise together.
    frequency
        The frequency of the effect allele among all participants.
    z
        The test statistic, about standard normal without association; its variance includes the
        privacy noise.
    participants
        How many participants there are, about.
    """

    beta: Floats
    standard_error: Floats
    frequency: Floats
    z: Floats
    participants: float


def effects_of_groups(measured: Measured) -> Effects:
    """Return effects from noisy allele differences, of shape (2, strata, sites).

    The test compares allele frequencies, whose variance is that of Hardy and Weinberg.
    """
    sizes = measured.sizes[..., None]
    raw = 0.5 + measured.counts / (2 * sizes)
    clipped = _inside(raw, sizes)
    lean = (2 * clipped - 1) ** 2
    noise = (measured.deviation**2 + lean * measured.size_deviation**2) / (4 * sizes**2)
    pooled = (clipped * sizes).sum(axis=0) / sizes.sum(axis=0)
    return _combine(raw, clipped, sizes, noise, 2 * pooled * (1 - pooled))


def effects_of_copies(measured: Measured) -> Effects:
    """Return effects from noisy counts of 0, 1 and 2 copies, of shape (2, strata, sites, 3).

    The test is Cochran and Armitage's trend, which assumes nothing about genotype frequencies.
    """
    sizes = measured.sizes[..., None]
    counts = measured.counts
    raw = 0.5 + (counts[..., 2] - counts[..., 0]) / (2 * sizes)
    clipped = _inside(raw, sizes)
    lean = (2 * clipped - 1) ** 2
    noise = (2 * measured.deviation**2 + lean * measured.size_deviation**2) / (4 * sizes**2)
    everyone = sizes.sum(axis=0)
    mean = ((counts[..., 2] - counts[..., 0]).sum(axis=0)) / everyone
    square = ((counts[..., 2] + counts[..., 0]).sum(axis=0)) / everyone
    # A variance is at least what one copy in the whole study would give.
    variance = np.maximum(square - mean**2, 1 / everyone)
    return _combine(raw, clipped, sizes, noise, variance)


def _inside(frequencies: Floats, sizes: Floats) -> Floats:
    """Return frequencies at least half an allele away from 0 and 1, where odds are infinite."""
    least = 0.5 / (2 * sizes + 1)
    return np.clip(frequencies, least, 1 - least)


def _combine(raw: Floats, clipped: Floats, sizes: Floats, noise: Floats, spread: Floats) -> Effects:
    """Return effects over all strata.

    Parameters
    ----------
    raw, clipped
        Frequencies as measured and within 0 to 1, of shape (2, strata, sites).
    sizes
        Numbers of participants.
    noise
        The variance of the noise on each frequency.
    spread
        The variance of the copies of one participant without association, by stratum and site.
    """
    odds = clipped * (1 - clipped)
    variance = ((odds / (2 * sizes) + noise) / odds**2).sum(axis=0)
    logs = np.log(clipped / (1 - clipped))
    # Strata are weighted by the inverse of the variances of their log odds ratios.
    weights = 1 / variance
    beta = (weights * (logs[0] - logs[1])).sum(axis=0) / weights.sum(axis=0)
    # The test weights strata as Mantel and Haenszel do.
    share = sizes[0] * sizes[1] / sizes.sum(axis=0)
    null = spread / 4 * (1 / sizes).sum(axis=0) + noise.sum(axis=0)
    z = (share * (raw[0] - raw[1])).sum(axis=0) / np.sqrt((share**2 * null).sum(axis=0))
    frequency = (clipped * sizes).sum(axis=(0, 1)) / sizes.sum()
    return Effects(beta, 1 / np.sqrt(weights.sum(axis=0)), frequency, z, float(sizes.sum()))


def effects_of_numbers(
    sums: Floats,
    moments: Floats,
    *,
    deviation: float,
    moment_deviation: float,
    rows: int | None,
    half_range: float,
) -> Effects:
    """Return the regression of a number on the copies of each site.

    Parameters
    ----------
    sums
        Noisy Σx, Σx² and Σxy of shape (3, sites), x being the copies minus 1 and y the phenotype
        between −1 and 1.
    moments
        Noisy n, Σy and Σy².
    deviation, moment_deviation
        The standard deviations of the noise on each of these.
    rows
        The number of participants, where it is public.
    half_range
        What 1 stands for in the units of the phenotype.
    """
    people = max(float(moments[0]), 1.0) if rows is None else max(float(rows), 1.0)
    first, second, products = sums
    mean_x, mean_y = first / people, float(np.clip(moments[1] / people, -1, 1))
    spread_y = max(float(moments[2]) / people - mean_y**2, 1 / people)
    # The variance of the copies is that of at least one copy in the whole study.
    spread_x = np.maximum(second / people - mean_x**2, 1 / people)
    covariance = products / people - mean_x * mean_y
    beta = covariance / spread_x
    left = np.clip(spread_y - beta**2 * spread_x, spread_y / people, spread_y)
    noise = deviation**2 * (1 + (2 * beta * mean_x - mean_y) ** 2 + beta**2)
    noise = noise + moment_deviation**2 * mean_x**2
    if rows is None:
        noise = noise + moment_deviation**2 * (mean_x * mean_y - beta * mean_x**2) ** 2
    error = np.sqrt(left / (people * spread_x) + noise / (people * spread_x) ** 2)
    null = np.sqrt(
        spread_y * spread_x / people
        + (deviation**2 * (1 + mean_y**2) + moment_deviation**2 * mean_x**2) / people**2
    )
    frequency = np.clip((mean_x + 1) / 2, 0, 1)
    return Effects(half_range * beta, half_range * error, frequency, covariance / null, people)
