"""The tests of association, their exact sensitivities, and where they become significant.

All statistics are of two groups of public sizes, R cases and S controls, in which every
participant has 0, 1 or 2 copies of an allele. docs/proofs/association-tests.md derives the
sensitivities.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PER_UNIT",
    "SLACK",
    "allelic_sensitivity",
    "allelic_statistic",
    "critical_differences",
    "statistic_sensitivity",
    "threshold_of",
    "trend_sensitivity",
    "trend_statistic",
]

Integers64 = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Thresholds of χ² are whole numbers of steps, this many to a unit.
PER_UNIT = 1000
#: A computed χ² is off by less than half of this because of floating point.
SLACK = Fraction(1, 2**20)
#: A difference that no table reaches.
NEVER = 2**62


def allelic_statistic(cases: Integers64, controls: Integers64) -> Floats:
    """Return the χ² of the 2×2 tables of alleles; 0 where all alleles are of one kind.

    Parameters
    ----------
    cases, controls
        Participants with 0, 1 and 2 copies, of shape (sites, 3).
    """
    many, others = cases.sum(axis=1), controls.sum(axis=1)
    own, other = cases[:, 1] + 2 * cases[:, 2], controls[:, 1] + 2 * controls[:, 2]
    both, total = own + other, many + others
    difference = (others * own - many * other).astype(np.float64)
    below = (many * others).astype(np.float64) * (both * (2 * total - both)).astype(np.float64)
    above = 2.0 * total.astype(np.float64) * difference * difference
    return _divide(above, below)


def trend_statistic(cases: Integers64, controls: Integers64) -> Floats:
    """Return the χ² of Cochran and Armitage's trend; 0 where all genotypes are equal.

    Parameters
    ----------
    cases, controls
        Participants with 0, 1 and 2 copies, of shape (sites, 3).
    """
    many, others = cases.sum(axis=1), controls.sum(axis=1)
    own, other = cases[:, 1] + 2 * cases[:, 2], controls[:, 1] + 2 * controls[:, 2]
    squares = cases[:, 1] + 4 * cases[:, 2] + controls[:, 1] + 4 * controls[:, 2]
    total = many + others
    difference = (others * own - many * other).astype(np.float64)
    spread = (total * squares - (own + other) ** 2).astype(np.float64)
    below = (many * others).astype(np.float64) * spread
    above = total.astype(np.float64) * difference * difference
    return _divide(above, below)


def _divide(above: Floats, below: Floats) -> Floats:
    """Return quotients, 0 where nothing is divided by."""
    return np.asarray(np.divide(above, below, out=np.zeros(len(below)), where=below > 0))


def allelic_sensitivity(sizes: tuple[int, int]) -> Fraction:
    """Return by how much one replaced participant changes the allelic χ² at most.

    It is 2N²/(m(M + 1)) for groups of m ≤ M participants, N in all; attained.
    """
    small, large = sorted(sizes)
    if small < 1:
        return Fraction(0)
    return Fraction(2 * sum(sizes) ** 2, small * (large + 1))


def trend_sensitivity(sizes: tuple[int, int]) -> Fraction:
    """Return by how much one replaced participant changes the trend χ² at most.

    For R other participants and a group of S ≥ 2 in which one is replaced it is
    4N²(S − 1)/(S(RS + 4S − 4)), and N for S = 1; attained. Either group may be that of the replaced
    one.
    """
    if min(sizes) < 1:
        return Fraction(0)
    return max(_trend_change(*sizes), _trend_change(*reversed(sizes)))


def _trend_change(others: int, group: int) -> Fraction:
    """Return the largest change where the replaced participant is in a group."""
    total = others + group
    if group == 1:
        return Fraction(total)
    return Fraction(4 * total**2 * (group - 1), group * (others * group + 4 * group - 4))


def statistic_sensitivity(test: str, sizes: tuple[int, int]) -> Fraction:
    """Return the sensitivity of a test by its name."""
    return (allelic_sensitivity if test == "allelic" else trend_sensitivity)(sizes)


def threshold_of(p_value: float) -> int:
    """Return the χ² with one degree of freedom that has a p-value, in steps of 1/1000."""
    from scipy.stats import chi2

    return round(float(chi2.isf(p_value, 1)) * PER_UNIT)


@lru_cache(maxsize=8)
def critical_differences(sizes: tuple[int, int], threshold: int) -> Integers64:
    """Return from which |S·a − R·b| on the allelic test is significant, for each a + b.

    Here a and b are the copies of the effect allele among R cases and S controls, and χ² =
    2N(Sa − Rb)²/(RS·t(2N − t)) with t = a + b. In whole numbers, so that nothing is rounded.

    Parameters
    ----------
    sizes
        R and S.
    threshold
        The least significant χ², in steps of 1/1000.
    """
    cases, controls = sizes
    total = cases + controls
    found = np.full(2 * total + 1, NEVER, dtype=np.int64)
    for both in range(1, 2 * total):
        # The least d with d² · 2N · 1000 ≥ threshold · RS · t(2N − t).
        wanted = threshold * cases * controls * both * (2 * total - both)
        least = -(-wanted // (2 * total * PER_UNIT))
        root = isqrt(least)
        found[both] = root if root * root >= least else root + 1
    found.setflags(write=False)
    return found
